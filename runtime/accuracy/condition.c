/* The condition of the scaled matrix: see condition.h. tristar_condition. */
#include "runtime/accuracy/condition.h"

#include <math.h>

#include "runtime/accuracy/forward_error.h"

typedef struct scaled_inverse {
  const tristar_factor_t *factor;
  const tsi_sparse_kernels *kernels;
  tsi_multiply_columns solve;
  void *arg;
} scaled_inverse;

/* x := B^-1 x or B^-H x, where B^-1 = C^-1 A^-1 R^-1; one column. */
static tristar_status solve_scaled(void *arg, bool adjoint, tsi_index count, void *x) {
  tristar_status status = TRISTAR_OK;
  const scaled_inverse *inverse = arg;
  const tristar_factor_t *factor = inverse->factor;
  const tsi_index n = factor->analysis->pattern->n;
  const double *first = adjoint ? factor->col_scale : factor->row_scale,
               *second = adjoint ? factor->row_scale : factor->col_scale;
  inverse->kernels->scale(n, x, first, true);
  TSI_TRY(inverse->solve(inverse->arg, adjoint, count, x));
  inverse->kernels->scale(n, x, second, true);
out:
  return status;
}

/* The 1-norm of R |A| C. row, column: n of scratch. */
static double scaled_norm(const tristar_factor_t *factor, const tsi_sparse_kernels *kernels, double *sum) {
  const tsi_pattern *pattern = factor->analysis->pattern;
  const tsi_sparse a = tsi_pattern_sparse(pattern, factor->values);
  double norm = 0;
  kernels->weigh(&a, TRISTAR_T, factor->row_scale, sum);
  for (tsi_index j = 0; j < pattern->n; j++) {
    const double scaled = sum[j] * (factor->col_scale ? fabs(factor->col_scale[j]) : 1);
    if (!(scaled <= norm)) norm = scaled;
  }
  return norm;
}

tristar_status tsi_condition(const tristar_plan_t *plan, tsi_multiply_columns solve, void *arg,
                             double *reciprocal) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &plan->ts->env;
  const tsi_index n = plan->factor->analysis->pattern->n;
  const tsi_sparse_kernels *kernels = tsi_sparse_kernels_select(plan->factor->analysis->pattern->scalar);
  scaled_inverse inverse = {plan->factor, kernels, solve, arg};
  double *sum = NULL, inverse_norm;
  *reciprocal = 1;
  if (n == 0) return TRISTAR_OK;
  TSI_TRY(TSI_ALLOC(env, sum, n));
  const double norm = scaled_norm(plan->factor, kernels, sum);
  TSI_TRY(tsi_estimate_one_norms(env, kernels, n, 1, solve_scaled, &inverse, &inverse_norm));
  /* at most one, but for rounding, which is coarse where numbers are subnormal */
  *reciprocal = norm > 0 && inverse_norm > 0 ? fmin(1, 1 / norm / inverse_norm) : 0;
out:
  TSI_FREE(env, sum);
  return status;
}

tristar_status tristar_condition(tristar_plan_t *plan, double *reciprocal) {
  tristar_status status = TRISTAR_OK;
  tsi_forward_error solves = {0};
  if (plan == NULL) return TSI_NULL(plan);
  tsi_env *env = &plan->ts->env;
  if (reciprocal == NULL) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "reciprocal is NULL");
  TSI_TRY(tsi_need_matrix(plan->factor));
  TSI_TRY(tsi_forward_error_begin(plan, TRISTAR_N, 1, &solves));
  TSI_TRY(tsi_forward_error_condition(&solves, &(tristar_refine_result){0}, reciprocal));
out:
  tsi_forward_error_finish(&solves);
  return tsi_answer(env, status);
}
