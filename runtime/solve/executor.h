/* The executor: runs a recording (runtime/exec/steps/recording.h) as tasks on StarPU's workers
 * (runtime/exec/starpu/tasks.h), or on the calling thread.
 *
 * Reads, writes   what the execution does.
 * Invariants: both or neither are there; the tasks are those of recording.list; lanes have its steps */
#pragma once

#include "runtime/exec/steps/lane_run.h"
#include "runtime/exec/steps/recording.h"
#include "runtime/exec/starpu/tasks.h"

typedef struct tsi_executor {
  tsi_recording recording;
  tsi_tasks *tasks;    /* NULL: not recorded */
  tsi_lane_run *lanes; /* NULL: these steps run as tasks, or one after the other */
} tsi_executor;

/* *executor holds nothing, and must not move from then on; nor must execution. on_starpu: else on the calling
 * thread. grouping: see tsi_recording_create. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_executor_create(tsi_env *env, tsi_execution *execution,
                                                   const tsi_steps *steps, tsi_grouping grouping,
                                                   bool on_starpu, tsi_executor *executor);
/* Leaves it as it was before. */
void tsi_executor_release(tsi_env *env, tsi_executor *executor);
