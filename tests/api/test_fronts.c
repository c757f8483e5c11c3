/* Fronts large enough to be cut into tiles: the factorization gives the same bits with tasks on one and two
 * workers and without StarPU, a small backward error, and stays within three times the memory of its factors.
 */
#include "tests/support/flow.h"
#include "tests/support/subtests.h"
#include "tristar_stats.h"

/* Solves with or without tasks: 3 right-hand sides, the last one with A^T. */
static void solve(int use_starpu, const char *workers, const char *kind, int64_t k, double *x) {
  tristar_config config = DEFAULTS(tristar_config);
  CLEANUP(tristar_destroy) tristar_t *ts;
  CLEANUP(flow_destroy) flow f;
  tristar_refine_result result;
  tristar_factor_stats factor;
  setenv("STARPU_NCPU", workers, 1);
  config.use_starpu = use_starpu;
  config.check = 1;
  CHECK_OK(tristar_create(&config, &ts));
  flow_create(ts, kind, k, TRISTAR_ENGINE_AUTO, 0, &f);
  const int64_t n = f.view.rows;
  OWNED double *b = xmalloc(2 * (size_t)n * sizeof *b);
  fill_random(b, 2 * n, 3);
  CHECK_OK(tristar_solve(f.plan, TRISTAR_N, 2, b, n, x, n));
  CHECK_OK(tristar_solve(f.plan, TRISTAR_T, 1, b, n, x + 2 * n, n));
  CHECK_OK(tristar_solve_refined(f.plan, TRISTAR_N, 1, b, n, b + n, n, NULL, &result));
  CHECK_MSG(result.backward_error < 1e-14 && result.initial_backward_error < 1e-12,
            "%s: backward error %g, first %g", kind, result.backward_error, result.initial_backward_error);
  tristar_factor_get_stats(f.factor, &factor);
  CHECK_MSG(factor.perturbed_pivots == 0, "%s: %lld pivots perturbed", kind,
            (long long)factor.perturbed_pivots);
  CHECK_MSG(factor.peak_bytes < 3 * factor.factor_bytes, "%s: peak %zu bytes, factors %zu", kind,
            factor.peak_bytes, factor.factor_bytes);
}

static void check(const char *kind, int64_t k, int64_t n) {
  OWNED double *reference = xmalloc(3 * (size_t)n * sizeof *reference),
               *x = xmalloc(3 * (size_t)n * sizeof *x);
  solve(0, "1", kind, k, reference);
  for (int workers = TSI_TESTS_RACES ? 2 : 1; workers <= 2; workers++) {
    solve(1, workers == 1 ? "1" : "2", kind, k, x);
    CHECK_MSG(memcmp(x, reference, 3 * (size_t)n * sizeof *x) == 0, "%s: other bits with %d workers", kind,
              workers);
  }
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  RUN(check("poisson3d27", 26, 26 * 26 * 26)); /* LLT: fronts with more than 512 rows below them */
  RUN(check("convdiff3d", 25, 25 * 25 * 25));  /* LU */
  return 0;
}
