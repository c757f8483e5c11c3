/* The executor: runs a recording (runtime/exec/steps/recording.h) as tasks on StarPU's workers
 * (runtime/exec/starpu/tasks.h), or on the calling thread.
 *
 * Reads, writes   the data of the execution.
 * Invariants: recording and tasks exist both, or neither does; the tasks are those of recording.list; lanes
 * have its steps */
#pragma once

#include "runtime/exec/steps/lane_run.h"
#include "runtime/exec/steps/recording.h"
#include "runtime/exec/starpu/tasks.h"

typedef struct tsi_executor {
  tsi_recording recording;
  tsi_tasks *tasks;    /* NULL: not recorded */
  tsi_lane_run *lanes; /* NULL: these steps run as tasks, or one after the other */
} tsi_executor;

/* *executor is empty before. Afterwards neither it nor execution may move. on_starpu: runs on StarPU; false:
 * on the calling thread. grouping: see tsi_recording_create. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_executor_create(tsi_env *env, tsi_execution *execution,
                                                   const tsi_steps *steps, tsi_grouping grouping,
                                                   bool on_starpu, tsi_executor *executor);
/* Frees the content; *executor is empty afterwards. */
void tsi_executor_release(tsi_env *env, tsi_executor *executor);
