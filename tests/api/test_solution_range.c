/* Solutions beyond the range of numbers are errors that name row and column: of all kinds of plans and of
 * triangles, for one column and many, in place, with strides and lists of rows, in flight, and fused. The
 * other columns are solved. NaN in b gives NaN in x without an error, unless x replaces b. NaN in x is an
 * error if the solution is added to x. */
#include "tests/support/context.h"
#include "tests/support/subtests.h"
#include "tests/support/triangles.h"
#include "tristar_schur.h"
#include "tristar_solve.h"
#include "tristar_triangle.h"

/* Engine 0 is the serial one, whose only thread cannot race. */
enum { MOST = 70, FIRST_ENGINE = TSI_TESTS_RACES };

typedef struct system {
  tristar_t *ts;
  tristar_plan_t *plan;
  int64_t n;
  double *b, *x, *expected; /* n x MOST */
} system_t;

/* Entries of A are so small that a solution overflows if b is larger than one by far. */
static void scale_values(int64_t count, double *values) {
  for (int64_t e = 0; e < count; e++) values[e] *= 0x1p-600;
}

static size_t bytes_of(const system_t *s, int64_t columns) {
  return (size_t)(s->n * columns) * sizeof(double);
}

/* x has the bits of s->expected in all columns but `bad`. */
static void check_others(const system_t *s, int64_t nrhs, int64_t bad) {
  for (int64_t c = 0; c < nrhs; c++)
    CHECK_MSG(c == bad || memcmp(s->x + c * s->n, s->expected + c * s->n, bytes_of(s, 1)) == 0,
              "column %d of %d", (int)c, (int)nrhs);
}

static void check_named(const system_t *s, int64_t bad) {
  char text[64];
  snprintf(text, sizeof text, "of x, column %d (counted from 0), is beyond the range", (int)bad);
  CHECK_ERROR(s->ts, text);
}

static void keep_end(void *arg, tristar_status status) {
  *(tristar_status *)arg = status;
}

/* Started without `end`, and with it. */
static void check_in_flight(const system_t *s, const tristar_solve_options *options, int64_t nrhs,
                            tristar_status expected) {
  for (int with_end = 0; with_end < 2; with_end++) {
    tristar_solve_options o = *options;
    tristar_status ended = TRISTAR_ERR_INTERNAL;
    tristar_request_t *request;
    if (with_end) {
      o.end = keep_end;
      o.end_arg = &ended;
    }
    const tristar_status started = tristar_solve_start(s->plan, &o, nrhs, s->b, s->x, &request);
    if (started == TRISTAR_OK)
      CHECK_STATUS(tristar_wait(&request, NULL), expected);
    else
      CHECK_STATUS(started, expected);
    CHECK(!with_end || started != TRISTAR_OK || ended == expected);
  }
}

/* Row-major, few rows of x, and both in flight. */
static void check_options(const system_t *s, tristar_op op, int64_t nrhs, tristar_status expected) {
  const int64_t row[] = {0, s->n - 1};
  tristar_solve_options o = DEFAULTS(tristar_solve_options);
  o.op = op;
  CHECK_STATUS(tristar_solve_with(s->plan, &o, nrhs, s->b, s->x, NULL), expected);
  check_in_flight(s, &o, nrhs, expected);
  o.x_rows = 2;
  o.x_row = row;
  CHECK_STATUS(tristar_solve_with(s->plan, &o, nrhs, s->b, s->x, NULL), expected);
  check_in_flight(s, &o, nrhs, expected);
  o.x_row = NULL;
  o.x_row_stride = nrhs;
  o.x_column_stride = 1;
  CHECK_STATUS(tristar_solve_with(s->plan, &o, nrhs, s->b, s->x, NULL), expected);
  check_in_flight(s, &o, nrhs, expected);
}

