/* The codelets of tasks that run on CPU workers and whose dependencies are explicit, one for each kind of
 * task.
 *
 * Solve tasks work in the buffers of a plan, factorization tasks in fronts that they allocate themselves:
 * both live in main memory and are ordered by explicit dependencies, so no data handle is needed. That is the
 * cheapest task that StarPU has (a handle costs more than the rest of a small task). Chunks that also have a
 * GPU implementation need a codelet with handles of its own.
 *
 * Performance models. StarPU measures each kind of task on each kind of worker and fits time = a size^b,
 * where size is the submitter's estimate, which is linear in the bytes (or operations) of a task, times what
 * the right-hand sides of the run add to it. Schedulers that do not ask for the length of a task (eager,
 * prio, lws) cause neither measurements nor files; dmda and its family do, and StarPU then keeps the models,
 * which are called tristar_KIND, where it keeps its own. Kinds that have nothing to be fitted, since all
 * their tasks are of one size, have the estimate as their model, and so have tasks of unknown names.
 *
 * Where StarPU simulates a machine nothing is measured, and all kinds have the estimate as their model.
 *
 * Names and colours of the kinds are those of traces.
 */
#pragma once

#include <starpu.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "codelets/columns.h"

/* cl_arg of such a task; owned by the submitter. */
typedef struct tsi_host_task {
  void (*run)(void *arg, int worker); /* worker: StarPU's number of the worker that runs it */
  void *arg;
  double microseconds;         /* estimate for one right-hand side */
  const _Atomic(int) *columns; /* right-hand sides of the run; a factorization: 1 */
} tsi_host_task;

/* A StarPU that simulates a machine calls the functions of tasks all the same. */
#ifdef STARPU_SIMGRID
#define TSI_CODELET_FLAGS STARPU_CODELET_SIMGRID_EXECUTE
#else
#define TSI_CODELET_FLAGS 0
#endif

/* Makes *task (initialized here) a host task that is recorded: neither destroyed nor detached, so it can be
 * waited for and submitted again. name, the kind, is kept by StarPU (static text). */
void tsi_host_task_init(struct starpu_task *task, tsi_host_task *body, const char *name, int priority);

/* Is it the name of a kind of its own? */
bool tsi_host_task_known(const char *name);
