/* Work on blocks of rows, shared by workers.
 *
 * Job. Call a function for each of so many blocks: here, one after the other; or here and on other cores,
 * with helpers where that is faster (runtime/exec/starpu/helpers.h), for runs that are short and follow each
 * other, between which no worker polls on the caller's core; or in StarPU tasks, recorded once, one for each
 * worker, for runs that are long.
 *
 * Each member begins with blocks of its own, always the same, which may still be in its core's caches, and
 * then takes from others what they have not begun.
 *
 * Reads   what the function reads.   Writes  what it writes; its own members.
 * Invariants: a run calls the function once for each block; it has ended when tsi_crew_run returns; blocks
 * may be taken in any order, at the same time. */
#pragma once

#include <stdatomic.h>

#include "runtime/context/context.h"
#include "runtime/exec/starpu/tasks.h"

/* member: who calls, 0 <= member < members; a member makes one call at a time, so that scratch may be its
 * own. */
typedef void (*tsi_crew_function)(void *context, tsi_index block, int member);

/* What runs are like: AUTO divides long ones into tasks, and has help with short ones. */
typedef enum tsi_crew_runs { TSI_RUNS_SHORT, TSI_RUNS_LONG } tsi_crew_runs;

/* Of operations whose bytes take a like time. */
typedef enum tsi_crew_kind { TSI_CREW_MATRIX, TSI_CREW_VECTORS, TSI_CREW_KINDS } tsi_crew_kind;

/* Blocks that one member begins with, and that others take when they have no more. */
typedef struct tsi_crew_portion {
  _Atomic(int64_t) next; /* block that nobody has begun */
  tsi_index end;
  char rest[TSI_CACHE_LINE - sizeof(int64_t) - sizeof(tsi_index)];
} tsi_crew_portion;

typedef struct tsi_crew {
  tristar_t *ts;
  int workers; /* threads that share a run, at most; 1: the calling thread */
  int members;
  tsi_index blocks;
  double bytes;              /* that it began with */
  tsi_crew_portion *portion; /* by worker; NULL: one that is the calling thread */
  tsi_task_list *list;
  tsi_tasks *tasks; /* NULL: no tasks */
  tsi_help_choice help[TSI_CREW_KINDS];
  /* of the run */
  tsi_crew_function run;
  void *context;
  _Atomic(int64_t) done; /* blocks */
} tsi_crew;

/* name: of the tasks, one of those that codelets/host_task.c has. engine: AUTO compares what a run costs that
 * reads so many bytes. The crew must not move from then on. After a failure tsi_crew_finish is to be called
 * all the same. Errors: UNSUPPORTED, MEMORY, RUNTIME, NO_WORKER. */
TRISTAR_CHECKED tristar_status tsi_crew_begin(tristar_t *ts, const char *name, tristar_engine engine,
                                              tsi_crew_runs runs, tsi_index blocks, double bytes,
                                              double *start_seconds, tsi_crew *crew);
void tsi_crew_finish(tsi_crew *crew);

/* bytes: that are read and written, about. Errors: NO_WORKER, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_crew_run(tsi_crew *crew, tsi_crew_kind kind, double bytes,
                                            tsi_crew_function run, void *context);
