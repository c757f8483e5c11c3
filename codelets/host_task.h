/* The codelet of tasks that run on CPU workers and whose dependencies are explicit.
 *
 * Solve tasks work in the buffers of a plan, factorization tasks in fronts that they allocate themselves:
 * both live in main memory and are ordered by explicit dependencies, so no data handle is needed. That is the
 * cheapest task that StarPU has (a handle costs more than the rest of a small task). Chunks that also have a
 * GPU implementation need a codelet with handles of its own.
 *
 * Performance model: the submitter's estimate in microseconds, scaled by nothing; dmda and its family use it.
 */
#ifndef TSI_CODELETS_HOST_TASK_H
#define TSI_CODELETS_HOST_TASK_H

#include <starpu.h>

/* cl_arg of such a task; owned by the submitter. */
typedef struct tsi_host_task {
  void (*run)(void *arg, int worker); /* worker: StarPU's number of the worker that runs it */
  void *arg;
  double microseconds; /* estimate */
} tsi_host_task;

/* Makes *task (initialized here) a host task that is recorded: neither destroyed nor detached, so it can be
 * waited for and submitted again. name is kept by StarPU (static text). */
void tsi_host_task_init(struct starpu_task *task, tsi_host_task *body, const char *name, int priority);

#endif
