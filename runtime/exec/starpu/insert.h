/* Solves between the program's tasks: the part that handles StarPU's handles.
 *
 * The handles of b and x are acquired with callbacks, in the order of insertion, so no thread waits. The last
 * grant starts the solve; its end releases the handles, on a worker. An object whose solves can be inserted
 * (a plan) begins with a tsi_insertable, whose functions solve without handles. So the functions of
 * tristar_starpu.h are in insert.c, and the solver uses no types of StarPU.
 *
 * Reads   handles, options, the data of b.   Writes  the data of x.
 * Invariants
 *   - after all handles are granted and before any is released, their data is used and `end` is called
 *   - of a tsi_insert_order first `finish` is called, then `release`, each once, and nothing else afterwards
 *   - the release of an insertion frees it; the thread that requested its handles does not access it any more
 */
#pragma once

#include "runtime/base/env.h"
#include "tristar_solve.h"

/* A solve that is to be inserted. */
typedef struct tsi_insert_order {
  tristar_op op;
  tristar_part part;
  int64_t columns;
  int64_t limit; /* largest number of unfinished solves of this insertable */
  bool busy;     /* return BUSY instead of waiting for a place */
  tristar_end_fn end;
  void *end_arg;
  /* The end, on a worker. finish: copies x to the handles, if the status is OK. release: releases the
   * handles, after `end`. */
  void (*finish)(void *insertion, tristar_status status);
  void (*release)(void *insertion);
  void *insertion;
} tsi_insert_order;

typedef struct tsi_insertable_functions {
  /* Starts StarPU, before handles are read. Errors: UNSUPPORTED, RUNTIME, NO_WORKER. */
  tristar_status (*open)(tristar_plan_t *plan);
  /* Takes a place, and does everything else that can fail. May wait for a place. Errors: BUSY, ARGUMENT,
   * UNSUPPORTED, STALE, MEMORY, RUNTIME; nothing is held then. */
  tristar_status (*reserve)(tristar_plan_t *plan, const tsi_insert_order *order, void **solve);
  /* Starts the solve with these arrays. If the status is a failure, there are no arrays, and the solve ends
   * with this status. Does not wait. */
  void (*launch)(void *solve, tristar_status status, const void *b, int64_t b_column, void *x,
                 int64_t x_column);
} tsi_insertable_functions;

typedef struct tsi_insertable {
  const tsi_insertable_functions *functions;
  tristar_t *ts;
  int64_t rows;
  size_t scalar;          /* bytes */
  pthread_mutex_t *order; /* held while handles are requested */
} tsi_insertable;
