/* Variants of a plan at their limits: unsupported requests fail with an error; imported factors, two
 * structures or one triangle, give the same bits; allocations may fail. */
#include "tests/support/allocations.h"
#include "tests/support/subtests.h"
#include "tests/support/variants.h"
#include "tristar_solve.h"

/* Unsupported combinations are reported in the statistics, invalid ones are refused. */
static void check_refusals(tristar_t *ts) {
  CLEANUP(close_problem) problem p;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan;
  tristar_solve_options options;
  tristar_plan_stats stats;
  tristar_factor_stats factor;
  const int64_t row = 0;
  double reciprocal, x[1];
  variant v = variants[0];
  open_problem(ts, &systems[6], &p);
  const int64_t n = p.view.rows;
  OWNED double *y = xmalloc((size_t)n * sizeof *y);
  v.merge = (tristar_merge)3;
  CHECK_STATUS(factor_with(ts, &p, TRISTAR_METHOD_AUTO, &v, &f), TRISTAR_ERR_ARGUMENT);
  v = variants[11];
  CHECK_OK(factor_with(ts, &p, TRISTAR_METHOD_AUTO, &v, &f));
  for (int field = 0; field < 4; field++) {
    variant wrong = v;
    if (field == 0) wrong.scheduling = (tristar_scheduling)2;
    if (field == 1) wrong.updates = (tristar_updates)2;
    if (field == 2) wrong.granularity = (tristar_granularity)2;
    if (field == 3) wrong.kernel = (tristar_kernel)2;
    CHECK_STATUS(plan_with(f, &wrong, TRISTAR_ENGINE_SERIAL, 0, &plan), TRISTAR_ERR_ARGUMENT);
    CHECK(plan == NULL);
  }
  CHECK_OK(plan_with(f, &v, TRISTAR_ENGINE_SERIAL, 0, &plan));
  tristar_plan_get_stats(plan, &stats);
  tristar_factor_get_stats(f, &factor);
  CHECK(stats.variant_bytes > factor.factor_bytes);
  const size_t first = stats.variant_bytes;
  CHECK_OK(tristar_solve(plan, TRISTAR_C, 1, p.b, n, y, n));
  tristar_plan_get_stats(plan, &stats);
  CHECK(stats.variant_bytes > first);
  CHECK_OK(tristar_condition(plan, &reciprocal));
  CHECK(reciprocal > 1e-9 && reciprocal <= 1);
  tristar_solve_options_init(&options);
  for (options.part = TRISTAR_PART_L; options.part <= TRISTAR_PART_U; options.part++)
    CHECK_STATUS(tristar_solve_with(plan, &options, 1, p.b, y, NULL), TRISTAR_ERR_UNSUPPORTED);
  options.part = TRISTAR_PART_ALL;
  options.x_rows = 1;
  options.x_row = &row;
  CHECK_STATUS(tristar_solve_with(plan, &options, 1, p.b, x, NULL), TRISTAR_ERR_UNSUPPORTED);
  CHECK_ERROR(ts, "KERNEL_SPMV");
}

/* ---- Imported factors --------------------------------------------------------------------------------- */

enum { GIVEN = 240 };

/* A random triangle of GIVEN rows, by columns (lower) or rows (upper). Its blocks are coupled to the last
 * lines. */
typedef struct triangle {
  int64_t ptr[GIVEN + 1];
  int32_t index[GIVEN * GIVEN];
  double values[GIVEN * GIVEN];
} triangle;

static void draw(triangle *t, uint64_t state) {
  int64_t at = 0;
  for (int j = 0; j < GIVEN; j++) {
    t->ptr[j] = at;
    for (int i = j; i < GIVEN; i++) {
      const bool near = i >= GIVEN - 40 || i / 25 == j / 25;
      const bool there = next_random(&state) % 100 < 20;
      if (i != j && !(near && there)) continue;
      t->index[at] = i;
      t->values[at++] = i == j ? 2 : (double)(next_random(&state) % 1000) / 4000 - 0.125;
    }
  }
  t->ptr[GIVEN] = at;
}

