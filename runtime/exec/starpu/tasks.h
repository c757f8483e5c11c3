/* A recorded set of tasks: built once, run any number of times, on StarPU or on the calling thread.
 *
 * Job. Submit all tasks of a list (runtime/exec/steps/task_list.h) to StarPU, to be tested or waited for; or
 * let the list run them here.
 *
 * Reads   the list, and writes the spans in it.   Writes  StarPU's queues.
 * Invariants
 *   - at most one run of a set is in flight: from a tsi_tasks_start that submits until tsi_tasks_wait returns
 *     or tsi_tasks_test returns true; from a tsi_tasks_launch until `ended` is called
 *   - while no run is in flight, no worker accesses the data of the tasks; the set can be started again or
 *     freed
 *   - the set never waits for other tasks of the program */
#pragma once

#include "runtime/exec/steps/task_list.h"

typedef struct tsi_tasks tsi_tasks;

/* The caller owns the list, and frees it after the set. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_tasks_create(tsi_env *env, tsi_task_list *list, tsi_tasks **out);
void tsi_tasks_destroy(tsi_tasks **tasks);

/* Bytes of the recorded set of a list without devices, in addition to the list. */
size_t tsi_tasks_bytes(const tsi_task_list *list);

/* Creates the StarPU tasks; StarPU must run. Nothing can be added to the list afterwards. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_tasks_record(tsi_tasks *tasks);

/* Waits until StarPU has released the previous run: afterwards events may happen. tsi_tasks_start does the
 * same; with events, call it before any of them can happen. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_tasks_prepare(tsi_tasks *tasks);
/* Lets the event happen. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_tasks_happen(tsi_tasks *tasks, tsi_index event);

/* Number of right-hand sides of the next runs, for the estimated times of tasks; 1 before the first call. */
void tsi_tasks_set_columns(tsi_tasks *tasks, tsi_index columns);

/* Starts a run. If the set is recorded, submits all tasks to StarPU and returns. If `here`, or if the caller
 * is itself a StarPU task, which must not wait for others, runs them on the calling thread instead; then
 * nothing is in flight, nor after a failure. Must not be called while a run of the set is in flight. Errors:
 * NO_WORKER, RUNTIME, UNSUPPORTED (events, but not on StarPU). */
TRISTAR_CHECKED tristar_status tsi_tasks_start(tsi_tasks *tasks, bool here);

/* Whether the calling thread may wait for tasks: not inside a StarPU task or one of its callbacks. */
bool tsi_tasks_may_wait(void);
/* Checks that the caller may wait for StarPU's transfers. Errors: UNSUPPORTED (it may not). */
TRISTAR_CHECKED tristar_status tsi_tasks_check_waiting(const tsi_env *env);
/* StarPU's scheduling context that tasks submitted by this thread would run in. */
unsigned tsi_tasks_context(void);
/* true: StarPU has released the previous run, so tsi_tasks_prepare does not wait. */
bool tsi_tasks_idle(tsi_tasks *tasks);
/* Called when the run has ended. A failure is one of tsi_tasks_launch, with the thread's latest message.
 * Called on a worker, in a StarPU callback: it must not wait. Afterwards other threads may use the set, but
 * StarPU has not released it yet. */
typedef void (*tsi_tasks_ended)(void *arg, tristar_status status);
/* Starts a run of a recorded set that has tasks, after tsi_tasks_prepare, from any thread; does not wait.
 * `ended` is called once, unless launch fails. context: StarPU's scheduling context. Errors: RUNTIME; `ended`
 * may also get NO_WORKER: then not all tasks have run. */
TRISTAR_CHECKED tristar_status tsi_tasks_launch(tsi_tasks *tasks, unsigned context, tsi_tasks_ended ended,
                                                void *arg);
/* Whether a run is in flight, according to the latest test or wait. */
bool tsi_tasks_running(const tsi_tasks *tasks);
/* Returns true if no run is in flight any more. Does not wait. */
bool tsi_tasks_test(tsi_tasks *tasks);
/* Waits for the run in flight, if there is one. Must not be called inside a StarPU task. Errors: RUNTIME
 * (also: of a device, in the latest run). */
TRISTAR_CHECKED tristar_status tsi_tasks_wait(tsi_tasks *tasks);
/* tsi_tasks_start and tsi_tasks_wait. */
TRISTAR_CHECKED tristar_status tsi_tasks_run(tsi_tasks *tasks, bool here);

/* Submits a single task without edges: `run` on a worker of a scheduling context, then `ended`, in a
 * callback, when the task needs no data any more. name, microseconds: as for tsi_task_list_add; columns: its
 * right-hand sides. Errors: MEMORY, NO_WORKER, RUNTIME; neither function is called then. */
TRISTAR_CHECKED tristar_status tsi_task_submit(tsi_env *env, const char *name, unsigned context,
                                               double microseconds, tsi_index columns,
                                               void (*run)(void *arg, int worker), void (*ended)(void *arg),
                                               void *arg);

/* Whether the latest run was on StarPU, and not on the calling thread. */
bool tsi_tasks_ran_on_starpu(const tsi_tasks *tasks);
/* Adds the seconds that each worker spent in tasks of the latest run, which has ended and was on StarPU, to
 * seconds[worker]. Workers from number `workers` on are left out. */
void tsi_tasks_add_busy(const tsi_tasks *tasks, int workers, double *seconds);
