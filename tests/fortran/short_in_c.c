/* The computation of example_fortran.f90 in C: ten solves, as in example_short.c, then one with 2 A. The test
 * of the module compares the bits. Returns 0 if all calls succeeded. */
#include <tristar.h>
#include <tristar_inverse.h>
#include <tristar_matrix.h>

int short_in_c(int64_t size, double *x, double *twice, double *diagonal);

static int solve(tristar_factor_t *factor, const tristar_view *a, double *x, double *twice,
                 double *diagonal) {
  static double values[100000];
  const int64_t *ptr = a->ptr, n = a->rows;
  tristar_plan_t *plan;
  if (ptr[n] > 100000 || tristar_plan(factor, NULL, &plan)) return 1;
  for (int k = 0; k < 10; k++)
    if (tristar_solve(plan, TRISTAR_N, 1, x, n, x, n)) return 1;
  for (int64_t e = 0; e < ptr[n]; e++) values[e] = 2 * ((const double *)a->values)[e];
  if (tristar_refactor(factor, values) || tristar_solve(plan, TRISTAR_N, 1, x, n, twice, n)) return 1;
  const int failed = tristar_inverse_diagonal(plan, diagonal) != TRISTAR_OK;
  tristar_plan_destroy(&plan);
  return failed;
}

int short_in_c(int64_t size, double *x, double *twice, double *diagonal) {
  tristar_t *ts;
  tristar_matrix_t *matrix;
  tristar_view a;
  tristar_analysis_t *analysis;
  tristar_factor_t *factor;
  if (tristar_create(NULL, &ts) || tristar_matrix_generate(ts, "poisson3d7", size, &matrix)) return 1;
  tristar_matrix_get_view(matrix, &a);
  if (tristar_analyze(ts, &a, NULL, &analysis) || tristar_factor(analysis, a.values, &factor)) return 1;
  const int failed = solve(factor, &a, x, twice, diagonal);
  tristar_factor_destroy(&factor);
  tristar_analysis_destroy(&analysis);
  tristar_matrix_destroy(&matrix);
  tristar_destroy(&ts);
  return failed;
}
