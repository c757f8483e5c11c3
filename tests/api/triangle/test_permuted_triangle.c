/* Triangles whose rows and columns are permuted and scaled, and x = beta x + alpha times the solution: every
 * partition, triangle, diagonal, type, op, one right-hand side and several, against substitution in dense
 * storage. Bits depend neither on the engine nor on strides, nor on x lying over b; alpha 1 and beta 0 change
 * none; NaN in x does not count where beta is 0. */
#include "tests/support/context.h"
#include "tests/api/triangle/permuted_problem.h"
#include "tests/support/subtests.h"
#include "tristar_machine.h"
#include "tristar_solve.h"

/* The same solve has the same bits with strides, when started as a request, and with x over b. */
static void check_again(const problem *p, tristar_plan_t *plan, tristar_solve_options o, int64_t nrhs,
                        const vectors *v, const char *what) {
  enum { APART = 3 };
  const int64_t count = p->n * nrhs;
  const size_t size = (size_t)count * p->t->bytes;
  static char b[APART * MOST * NRHS * sizeof(number)], x[APART * MOST * NRHS * sizeof(number)],
      close[MOST * NRHS * sizeof(number)];
  tristar_request_t *request;
  tristar_solve_options apart = o;
  apart.b_row_stride = apart.x_row_stride = APART;
  apart.b_column_stride = apart.x_column_stride = p->n > 0 ? APART * p->n : 1;
  copy_apart(p->t, count, 1, v->b, APART, b);
  copy_apart(p->t, count, 1, v->before, APART, x);
  CHECK_OK(tristar_solve_start(plan, &apart, nrhs, b, x, &request));
  CHECK_OK(tristar_wait(&request, NULL));
  copy_apart(p->t, count, APART, x, 1, close);
  CHECK_MSG(memcmp(close, v->x, size) == 0, "%s: other bits with strides", what);
  memcpy(close, v->b, size); /* the previous content of x */
  CHECK_OK(tristar_solve_with(plan, &o, nrhs, v->b, close, NULL));
  memcpy(x, v->b, size);
  CHECK_OK(tristar_solve_with(plan, &o, nrhs, x, x, NULL));
  CHECK_MSG(memcmp(close, x, size) == 0, "%s: other bits over b", what);
  copy_apart(p->t, count, 1, v->b, APART, x);
  CHECK_OK(tristar_solve_with(plan, &apart, nrhs, x, x, NULL));
  copy_apart(p->t, count, APART, x, 1, x);
  CHECK_MSG(memcmp(close, x, size) == 0, "%s: other bits over b with strides", what);
}

static void check_solve(const problem *p, tristar_plan_t *plan, int which, int64_t nrhs, vectors *v,
                        const char *what) {
  const factors f = factors_of(p->t, which);
  const int64_t count = p->n * nrhs;
  tristar_solve_options o = DEFAULTS(tristar_solve_options);
  o.op = p->op;
  if (which > 0) o.alpha = f.alpha_stored, o.beta = f.beta_stored;
  fill_vector(p->t, count, 77, v->before);
  if (f.beta == 0)
    for (int64_t i = 0; i < count; i++) put(p->t, v->before, i, NAN);
  memcpy(v->x, v->before, (size_t)count * p->t->bytes);
  CHECK_OK(tristar_solve_with(plan, &o, nrhs, v->b, v->x, NULL));
  for (int64_t c = 0; c < nrhs; c++) {
    number b[MOST], x[MOST];
    for (int32_t i = 0; i < p->n; i++) b[i] = get(p->t, v->b, i + c * p->n);
    solve_dense(p, b, x);
    for (int32_t i = 0; i < p->n; i++) {
      const number before = f.beta == 0 ? 0 : f.beta * get(p->t, v->before, i + c * p->n);
      const number right = f.alpha * x[i] + before, got = get(p->t, v->x, i + c * p->n);
      CHECK_MSG(magnitude(got - right) <=
                    200 * p->t->roundoff * (magnitude(f.alpha * x[i]) + magnitude(before) + 1),
                "%s, alpha and beta %d, column %d of %d: entry %d is %g%+gi, not %g%+gi", what, which, (int)c,
                (int)nrhs, i, creal(got), cimag(got), creal(right), cimag(right));
    }
  }
  check_again(p, plan, o, nrhs, v, what);
}

