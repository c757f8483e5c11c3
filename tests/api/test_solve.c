/* Properties of factorization and solve on every generator at small size: small backward error, A^T, several
 * right-hand sides equal to one at a time, in place, refactorization, and every engine and legal order to the
 * same bits. */
#include "tests/support/context.h"
#include "tests/support/subtests.h"
#include "tests/support/typed.h"
#include "tristar_machine.h"
#include "tristar_matrix.h"

typedef struct problem {
  const char *kind;
  int64_t k;
} problem;

static void check_plan(tristar_factor_t *f, const tristar_view *a, const tristar_plan_options *options,
                       const char *kind, const double *b, double *reference) {
  const int64_t n = a->rows;
  OWNED double *x = xmalloc(17 * (size_t)n * sizeof *x), *y = xmalloc(17 * (size_t)n * sizeof *y);
  tristar_plan_t *p = NEW_PLAN(f, options);
  for (int t = 0; t < 2; t++) {
    const tristar_op op = t ? TRISTAR_T : TRISTAR_N;
    double *ref = reference + t * 18 * n;
    tristar_refine_result result;
    CHECK_OK(tristar_solve_refined(p, op, 1, b, n, x, n, NULL, &result));
    CHECK_MSG(result.backward_error < 1e-13, "%s: backward error %g", kind, result.backward_error);
    const double error = error_of(&typed_double, a, op, b, x, 0, COMPONENTWISE, NULL);
    CHECK_MSG(error < 2e-13, "%s: independent backward error %g", kind, error);
    CHECK_OK(tristar_solve(p, op, 1, b, n, x, n));
    CHECK_OK(tristar_solve(p, op, 17, b, n, y, n));
    if (isnan(ref[0])) {
      memcpy(ref, x, (size_t)n * sizeof *x);
      memcpy(ref + n, y, 17 * (size_t)n * sizeof *y);
    }
    CHECK_MSG(memcmp(ref, x, (size_t)n * sizeof *x) == 0, "%s: other bits", kind);
    CHECK_MSG(memcmp(ref + n, y, 17 * (size_t)n * sizeof *y) == 0, "%s: other bits for 17", kind);
    for (int64_t c = 0; c < 17; c += 16) { /* columns of one solve equal separate solves up to roundoff */
      CHECK_OK(tristar_solve(p, op, 1, b + c * n, n, x, n));
      const double distance = distance_of(&typed_double, a, op, x, y + c * n);
      CHECK_MSG(distance < 1e-12, "%s, op %c: column %d is %g apart", kind, (char)op, (int)c, distance);
    }
    memcpy(x, b, 17 * (size_t)n * sizeof *x); /* in place */
    CHECK_OK(tristar_solve(p, op, 17, x, n, x, n));
    CHECK_MSG(memcmp(x, y, 17 * (size_t)n * sizeof *x) == 0, "%s: in place differs", kind);
  }
  tristar_plan_destroy(&p);
  CHECK(p == NULL);
}

static void check_problem(tristar_t *ts, const problem *q, tristar_method method, int64_t chunk_bytes) {
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *m;
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  tristar_plan_options plan;
  tristar_view a = generated_view(ts, q->kind, q->k, &m);
  options.method = method;
  tristar_analysis_t *an = NEW_ANALYSIS(ts, &a, &options);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NEW_FACTOR(an, a.values);
  tristar_analysis_destroy(&an); /* allocates memory that the factor keeps */
  const int64_t n = a.rows;
  OWNED double *b = xmalloc(17 * (size_t)n * sizeof *b),
               *reference = xmalloc(36 * (size_t)n * sizeof *reference);
  fill_random(b, 17 * n, 7);
  for (int64_t i = 0; i < 36 * n; i++) reference[i] = NAN;
  tristar_plan_options_init(&plan);
  plan.chunk_bytes_max = chunk_bytes;
  plan.engine = TRISTAR_ENGINE_SERIAL;
  for (plan.order_seed = 0; plan.order_seed < (TSI_TESTS_RACES ? 1 : 3); plan.order_seed++)
    check_plan(f, &a, &plan, q->kind, b, reference);
  plan.order_seed = 0;
  plan.engine = TRISTAR_ENGINE_TASKS;
  check_plan(f, &a, &plan, q->kind, b, reference);
  CHECK_OK(tristar_refactor(f, a.values)); /* the same values, the same bits */
  plan.engine = TRISTAR_ENGINE_AUTO;
  check_plan(f, &a, &plan, q->kind, b, reference);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  static const problem problems[] = {{"s2d9pt", 1},      {"s2d9pt", 23},      {"poisson3d7", 9},
                                     {"poisson3d27", 7}, {"elasticity3d", 4}, {"kkt3d", 5},
                                     {"maxwell3d", 5},   {"chem3d", 8},       {"fusion2d", 5},
                                     {"convdiff3d", 9},  {"circuit", 400}};
  CLEANUP(close_context) tristar_t *ts = open_with_starpu(0, true);
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++)
    for (int method = 0; method < 2; method++)
      for (int chunk = 0; chunk < 2; chunk++)
        RUN(check_problem(ts, &problems[i], method ? TRISTAR_METHOD_LU : TRISTAR_METHOD_AUTO,
                          chunk ? 3000 : 0));
  return 0;
}