/* x = beta x + the solution: NaN in x is an error whose message names this cause. */
static void check_sums(const system_t *s, tristar_op op, int64_t nrhs) {
  const int64_t bad = nrhs / 2;
  const double beta = 1;
  tristar_solve_options o = DEFAULTS(tristar_solve_options);
  o.op = op;
  o.beta = &beta;
  memset(s->x, 0, bytes_of(s, nrhs));
  CHECK_OK(tristar_solve_with(s->plan, &o, nrhs, s->b, s->x, NULL));
  memset(s->x, 0, bytes_of(s, nrhs));
  s->x[bad * s->n] = NAN;
  CHECK_STATUS(tristar_solve_with(s->plan, &o, nrhs, s->b, s->x, NULL), TRISTAR_ERR_NOT_FINITE);
  check_named(s, bad);
  CHECK_ERROR(s->ts, ", or x was not finite before the solve");
}

static void check_columns(const system_t *s, tristar_op op, int64_t nrhs) {
  const int64_t n = s->n, bad = nrhs / 2;
  double *column = s->b + bad * n;
  CHECK_OK(tristar_solve(s->plan, op, nrhs, s->b, n, s->expected, n));
  check_options(s, op, nrhs, TRISTAR_OK);
  check_sums(s, op, nrhs);
  for (int64_t i = 0; i < n; i++) column[i] *= 0x1p500;
  CHECK_STATUS(tristar_solve(s->plan, op, nrhs, s->b, n, s->x, n), TRISTAR_ERR_NOT_FINITE);
  check_named(s, bad);
  check_others(s, nrhs, bad);
  memcpy(s->x, s->b, bytes_of(s, nrhs));
  CHECK_STATUS(tristar_solve(s->plan, op, nrhs, s->x, n, s->x, n), TRISTAR_ERR_NOT_FINITE);
  check_named(s, bad);
  check_others(s, nrhs, bad);
  check_options(s, op, nrhs, TRISTAR_ERR_NOT_FINITE);
  for (int64_t i = 0; i < n; i++) column[i] *= 0x1p-500;
  const double first = column[0], last = column[n - 1];
  column[0] = column[n - 1] = NAN;
  CHECK_OK(tristar_solve(s->plan, op, nrhs, s->b, n, s->x, n));
  check_others(s, nrhs, bad);
  check_options(s, op, nrhs, TRISTAR_OK);
  column[0] = first;
  column[n - 1] = last;
}

static void check_plan(tristar_t *ts, tristar_factor_t *factor, const tristar_plan_options *options,
                       int64_t n) {
  static const int64_t columns[] = {1, 3, 8, MOST};
  system_t s = {.ts = ts, .n = n, .plan = NEW_PLAN(factor, options)};
  s.b = xmalloc(bytes_of(&s, MOST));
  s.x = xmalloc(bytes_of(&s, MOST));
  s.expected = xmalloc(bytes_of(&s, MOST));
  for (int64_t i = 0; i < n * MOST; i++) s.b[i] = 1 + 0.1 * (double)(i % 7);
  for (size_t k = 0; k < sizeof columns / sizeof *columns; k++) {
    check_columns(&s, TRISTAR_N, columns[k]);
    check_columns(&s, TRISTAR_T, columns[k]);
  }
  free(s.b);
  free(s.x);
  free(s.expected);
  tristar_plan_destroy(&s.plan);
}

static void check_factors(tristar_t *ts, const char *kind, int64_t k, tristar_method method) {
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *m;
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  const tristar_view a = generated_view(ts, kind, k, &m);
  const int64_t entries = ((const int64_t *)a.ptr)[a.rows];
  OWNED double *values = xmalloc((size_t)entries * sizeof *values);
  memcpy(values, a.values, (size_t)entries * sizeof *values);
  scale_values(entries, values);
  options.method = method;
  tristar_view scaled = a;
  scaled.values = values;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &scaled, &options);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NEW_FACTOR(an, values);
  tristar_plan_options plan = DEFAULTS(tristar_plan_options);
  plan.refine = TRISTAR_REFINE_NEVER;
  plan.chunk_bytes_max = 3000;
  for (int engine = FIRST_ENGINE; engine < 2; engine++)
    for (plan.fuse_columns = 0; plan.fuse_columns <= 8; plan.fuse_columns += 8) {
      plan.engine = engine ? TRISTAR_ENGINE_TASKS : TRISTAR_ENGINE_SERIAL;
      check_plan(ts, f, &plan, a.rows);
    }
}

