/* Work on blocks of rows, shared by workers.
 *
 * Job. Call a function for each of so many blocks: here, one after the other, or in StarPU tasks, one for
 * each worker, which take blocks until none is left. The tasks are recorded once.
 *
 * Reads   what the function reads.   Writes  what it writes; its own members.
 * Invariants: a run calls the function once for each block; it has ended when tsi_crew_run returns; blocks
 * may be taken in any order, at the same time. */
#ifndef TSI_RUNTIME_CONTEXT_CREW_H
#define TSI_RUNTIME_CONTEXT_CREW_H

#include <stdatomic.h>

#include "runtime/context/context.h"
#include "runtime/starpu/tasks.h"

/* member: who calls, 0 <= member < workers; a member makes one call at a time, so that scratch may be its
 * own.
 */
typedef void (*tsi_crew_function)(void *context, tsi_index block, int member);

typedef struct tsi_crew {
  tsi_env *env;
  int workers; /* 1: the calling thread */
  tsi_index blocks;
  tsi_index portion; /* blocks that a task takes at a time */
  tsi_task_list *list;
  tsi_tasks *tasks; /* NULL: one worker */
  /* of the run */
  tsi_crew_function run;
  void *context;
  _Atomic(int64_t) next;
} tsi_crew;

/* name: of the tasks, one of those that codelets/host_task.c has. engine: AUTO compares what a run costs that
 * reads so many bytes. The crew must not move from then on. After a failure tsi_crew_finish is to be called
 * all the same. Errors: UNSUPPORTED, MEMORY, RUNTIME, NO_WORKER. */
TRISTAR_CHECKED tristar_status tsi_crew_begin(tristar_t *ts, const char *name, tristar_engine engine,
                                              tsi_index blocks, double bytes, double *start_seconds,
                                              tsi_crew *crew);
void tsi_crew_finish(tsi_crew *crew);

/* Errors: NO_WORKER, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_crew_run(tsi_crew *crew, tsi_crew_function run, void *context);

#endif
