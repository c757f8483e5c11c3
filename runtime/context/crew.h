/* Work on blocks of rows, shared by workers.
 *
 * Job. Call a function once for each block, in one of three ways. On the calling thread, one block after the
 * other. On the caller's and other cores, with helpers if that is faster (runtime/exec/starpu/helpers.h): for
 * short runs that follow each other, between which no worker polls on the caller's core. In StarPU tasks,
 * recorded once, one for each worker: for long runs.
 *
 * Each member begins with its own blocks, always the same ones, which may still be in its core's caches. Then
 * it takes blocks of other members that are not begun.
 *
 * Reads   the data that the function reads.   Writes  the results of the function; its own members.
 * Invariants: a run calls the function once for each block; it has ended when tsi_crew_run returns; blocks
 * may run in any order, at the same time. */
#pragma once

#include <stdatomic.h>

#include "runtime/context/context.h"
#include "runtime/exec/starpu/tasks.h"

/* member: the calling member, 0 <= member < members. A member makes one call at a time, so that each may have
 * its own scratch. */
typedef void (*tsi_crew_function)(void *context, tsi_index block, int member);

/* Length of the runs: AUTO divides long ones into tasks, and uses helpers for short ones. */
typedef enum tsi_crew_runs { TSI_RUNS_SHORT, TSI_RUNS_LONG } tsi_crew_runs;

/* Kinds of operations; in one kind a byte takes about the same time. */
typedef enum tsi_crew_kind { TSI_CREW_MATRIX, TSI_CREW_VECTORS, TSI_CREW_KINDS } tsi_crew_kind;

/* Blocks with which one member begins, and which others take when they have no more. */
typedef struct tsi_crew_portion {
  _Atomic(int64_t) next; /* next block that is not begun */
  tsi_index end;
  char rest[TSI_CACHE_LINE - sizeof(int64_t) - sizeof(tsi_index)];
} tsi_crew_portion;

typedef struct tsi_crew {
  tristar_t *ts;
  int workers; /* largest number of threads that share a run; 1: the calling thread */
  int members;
  tsi_index blocks;
  double bytes;              /* bytes of a run, from tsi_crew_begin */
  tsi_crew_portion *portion; /* by worker; NULL: only the calling thread works */
  tsi_task_list *list;
  tsi_tasks *tasks; /* NULL: no tasks */
  tsi_help_choice help[TSI_CREW_KINDS];
  /* of the current run */
  tsi_crew_function run;
  void *context;
  _Atomic(int64_t) done; /* blocks that have ended */
} tsi_crew;

/* Hires a crew. name: of the tasks, one of those in codelets/host_task.c. engine: AUTO compares the costs of
 * a run that reads `bytes` bytes. The crew must not move in memory afterwards. Call tsi_crew_finish also
 * after a failure. Errors: UNSUPPORTED, MEMORY, RUNTIME, NO_WORKER. */
TRISTAR_CHECKED tristar_status tsi_crew_begin(tristar_t *ts, const char *name, tristar_engine engine,
                                              tsi_crew_runs runs, tsi_index blocks, double bytes,
                                              double *start_seconds, tsi_crew *crew);
void tsi_crew_finish(tsi_crew *crew);

/* Runs the function. bytes: about the bytes read and written. Errors: NO_WORKER, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_crew_run(tsi_crew *crew, tsi_crew_kind kind, double bytes,
                                            tsi_crew_function run, void *context);
