/* Measures the read bandwidth: see bandwidth.h. */
#include "drivers/bandwidth.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BYTES_MIN ((size_t)256 << 20)
#define BYTES_MAX ((size_t)1 << 30)
#define PASSES 3
#define LANES 8 /* independent sums, so that additions do not wait for each other */

/* The readers wait until `pass` is theirs; PASSES ends them early. `idle` counts those that wait. */
typedef struct start_line {
  _Atomic int pass, idle;
} start_line;

typedef struct reader {
  pthread_t thread;
  start_line *line;
  uint64_t *words;
  size_t count;
  uint64_t sum; /* keeps the loop from being optimized away */
  double end;   /* of its latest pass */
} reader;

static uint64_t read_words(const uint64_t *words, size_t count) {
  uint64_t lane[LANES] = {0}, sum = 0;
  for (size_t k = 0; k + LANES <= count; k += LANES)
    for (size_t l = 0; l < LANES; l++) lane[l] += words[k + l];
  for (size_t l = 0; l < LANES; l++) sum += lane[l];
  return sum;
}

static void *run_reader(void *arg) {
  reader *r = arg;
  memset(r->words, 1, r->count * sizeof *r->words); /* the pages come to lie near the core that reads them */
  for (int pass = 0; pass < PASSES; pass++) {
    atomic_fetch_add(&r->line->idle, 1);
    while (atomic_load(&r->line->pass) < pass) sched_yield();
    if (atomic_load(&r->line->pass) >= PASSES) break;
    r->sum += read_words(r->words, r->count);
    r->end = tsi_now();
  }
  atomic_fetch_add(&r->line->idle, 1);
  return NULL;
}

/* Sleeps, as the cores are for the readers. */
static void wait_for_readers(const start_line *line, int count) {
  const struct timespec moment = {0, 200000};
  while (atomic_load(&line->idle) < count) nanosleep(&moment, NULL);
}

/* Lets the readers run one pass; its GB/s. */
static double time_pass(start_line *line, int pass, const reader *readers, int threads) {
  double end = 0;
  wait_for_readers(line, (pass + 1) * threads);
  const double begin = tsi_now();
  atomic_store(&line->pass, pass);
  wait_for_readers(line, (pass + 2) * threads);
  for (int t = 0; t < threads; t++)
    if (readers[t].end > end) end = readers[t].end;
  return (double)(readers[0].count * (size_t)threads * sizeof(uint64_t)) / (end - begin) / 1e9;
}

/* GB/s of `threads` readers, each of its part of the array; 0 if a thread cannot be made. */
static double measure(uint64_t *words, size_t count, int threads) {
  start_line line = {-1, 0};
  double best = 0;
  int made = 0;
  const size_t part = count / (size_t)threads;
  reader *readers = calloc((size_t)threads, sizeof *readers);
  if (readers == NULL) return 0;
  for (; made < threads; made++) {
    reader *r = &readers[made];
    *r = (reader){.line = &line, .words = words + part * (size_t)made, .count = part};
    if (pthread_create(&r->thread, NULL, run_reader, r) != 0) break;
  }
  if (made < threads) atomic_store(&line.pass, PASSES);
  for (int pass = 0; pass < PASSES && made == threads; pass++) {
    const double gbps = time_pass(&line, pass, readers, threads);
    if (gbps > best) best = gbps;
  }
  for (int t = 0; t < made; t++) pthread_join(readers[t].thread, NULL);
  free(readers);
  return best;
}

bool tsi_bandwidth_measure(tsi_session *s, tsi_bandwidth *bandwidth) {
  size_t bytes = (size_t)s->a.stored_lower * s->precision->bytes * (s->a.method == TRISTAR_METHOD_LU ? 2 : 1);
  if (bytes < BYTES_MIN) bytes = BYTES_MIN;
  if (bytes > BYTES_MAX) bytes = BYTES_MAX;
  *bandwidth = (tsi_bandwidth){.cores = tsi_expected_workers(s->settings), .bytes = bytes};
  uint64_t *words = malloc(bytes);
  if (words != NULL) {
    const size_t count = bytes / sizeof *words;
    bandwidth->one = bandwidth->all = measure(words, count, 1);
    if (bandwidth->cores > 1) bandwidth->all = measure(words, count, bandwidth->cores);
    free(words);
  }
  if (bandwidth->one > 0 && bandwidth->all > 0) return true;
  return tsi_session_fail(s, TRISTAR_ERR_MEMORY,
                          "no memory or no threads to measure the read bandwidth with");
}

double tsi_bandwidth_of(const tsi_bandwidth *bandwidth, int workers) {
  return workers > 1 ? bandwidth->all : bandwidth->one;
}
