/* Saved plans with modified records and right checksums: a load fails, or gives an object that can solve, be
 * refactored and be destroyed. Values may be arbitrary; no structure may index outside of an array. */
#include "tests/support/context.h"
#include "tests/support/given_factors.h"
#include "tests/support/saved_bytes.h"
#include "tests/support/subtests.h"
#include "tristar_matrix.h"

static void use(tristar_plan_t *plan, tristar_factor_t *factor) {
  tristar_view v;
  OWNED double *x = xcalloc(3 * 400, sizeof *x);
  const bool matrix = tristar_factor_get_matrix(factor, &v) == TRISTAR_OK;
  const int64_t n = matrix ? v.rows : 60;
  CHECK(n <= 400);
  for (int64_t i = 0; i < 3 * n; i++) x[i] = 1;
  (void)!tristar_solve(plan, TRISTAR_N, 1, x, n, x, n);
  (void)!tristar_solve(plan, TRISTAR_T, 3, x, n, x, n);
  if (matrix) (void)!tristar_refactor(factor, v.values);
}

static void check_forged(tristar_t *ts, const saved_bytes *bytes, int rounds) {
  record records[RECORDS_MOST];
  CLEANUP(free_saved_bytes) saved_bytes changed = {.fail_after = -1};
  const int count = split_records(bytes, records);
  int loaded = 0;
  CHECK(count > 8);
  for (int k = 0; k < rounds; k++) {
    CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NULL;
    CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NULL;
    forge(tsi_context_env(ts), "plan", records, count, forged_below(count), &changed);
    const tristar_status status = tristar_plan_read(ts, give_bytes, &changed, &factor, &plan);
    CHECK_MSG(status != TRISTAR_ERR_INTERNAL && (status == TRISTAR_OK) == (plan != NULL), "%s",
              tristar_status_name(status));
    loaded += status == TRISTAR_OK;
    if (status == TRISTAR_OK) use(plan, factor);
  }
  CHECK_MSG(loaded > rounds / 100 && loaded < rounds, "%d of %d were loaded", loaded, rounds);
}

static const int rounds = TSI_TESTS_SANITIZED ? 1500 : 8000;

/* Factors that the library computed. */
static void check_made(tristar_t *ts, const char *kind, int64_t k, tristar_method method, int leaf_parts) {
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *matrix;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NULL;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NULL;
  CLEANUP(free_saved_bytes) saved_bytes bytes = {.fail_after = -1};
  tristar_analysis_options options;
  tristar_plan_options cut;
  tristar_view v;
  CHECK_OK(tristar_matrix_generate(ts, kind, k, &matrix));
  tristar_matrix_get_view(matrix, &v);
  tristar_analysis_options_init(&options);
  options.method = method;
  options.leaf_parts = leaf_parts;
  tristar_plan_options_init(&cut);
  cut.chunk_bytes_max = 2000;
  CHECK_OK(tristar_analyze(ts, &v, &options, &an));
  CHECK_OK(tristar_factor(an, v.values, &factor));
  CHECK_OK(tristar_plan(factor, &cut, &plan));
  CHECK_OK(tristar_plan_write(plan, keep_bytes, &bytes));
  check_forged(ts, &bytes, rounds);
}

/* Imported factors with two structures. */
static void check_given(tristar_t *ts, tristar_method method) {
  CLEANUP(release) dense m = draw(60, false, method, false);
  CLEANUP(release_view) given_view given;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NULL;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NULL;
  CLEANUP(free_saved_bytes) saved_bytes bytes = {.fail_after = -1};
  make_view(&m, 0, false, &given);
  CHECK_OK(tristar_import_supernodal(ts, &given.factors, &factor));
  CHECK_OK(tristar_plan(factor, NULL, &plan));
  CHECK_OK(tristar_plan_write(plan, keep_bytes, &bytes));
  check_forged(ts, &bytes, rounds);
}

int test_forged(int argc, char **argv) {
  subtests_begin(&argc, argv);
  tristar_t *ts = open_without_starpu(false);
  RUN(check_made(ts, "s2d9pt", 12, TRISTAR_METHOD_LLT, 4));
  RUN(check_made(ts, "kkt3d", 3, TRISTAR_METHOD_LDLT, 0));
  RUN(check_made(ts, "circuit", 150, TRISTAR_METHOD_LU, 0));
  RUN(check_given(ts, TRISTAR_METHOD_LU));
  RUN(check_given(ts, TRISTAR_METHOD_LDLT));
  close_context(&ts);
  return 0;
}
