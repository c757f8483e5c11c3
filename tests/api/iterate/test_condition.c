/* tristar_condition of nearly singular, one-sided and Hilbert matrices, and error bounds where they are. */
#include <float.h>

#include "tests/support/context.h"
#include "tests/support/dense_systems.h"
#include "tests/support/flow.h"
#include "tests/support/subtests.h"
#include "tristar_stats.h"

/* Returns the k-th matrix that is singular to working precision. */
static dense singular(int k) {
  dense m = {.name = "singular", .n = k < 2 ? 3 : 12};
  uint64_t state = 3;
  for (int i = 0; i < m.n; i++)
    for (int j = 0; j < m.n; j++)
      m.a[i][j] = k < 2    ? (i < 2) == (j < 2) /* two equal rows */
                  : k == 2 ? (i == j            ? 2
                              : abs(i - j) == 1 ? -1
                                                : 0) /* a Laplacian; the ends of its diagonal are set below */
                           : (long double)(int)(next_random(&state) % 17) - 8;
  if (k == 1) m.a[1][1] += (long double)DBL_EPSILON;
  if (k == 2) m.a[0][0] = m.a[11][11] = 1;
  for (int j = 0; k == 3 && j < 12; j++) m.a[11][j] = m.a[3][j] + 2 * m.a[5][j] - m.a[7][j];
  return m;
}

/* The system has solutions, but no digit of x is certain, so the error bound must be at least 1. */
static void check_singular(tristar_t *ts) {
  for (int k = 0; k < 4; k++)
    for (int single_factors = 0; single_factors < 2; single_factors++)
      for (int method = TRISTAR_METHOD_LU; method <= (k == 3 ? TRISTAR_METHOD_LU : TRISTAR_METHOD_LDLT);
           method++) {
        const dense m = singular(k);
        double b[N_MAX] = {0}, x[N_MAX];
        tristar_factor_t *f;
        tristar_plan_t *p;
        tristar_refine_options options = DEFAULTS(tristar_refine_options);
        tristar_refine_result result;
        CLEANUP(free_view)
        tristar_view v =
            make_view(&m, TRISTAR_DOUBLE, method == TRISTAR_METHOD_LU ? TRISTAR_GENERAL : TRISTAR_SYMMETRIC);
        make_plan(ts, &v, (tristar_method)method, single_factors, &f, &p);
        for (int i = 0; i < m.n; i++)
          for (int j = 0; j < m.n; j++) b[i] += (double)(creall(m.a[i][j]) * (1 + j % 5));
        options.forward_error = 1;
        CHECK_OK(tristar_solve_refined(p, TRISTAR_N, 1, b, m.n, x, m.n, &options, &result));
        CHECK_MSG(result.forward_error >= 1, "singular %d %d: bound %g", k, single_factors,
                  result.forward_error);
        tristar_plan_destroy(&p);
        tristar_factor_destroy(&f);
      }
}

/* The identity plus ones in the first row or column; or ones on the diagonal and -1 below or above it. */
static dense one_sided(int k) {
  dense m = {.name = "one-sided", .n = N_MAX};
  for (int i = 0; i < N_MAX; i++)
    for (int j = 0; j < N_MAX; j++)
      m.a[i][j] = k == 0   ? (i == 0) + (i == j)
                  : k == 1 ? (j == 0) + (i == j)
                  : k == 2 ? (i == j) - (i > j)
                           : (i == j) - (i < j);
  return m;
}

/* The condition is that of the scaled matrix in the 1-norm. It does not depend on the scaling of rows and
 * columns. */
static void check_condition(tristar_t *ts) {
  static const tristar_scalar scalars[] = {TRISTAR_DOUBLE, TRISTAR_COMPLEX_DOUBLE};
  for (int k = 0; k < 16; k++) {
    const tristar_scalar scalar = scalars[k / 8];
    dense m = one_sided(k % 4);
    number inverse[N_MAX][N_MAX];
    double row_scale[N_MAX], column_scale[N_MAX], reciprocal;
    long double norm = 0, inverse_norm = 0;
    tristar_factor_t *f;
    tristar_plan_t *p;
    if (is_complex(scalar)) turn(&m, false);
    scale(&m, k % 8 > 3 ? 40 : 0, k % 8 > 3 ? 30 : 0);
    CLEANUP(free_view) tristar_view v = make_view(&m, scalar, TRISTAR_GENERAL);
    make_plan(ts, &v, TRISTAR_METHOD_LU, 0, &f, &p);
    CHECK_OK(tristar_condition(p, &reciprocal));
    CHECK_OK(tristar_factor_get_order(f, NULL, NULL, row_scale, column_scale));
    for (int i = 0; i < m.n; i++)
      for (int j = 0; j < m.n; j++) m.a[i][j] *= (long double)row_scale[i] * column_scale[j];
    invert(&m, TRISTAR_N, inverse);
    for (int j = 0; j < m.n; j++) {
      long double sum = 0, inverse_sum = 0;
      for (int i = 0; i < m.n; i++) {
        sum += cabsl(m.a[i][j]);
        inverse_sum += cabsl(inverse[i][j]);
      }
      norm = fmaxl(norm, sum);
      inverse_norm = fmaxl(inverse_norm, inverse_sum);
    }
    const double ratio =
        (double)(reciprocal * norm * inverse_norm); /* tristar_condition estimates from below */
    CHECK_MSG(ratio > 0.999 && ratio < 1.5, "matrix %d: reciprocal condition %g, %g times the true one", k,
              reciprocal, ratio);
    tristar_plan_destroy(&p);
    tristar_factor_destroy(&f);
  }
}

/* If a factorization looks ill-conditioned, it reports the same condition as tristar_condition. */
static void check_factor_condition(tristar_t *ts) {
  for (int n = 5; n <= 10; n++) {
    dense m = {.name = "Hilbert", .n = n};
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) m.a[i][j] = 1.0L / (i + j + 1);
    double reciprocal;
    tristar_factor_t *f;
    tristar_plan_t *p;
    tristar_factor_stats stats;
    CLEANUP(free_view) tristar_view v = make_view(&m, TRISTAR_DOUBLE, TRISTAR_GENERAL);
    make_plan(ts, &v, TRISTAR_METHOD_LU, 0, &f, &p);
    CHECK_OK(tristar_condition(p, &reciprocal));
    CHECK_OK(tristar_factor_get_stats(f, &stats));
    CHECK(!stats.singular);
    if (stats.reciprocal_condition >= 0)
      CHECK_MSG(fabs(stats.reciprocal_condition / reciprocal - 1) < 0.1, "order %d: %g, %g", n,
                stats.reciprocal_condition, reciprocal);
    if (n > 7) CHECK_MSG(stats.reciprocal_condition > 0, "order %d: no condition", n);
    tristar_plan_destroy(&p);
    tristar_factor_destroy(&f);
  }
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(true);
  RUN(check_singular(ts));
  RUN(check_condition(ts));
  RUN(check_factor_condition(ts));
  return 0;
}
