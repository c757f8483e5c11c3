/* A recording: the steps of a solve as a list of tasks, for StarPU or for the calling thread.
 *
 * Job. Group steps (dag/steps.h) into tasks (task_list.h), each of which runs some steps in their order
 * (execution.h). A solve of a plan has no messages. With messages an ARRIVAL is an event; if steps run on the
 * calling thread, it waits there.
 *
 * Reads   the steps.   Writes  a tsi_recording that owns its arrays and is immutable afterwards.
 * Invariants
 *   - item[first .. end - 1], with the first two arguments of a task, are its steps; a barrier has none; each
 *     step is in one task
 *   - an execution is used by one run of one recording at a time */
#pragma once

#include "dag/bundles.h"
#include "runtime/exec/steps/execution.h"
#include "runtime/exec/steps/task_list.h"

typedef struct tsi_recording {
  tsi_execution *execution;
  const tsi_steps *steps;
  tsi_steps *owned;      /* the same steps, if the recording frees them */
  tsi_bundles *bundles;  /* bundles, or */
  tsi_levels *levels;    /* level sets, or */
  tsi_index *order;      /* if both are NULL: one task per step, in this order */
  const tsi_index *item; /* of bundles, levels, or order */
  tsi_index *event;      /* by received message: its task */
  tsi_task_list *list;   /* NULL: not recorded */
  double bytes;          /* bytes of all steps */
  double predicted;      /* seconds of a run with one right-hand side; 0: unknown */
} tsi_recording;

/* Ways to group steps into tasks. */
typedef struct tsi_grouping {
  tsi_levels
      *levels;  /* not NULL: level sets, with barriers; they are moved to the recording, also on failure */
  bool listed;  /* each step is a task, and they run in the order of the steps: only on the calling thread */
  double light; /* else bundles: largest weight of one in bytes (dag/bundles.h) */
  int workers;  /* number of workers for the bundles */
} tsi_grouping;

/* *recording is empty. From now on it must not move in memory, nor must execution. The caller releases it,
 * also after a failure. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_recording_create(tsi_env *env, tsi_execution *execution,
                                                    const tsi_steps *steps, tsi_grouping grouping,
                                                    tsi_recording *recording);
/* Releases the data; the recording is empty again. */
void tsi_recording_release(tsi_env *env, tsi_recording *recording);

/* The steps of a task. */
static inline void tsi_recording_steps(const tsi_recording *recording, tsi_index task, tsi_index *first,
                                       tsi_index *end) {
  const tsi_index *argument = recording->list->task[task].argument;
  *first = argument[0];
  *end = argument[1];
}