static void check_plan(const problem *p, tristar_factor_t *factor, tristar_engine engine, int64_t nrhs,
                       const char *what, vectors *v, char *bits) {
  tristar_plan_options how = DEFAULTS(tristar_plan_options);
  const size_t size = (size_t)(p->n * nrhs) * p->t->bytes;
  how.engine = engine;
  how.order_seed = engine == TRISTAR_ENGINE_SERIAL ? 3 : 0;
  tristar_plan_t *plan = NEW_PLAN(factor, &how);
  for (int which = 0; which < 5; which++) {
    check_solve(p, plan, which, nrhs, v, what);
    if (which == 0) memcpy(bits, v->x, size);
    CHECK_MSG(which != 1 || memcmp(bits, v->x, size) == 0, "%s: alpha 1, beta 0 change bits", what);
  }
  tristar_plan_destroy(&plan); /* v->x and bits remain: of x += the solution, and of alpha 1 */
}

static void check_order(const problem *p, const tristar_factor_t *factor) {
  int64_t row[MOST], column[MOST];
  double row_scale[MOST], column_scale[MOST];
  CHECK_OK(tristar_factor_get_order(factor, row, column, row_scale, column_scale));
  for (int32_t k = 0; k < p->n; k++)
    CHECK(row[k] == p->row_order[k] && column[k] == p->column_order[k] && row_scale[k] == p->row_scale[k] &&
          column_scale[k] == p->column_scale[k]);
}

static void check_problem(tristar_t *ts, problem *p, int kind, int way, bool tasks) {
  static vectors v, other;
  static char bits[sizeof v.x], other_bits[sizeof v.x];
  CLEANUP(triangle_free) triangle_pattern lower = triangle_create(kind, p->n, (uint64_t)(kind + p->n));
  place(p, way);
  fill_problem(p, &lower);
  fill_vector(p->t, p->n * NRHS, 5, v.b);
  fill_vector(p->t, p->n * NRHS, 5, other.b);
  const tristar_view view = view_of(p);
  for (int partition = 0; partition <= TRISTAR_PARTITION_RECURSIVE; partition++) {
    const tristar_triangle_options options = options_of(p, (tristar_partition)partition);
    tristar_factor_t *factor;
    char what[200];
    snprintf(what, sizeof what, "%s, %c, upper %d, unit %d, by rows %d, op %c, way %d, partition %d",
             triangle_names[kind], (char)p->t->scalar, p->upper, p->unit, p->by_rows, (char)p->op, way,
             partition);
    CHECK_OK(tristar_import_triangle(ts, &view, &options, &factor));
    check_order(p, factor);
    for (int64_t nrhs = 1; nrhs <= NRHS; nrhs += NRHS - 1) {
      const size_t size = (size_t)(p->n * nrhs) * p->t->bytes;
      check_plan(p, factor, TRISTAR_ENGINE_SERIAL, nrhs, what, &v, bits);
      if (!tasks) continue;
      for (int engine = 0; engine < 2; engine++) {
        check_plan(p, factor, engine ? TRISTAR_ENGINE_TASKS : TRISTAR_ENGINE_AUTO, nrhs, what, &other,
                   other_bits);
        CHECK_MSG(memcmp(v.x, other.x, size) == 0 && memcmp(bits, other_bits, size) == 0,
                  "%s: other bits of engine %d", what, engine);
      }
    }
    tristar_factor_destroy(&factor);
  }
}

static void check_all(tristar_t *ts) {
  static const typed *const types[] = {&typed_double, &typed_single, &typed_complex_single,
                                       &typed_complex_double};
  static const int kinds[] = {TRIANGLE_RANDOM, TRIANGLE_BANDED, TRIANGLE_DENSE, TRIANGLE_GRID,
                              TRIANGLE_DIAGONAL};
  static problem p;
  for (int k = 0; k < (TSI_TESTS_SANITIZED ? 1 : 4); k++)
    for (int which = 0; which < 24; which++)
      for (int way = 0; way < WAYS; way++) {
        const int kind = kinds[(which + way) % 5];
        p.t = types[k];
        p.n = way == 3 && which < 3 ? which : 30 + which;
        p.upper = which % 2;
        p.unit = which / 2 % 2;
        p.op = (tristar_op) "NTC"[which / 4 % 3];
        p.by_rows = which / 12;
        check_problem(ts, &p, kind, way, false);
      }
}

