/* bench_batch [--systems N] [--rounds N] [--workers N] MATRIX...: many systems with the pattern of a matrix
 * and different values, in one process, in turn:
 *
 * - batch: tristar_batch_factor_solve of all systems
 * - KLU: klu_refactor and klu_solve in a loop, on one core
 * - single: tristar_refactor and tristar_solve in a loop, on the calling thread
 *
 * Values are those of the matrix times random factors from 0.95 to 1.05, with one right-hand side each. Times
 * are the smallest of all rounds, to exclude the load of other processes, in microseconds per system. Ratios
 * above 1: the batch is faster. With --workers 1, the default, all three use one core, and times are CPU
 * times of the thread. */
#include <klu.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tristar_batch.h"
#include "tristar_matrix.h"

typedef struct systems {
  int n, entries, count, *ptr, *index; /* compressed columns */
  double *values, *b, *x;              /* of all systems; values of the matrix first */
  clockid_t clock;
} systems;

static void *allocate(size_t count, size_t size) {
  void *array = calloc(count + 1, size);
  if (array != NULL) return array;
  fprintf(stderr, "bench_batch: out of memory\n");
  exit(1);
}

static void check(tristar_t *ts, tristar_status status) {
  char text[512] = "";
  if (status == TRISTAR_OK) return;
  (void)tristar_get_error(ts, text, sizeof text);
  fprintf(stderr, "bench_batch: %s\n", text);
  exit(1);
}

