/* The condition of the scaled matrix: see condition.h. tristar_condition. */
#include "runtime/accuracy/condition.h"

#include <math.h>

#include "runtime/accuracy/forward_error.h"
#include "runtime/accuracy/system_plan.h"

typedef struct scaled_inverse {
  const tsi_system *system;
  tsi_multiply_columns solve;
  void *arg;
} scaled_inverse;

/* x := B^-1 x or B^-H x, where B^-1 = C^-1 A^-1 R^-1; one column. */
static tristar_status solve_scaled(void *arg, bool adjoint, tsi_index count, void *x) {
  tristar_status status = TRISTAR_OK;
  const scaled_inverse *inverse = arg;
  const tsi_system *system = inverse->system;
  const double *first = adjoint ? system->col_scale : system->row_scale,
               *second = adjoint ? system->row_scale : system->col_scale;
  system->kernels->scale(system->n, x, first, true);
  TSI_TRY(inverse->solve(inverse->arg, adjoint, count, x));
  system->kernels->scale(system->n, x, second, true);
out:
  return status;
}

/* The 1-norm of R |A| C. sum: n of scratch. */
static tristar_status scaled_norm(const tsi_system *system, double *sum, double *norm) {
  tristar_status status = TRISTAR_OK;
  *norm = 0;
  TSI_TRY(tsi_system_weigh(system, TRISTAR_T, system->row_scale, sum));
  for (tsi_index j = 0; j < system->n; j++) {
    const double scaled = sum[j] * (system->col_scale ? fabs(system->col_scale[j]) : 1);
    if (!(scaled <= *norm)) *norm = scaled;
  }
  *norm = tsi_team_largest(system->team, *norm);
out:
  return status;
}

tristar_status tsi_condition(const tsi_system *system, tsi_multiply_columns solve, void *arg,
                             double *reciprocal) {
  tristar_status status = TRISTAR_OK;
  scaled_inverse inverse = {system, solve, arg};
  double *sum = NULL, norm, inverse_norm;
  *reciprocal = 1;
  if (system->team->n == 0) return TRISTAR_OK;
  TSI_TRY(tsi_team_agree(system->team, TSI_ALLOC(system->env, sum, system->n)));
  TSI_TRY(scaled_norm(system, sum, &norm));
  TSI_TRY(tsi_estimate_one_norms(system->env, system->kernels, system->team, system->n, 1, solve_scaled,
                                 &inverse, &inverse_norm));
  /* at most one, but for rounding, which is coarse where numbers are subnormal */
  *reciprocal = norm > 0 && inverse_norm > 0 ? fmin(1, 1 / norm / inverse_norm) : 0;
out:
  TSI_FREE(system->env, sum);
  return status;
}

tristar_status tsi_system_condition(const tsi_system *system, double *reciprocal) {
  tristar_status status = TRISTAR_OK;
  tsi_forward_error solves = {0};
  TSI_TRY(tsi_forward_error_begin(system, TRISTAR_N, 1, &solves));
  TSI_TRY(tsi_forward_error_condition(&solves, &(tristar_refine_result){0}, reciprocal));
out:
  tsi_forward_error_finish(&solves);
  return status;
}

tristar_status tristar_condition(tristar_plan_t *plan, double *reciprocal) {
  tristar_status status = TRISTAR_OK;
  tsi_plan_system s;
  TSI_ENTER(plan, plan->ts);
  tsi_env *env = &plan->ts->env;
  if (reciprocal == NULL) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "reciprocal is NULL");
  TSI_TRY(tsi_plan_system_create(plan, &s));
  TSI_TRY(tsi_system_condition(&s.system, reciprocal));
out:
  return tsi_answer(env, status);
}
