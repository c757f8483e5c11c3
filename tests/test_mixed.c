/* Single factors for double matrices: refinement reaches double accuracy, the solve streams half the bytes, b
 * and x stay double, and every engine gives the same bits. */
#include "tests/check.h"
#include "tests/random.h"

static void check(tristar_t *ts, const char *kind, int64_t k, tristar_method method, tristar_scalar scalar) {
  tristar_matrix_t *m;
  tristar_view v;
  tristar_analysis_options options;
  tristar_analysis_t *an;
  tristar_factor_t *f[2];
  tristar_plan_options plan;
  tristar_plan_t *p;
  tristar_plan_stats stats[2];
  tristar_refine_result result;
  CHECK_OK(tristar_matrix_generate(ts, kind, k, &m));
  tristar_matrix_get_view(m, &v);
  const int64_t n = v.rows, parts = scalar == TRISTAR_COMPLEX_DOUBLE ? 2 : 1,
                entries = ((const int64_t *)v.ptr)[n];
  double *values = calloc((size_t)(entries * parts), sizeof *values),
         *b = malloc((size_t)(3 * n * parts) * sizeof *b);
  double *x = malloc((size_t)(3 * n * parts) * sizeof *x), *y = malloc((size_t)(3 * n * parts) * sizeof *y);
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
  tristar_matrix_destroy(&m);
  free(values);
  free(b);
  free(x);
  free(y);
}

int main(void) {
  tristar_config config;
  tristar_memory_stats memory;
  tristar_t *ts;
  tristar_config_init(&config);
  config.check = 1;
  CHECK_OK(tristar_create(&config, &ts));
  for (int z = 0; z < 2; z++) {
    const tristar_scalar scalar = z ? TRISTAR_COMPLEX_DOUBLE : TRISTAR_DOUBLE;
    check(ts, "s2d9pt", 20, TRISTAR_METHOD_AUTO, scalar);
    check(ts, "poisson3d7", 8, TRISTAR_METHOD_LDLT, scalar);
    check(ts, "elasticity3d", 4, TRISTAR_METHOD_LU, scalar);
    check(ts, "convdiff3d", 8, TRISTAR_METHOD_AUTO, scalar);
  }
  tristar_get_memory(ts, &memory);
  CHECK(memory.current_bytes == 0);
  tristar_destroy(&ts);
  return 0;
}
