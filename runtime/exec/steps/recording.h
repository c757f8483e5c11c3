/* A recording: the steps of a solve as a list of tasks, for StarPU or for the calling thread.
 *
 * Job. Group steps (dag/steps.h) into tasks (task_list.h), each of which runs some of them, in their order
 * (execution.h). A solve of a plan is one without messages. With messages an ARRIVAL is an event; where steps
 * run on the calling thread, it waits there.
 *
 * Reads   the steps.   Writes  a tsi_recording that owns its arrays and is immutable afterwards.
 * Invariants
 *   - item[first .. end - 1], the first two arguments of a task, are its steps; a barrier has none; each step
 *     is in one task
 *   - an execution serves one run of one recording at a time */
#pragma once

#include "dag/bundles.h"
#include "runtime/exec/steps/execution.h"
#include "runtime/exec/steps/task_list.h"

typedef struct tsi_recording {
  tsi_execution *execution;
  const tsi_steps *steps;
  tsi_steps *owned;      /* the same, where the recording frees them */
  tsi_bundles *bundles;  /* one of these two, */
  tsi_levels *levels;    /* or none: */
  tsi_index *order;      /* each step is a task */
  const tsi_index *item; /* of bundles, levels, or order */
  tsi_index *event;      /* received messages: their task */
  tsi_task_list *list;   /* NULL: not recorded */
  double bytes;          /* of all steps */
  double predicted;      /* seconds of a run with one right-hand side; 0: unknown */
} tsi_recording;

/* How steps come into tasks. */
typedef struct tsi_grouping {
  tsi_levels
      *levels;  /* not NULL: by level sets, with barriers; the recording's from then on, also on failure */
  bool listed;  /* each step is a task, and they run in the order in which they are listed: only on the
                   calling thread */
  double light; /* else bundles, for so many */
  int workers;  /* workers */
} tsi_grouping;

/* *recording holds nothing, and must not move from then on; nor must execution. To be released, also after a
 * failure. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_recording_create(tsi_env *env, tsi_execution *execution,
                                                    const tsi_steps *steps, tsi_grouping grouping,
                                                    tsi_recording *recording);
/* Leaves it as it was before. */
void tsi_recording_release(tsi_env *env, tsi_recording *recording);

/* The steps of a task. */
static inline void tsi_recording_steps(const tsi_recording *recording, tsi_index task, tsi_index *first,
                                       tsi_index *end) {
  const tsi_index *argument = recording->list->task[task].argument;
  *first = argument[0];
  *end = argument[1];
}
