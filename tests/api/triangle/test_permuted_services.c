/* Further functions with permuted triangles: new values, refinement, refused calls, and each allocation that
 * fails. */
#include "tests/support/context.h"
#include "tests/api/triangle/permuted_problem.h"
#include "tests/support/subtests.h"
#include "tristar_solve.h"

static void start(problem *p, int way) {
  CLEANUP(triangle_free) triangle_pattern lower = triangle_create(TRIANGLE_BANDED, 50, 3);
  *p = (problem){.t = &typed_double, .n = 50, .op = TRISTAR_N};
  place(p, way);
  for (int32_t k = 0; k < p->n; k++) p->row_scale[k] = ldexp(1, k % 7 - 3);
  p->with_row_scale = true;
  fill_problem(p, &lower);
}

/* Residual, refinement and condition are those of A. With a list of rows the other rows of x are
 * unchanged. */
static void check_services(tristar_t *ts, tristar_partition partition) {
  static problem p;
  static vectors v;
  enum { WANTED = 3 };
  const int64_t rows[WANTED] = {7, 31, 2};
  const double alpha = 2, beta = -1;
  double error, x[WANTED] = {1, 2, 3};
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor;
  tristar_refine_result result;
  tristar_solve_options o;
  start(&p, 4);
  const tristar_view view = view_of(&p);
  const tristar_triangle_options options = options_of(&p, partition);
  fill_vector(p.t, p.n, 5, v.b);
  CHECK_OK(tristar_import_triangle(ts, &view, &options, &factor));
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(factor, NULL);
  CHECK_OK(tristar_solve_refined(plan, TRISTAR_N, 1, v.b, p.n, v.x, p.n, NULL, &result));
  CHECK(result.backward_error < 1e-15);
  CHECK_OK(tristar_residual(factor, TRISTAR_N, 1, v.b, p.n, v.x, p.n, NULL, p.n, &error));
  CHECK(error < 1e-15);
  CHECK_OK(tristar_condition(plan, &error));
  CHECK(error > 1e-4 && error <= 1);
  tristar_solve_options_init(&o);
  o.x_rows = WANTED;
  o.x_row = rows;
  o.alpha = &alpha;
  o.beta = &beta;
  CHECK_OK(tristar_solve_with(plan, &o, 1, v.b, x, NULL));
  for (int k = 0; k < WANTED; k++) CHECK(fabs(x[k] - (2 * ((double *)v.x)[rows[k]] - (k + 1))) < 1e-12);
  const int64_t given = 13; /* rows that depend on no given row become beta x */
  const double one = 1;
  for (int i = 0; i < p.n; i++) ((double *)v.x)[i] = i;
  tristar_solve_options_init(&o);
  o.b_rows = 1;
  o.b_row = &given;
  o.beta = &beta;
  CHECK_OK(tristar_solve_with(plan, &o, 1, &one, v.x, NULL));
  number b[MOST] = {0}, right[MOST];
  b[given] = 1;
  solve_dense(&p, b, right);
  for (int i = 0; i < p.n; i++) CHECK(fabs(((double *)v.x)[i] - creal(right[i]) + i) < 1e-12);
}

static void check_refused(tristar_t *ts) {
  static problem p;
  tristar_factor_t *factor;
  start(&p, 4);
  tristar_view view = view_of(&p);
  for (int which = 0; which < 5; which++) {
    char message[300];
    start(&p, 4);
    static const char *const expected[] = {"row_order is no permutation: entry 9 is 50",
                                           "column_order is no permutation: entry 9", "row_scale[9] is 0",
                                           "column_scale[9] is", "not GENERAL"};
    if (which == 0) p.row_order[9] = 50;
    if (which == 1) p.column_order[9] = p.column_order[8];
    if (which == 2) p.row_scale[9] = 0;
    if (which == 3) p.column_scale[9] = NAN, p.with_column_scale = true;
    for (int partition = 0; partition <= TRISTAR_PARTITION_RECURSIVE; partition++) {
      tristar_triangle_options options = options_of(&p, (tristar_partition)partition);
      options.permuted = which != 1;
      view.symmetry = which == 4 ? TRISTAR_SYMMETRIC : TRISTAR_GENERAL;
      CHECK_STATUS(tristar_import_triangle(ts, &view, &options, &factor),
                   which == 4 ? TRISTAR_ERR_UNSUPPORTED : TRISTAR_ERR_FORMAT);
      CHECK(factor == NULL);
      tristar_get_error(ts, message, sizeof message);
      CHECK_MSG(strstr(message, expected[which]) != NULL, "%s", message);
    }
  }
}

static tristar_status find_and_solve(tristar_t *ts, const problem *p, vectors *v) {
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NULL;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NULL;
  tristar_shape shape;
  int64_t row[MOST], column[MOST];
  const tristar_view view = view_of(p);
  const double beta = 1;
  tristar_triangle_options options = options_of(p, TRISTAR_PARTITION_WHOLE);
  tristar_solve_options o = DEFAULTS(tristar_solve_options);
  o.beta = &beta;
  options.row_order = row;
  options.column_order = column;
  tristar_status status = tristar_find_triangle(ts, &view, &shape, row, column);
  CHECK(status != TRISTAR_OK || shape == TRISTAR_SHAPE_PERMUTED);
  if (status == TRISTAR_OK) status = tristar_import_triangle(ts, &view, &options, &factor);
  if (status == TRISTAR_OK) status = tristar_plan(factor, NULL, &plan);
  if (status == TRISTAR_OK) status = tristar_solve_with(plan, &o, 1, v->b, v->x, NULL);
  return status;
}

static void check_allocations(void) {
  static problem p;
  static vectors v;
  tristar_status status = TRISTAR_ERR_MEMORY;
  CLEANUP(triangle_free) triangle_pattern lower = triangle_create(TRIANGLE_GRID, 50, 3);
  start(&p, 6);
  p.clean = true;
  fill_problem(&p, &lower);
  for (int64_t k = 1; status != TRISTAR_OK; k++) {
    tristar_config config = DEFAULTS(tristar_config);
    tristar_t *ts;
    tristar_memory_stats memory;
    config.use_starpu = 0;
    config.fail_allocation = k;
    status = tristar_create(&config, &ts);
    if (status != TRISTAR_OK) continue;
    tristar_get_memory(ts, &memory);
    const size_t before = memory.current_bytes;
    status = find_and_solve(ts, &p, &v);
    CHECK(status == TRISTAR_OK || status == TRISTAR_ERR_MEMORY);
    tristar_get_memory(ts, &memory);
    CHECK(memory.current_bytes == before);
    tristar_destroy(&ts);
  }
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(true);
  for (int partition = 0; partition <= TRISTAR_PARTITION_RECURSIVE; partition++)
    RUN(check_services(ts, (tristar_partition)partition));
  RUN(check_refused(ts));
  RUN(check_allocations());
  return 0;
}
