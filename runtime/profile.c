/* tristar_profile: how much of the time of StarPU's workers passes outside of tasks.
 *
 * Reads   StarPU's profiling counters of each CPU worker.
 * Writes  x; StarPU's profiling status, which is as before when the call returns.
 *
 * Switching profiling on, and reading the counters, sets them to zero: nobody can take differences. So a
 * program that owns StarPU and has profiling on is left alone. */
#include <starpu.h>
#include <starpu_profiling.h>

#include "runtime/clock.h"
#include "runtime/plan.h"

static double to_seconds(const struct timespec *t) {
  return (double)t->tv_sec + 1e-9 * (double)t->tv_nsec;
}

/* Zeroes the counters of the workers. */
static tristar_status reset(tsi_env *env, const int *worker, int workers) {
  tristar_status status = TRISTAR_OK;
  for (int w = 0; w < workers; w++) {
    const int code = starpu_profiling_worker_get_info(worker[w], NULL);
    if (code != 0) TSI_FAIL(env, TRISTAR_ERR_RUNTIME, "starpu_profiling_worker_get_info gave %d", code);
  }
out:
  return status;
}

static tristar_status add_up(tsi_env *env, const int *worker, tristar_profile_result *result) {
  tristar_status status = TRISTAR_OK;
  struct starpu_profiling_worker_info info;
  for (int w = 0; w < result->workers; w++) {
    const int code = starpu_profiling_worker_get_info(worker[w], &info);
    if (code != 0) TSI_FAIL(env, TRISTAR_ERR_RUNTIME, "starpu_profiling_worker_get_info gave %d", code);
    const double seconds = to_seconds(&info.executing_time);
    result->kernel_seconds += seconds;
    if (w == 0 || seconds > result->busiest_seconds) result->busiest_seconds = seconds;
    if (w == 0 || seconds < result->idlest_seconds) result->idlest_seconds = seconds;
  }
  /* a task of the program that began before the counters were zeroed may count as more than the wall time */
  const double share = 1 - result->kernel_seconds / (result->workers * result->wall_seconds);
  result->outside_share = share > 0 ? share : 0;
out:
  return status;
}

static tristar_status check(tristar_plan_t *plan, int repeat, const tristar_profile_result *result) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &plan->ts->env;
  if (result == NULL || repeat < 1)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "result is %s, repeat is %d", result ? "given" : "NULL", repeat);
  if (!plan->use_tasks)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "the plan has no tasks: there is nothing to profile");
  if (starpu_worker_get_id() >= 0)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "inside a StarPU task a solve makes no tasks to profile");
  if (!tsi_starpu_is_ours() && starpu_profiling_status_get() == STARPU_PROFILING_ENABLE)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED,
             "the program profiles StarPU itself, and reading the counters would reset them");
out:
  return status;
}

tristar_status tristar_profile(tristar_plan_t *plan, tristar_op op, int64_t nrhs, const void *b, int64_t ldb,
                               void *x, int64_t ldx, int repeat, tristar_profile_result *result) {
  tristar_status status = TRISTAR_OK;
  int worker[STARPU_NMAXWORKERS], before = -1;
  if (plan == NULL) return TSI_NULL(plan);
  tsi_env *env = &plan->ts->env;
  TSI_TRY(check(plan, repeat, result));
  memset(result, 0, sizeof *result);
  result->solves = repeat;
  result->workers =
      (int)starpu_worker_get_ids_by_type(STARPU_CPU_WORKER, worker, sizeof worker / sizeof worker[0]);
  if (result->workers < 1) TSI_FAIL(env, TRISTAR_ERR_NO_WORKER, "StarPU has no CPU worker");
  before = starpu_profiling_status_set(STARPU_PROFILING_ENABLE);
  TSI_TRY(tristar_solve(plan, op, nrhs, b, ldb, x, ldx)); /* StarPU makes room for what it measures */
  TSI_TRY(reset(env, worker, result->workers));
  const double begin = tsi_clock();
  for (int k = 0; k < repeat; k++) TSI_TRY(tristar_solve(plan, op, nrhs, b, ldb, x, ldx));
  result->wall_seconds = tsi_clock() - begin;
  TSI_TRY(add_up(env, worker, result));
out:
  if (before >= 0) (void)starpu_profiling_status_set(before);
  return tsi_answer(env, status);
}
