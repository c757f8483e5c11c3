/* A recorded set of tasks: built once, run as often as wanted, on StarPU or on the calling thread.
 *
 * Job. Submit all tasks of a list (runtime/exec/steps/task_list.h) to StarPU, to be tested or waited for; or
 * have the list run them here.
 *
 * Reads   the list, and writes the spans in it.   Writes  StarPU's queues.
 * Invariants
 *   - at most one run of a set is in flight: from a tsi_tasks_start that submits to the tsi_tasks_wait that
 *   returns, or the tsi_tasks_test that gives true; from a tsi_tasks_launch to the call of `ended`
 *   - outside of it no worker reads or writes what the tasks work with; the set can be started again or freed
 *   - nothing else of the program's tasks is waited for */
#pragma once

#include "runtime/exec/steps/task_list.h"

typedef struct tsi_tasks tsi_tasks;

/* The list stays the caller's; it is freed after the set. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_tasks_create(tsi_env *env, tsi_task_list *list, tsi_tasks **out);
void tsi_tasks_destroy(tsi_tasks **tasks);

/* Bytes of the set of a list without devices once it is recorded, beside the list. */
size_t tsi_tasks_bytes(const tsi_task_list *list);

/* Makes the StarPU tasks; StarPU must run. Nothing can be added to the list any more. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_tasks_record(tsi_tasks *tasks);

/* Waits until StarPU has let go of the run before: from then on events may happen. tsi_tasks_start does it as
 * well; who has events calls this before anything can make them happen. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_tasks_prepare(tsi_tasks *tasks);
/* The event happens. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_tasks_happen(tsi_tasks *tasks, tsi_index event);

/* Right-hand sides of the runs to come, for the estimates of what tasks take; 1 until then. */
void tsi_tasks_set_columns(tsi_tasks *tasks, tsi_index columns);

/* Starts a run. Recorded: submits all tasks to StarPU and returns, unless `here`, or the caller is itself a
 * StarPU task, which must not wait for others. Otherwise runs them on the calling thread; nothing is in
 * flight then, nor after a failure. Must not be called while a run of the set is in flight. Errors:
 * NO_WORKER, RUNTIME, UNSUPPORTED (events, but not on StarPU). */
TRISTAR_CHECKED tristar_status tsi_tasks_start(tsi_tasks *tasks, bool here);

/* May the calling thread wait for tasks? Not from inside a StarPU task or one of its callbacks. */
bool tsi_tasks_may_wait(void);
/* Before waiting for StarPU's transfers. Errors: UNSUPPORTED, where that may not be. */
TRISTAR_CHECKED tristar_status tsi_tasks_check_waiting(const tsi_env *env);
/* StarPU's scheduling context that tasks submitted by this thread would run in. */
unsigned tsi_tasks_context(void);
/* true: StarPU has let go of the run before, so that tsi_tasks_prepare does not wait. */
bool tsi_tasks_idle(tsi_tasks *tasks);
/* The run is over; a failure is one of tsi_tasks_launch's, with the thread's latest message. Called on a
 * worker, in a StarPU callback: it must not wait. The set may go into other hands from then on, but StarPU
 * has not let go of it yet. */
typedef void (*tsi_tasks_ended)(void *arg, tristar_status status);
/* Starts a run of a recorded set with tasks, after tsi_tasks_prepare, from any thread: waits for nothing.
 * `ended` is called once, unless launch fails. context: StarPU's scheduling context. Errors: RUNTIME; `ended`
 * also gets NO_WORKER: then not all of the tasks have run. */
TRISTAR_CHECKED tristar_status tsi_tasks_launch(tsi_tasks *tasks, unsigned context, tsi_tasks_ended ended,
                                                void *arg);
/* Is a run in flight, as far as test and wait have seen? */
bool tsi_tasks_running(const tsi_tasks *tasks);
/* true: no run is in flight any more. Does not wait. */
bool tsi_tasks_test(tsi_tasks *tasks);
/* Waits for the run in flight, if there is one. Not from inside a StarPU task. Errors: RUNTIME (also: of a
 * device, in the latest run). */
TRISTAR_CHECKED tristar_status tsi_tasks_wait(tsi_tasks *tasks);
/* tsi_tasks_start and tsi_tasks_wait. */
TRISTAR_CHECKED tristar_status tsi_tasks_run(tsi_tasks *tasks, bool here);

/* One task of its own, without edges: `run` on a worker of a scheduling context, then `ended`, in a callback,
 * when nothing of the task is needed any more. name, microseconds: as of tsi_task_list_add; columns: its
 * right-hand sides. Errors: MEMORY, NO_WORKER, RUNTIME; neither is called then. */
TRISTAR_CHECKED tristar_status tsi_task_submit(tsi_env *env, const char *name, unsigned context,
                                               double microseconds, tsi_index columns,
                                               void (*run)(void *arg, int worker), void (*ended)(void *arg),
                                               void *arg);

/* Did StarPU run the latest run? Else the calling thread did. */
bool tsi_tasks_ran_on_starpu(const tsi_tasks *tasks);
/* Adds the seconds that each worker spent in tasks in the latest run, which has ended and was on StarPU, to
 * seconds[worker]. Workers from `workers` on are left out. */
void tsi_tasks_add_busy(const tsi_tasks *tasks, int workers, double *seconds);