static double seconds(const systems *s) {
  struct timespec now;
  clock_gettime(s->clock, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double random_number(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (double)(*state >> 11) / 9007199254740992.0;
}

/* Both triangles of a matrix, by columns. */
static void fill_columns(const tristar_view *a, systems *s) {
  const int64_t *ptr = a->ptr;
  const int32_t *index = a->index;
  const double *value = a->values;
  const bool mirrors = a->symmetry != TRISTAR_GENERAL;
  int *next = allocate((size_t)s->n + 1, sizeof *next);
  for (int pass = 0; pass < 2; pass++) {
    for (int j = 0; j < s->n; j++)
      for (int64_t e = ptr[j]; e < ptr[j + 1]; e++)
        for (int image = 0; image < (mirrors && index[e] != j ? 2 : 1); image++) {
          const int row = image ? j : index[e], column = image ? index[e] : j;
          if (pass == 0) {
            s->ptr[column + 1]++;
          } else {
            s->index[next[column]] = row;
            s->values[next[column]++] = value[e];
          }
        }
    for (int j = 0; j < s->n && pass == 0; j++) s->ptr[j + 1] += s->ptr[j];
    memcpy(next, s->ptr, (size_t)s->n * sizeof *next);
  }
  free(next);
}

static systems make_systems(tristar_t *ts, const char *path, int count, clockid_t clock) {
  tristar_matrix_t *matrix;
  tristar_view a;
  uint64_t state = 1;
  check(ts, tristar_matrix_read(ts, path, &matrix));
  tristar_matrix_get_view(matrix, &a);
  if (a.scalar != TRISTAR_DOUBLE || a.rows != a.cols) {
    fprintf(stderr, "bench_batch: %s: not a real square matrix\n", path);
    exit(1);
  }
  const size_t most = 2 * (size_t)((const int64_t *)a.ptr)[a.cols], n = (size_t)a.rows;
  systems s = {.n = (int)n, .count = count, .clock = clock};
  s.ptr = allocate(n + 1, sizeof *s.ptr);
  s.index = allocate(most, sizeof *s.index);
  s.values = allocate(most * (size_t)count, sizeof *s.values);
  s.b = allocate(n * (size_t)count, sizeof *s.b);
  s.x = allocate(n * (size_t)count, sizeof *s.x);
  fill_columns(&a, &s);
  s.entries = s.ptr[n];
  for (int k = count - 1; k >= 0; k--)
    for (int e = 0; e < s.entries; e++)
      s.values[(size_t)k * (size_t)s.entries + (size_t)e] =
          s.values[e] * (k ? 0.95 + random_number(&state) / 10 : 1);
  for (size_t i = 0; i < n * (size_t)count; i++) s.b[i] = random_number(&state) - 0.5;
  tristar_matrix_destroy(&matrix);
  return s;
}

static void release(systems *s) {
  free(s->ptr);
  free(s->index);
  free(s->values);
  free(s->b);
  free(s->x);
}

/* ---- Contenders ---------------------------------------------------------------------------------------- */

static double run_batch(tristar_t *ts, tristar_batch_t *batch, const systems *s, double *errors) {
  const double begin = seconds(s);
  check(ts, tristar_batch_factor_solve(batch, s->count, s->values, s->entries, TRISTAR_N, 1, s->b, s->n, s->n,
                                       s->x, s->n, s->n, errors, NULL));
  return seconds(s) - begin;
}

typedef struct klu_run {
  klu_common common;
  klu_symbolic *symbolic;
  klu_numeric *numeric;
} klu_run;

static bool begin_klu(const systems *s, klu_run *k) {
  klu_defaults(&k->common);
  k->symbolic = klu_analyze(s->n, s->ptr, s->index, &k->common);
  k->numeric = k->symbolic ? klu_factor(s->ptr, s->index, s->values, k->symbolic, &k->common) : NULL;
  return k->numeric != NULL;
}

static double run_klu(const systems *s, klu_run *k) {
  const double begin = seconds(s);
  memcpy(s->x, s->b, (size_t)s->count * (size_t)s->n * sizeof *s->x);
  for (int i = 0; i < s->count; i++) {
    klu_refactor(s->ptr, s->index, s->values + (size_t)i * (size_t)s->entries, k->symbolic, k->numeric,
                 &k->common);
    klu_solve(k->symbolic, k->numeric, s->n, 1, s->x + (size_t)i * (size_t)s->n, &k->common);
  }
  return seconds(s) - begin;
}

static double run_single(tristar_t *ts, tristar_factor_t *factor, tristar_plan_t *plan, const systems *s) {
  const double begin = seconds(s);
  for (int i = 0; i < s->count; i++) {
    const size_t at = (size_t)i * (size_t)s->n;
    check(ts, tristar_refactor(factor, s->values + (size_t)i * (size_t)s->entries));
    check(ts, tristar_solve(plan, TRISTAR_N, 1, s->b + at, s->n, s->x + at, s->n));
  }
  return seconds(s) - begin;
}

static void least(double *best, double time) {
  if (time < *best) *best = time;
}

static void compare(tristar_t *ts, const char *path, int count, int rounds, clockid_t clock) {
  systems s = make_systems(ts, path, count, clock);
  tristar_view a;
  tristar_view_init(&a);
  a.rows = a.cols = s.n;
  a.ptr = s.ptr;
  a.index = s.index;
  a.values = s.values;
  tristar_batch_t *batch;
  tristar_analysis_options analysis_options;
  tristar_plan_options plan_options;
  tristar_analysis_t *analysis;
  tristar_factor_t *factor;
  tristar_plan_t *plan;
  tristar_batch_options batch_options;
  tristar_batch_stats stats;
  klu_run klu;
  double of_batch = 1e9, of_klu = 1e9, of_single = 1e9, worst = 0;
  double *errors = allocate((size_t)count, sizeof *errors);
  tristar_analysis_options_init(&analysis_options);
  analysis_options.method = TRISTAR_METHOD_LU;
  analysis_options.factorizations = count;
  tristar_batch_options_init(&batch_options);
  batch_options.systems = count;
  tristar_plan_options_init(&plan_options);
  plan_options.engine = TRISTAR_ENGINE_SERIAL;
  check(ts, tristar_batch(ts, &a, &batch_options, &batch));
  check(ts, tristar_analyze(ts, &a, &analysis_options, &analysis));
  check(ts, tristar_factor(analysis, a.values, &factor));
  check(ts, tristar_plan(factor, &plan_options, &plan));
  const bool has_klu = begin_klu(&s, &klu);
  for (int round = 0; round < rounds; round++) {
    least(&of_batch, run_batch(ts, batch, &s, errors));
    if (has_klu) least(&of_klu, run_klu(&s, &klu));
    least(&of_single, run_single(ts, factor, plan, &s));
  }
  for (int k = 0; k < count; k++)
    if (errors[k] > worst) worst = errors[k];
  tristar_batch_get_stats(batch, &stats);
  const double us = 1e6 / count;
  printf("%-28.28s %7d %8lld %9.3g %4lld %8.1f %8.1f %8.1f %6.2f %6.2f %9.1e\n", path, s.n,
         (long long)stats.nnz_factor, stats.flops, (long long)stats.apart, us * of_batch, us * of_klu,
         us * of_single, of_klu / of_batch, of_single / of_batch, worst);
  fflush(stdout);
  klu_free_numeric(&klu.numeric, &klu.common);
  klu_free_symbolic(&klu.symbolic, &klu.common);
  tristar_plan_destroy(&plan);
  tristar_factor_destroy(&factor);
  tristar_analysis_destroy(&analysis);
  tristar_batch_destroy(&batch);
  free(errors);
  release(&s);
}

int main(int argc, char **argv) {
  tristar_config config;
  tristar_t *ts;
  int count = 256, rounds = 5, workers = 1, first = 1;
  for (; first + 1 < argc && strncmp(argv[first], "--", 2) == 0; first += 2) {
    const int number = atoi(argv[first + 1]);
    if (strcmp(argv[first], "--systems") == 0 && number > 0)
      count = number;
    else if (strcmp(argv[first], "--rounds") == 0 && number > 0)
      rounds = number;
    else if (strcmp(argv[first], "--workers") == 0 && number > 0)
      workers = number;
    else
      break;
  }
  if (first >= argc || strncmp(argv[first], "--", 2) == 0) {
    fprintf(stderr, "usage: bench_batch [--systems N] [--rounds N] [--workers N] MATRIX...\n");
    return 2;
  }
  const clockid_t clock = workers > 1 ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID;
  tristar_config_init(&config);
  config.workers = workers;
  config.use_starpu = workers > 1;
  check(NULL, tristar_create(&config, &ts));
  printf("%-28s %7s %8s %9s %4s %8s %8s %8s %6s %6s %9s\n", "microseconds a system", "rows", "L+U", "flops",
         "own", "batch", "KLU", "single", "/KLU", "/single", "error");
  for (; first < argc; first++) compare(ts, argv[first], count, rounds, clock);
  tristar_destroy(&ts);
  return 0;
}
