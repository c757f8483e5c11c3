/* tristar_solve_device: tristar_solve with vectors that StarPU copies to main memory
 * (runtime/exec/starpu/device_vectors.h). */
#include <inttypes.h>

#include "runtime/solve/request.h"
#include "runtime/exec/starpu/device_vectors.h"

/* Checks that need no device. */
static tristar_status check_arguments(const tristar_plan_t *plan, tristar_op op, int64_t nrhs,
                                      const tristar_device_vectors *v) {
  tsi_env *env = &plan->ts->env;
  TSI_TRY(tsi_check_op(env, op));
  TSI_TRY(tsi_check_solve_columns(env, plan->insertable.rows, nrhs, v->b, v->ldb, v->x, v->ldx));
  if (v->device < 0) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "device is %d", v->device);
  return TRISTAR_OK;
}

tristar_status tristar_solve_device(tristar_plan_t *plan, tristar_op op, int64_t nrhs,
                                    const tristar_device_vectors *vectors) {
  tristar_status status = TRISTAR_OK;
  tsi_device_vectors *taken = NULL;
  tsi_host_vectors host;
  TSI_ENTER(plan, plan->ts);
  tsi_env *env = &plan->ts->env;
  if (vectors == NULL) TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "vectors is NULL");
  TSI_TRY_OUT(check_arguments(plan, op, nrhs, vectors));
  TSI_TRY_OUT(tsi_device_vectors_check_build(env));
  if (!tsi_tasks_may_wait())
    TSI_FAIL_OUT(env, TRISTAR_ERR_UNSUPPORTED, "a StarPU task cannot wait for vectors on a device");
  if (plan->insertable.rows == 0 || nrhs == 0) goto out;
  TSI_TRY_OUT(tsi_context_need_starpu(plan->ts, NULL));
  TSI_TRY_OUT(tsi_device_vectors_check(env, vectors));
  TSI_TRY_OUT(tsi_device_vectors_take(env, vectors, plan->insertable.rows, nrhs, plan->insertable.scalar,
                                      &taken, &host));
  status = tsi_solve_checked(plan, op, nrhs, host.b, host.b_column, host.x, host.x_column);
out:
  tsi_device_vectors_give_back(env, &taken, status == TRISTAR_OK || status == TRISTAR_ERR_NOT_FINITE);
  return tsi_answer(env, status);
}
