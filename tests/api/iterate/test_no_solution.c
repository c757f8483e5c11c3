/* Singular systems that have no solution, factored with perturbed pivots: x is so large that b - A x in the
 * type of the matrix may be zero. The residual of the refinement, and the one that is computed on request,
 * are the true ones. */
#include "tests/support/context.h"
#include "tests/support/singular_systems.h"
#include "tests/support/subtests.h"

static const tristar_op ops[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};

/* The largest entry of r beside the one of b. */
static double relative_size(const typed *t, int n, const void *r, const void *b) {
  double of_r = 0, of_b = 0;
  for (int i = 0; i < n; i++) {
    of_r = larger_error(of_r, magnitude(get(t, r, i)));
    of_b = larger_error(of_b, magnitude(get(t, b, i)));
  }
  return of_r / of_b;
}

static int check_system(tristar_t *ts, const typed *t, bool single_factors, uint64_t seed) {
  small_system s;
  tristar_analysis_options o;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NULL;
  make_small_system(t, seed, &s);
  tristar_analysis_options_init(&o);
  o.singular = TRISTAR_SINGULAR_PERTURB;
  o.single_factors = single_factors;
  CHECK_OK(tristar_analyze(ts, &s.view, &o, &an));
  CHECK_OK(tristar_factor(an, s.values, &f));
  CHECK_OK(tristar_plan(f, NULL, &p));
  int solved = 0;
  for (int k = 0; k < 3; k++) {
    number x[SMALL_MOST], r[SMALL_MOST];
    tristar_refine_result result;
    const tristar_status status = tristar_solve_refined(p, ops[k], 1, s.b, s.n, x, s.n, NULL, &result);
    if (status == TRISTAR_ERR_NOT_FINITE) continue;
    CHECK_OK(status);
    solved++;
    CHECK_MSG(result.residual > 0.01 * s.residual,
              "type %c, op %c, seed %d: residual %g, the least one is %g", (char)t->scalar, (char)ops[k],
              (int)seed, result.residual, s.residual);
    if (relative_size(t, s.n, x, s.b) > 1e-3 / (t->is_single ? 1e-15 : 1e-19))
      continue; /* beyond all digits */
    CHECK_OK(tristar_residual(f, ops[k], 1, s.b, s.n, x, s.n, r, s.n, NULL));
    CHECK_MSG(relative_size(t, s.n, r, s.b) > 0.5 * s.residual, "type %c, op %c, seed %d: b - A x is %g",
              (char)t->scalar, (char)ops[k], (int)seed, relative_size(t, s.n, r, s.b));
  }
  return solved;
}

static void check_type(tristar_t *ts, const typed *t, bool single_factors) {
  const int systems = TSI_TESTS_SANITIZED ? 300 : 3000;
  int solved = 0;
  for (int k = 0; k < systems; k++) solved += check_system(ts, t, single_factors, (uint64_t)k);
  printf("type %c: %d of %d solved\n", (char)t->scalar, solved, 3 * systems);
  CHECK(solved > 2 * systems);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(false);
  RUN(check_type(ts, &typed_single, false));
  RUN(check_type(ts, &typed_double, false));
  RUN(check_type(ts, &typed_complex_single, false));
  RUN(check_type(ts, &typed_complex_double, false));
  RUN(check_type(ts, &typed_double, true));
  return 0;
}
