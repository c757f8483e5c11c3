/* The k-th allocation fails, for every k: the status says so, outputs are NULL, nothing is leaked, and the
 * next try succeeds. */
#include "runtime/context/context.h"
#include "tests/support/flow.h"
#include "tests/support/subtests.h"

/* The flow with the first failure as status; releases everything. */
static tristar_status run(tristar_t *ts, const tristar_view *view, tristar_method method) {
  tristar_status status;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NULL;
  tristar_analysis_options options;
  tristar_plan_options plan;
  tristar_refine_result result;
  double reciprocal;
  const int64_t n = view->rows;
  OWNED double *b = xcalloc(3 * (size_t)n, sizeof *b), *x = xcalloc(3 * (size_t)n, sizeof *x);
  fill_random(b, 3 * n, 1);
  tristar_analysis_options_init(&options);
  options.method = method;
  tristar_plan_options_init(&plan);
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
  tristar_config config;
  CLEANUP(tristar_destroy) tristar_t *ts;
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *m;
  tristar_view view;
  tristar_memory_stats memory;
  char message[512];
  tristar_config_init(&config);
  config.use_starpu = use_starpu;
  CHECK_OK(tristar_create(&config, &ts));
  CHECK_OK(tristar_matrix_generate(ts, kind, k, &m));
  tristar_matrix_get_view(m, &view);
  tristar_get_memory(ts, &memory);
  const size_t before = memory.current_bytes;
  int64_t fails = 0;
  for (int64_t step = 1;; step += step < 150 ? 1 : step / 40) { /* all of the first ones, then a sample */
    tristar_get_memory(ts, &memory);
    tsi_context_env(ts)->memory.fail_at = memory.allocations + step;
    const tristar_status status = run(ts, &view, method);
    tristar_get_memory(ts, &memory);
    CHECK_MSG(memory.current_bytes == before, "%s: %zu bytes leaked when allocation %lld fails", kind,
              memory.current_bytes - before, (long long)step);
    if (status == TRISTAR_OK) break;
    CHECK_MSG(status == TRISTAR_ERR_MEMORY, "allocation %lld: %s", (long long)step,
              tristar_status_name(status));
    tristar_get_error(ts, message, sizeof message);
    CHECK(strstr(message, "out of memory") != NULL);
    fails++;
  }
  CHECK(fails > 100);
  tsi_context_env(ts)->memory.fail_at = 0;
  CHECK_OK(run(ts, &view, method));
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  RUN(check("s2d9pt", 9, TRISTAR_METHOD_AUTO, 0));
  RUN(check("convdiff3d", 4, TRISTAR_METHOD_AUTO, 0));
  RUN(check("kkt3d", 2, TRISTAR_METHOD_AUTO, 0));
  RUN(check("poisson3d7", 8, TRISTAR_METHOD_LLT, 1));
  RUN(check("convdiff3d", 6, TRISTAR_METHOD_LU, 1));
  return 0;
}
