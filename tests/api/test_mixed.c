/* Single factors for double matrices: refinement reaches double accuracy, the solve streams half the bytes, b
 * and x stay double, and every engine gives the same bits. */
#include "tests/support/context.h"
#include "tests/support/random.h"
#include "tests/support/subtests.h"
#include "tristar_machine.h"
#include "tristar_matrix.h"
#include "tristar_stats.h"

static void check(tristar_t *ts, const char *kind, int64_t k, tristar_method method, tristar_scalar scalar) {
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *m;
  tristar_analysis_options options;
  tristar_analysis_t *an;
  tristar_factor_t *f[2];
  tristar_plan_options plan;
  tristar_plan_t *p;
  tristar_plan_stats stats[2];
  tristar_refine_result result;
  tristar_view v = generated_view(ts, kind, k, &m);
  const int64_t n = v.rows, parts = scalar == TRISTAR_COMPLEX_DOUBLE ? 2 : 1,
                entries = ((const int64_t *)v.ptr)[n];
  OWNED double *values = xcalloc((size_t)(entries * parts), sizeof *values),
               *b = xmalloc((size_t)(3 * n * parts) * sizeof *b);
  OWNED double *x = xmalloc((size_t)(3 * n * parts) * sizeof *x),
               *y = xmalloc((size_t)(3 * n * parts) * sizeof *y);
  for (int64_t i = 0; i < entries; i++) values[i * parts] = ((const double *)v.values)[i];
  fill_random(b, 3 * n * parts, 5);
  v.values = values;
  v.scalar = scalar;
  if (parts == 2 && v.symmetry == TRISTAR_SYMMETRIC) v.symmetry = TRISTAR_HERMITIAN;
  tristar_plan_options_init(&plan);
  plan.chunk_bytes_max = 20000;
  for (int single = 0; single < 2; single++) {
    tristar_analysis_options_init(&options);
    options.method = method;
    options.single_factors = single;
    CHECK_OK(tristar_analyze(ts, &v, &options, &an));
    CHECK_OK(tristar_factor(an, values, &f[single]));
    tristar_analysis_destroy(&an);
    for (int engine = TRISTAR_ENGINE_SERIAL; engine <= TRISTAR_ENGINE_TASKS; engine++) {
      plan.engine = (tristar_engine)engine;
      CHECK_OK(tristar_plan(f[single], &plan, &p));
      tristar_plan_get_stats(p, &stats[single]);
      CHECK_OK(tristar_solve(p, TRISTAR_T, 3, b, n, x, n));
      if (engine == TRISTAR_ENGINE_SERIAL) memcpy(y, x, (size_t)(3 * n * parts) * sizeof *y);
      CHECK(memcmp(x, y, (size_t)(3 * n * parts) * sizeof *y) == 0);
      CHECK_OK(tristar_solve_refined(p, TRISTAR_N, 3, b, n, x, n, NULL, &result));
      CHECK_MSG(result.backward_error < 1e-14, "%s: backward error %g", kind, result.backward_error);
      if (single)
        CHECK_MSG(result.initial_backward_error > 1e-12, "%s: first backward error %g", kind,
                  result.initial_backward_error);
      tristar_plan_destroy(&p);
    }
  }
  CHECK(stats[1].stream_bytes <= 0.55 * stats[0].stream_bytes);
  tristar_factor_destroy(&f[0]);
  tristar_factor_destroy(&f[1]);
}

/* Well conditioned after scaling. But then the right-hand side spans 67 powers of ten, more than the range
 * of single numbers. */
static void check_span(tristar_t *ts) {
  static const int64_t ptr[] = {0, 2, 4, 5, 5};
  static const int32_t row[] = {1, 3, 2, 3, 3};
  static const double value[] = {-4.4e-63, 5.9e-59, 8e3, 1.6e-125, 1.15e8};
  static const double b[2 * 4] = {-1, 0.69, 0.38, 0.43, 0.5, 1e-3, 2, 0};
  const tristar_view a = stored_view(TRISTAR_CSC, TRISTAR_SYMMETRIC, TRISTAR_DOUBLE, 4, 4, ptr, row, value);
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  tristar_refine_options refine = DEFAULTS(tristar_refine_options);
  tristar_refine_result result;
  double x[2 * 4];
  options.method = TRISTAR_METHOD_LDLT;
  options.single_factors = 1;
  refine.forward_error = 1;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &a, &options);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NEW_FACTOR(an, value);
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(f, NULL);
  CHECK_OK(tristar_solve_refined(plan, TRISTAR_N, 2, b, 4, x, 4, &refine, &result));
  CHECK_MSG(result.backward_error < 1e-14, "backward error %g", result.backward_error);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_with_starpu(0, true);
  for (int z = 0; z < 2; z++) {
    const tristar_scalar scalar = z ? TRISTAR_COMPLEX_DOUBLE : TRISTAR_DOUBLE;
    RUN(check(ts, "s2d9pt", 20, TRISTAR_METHOD_AUTO, scalar));
    RUN(check(ts, "poisson3d7", 8, TRISTAR_METHOD_LDLT, scalar));
    RUN(check(ts, "elasticity3d", 4, TRISTAR_METHOD_LU, scalar));
    RUN(check(ts, "convdiff3d", 8, TRISTAR_METHOD_AUTO, scalar));
  }
  RUN(check_span(ts));
  return 0;
}
