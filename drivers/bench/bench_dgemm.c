/* The rate of OpenBLAS's DGEMM, as a bound for solves with many right-hand sides (see bench.h).
 *
 * C = C + A B. Each thread has its own matrices and calls a single-threaded OpenBLAS, like StarPU's workers.
 * Square: order 1024, which is usually reported. Tall: A has 4096 x 256 entries and B has nrhs columns (at
 * most 512), like blocks of a factor and right-hand sides. Several matrices A are used in turn; together they
 * exceed the cache of a core, because a solve reads the factor from memory. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "drivers/bench/bench.h"
#include "drivers/session/session.h"
#include "runtime/machine/bandwidth.h"

/* Declared here, because this folder must not include the header of OpenBLAS. */
void dgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k,
            const double *alpha, const double *a, const int *lda, const double *b, const int *ldb,
            const double *beta, double *c, const int *ldc);
int openblas_get_num_threads(void);
void openblas_set_num_threads(int threads);

enum {
  SQUARE = 1024, /* with TRISTAR_SHORT_RATES=1 a quarter of these rows and columns */
  TALL_ROWS = 4096,
  TALL_COLUMNS = 256,
  TALL_COLUMNS_MOST = 512,
  TALL_COUNT = 2,
  TALL_TURNS = 4,
  PASSES = 3
};

typedef struct shape {
  int m, n, k, count, turns; /* count matrices A; each is used `turns` times */
} shape;

typedef struct multiplier {
  pthread_t thread;
  _Atomic int *go; /* 0: wait, 1: multiply, -1: end, as not all threads could be made */
  shape shape;
  double *a, *b, *c;
  double begin, end;
} multiplier;

static size_t entries(int rows, int columns) {
  return (size_t)rows * (size_t)columns;
}

static void multiply(const multiplier *t) {
  const double one = 1, half = 0.5; /* C stays bounded */
  const shape *s = &t->shape;
  for (int turn = 0; turn < s->turns * s->count; turn++)
    dgemm_("N", "N", &s->m, &s->n, &s->k, &one, t->a + entries(s->m, s->k) * (size_t)(turn % s->count), &s->m,
           t->b, &s->k, &half, t->c, &s->m);
}

static void *run_multiplier(void *arg) {
  multiplier *t = arg;
  while (atomic_load(t->go) == 0) sched_yield();
  if (atomic_load(t->go) < 0) return NULL;
  t->begin = tsi_now();
  multiply(t);
  t->end = tsi_now();
  return NULL;
}

static double *make_entries(size_t count) {
  double *values = malloc(count * sizeof *values);
  for (size_t k = 0; values != NULL && k < count; k++) values[k] = 1.0 / (double)(k % 1021 + 1);
  return values;
}

static bool make_matrices(multiplier *t, const shape *s) {
  t->shape = *s;
  t->a = make_entries(entries(s->m, s->k) * (size_t)s->count);
  t->b = make_entries(entries(s->k, s->n));
  t->c = make_entries(entries(s->m, s->n));
  return t->a != NULL && t->b != NULL && t->c != NULL;
}

/* Returns the seconds from the first start to the last end of a thread; 0: not all threads could be made. */
static double time_pass(multiplier *all, int threads) {
  _Atomic int go = 0;
  int made = 0;
  for (; made < threads; made++) {
    all[made].go = &go;
    if (pthread_create(&all[made].thread, NULL, run_multiplier, &all[made]) != 0) break;
  }
  atomic_store(&go, made == threads ? 1 : -1);
  for (int t = 0; t < made; t++) pthread_join(all[t].thread, NULL);
  if (made < threads) return 0;
  double begin = all[0].begin, end = all[0].end;
  for (int t = 1; t < threads; t++) {
    if (all[t].begin < begin) begin = all[t].begin;
    if (all[t].end > end) end = all[t].end;
  }
  return end - begin;
}

/* Returns the GF/s of the best pass; 0 without memory or threads. */
static double measure(int threads, const shape *s) {
  const double flops = 2.0 * s->m * s->n * s->k * s->count * s->turns * threads;
  double rate = 0;
  multiplier *all = calloc((size_t)threads, sizeof *all);
  if (all == NULL) return 0;
  bool ok = true;
  for (int t = 0; t < threads && ok; t++) ok = make_matrices(&all[t], s);
  for (int pass = 0; pass < PASSES && ok; pass++) {
    const double seconds = time_pass(all, threads);
    ok = seconds > 0;
    if (ok && flops / seconds / 1e9 > rate) rate = flops / seconds / 1e9;
  }
  for (int t = 0; t < threads; t++) {
    free(all[t].a);
    free(all[t].b);
    free(all[t].c);
  }
  free(all);
  return rate;
}

void tsi_bench_dgemm(int threads, int64_t nrhs, double *square, double *tall) {
  const int part = tsi_short_rates() ? 4 : 1;
  const shape squares = {SQUARE / part, SQUARE / part, SQUARE / part, 1, 1};
  const shape talls = {TALL_ROWS / part, (int)(nrhs < TALL_COLUMNS_MOST ? nrhs : TALL_COLUMNS_MOST),
                       TALL_COLUMNS, TALL_COUNT, TALL_TURNS};
  const int before = openblas_get_num_threads();
  openblas_set_num_threads(1);
  *square = measure(threads, &squares);
  *tall = measure(threads, &talls);
  openblas_set_num_threads(before);
}
