/* Solves between the program's tasks: what StarPU's handles need of whoever solves.
 *
 * The handles of b and x are acquired with callbacks, in the order of insertion, so nobody waits. The last
 * one to be granted starts the solve; its end releases them, on a worker. What can be inserted (a plan)
 * begins with a tsi_insertable, whose functions solve without knowing of handles; so the functions of
 * tristar_starpu.h stand here (insert.c), and the solver has no type of StarPU.
 *
 * Reads   handles, options, the data of b.   Writes  the data of x.
 * Invariants
 *   - the data of the handles is used, and `end` is called, after all are granted and before any is released
 *   - of a tsi_insertion_end first `finish` is called, then `release`, each once, and nothing else afterwards
 *   - an insertion is freed by its release; who has asked for its handles does not touch it any more */
#pragma once

#include "runtime/base/env.h"
#include "tristar_solve.h"

/* A solve that is to be inserted. */
typedef struct tsi_insert_order {
  tristar_op op;
  tristar_part part;
  int64_t columns;
  int64_t limit; /* unfinished ones of this insertable */
  bool busy;     /* do not wait for a place */
  tristar_end_fn end;
  void *end_arg;
  /* How it ends, on a worker: x goes to the handles, if the status is OK; then, after `end`, the handles are
   * released. */
  void (*finish)(void *insertion, tristar_status status);
  void (*release)(void *insertion);
  void *insertion;
} tsi_insert_order;

typedef struct tsi_insertable_functions {
  /* StarPU runs from here on, before handles are looked at. Errors: UNSUPPORTED, RUNTIME, NO_WORKER. */
  tristar_status (*open)(tristar_plan_t *plan);
  /* Takes a place and all else that can fail. May wait for a place. Errors: BUSY, ARGUMENT, UNSUPPORTED,
   * STALE, MEMORY, RUNTIME; nothing is held then. */
  tristar_status (*reserve)(tristar_plan_t *plan, const tsi_insert_order *order, void **solve);
  /* The arrays are there, unless the status is a failure, which the solve then ends with. Waits for nothing.
   */
  void (*launch)(void *solve, tristar_status status, const void *b, int64_t b_column, void *x,
                 int64_t x_column);
} tsi_insertable_functions;

typedef struct tsi_insertable {
  const tsi_insertable_functions *functions;
  tristar_t *ts;
  int64_t rows;
  size_t scalar;          /* bytes */
  pthread_mutex_t *order; /* held while handles are asked for */
} tsi_insertable;