/* op(L U) x = b with two structures: all variants of scheduling and updates give the same bits. */
static void check_two_structures(tristar_t *ts, tristar_engine engine) {
  OWNED triangle *lower = xmalloc(sizeof *lower), *upper = xmalloc(sizeof *upper);
  double b[3 * GIVEN], x[3 * GIVEN], kept[2][2][3 * GIVEN];
  tristar_factors factors;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f;
  tristar_plan_t *plan;
  draw(lower, 1);
  draw(upper, 2);
  fill_random(b, 3 * GIVEN, 5);
  tristar_factors_init(&factors);
  factors.n = GIVEN;
  factors.scalar = TRISTAR_DOUBLE;
  factors.lower = (tristar_triangle){.format = TRISTAR_TRIANGLE_COLUMNS,
                                     .ptr_bits = 64,
                                     .index_bits = 32,
                                     .ptr = lower->ptr,
                                     .index = lower->index,
                                     .values = lower->values};
  factors.upper = factors.lower;
  factors.upper.format = TRISTAR_TRIANGLE_ROWS;
  factors.upper.ptr = upper->ptr;
  factors.upper.index = upper->index;
  factors.upper.values = upper->values;
  CHECK_OK(tristar_import_supernodal(ts, &factors, &f));
  for (int k = 0; k < 6; k++)
    for (int op = 0; op < 2; op++) {
      CHECK_OK(plan_with(f, &variants[k], engine, 0, &plan));
      CHECK_OK(tristar_solve(plan, op ? TRISTAR_T : TRISTAR_N, 3, b, GIVEN, x, GIVEN));
      if (variants[k].same == k) memcpy(kept[k > 0][op], x, sizeof x);
      CHECK_MSG(memcmp(kept[variants[k].same > 0][op], x, sizeof x) == 0, "two structures, %s: other bits",
                variants[k].name);
      tristar_plan_destroy(&plan);
    }
  CHECK_STATUS(plan_with(f, &variants[11], engine, 0, &plan), TRISTAR_ERR_UNSUPPORTED);
  CHECK(plan == NULL);
}

/* A triangular matrix alone, so a single sweep. */
static void check_triangle(tristar_t *ts, tristar_engine engine) {
  OWNED triangle *t = xmalloc(sizeof *t);
  double b[GIVEN], x[GIVEN], kept[2][GIVEN];
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f;
  tristar_plan_t *plan;
  draw(t, 3);
  fill_random(b, GIVEN, 6);
  const tristar_view view = {
      TRISTAR_CSC, TRISTAR_GENERAL, TRISTAR_DOUBLE, GIVEN, GIVEN, t->ptr, t->index, t->values, 64, 32, 0};
  CHECK_OK(tristar_import_csr(ts, &view, TRISTAR_LOWER, TRISTAR_NON_UNIT, &f));
  for (int k = 0; k < 4; k++)
    for (int op = 0; op < 2; op++) {
      CHECK_OK(plan_with(f, &variants[k], engine, 0, &plan));
      CHECK_OK(tristar_solve(plan, op ? TRISTAR_T : TRISTAR_N, 1, b, GIVEN, x, GIVEN));
      if (k == 0) memcpy(kept[op], x, sizeof x);
      CHECK_MSG(memcmp(kept[op], x, sizeof x) == 0, "triangle, %s: other bits", variants[k].name);
      tristar_plan_destroy(&plan);
    }
  CHECK_STATUS(plan_with(f, &variants[11], engine, 0, &plan), TRISTAR_ERR_UNSUPPORTED);
}

/* ---- Failing allocations ----------------------------------------------------------------------- */

static void check_failures(tristar_t *ts, const variant *v, tristar_engine engine) {
  CLEANUP(close_problem) problem p;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f;

  open_problem(ts, &systems[7], &p);
  const int64_t n = p.view.rows;
  OWNED char *x = xmalloc((size_t)n * p.t->bytes);
  CHECK_OK(factor_with(ts, &p, systems[7].method, v, &f));
  allocation_failures failing = fail_allocations_of(ts);
  while (next_failure(&failing)) {
    tristar_plan_t *plan;
    tristar_status status = plan_with(f, v, engine, 0, &plan);
    CHECK((plan != NULL) == (status == TRISTAR_OK));
    if (status == TRISTAR_OK) status = tristar_solve(plan, TRISTAR_N, 1, p.b, n, x, n);
    if (status == TRISTAR_OK) status = tristar_solve(plan, TRISTAR_T, 1, p.b, n, x, n);
    end_failure(&failing, status);
    if (plan != NULL) CHECK_OK(tristar_solve(plan, TRISTAR_T, 1, p.b, n, x, n));
    tristar_plan_destroy(&plan);
  }
  CHECK(failing.count > 30);
}

static void check_all(tristar_t *ts, tristar_engine engine) {
  check_two_structures(ts, engine);
  check_triangle(ts, engine);
  if (engine == TRISTAR_ENGINE_SERIAL) check_refusals(ts);
  check_failures(ts, &variants[3], engine);
  check_failures(ts, &variants[11], engine);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  RUN(with_each_engine(check_all));
  return 0;
}
