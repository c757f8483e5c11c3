/* A recording and its tasks: see executor.h. */
#include "runtime/solve/executor.h"

tristar_status tsi_executor_create(tsi_env *env, tsi_execution *execution, const tsi_steps *steps,
                                   tsi_grouping grouping, bool on_starpu, tsi_executor *executor) {
  tristar_status status = TRISTAR_OK;
  TSI_TRY_OUT(tsi_recording_create(env, execution, steps, grouping, &executor->recording));
  TSI_TRY_OUT(tsi_tasks_create(env, executor->recording.list, &executor->tasks));
  if (on_starpu) TSI_TRY_OUT(tsi_tasks_record(executor->tasks));
out:
  if (status != TRISTAR_OK) tsi_executor_release(env, executor);
  return status;
}

void tsi_executor_release(tsi_env *env, tsi_executor *executor) {
  TSI_FREE(env, executor->lanes);
  tsi_tasks_destroy(&executor->tasks);
  tsi_recording_release(env, &executor->recording);
}
