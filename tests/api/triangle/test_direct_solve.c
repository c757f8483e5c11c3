/* Solves with small triangles of one right-hand side, which are one call: the bits and the statistics are
 * those of requests, in place too; threads may solve with one plan at the same time; errors are reported.
 */
#include <pthread.h>

#include "tests/support/context.h"
#include "tests/support/subtests.h"
#include "tests/support/triangles.h"
#include "tristar_trace.h"
#include "tristar_solve.h"

enum { N = 300, THREADS = 4, SOLVES = 50 };

typedef struct triangle {
  triangle_pattern pattern;
  double *values;
  tristar_view view;
} triangle;

/* upper: the columns of a lower triangle are taken as rows. Off-diagonal values are much smaller than the
 * diagonal. */
static triangle make_triangle(int kind, bool upper, tristar_scalar scalar) {
  triangle_pattern lower = triangle_create(kind, N, 7);
  triangle t = {.pattern = upper ? triangle_transpose(&lower) : lower};
  const int parts = scalar == TRISTAR_DOUBLE ? 1 : 2;
  const int64_t count = t.pattern.ptr[N];
  if (upper) triangle_free(&lower);
  t.values = xmalloc((size_t)(count * parts) * sizeof *t.values);
  fill_random(t.values, count * parts, 11);
  for (int64_t e = 0; e < count * parts; e++) t.values[e] *= 0.05;
  for (int32_t i = 0; i < N; i++)
    for (int64_t e = t.pattern.ptr[i]; e < t.pattern.ptr[i + 1]; e++)
      if (t.pattern.index[e] == i) t.values[e * parts] += 1;
  t.view = stored_view(TRISTAR_CSR, TRISTAR_GENERAL, scalar, N, N, t.pattern.ptr, t.pattern.index, t.values);
  return t;
}

static void free_triangle(triangle *t) {
  triangle_free(&t->pattern);
  free(t->values);
}

static void make_plan(tristar_t *ts, const triangle *t, bool upper, tristar_partition partition,
                      tristar_factor_t **factor, tristar_plan_t **plan) {
  tristar_triangle_options o = DEFAULTS(tristar_triangle_options);
  o.uplo = upper ? TRISTAR_UPPER : TRISTAR_LOWER;
  o.partition = partition;
  CHECK_OK(tristar_import_triangle(ts, &t->view, &o, factor));
  CHECK_OK(tristar_plan(*factor, NULL, plan));
}

/* Compares the statistics of the latest solve with those of another one. */
static void check_statistics(const tristar_plan_t *plan, const tristar_solve_stats *other) {
  tristar_plan_stats p;
  tristar_solve_stats s;
  CHECK_OK(tristar_plan_get_stats(plan, &p));
  CHECK_OK(tristar_plan_get_solve_stats(plan, &s));
  CHECK(p.solves == other->solves + 1 && s.solves == p.solves && s.in_flight == 0);
  CHECK(p.last_solve_seconds > 0 && s.solve_seconds == p.last_solve_seconds);
  CHECK(s.workers == other->workers && s.tasks == other->tasks && s.bytes == other->bytes);
  CHECK(s.compute_seconds.total == s.solve_seconds && s.idle_seconds.total == 0);
}

static void check_bits(tristar_plan_t *plan, tristar_op op, const double *b, size_t bytes) {
  double x[2 * N], expected[2 * N];
  tristar_solve_options o = DEFAULTS(tristar_solve_options);
  tristar_solve_stats before;
  o.op = op;
  CHECK_OK(tristar_solve_with(plan, &o, 1, b, expected, NULL));
  CHECK_OK(tristar_plan_get_solve_stats(plan, &before));
  CHECK_OK(tristar_solve(plan, op, 1, b, N, x, N));
  check_statistics(plan, &before);
  CHECK_MSG(memcmp(x, expected, bytes) == 0, "op %c: other bits than tristar_solve_with", (int)op);
  memcpy(x, b, bytes);
  CHECK_OK(tristar_solve(plan, op, 1, x, N, x, N));
  CHECK_MSG(memcmp(x, expected, bytes) == 0, "op %c: other bits in place", (int)op);
}