static void check_triangles(tristar_t *ts, int kind, int32_t n, tristar_partition partition) {
  triangle_pattern t = triangle_create(kind, n, 3);
  OWNED double *values = xmalloc((size_t)t.ptr[n] * sizeof *values);
  for (int32_t i = 0; i < n; i++)
    for (int64_t e = t.ptr[i]; e < t.ptr[i + 1]; e++) values[e] = t.index[e] == i ? 1 : -0.01;
  scale_values(t.ptr[n], values);
  const tristar_view view =
      stored_view(TRISTAR_CSR, TRISTAR_GENERAL, TRISTAR_DOUBLE, n, n, t.ptr, t.index, values);
  tristar_triangle_options o = DEFAULTS(tristar_triangle_options);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f;
  o.partition = partition;
  CHECK_OK(tristar_import_triangle(ts, &view, &o, &f));
  tristar_plan_options plan = DEFAULTS(tristar_plan_options);
  for (int engine = FIRST_ENGINE; engine < 3; engine++) {
    plan.engine = engine == 0   ? TRISTAR_ENGINE_SERIAL
                  : engine == 1 ? TRISTAR_ENGINE_TASKS
                                : TRISTAR_ENGINE_AUTO;
    check_plan(ts, f, &plan, n);
  }
  triangle_free(&t);
}

/* A_II = 2^-600, so x_I overflows, but g need not. */
static void check_schur(tristar_t *ts) {
  static const int64_t schur[] = {1}, ptr[] = {0, 2, 4};
  static const int32_t index[] = {0, 1, 0, 1};
  static const double values[] = {0x1p-600, 0x1p-600, 0x1p-600, 1};
  const tristar_view view =
      stored_view(TRISTAR_CSC, TRISTAR_GENERAL, TRISTAR_DOUBLE, 2, 2, ptr, index, values);
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  double b[] = {0x1p500, 1}, y[2], g, x[2];
  const double x_s = 1, nan = NAN;
  options.schur = schur;
  options.schur_count = 1;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &view, &options);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NEW_FACTOR(an, values);
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(f, NULL);
  CHECK_OK(tristar_schur_condense(plan, TRISTAR_N, 1, b, 2, y, 2, &g, 1));
  CHECK(g == -0x1p500);
  CHECK_STATUS(tristar_schur_expand(plan, TRISTAR_N, 1, y, 2, &x_s, 1, x, 2), TRISTAR_ERR_NOT_FINITE);
  CHECK_ERROR(ts, "entry (0, 0) of x, counted from 0, is NaN or beyond the range of numbers");
  CHECK_STATUS(tristar_schur_expand(plan, TRISTAR_N, 1, y, 2, &nan, 1, x, 2), TRISTAR_ERR_NOT_FINITE);
  CHECK_ERROR(ts, "of x, counted from 0, is NaN or beyond");
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_with_starpu(2, false);
  RUN(check_factors(ts, "s2d9pt", 12, TRISTAR_METHOD_AUTO));
  RUN(check_factors(ts, "convdiff3d", 5, TRISTAR_METHOD_LU));
  RUN(check_triangles(ts, TRIANGLE_GRID, 60, TRISTAR_PARTITION_AUTO));
  for (int partition = TRISTAR_PARTITION_AUTO; partition <= TRISTAR_PARTITION_RECURSIVE; partition++)
    RUN(check_triangles(ts, TRIANGLE_BANDED, 3000, (tristar_partition)partition));
  RUN(check_schur(ts));
  return 0;
}
