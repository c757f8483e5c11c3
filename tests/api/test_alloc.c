/* The k-th allocation fails, for every k: the status says so, outputs are NULL, nothing is leaked, and the
 * next try succeeds. */
#include "tests/support/allocations.h"
#include "tests/support/context.h"
#include "tests/support/flow.h"
#include "tests/support/subtests.h"

/* Analyzes, factors, plans, solves and refactors. Returns the first failure, and frees everything. */
static tristar_status run(tristar_t *ts, const tristar_view *view, tristar_method method) {
  tristar_status status;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NULL;
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  tristar_plan_options plan = DEFAULTS(tristar_plan_options);
  tristar_refine_result result;
  double reciprocal;
  const int64_t n = view->rows;
  OWNED double *b = xcalloc(3 * (size_t)n, sizeof *b), *x = xcalloc(3 * (size_t)n, sizeof *x);
  fill_random(b, 3 * n, 1);
  options.method = method;
  plan.chunk_bytes_max = 4000;
  status = tristar_analyze(ts, view, &options, &an);
  CHECK((an != NULL) == (status == TRISTAR_OK));
  if (status == TRISTAR_OK) status = tristar_factor(an, view->values, &f);
  CHECK((f != NULL) == (an != NULL && status == TRISTAR_OK));
  if (status == TRISTAR_OK) status = tristar_plan(f, &plan, &p);
  CHECK((p != NULL) == (f != NULL && status == TRISTAR_OK));
  if (status == TRISTAR_OK) status = tristar_solve(p, TRISTAR_N, 3, b, n, x, n);
  if (status == TRISTAR_OK) status = tristar_solve_refined(p, TRISTAR_T, 1, b, n, x, n, NULL, &result);
  if (status == TRISTAR_OK) status = tristar_condition(p, &reciprocal);
  if (status == TRISTAR_OK) status = tristar_refactor(f, view->values);
  if (status == TRISTAR_OK) CHECK(result.backward_error < 1e-13 && reciprocal > 1e-12);
  return status;
}

static void check(const char *kind, int64_t k, tristar_method method, int use_starpu) {
  CLEANUP(close_context) tristar_t *ts = use_starpu ? open_with_starpu(0, false) : open_without_starpu(false);
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *m;
  tristar_view view = generated_view(ts, kind, k, &m);
  allocation_failures failing = fail_allocations_of(ts);
  failing.first = 150; /* each of the first 150 allocations fails, later ones are sampled */
  failing.sparse = 75;
  while (next_failure(&failing)) {
    const tristar_status status = run(ts, &view, method);
    end_failure(&failing, status);
    if (status == TRISTAR_OK) break;
    CHECK_ERROR(ts, "out of memory");
  }
  CHECK_MSG(failing.count > 100, "%s: %d failures", kind, (int)failing.count);
  CHECK_OK(run(ts, &view, method));
}

/* Exactly one allocation fails. */
static void check_hook(void) {
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(false);
  tristar_matrix_t *m;
  CHECK_STATUS(tristar_fail_allocation(NULL, 1), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_fail_allocation(ts, -1), TRISTAR_ERR_ARGUMENT);
  CHECK_OK(tristar_fail_allocation(ts, INT64_MAX));
  CHECK_OK(tristar_matrix_generate(ts, "s2d9pt", 3, &m));
  tristar_matrix_destroy(&m);
  CHECK_OK(tristar_fail_allocation(ts, 1));
  CHECK_STATUS(tristar_matrix_generate(ts, "s2d9pt", 3, &m), TRISTAR_ERR_MEMORY);
  CHECK_OK(tristar_matrix_generate(ts, "s2d9pt", 3, &m));
  tristar_matrix_destroy(&m);
  CHECK_OK(tristar_fail_allocation(ts, 1));
  CHECK_OK(tristar_fail_allocation(ts, 0));
  CHECK_OK(tristar_matrix_generate(ts, "s2d9pt", 3, &m));
  tristar_matrix_destroy(&m);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  RUN(check_hook());
  RUN(check("s2d9pt", 9, TRISTAR_METHOD_AUTO, 0));
  RUN(check("convdiff3d", 4, TRISTAR_METHOD_AUTO, 0));
  RUN(check("kkt3d", 2, TRISTAR_METHOD_AUTO, 0));
  RUN(check("poisson3d7", 8, TRISTAR_METHOD_LLT, 1));
  RUN(check("convdiff3d", 6, TRISTAR_METHOD_LU, 1));
  return 0;
}