static void check_refused(tristar_plan_t *plan) {
  double b[N] = {0}, x[N];
  CHECK(tristar_solve(plan, (tristar_op)0, 1, b, N, x, N) == TRISTAR_ERR_ARGUMENT);
  CHECK(tristar_solve(plan, TRISTAR_N, 1, b, N - 1, x, N) == TRISTAR_ERR_ARGUMENT);
  CHECK(tristar_solve(plan, TRISTAR_N, 1, b, N, x, N - 1) == TRISTAR_ERR_ARGUMENT);
  CHECK(tristar_solve(plan, TRISTAR_N, 1, NULL, N, x, N) == TRISTAR_ERR_ARGUMENT);
  CHECK(tristar_solve(plan, TRISTAR_N, 1, b, N, NULL, N) == TRISTAR_ERR_ARGUMENT);
  CHECK(tristar_solve(plan, TRISTAR_N, -1, b, N, x, N) == TRISTAR_ERR_ARGUMENT);
  CHECK(tristar_solve(plan, TRISTAR_N, 1, x, N, x, N + 1) == TRISTAR_ERR_ARGUMENT);
}

/* ---- Threads ------------------------------------------------------------------------------------------- */

typedef struct job {
  tristar_plan_t *plan;
  const double *b;
  double x[2][N]; /* for op N and T */
} job;

static void *run_job(void *arg) {
  job *j = arg;
  for (int k = 0; k < SOLVES; k++) {
    CHECK_OK(tristar_solve(j->plan, TRISTAR_T, 1, j->b, N, j->x[1], N));
    CHECK_OK(tristar_solve(j->plan, TRISTAR_N, 1, j->b, N, j->x[0], N));
  }
  return NULL;
}

/* The first threads create the stream of the transpose. */
static void check_threads(tristar_t *ts, const double *b) {
  CLEANUP(free_triangle) triangle t = make_triangle(TRIANGLE_GRID, false, TRISTAR_DOUBLE);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan;
  pthread_t thread[THREADS];
  static job jobs[THREADS];
  tristar_plan_stats stats;
  make_plan(ts, &t, false, TRISTAR_PARTITION_AUTO, &factor, &plan);
  for (int k = 0; k < THREADS; k++) {
    jobs[k] = (job){.plan = plan, .b = b};
    CHECK(pthread_create(&thread[k], NULL, run_job, &jobs[k]) == 0);
  }
  for (int k = 0; k < THREADS; k++) CHECK(pthread_join(thread[k], NULL) == 0);
  for (int k = 1; k < THREADS; k++) CHECK(memcmp(jobs[k].x, jobs[0].x, sizeof jobs[0].x) == 0);
  CHECK_OK(tristar_plan_get_stats(plan, &stats));
  CHECK(stats.solves == 2 * THREADS * SOLVES);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  static const tristar_partition partitions[] = {TRISTAR_PARTITION_AUTO, TRISTAR_PARTITION_WHOLE,
                                                 TRISTAR_PARTITION_SUPERSTEPS, TRISTAR_PARTITION_LEVELS};
  static const tristar_op ops[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};
  CLEANUP(tristar_destroy) tristar_t *ts = open_without_starpu(true);
  double b[2 * N];
  fill_random(b, 2 * N, 5);
  for (int which = 0; which < 4; which++) {
    const bool upper = which & 1, is_complex = which & 2;
    CLEANUP(free_triangle)
    triangle t = make_triangle(TRIANGLE_BANDED, upper, is_complex ? TRISTAR_COMPLEX_DOUBLE : TRISTAR_DOUBLE);
    for (int p = 0; p < 4; p++) {
      CLEANUP(tristar_factor_destroy) tristar_factor_t *factor;
      CLEANUP(tristar_plan_destroy) tristar_plan_t *plan;
      make_plan(ts, &t, upper, partitions[p], &factor, &plan);
      for (int k = 0; k < 3; k++) RUN(check_bits(plan, ops[k], b, (is_complex ? 2 * N : N) * sizeof *b));
      if (which == 0) RUN(check_refused(plan));
    }
  }
  RUN(check_threads(ts, b));
  return 0;
}
