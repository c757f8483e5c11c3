/* Variances: a Gaussian Markov random field on a grid has the precision matrix A, the inverse of its
 * covariance. The diagonal of A^-1 has the variance of each point; off-diagonal entries have the covariance
 * of neighbours. A measurement is a larger weight on one point and reduces the variances nearby.
 *
 * The program checks the variances by solves with unit vectors. */
#include <math.h>

#include "example.h"
#include "tristar_inverse.h"

enum { K = 40, N = K * K, MEASURED = K * (K / 2) + K / 2 };

/* The five-point operator plus a small multiple of the identity, lower triangle by columns. */
static tristar_view make_precision(int *ptr, int *row, double *value) {
  int at = 0;
  for (int j = 0; j < N; j++) {
    ptr[j] = at;
    row[at] = j, value[at++] = 4.01 + (j == MEASURED ? 100 : 0);
    if (j % K < K - 1) row[at] = j + 1, value[at++] = -1;
    if (j + K < N) row[at] = j + K, value[at++] = -1;
  }
  ptr[N] = at;
  return (tristar_view){TRISTAR_CSC, TRISTAR_SYMMETRIC, TRISTAR_DOUBLE, N, N, ptr, row, value, 32, 32, 0};
}

int main(void) {
  static int ptr[N + 1], row[3 * N];
  static double value[3 * N], variance[N], x[N];
  const int64_t point[] = {MEASURED, MEASURED}, neighbour[] = {MEASURED + 1, MEASURED + K};
  double covariance[2], worst = 0;
  tristar_t *ts;
  tristar_analysis_t *analysis;
  tristar_factor_t *factor;
  tristar_plan_t *plan;
  example_check(NULL, tristar_create(NULL, &ts));
  const tristar_view a = make_precision(ptr, row, value);
  example_check(ts, tristar_analyze(ts, &a, NULL, &analysis));
  example_check(ts, tristar_factor(analysis, a.values, &factor));
  example_check(ts, tristar_plan(factor, NULL, &plan));
  example_check(ts, tristar_inverse_diagonal(plan, variance));
  example_check(ts, tristar_inverse_entries(plan, 2, point, neighbour, covariance));
  for (int i = 0; i < N; i += 123) {
    for (int j = 0; j < N; j++) x[j] = i == j;
    example_check(ts, tristar_solve(plan, TRISTAR_N, 1, x, N, x, N));
    worst = fmax(worst, fabs(x[i] - variance[i]) / x[i]);
  }
  printf("variance %.4f at the measured point, %.4f beside it, %.4f far from it\n", variance[MEASURED],
         variance[MEASURED + 1], variance[K * 5 + 5]);
  printf("correlation with the neighbours: %.4f, %.4f\n",
         covariance[0] / sqrt(variance[MEASURED] * variance[MEASURED + 1]),
         covariance[1] / sqrt(variance[MEASURED] * variance[MEASURED + K]));
  printf("largest difference from solves with unit vectors: %.1e\n", worst);
  tristar_plan_destroy(&plan);
  tristar_factor_destroy(&factor);
  tristar_analysis_destroy(&analysis);
  tristar_destroy(&ts);
  return worst < 1e-12 ? 0 : 1;
}
