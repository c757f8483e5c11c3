/* tristar_profile: how much of the time of StarPU's workers passes outside of tasks.
 *
 * Reads   StarPU's profiling counters (runtime/exec/starpu/profiling.h).
 * Writes  x; StarPU's profiling status, which is as before when the call returns. */
#include "runtime/base/clock.h"
#include "runtime/solve/plan.h"
#include "runtime/exec/starpu/profiling.h"
#include "runtime/solve/request.h"
#include "tristar_trace.h"

static tristar_status check(tristar_plan_t *plan, int repeat, const tristar_profile_result *result) {
  tsi_env *env = &plan->ts->env;
  if (result == NULL || repeat < 1)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "result is %s, repeat is %d", result ? "given" : "NULL", repeat);
  if (!tsi_way_has_tasks(&plan->way))
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "the plan has no tasks: there is nothing to profile");
  return TRISTAR_OK;
}

tristar_status tristar_profile(tristar_plan_t *plan, tristar_op op, int64_t nrhs, const void *b, int64_t ldb,
                               void *x, int64_t ldx, int repeat, tristar_profile_result *result) {
  tristar_status status = TRISTAR_OK;
  tsi_profiling_sums sums;
  int before = -1;
  TSI_ENTER(plan, plan->ts);
  tsi_env *env = &plan->ts->env;
  TSI_TRY_OUT(check(plan, repeat, result));
  *result = (tristar_profile_result){.solves = 0};
  TSI_TRY_OUT(tsi_profiling_begin(env, &before));
  TSI_TRY_OUT(tsi_solve_plain(plan, op, nrhs, b, ldb, x, ldx)); /* StarPU makes room for what it measures */
  TSI_TRY_OUT(tsi_profiling_reset(env));
  const double begin = tsi_clock();
  for (int k = 0; k < repeat; k++) TSI_TRY_OUT(tsi_solve_plain(plan, op, nrhs, b, ldb, x, ldx));
  const double wall = tsi_clock() - begin;
  TSI_TRY_OUT(tsi_profiling_read(env, &sums));
  /* a task of the program that began before the counters were zeroed may count as more than the wall time */
  const double share = 1 - sums.all / (sums.workers * wall);
  *result = (tristar_profile_result){.solves = repeat,
                                     .workers = sums.workers,
                                     .wall_seconds = wall,
                                     .kernel_seconds = sums.all,
                                     .busiest_seconds = sums.busiest,
                                     .idlest_seconds = sums.idlest,
                                     .outside_share = share > 0 ? share : 0};
out:
  if (before >= 0) tsi_profiling_end(before);
  return tsi_answer(env, status);
}
