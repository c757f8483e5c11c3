/* Measures the read bandwidth: see bandwidth.h. */
#include "runtime/machine/bandwidth.h"

#include <math.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#include "runtime/base/threads.h"
#include "runtime/base/variables.h"
#include "runtime/base/clock.h"
#include "runtime/machine/topology.h"

#define PASSES 3
#define LANES 8 /* independent sums, so that additions do not wait for each other */

bool tsi_short_rates(void) {
  const char *chosen = tsi_variable(TSI_VARIABLE_SHORT_RATES);
  return chosen != NULL && strcmp(chosen, "1") == 0;
}

size_t tsi_bandwidth_bytes(double requested) {
  if (tsi_short_rates()) return (size_t)16 << 20;
  return (size_t)fmin(fmax(requested, 256 << 20), 1 << 30);
}

/* Each reader waits until `pass` is its next pass; PASSES ends all early. `idle` counts the arrivals of
 * readers that wait. */
typedef struct start_line {
  _Atomic int pass, idle;
} start_line;

typedef struct reader {
  pthread_t thread;
  bool fills; /* first fills its part */
  start_line *line;
  uint64_t *words;
  size_t count;
  uint64_t sum; /* prevents the compiler from removing the loop */
  double end;   /* of its latest pass */
} reader;

#if defined __has_attribute && __has_attribute(no_sanitize_thread)
__attribute__((no_sanitize_thread)) /* checking each word separately would take minutes */
#endif
static uint64_t
read_words(const uint64_t *words, size_t count) {
  uint64_t lane[LANES] = {0}, sum = 0;
  for (size_t k = 0; k + LANES <= count; k += LANES)
    for (size_t l = 0; l < LANES; l++) lane[l] += words[k + l];
  for (size_t l = 0; l < LANES; l++) sum += lane[l];
  return sum;
}

static void *run_reader(void *arg) {
  reader *r = arg;
  if (r->fills) memset(r->words, 1, r->count * sizeof *r->words); /* allocates its pages near this core */
  for (int pass = 0; pass < PASSES; pass++) {
    atomic_fetch_add(&r->line->idle, 1);
    while (atomic_load(&r->line->pass) < pass) sched_yield();
    if (atomic_load(&r->line->pass) >= PASSES) break;
    r->sum += read_words(r->words, r->count);
    r->end = tsi_wall_clock();
  }
  atomic_fetch_add(&r->line->idle, 1);
  return NULL;
}

/* Sleeps, so that the readers have all cores. */
static void wait_for_readers(const start_line *line, int count) {
  const struct timespec moment = {0, 200000};
  while (atomic_load(&line->idle) < count) nanosleep(&moment, NULL);
}

/* Lets the readers run one pass; returns its GB/s. */
static double time_pass(start_line *line, int pass, const reader *readers, int threads) {
  double end = 0;
  wait_for_readers(line, (pass + 1) * threads);
  const double begin = tsi_wall_clock();
  atomic_store(&line->pass, pass);
  wait_for_readers(line, (pass + 2) * threads);
  for (int t = 0; t < threads; t++)
    if (readers[t].end > end) end = readers[t].end;
  return (double)(readers[0].count * (size_t)threads * sizeof(uint64_t)) / (end - begin) / 1e9;
}

/* GB/s of `threads` readers, each of which reads its part of the first `bytes` bytes of an array. */
static tristar_status measure(tsi_env *env, tsi_streams *b, int which, size_t bytes, int threads,
                              double *best) {
  tristar_status status = TRISTAR_OK;
  start_line line = {-1, 0};
  int made = 0;
  const size_t part = bytes / sizeof *b->words[0] / (size_t)threads;
  const bool filled = tsi_topology_one_node() ? b->threads[which] > 0 : b->threads[which] == threads;
  *best = 0;
  TSI_SCRATCH_ZERO(env, reader, readers, threads);
  for (; made < threads; made++) {
    reader *r = &readers[made];
    *r = (reader){
        .line = &line, .fills = !filled, .words = b->words[which] + part * (size_t)made, .count = part};
    status = tsi_thread_start(env, &r->thread, run_reader, r);
    if (status != TRISTAR_OK) break;
  }
  if (made < threads) atomic_store(&line.pass, PASSES);
  for (int pass = 0; pass < PASSES && made == threads; pass++) {
    const double gbps = time_pass(&line, pass, readers, threads);
    if (gbps > *best) *best = gbps;
  }
  for (int t = 0; t < made; t++) pthread_join(readers[t].thread, NULL);
  if (made == threads) b->threads[which] = threads;
  return status;
}

/* Allocates an array of `bytes` bytes; an existing array of another size is freed. */
static tristar_status fit(tsi_env *env, tsi_streams *b, int which, size_t bytes) {
  const size_t count = bytes / sizeof *b->words[0];
  if (b->words[which] != NULL && b->count[which] == count) return TRISTAR_OK;
  TSI_FREE(env, b->words[which]);
  b->threads[which] = 0;
  TSI_TRY(TSI_ALLOC(env, b->words[which], count));
  b->count[which] = count;
  return TRISTAR_OK;
}

tristar_status tsi_streams_measure(tsi_env *env, tsi_streams *b, size_t one_bytes, size_t all_bytes,
                                   int threads, double *one, double *all) {
  const bool shared = threads > 1 && tsi_topology_one_node(); /* pages are near all threads */
  *one = *all = 0;
  if (threads > 1) {
    if (shared && all_bytes < one_bytes) all_bytes = one_bytes;
    TSI_TRY(fit(env, b, 1, all_bytes));
    TSI_TRY(measure(env, b, 1, all_bytes, threads, all));
  }
  if (!shared) TSI_TRY(fit(env, b, 0, one_bytes));
  TSI_TRY(measure(env, b, shared ? 1 : 0, one_bytes, 1, one));
  if (threads <= 1) *all = *one;
  return TRISTAR_OK;
}

void tsi_streams_release(tsi_streams *b) {
  for (int which = 0; which < 2; which++) tsi_release(tsi_take(&b->words[which]));
  *b = (tsi_streams){.count = {0, 0}};
}

tristar_status tsi_bandwidth_read(tsi_env *env, size_t bytes, int threads, double *one, double *all) {
  TSI_CLEANUP(tsi_streams_release) tsi_streams s = {.count = {0, 0}};
  return tsi_streams_measure(env, &s, bytes, bytes, threads, one, all);
}
