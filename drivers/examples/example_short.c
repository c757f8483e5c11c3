/* A^-1 applied ten times to a vector: inverse iteration on a 3D Poisson matrix. */
#include <tristar.h>
#include <tristar_matrix.h>

int main(void) {
  tristar_t *ts;
  tristar_matrix_t *matrix;
  tristar_view a; /* or arrays of your own */
  tristar_analysis_t *analysis;
  tristar_factor_t *factor;
  tristar_plan_t *plan;
  static double x[8000] = {1};
  if (tristar_create(NULL, &ts) || tristar_matrix_read(ts, "gen:poisson3d7:20", &matrix)) return 1;
  tristar_matrix_get_view(matrix, &a);
  if (tristar_analyze(ts, &a, NULL, &analysis)) return 1;    /* once per pattern */
  if (tristar_factor(analysis, a.values, &factor)) return 1; /* once per set of values */
  if (tristar_plan(factor, NULL, &plan)) return 1;
  for (int k = 0; k < 10; k++) /* again and again */
    if (tristar_solve(plan, TRISTAR_N, 1, x, a.rows, x, a.rows)) return 1;
  tristar_plan_destroy(&plan);
  tristar_factor_destroy(&factor);
  tristar_analysis_destroy(&analysis);
  tristar_matrix_destroy(&matrix);
  tristar_destroy(&ts);
  return x[0] > 0 ? 0 : 1;
}
