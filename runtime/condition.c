/* tristar_condition: the condition of the matrix as it was scaled for the factorization, B = R A C.
 *
 * Reads   a plan, the values that its factor was made from.   Writes  work of its own. */
#include <math.h>

#include "runtime/norm_estimate.h"
#include "runtime/refinement.h"

typedef struct scaled_inverse {
  tristar_plan_t *plan;
  const tsi_sparse_kernels *kernels;
} scaled_inverse;

/* x := B^-1 x or B^-H x, where B^-1 = C^-1 A^-1 R^-1; one column. */
static tristar_status solve_scaled(void *arg, bool adjoint, tsi_index count, void *x) {
  tristar_status status = TRISTAR_OK;
  const scaled_inverse *inverse = arg;
  const tristar_factor_t *factor = inverse->plan->factor;
  const tsi_index n = factor->analysis->pattern->n;
  const double *first = adjoint ? factor->col_scale : factor->row_scale,
               *second = adjoint ? factor->row_scale : factor->col_scale;
  inverse->kernels->scale(n, x, first, true);
  TSI_TRY(tristar_solve(inverse->plan, adjoint ? TRISTAR_C : TRISTAR_N, count, x, n, x, n));
  inverse->kernels->scale(n, x, second, true);
out:
  return status;
}

/* The 1-norm of R |A| C. real, x: n of scratch. */
static double scaled_norm(const tristar_factor_t *factor, const tsi_sparse_kernels *kernels, double *real,
                          void *x) {
  const tsi_pattern *pattern = factor->analysis->pattern;
  const tsi_sparse a = tsi_pattern_sparse(pattern, factor->values);
  double norm = 0;
  for (tsi_index i = 0; i < pattern->n; i++) real[i] = factor->row_scale ? factor->row_scale[i] : 1;
  kernels->fill(pattern->n, real, x);
  kernels->bound(&a, TRISTAR_T, x, real);
  for (tsi_index j = 0; j < pattern->n; j++) {
    const double sum = real[j] * (factor->col_scale ? fabs(factor->col_scale[j]) : 1);
    if (!(sum <= norm)) norm = sum;
  }
  return norm;
}

tristar_status tristar_condition(tristar_plan_t *plan, double *reciprocal) {
  tristar_status status = TRISTAR_OK;
  double *real = NULL, inverse_norm;
  char *x = NULL;
  if (plan == NULL) return TRISTAR_ERR_ARGUMENT;
  tsi_env *env = &plan->ts->env;
  if (reciprocal == NULL) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "reciprocal is NULL");
  TSI_TRY(tsi_need_matrix(plan->factor));
  const tsi_index n = plan->factor->analysis->pattern->n;
  scaled_inverse inverse = {plan, tsi_sparse_kernels_select(plan->factor->analysis->pattern->scalar)};
  *reciprocal = 1; /* an empty matrix */
  if (n == 0) goto out;
  TSI_TRY(TSI_ALLOC(env, real, n));
  TSI_TRY(TSI_ALLOC(env, x, (size_t)n * inverse.kernels->scalar_bytes));
  const double norm = scaled_norm(plan->factor, inverse.kernels, real, x);
  TSI_TRY(tsi_estimate_one_norms(env, inverse.kernels, n, 1, solve_scaled, &inverse, &inverse_norm));
  *reciprocal = norm > 0 && inverse_norm > 0 ? 1 / norm / inverse_norm : 0;
out:
  TSI_FREE(env, real);
  TSI_FREE(env, x);
  return status;
}