/* More rows than a stream moves at a time, consecutive ones and others. The bits are those of a solve with
 * strides, which uses other code. */
static void check_pieces(tristar_t *ts, int kind, tristar_partition partition) {
  enum { N = 1500 };
  static double values[N * 60], b[2 * N], x[N], apart[2 * N], scale[N];
  static int64_t order[N];
  const double alpha = 3, beta = 0.5;
  CLEANUP(triangle_free) triangle_pattern rows = triangle_create(kind, N, 2);
  uint64_t seed = 8;
  CHECK(rows.ptr[N] <= N * 60);
  fill_random(values, rows.ptr[N], 3);
  for (int64_t e = 0; e < rows.ptr[N]; e++) values[e] /= 8;
  for (int32_t i = 0; i < N; i++) values[rows.ptr[i + 1] - 1] = 3;
  fill_random(scale, N, 4);
  fill_random(b, 2 * N, 5);
  make_order(N, true, &seed, order);
  const tristar_view view =
      stored_view(TRISTAR_CSR, TRISTAR_GENERAL, TRISTAR_DOUBLE, N, N, rows.ptr, rows.index, values);
  for (int which = 0; which < 32; which++) {
    tristar_triangle_options options = DEFAULTS(tristar_triangle_options);
    CLEANUP(tristar_factor_destroy) tristar_factor_t *factor;
    tristar_solve_options o = DEFAULTS(tristar_solve_options);
    options.partition = partition;
    if (which & 1) options.row_order = order;
    if (which & 2) options.column_scale = scale;
    if (which & 4) options.column_order = order;
    CHECK_OK(tristar_import_triangle(ts, &view, &options, &factor));
    CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(factor, NULL);
    o.op = which & 8 ? TRISTAR_T : TRISTAR_N;
    if (which & 16) o.alpha = &alpha, o.beta = &beta;
    for (int32_t i = 0; i < N; i++) x[i] = apart[2 * i] = b[2 * i + 1];
    o.b_row_stride = 2;
    o.x_row_stride = 2;
    o.b_column_stride = o.x_column_stride = 2 * N;
    CHECK_OK(tristar_solve_with(plan, &o, 1, b, apart, NULL));
    static double close[N];
    for (int32_t i = 0; i < N; i++) close[i] = b[2 * i];
    o.b_row_stride = o.x_row_stride = 1;
    CHECK_OK(tristar_solve_with(plan, &o, 1, close, x, NULL));
    for (int32_t i = 0; i < N; i++)
      CHECK_MSG(memcmp(&x[i], &apart[2 * i], sizeof *x) == 0, "%s, partition %d, %d: row %d is %g, not %g",
                triangle_names[kind], (int)partition, which, i, x[i], apart[2 * i]);
  }
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context)
  tristar_t *ts = open_without_starpu(true); /* idle StarPU workers would slow down the test */
  RUN(check_all(ts));
  for (int kind = 0; kind < TRIANGLES; kind += TSI_TESTS_SANITIZED ? 5 : 1)
    for (int partition = TRISTAR_PARTITION_LEVELS; partition <= TRISTAR_PARTITION_WHOLE; partition++)
      if (kind != TRIANGLE_DENSE) RUN(check_pieces(ts, kind, (tristar_partition)partition));
  CLEANUP(close_context) tristar_t *with_tasks = open_with_starpu(0, true);
  static problem p = {.t = &typed_complex_double, .n = 60};
  for (int way = 3; way < 6; way++) {
    p.op = (tristar_op) "NTC"[way % 3];
    RUN(check_problem(with_tasks, &p, TRIANGLE_RANDOM, way, true));
  }
  return 0;
}
