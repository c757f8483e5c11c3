/* New values of an old factor with perturbed pivots, whose solves no refinement repairs: ACCURACY, not OK,
 * and x is the best one found. The same values analyzed again are solved. */
#include "tests/support/context.h"
#include "tests/support/systems/nasty_systems.h"
#include "tristar_stats.h"

/* Seeds of regular matrices with small diagonal entries. */
static const uint64_t seeds[] = {18486, 21750, 33462, 53814, 70326, 93750, 99702, 132150, 149430, 193206};
enum { SEEDS = sizeof seeds / sizeof *seeds };

static double normwise(const nasty *m, const double *b, const double *x) {
  double residual = 0, size = 0;
  for (int i = 0; i < m->n; i++) {
    double r = b[i], row = fabs(b[i]);
    for (int j = 0; j < m->n; j++) {
      r -= creal(*nasty_at((nasty *)m, i, j)) * x[j];
      row += fabs(creal(*nasty_at((nasty *)m, i, j)) * x[j]);
    }
    residual = fmax(residual, fabs(r));
    size = fmax(size, row);
  }
  return residual / size;
}

/* Solves; if the status is OK, the error must be small. */
static tristar_status solve(const nasty *m, tristar_factor_t *f) {
  double b[NASTY_MOST], x[NASTY_MOST];
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(f, NULL);
  for (int i = 0; i < m->n; i++) {
    b[i] = 0;
    for (int j = 0; j < m->n; j++)
      b[i] += creal(*nasty_at((nasty *)m, i, j)) * creal(random_value((uint64_t)(7 * j + 1)));
  }
  const tristar_status status = tristar_solve(plan, TRISTAR_N, 1, b, m->n, x, m->n);
  CHECK(status == TRISTAR_OK || status == TRISTAR_ERR_ACCURACY);
  if (status == TRISTAR_OK) CHECK(normwise(m, b, x) < 1e-6);
  return status;
}

/* Does refinement of the old factor fail? */
static bool fails(tristar_t *ts, uint64_t seed) {
  nasty m, tame;
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  nasty_make(&typed_double, NASTY_SMALL_DIAGONAL, TRISTAR_METHOD_LU, seed, &m);
  nasty_make_tame(&m, &tame);
  options.method = TRISTAR_METHOD_LU;
  options.singular = TRISTAR_SINGULAR_PERTURB;
  tristar_view v = typed_dense_view(&typed_double, m.n, tame.a, m.n, TRISTAR_GENERAL);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &v, &options);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NEW_FACTOR(an, v.values);
  v = typed_dense_view(&typed_double, m.n, m.a, m.n, TRISTAR_GENERAL); /* uses the same arrays */
  tristar_status status = tristar_refactor(f, v.values);
  if (status == TRISTAR_OK) status = solve(&m, f);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *own = NEW_ANALYSIS(ts, &v, &options);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *good = NEW_FACTOR(own, v.values);
  CHECK_OK(solve(&m, good));
  return status == TRISTAR_ERR_ACCURACY;
}

int main(void) {
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(false);
  int failed = 0;
  for (int k = 0; k < SEEDS; k++) failed += fails(ts, seeds[k]);
  printf("refinement fails for %d of %d\n", failed, SEEDS);
  CHECK(failed > 0);
  return 0;
}
