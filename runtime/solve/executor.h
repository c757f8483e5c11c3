/* The executor: runs the steps of a solve as tasks on StarPU's workers, or one after the other on the calling
 * thread.
 *
 * Job. Record steps (dag/steps.h) as a set of tasks (runtime/starpu/tasks.h), each of which runs some of
 * them, in their order, by a table with one function for each kind of step. A solve of a plan is one without
 * messages. With messages (dag/program.h, exchange.h) a step packs and sends at its end what others are to
 * get, and an ARRIVAL is an event; where steps run on the calling thread, it waits there.
 *
 * Reads   the steps; what the members of an execution point to.
 * Writes  workspace, outbox and x of the execution; the notes that somebody asked for.
 * Invariants
 *   - item[first .. end - 1], the first two arguments of a task, are its steps; an event, and a barrier, has
 *     none; each step but arrivals that are events is in one task
 *   - an execution serves one run of one recording at a time */
#ifndef TSI_RUNTIME_SOLVE_EXECUTOR_H
#define TSI_RUNTIME_SOLVE_EXECUTOR_H

#include "codelets/cpu/node.h"
#include "dag/bundles.h"
#include "runtime/starpu/tasks.h"

struct tsi_spmv;
struct tsi_spmv_matrix;
struct tsi_exchange;

/* What steps work with. */
typedef struct tsi_execution {
  const tsi_node_kernels *nodes;
  const tsi_solve_data *forward, *backward; /* of the two sweeps */
  const struct tsi_spmv *spmv;              /* KERNEL_SPMV only: this and */
  const struct tsi_spmv_matrix *product[2]; /* forward, backward */
  struct tsi_exchange *exchange;            /* NULL: there are no messages */
  tsi_solve_call call;
  double *step_start; /* by step: when it began (tsi_clock), where a trace wants to know; NULL: not noted */
  /* by node of the forward sweep, then of the backward one: where its task ran; NULL: that is not noted */
  int *processor;
  tsi_index forward_nodes; /* of processor */
} tsi_execution;

typedef struct tsi_recording {
  tsi_execution *execution;
  const tsi_steps *steps;
  tsi_steps *owned;      /* the same, where the recording frees them */
  tsi_bundles *bundles;  /* one of these two, */
  tsi_levels *levels;    /* or none: */
  tsi_index *order;      /* each step is a task */
  const tsi_index *item; /* of bundles, levels, or order */
  tsi_index *event;      /* received messages: their task */
  tsi_tasks *tasks;      /* NULL: not recorded */
  double bytes;          /* of all steps */
  double predicted;      /* seconds of a run with one right-hand side; 0: unknown */
} tsi_recording;

/* How steps come into tasks. */
typedef struct tsi_grouping {
  tsi_levels
      *levels;    /* not NULL: by level sets, with barriers; the recording's from then on, also on failure */
  bool listed;    /* each step is a task, and they run in the order in which they are listed: only on the
                     calling thread */
  double light;   /* else bundles, for so many */
  int workers;    /* workers */
  bool on_starpu; /* else on the calling thread */
} tsi_grouping;

/* *recording holds nothing; execution must not move. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_recording_create(tsi_env *env, tsi_execution *execution,
                                                    const tsi_steps *steps, tsi_grouping grouping,
                                                    tsi_recording *recording);
/* Leaves it as it was before. */
void tsi_recording_release(tsi_env *env, tsi_recording *recording);

/* The steps of a task. */
static inline void tsi_recording_steps(const tsi_recording *recording, tsi_index task, tsi_index *first,
                                       tsi_index *end) {
  const tsi_index *argument = tsi_tasks_argument(recording->tasks, task);
  *first = argument[0];
  *end = argument[1];
}

#endif
