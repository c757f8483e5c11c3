/* The codelets of tasks on CPU workers with explicit dependencies, one for each kind of task.
 *
 * Solve tasks work in the buffers of a plan, factorization tasks in fronts that they allocate themselves.
 * Both are in main memory, and explicit dependencies order the tasks, so no data handle is needed. Such tasks
 * are the cheapest ones of StarPU: a handle costs more than the rest of a small task. Chunks that also have a
 * GPU implementation need another codelet, with handles.
 *
 * Performance models. StarPU measures each kind of task on each kind of worker and fits time = a size^b. Here
 * size is the submitter's estimate, which is linear in the bytes (or operations) of a task, times the factor
 * for the right-hand sides of the run (columns.h). Only dmda and its family use models: StarPU then saves
 * them as tristar_KIND in its own folder. Schedulers that do not use the length of a task (eager, prio, lws)
 * cause neither measurements nor files. The estimate itself is the model of kinds whose tasks all have one
 * size, and of tasks with unknown names.
 *
 * If StarPU simulates a machine nothing is measured, and the estimate is the model of all kinds.
 *
 * Kinds have the names and colours of traces. */
#pragma once

#include <starpu.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "codelets/columns.h"

/* cl_arg of such a task; owned by the submitter. */
typedef struct tsi_host_task {
  void (*run)(void *arg, int worker); /* worker: StarPU's number of the worker that runs the task */
  void *arg;
  double microseconds;         /* estimate for one right-hand side */
  const _Atomic(int) *columns; /* right-hand sides of the run; a factorization: 1 */
} tsi_host_task;

/* If StarPU simulates a machine, it must still call the functions of tasks. */
#ifdef STARPU_SIMGRID
#define TSI_CODELET_FLAGS STARPU_CODELET_SIMGRID_EXECUTE
#else
#define TSI_CODELET_FLAGS 0
#endif

/* Initializes *task as a recorded host task: neither destroyed nor detached, so that it can be waited for and
 * submitted again. name, the kind, is static text: StarPU keeps the pointer. */
void tsi_host_task_init(struct starpu_task *task, tsi_host_task *body, const char *name, int priority);

/* Is this the name of a kind? */
bool tsi_host_task_exists(const char *name);
