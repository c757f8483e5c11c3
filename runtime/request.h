/* A request: one solve, from what is to be solved to its last block of right-hand sides.
 *
 * Job. solve.c says what is to be solved; tsi_request_advance runs it in blocks of TSI_NRHS_BLOCK right-hand
 * sides, each in a replay of its own. Two blocks are in flight where the tasks run on StarPU, so the forward
 * sweep of one runs while the backward sweep of the one before it ends. A synchronous solve is a request that
 * is waited for at once.
 *
 * Reads   the plan, b.   Writes  x, replays of the plan, the plan's statistics, its own members.
 * Invariants
 *   - block[(oldest + k) % TSI_BLOCKS], k < running, are in flight, in the order of their columns; the others
 *     hold nothing
 *   - columns 0 .. next-1 are solved or in flight
 *   - after the first failure, which status keeps, no block is started
 *   - done: nothing is in flight or will be, and the request owns nothing but itself
 *   - call.sparse and sums.compute point into the request, which therefore must not move
 *   - one thread at a time works with a request; any thread may */
#ifndef TSI_RUNTIME_REQUEST_H
#define TSI_RUNTIME_REQUEST_H

#include "runtime/reach.h"

#define TSI_BLOCKS 2 /* in flight at the same time */

typedef struct tsi_block {
  tsi_replay *replay;
  tsi_tasks *tasks; /* of the replay */
  char *copy;       /* of b, where x is b; NULL: none */
} tsi_block;

struct tristar_request_s {
  tristar_plan_t *plan;
  /* what is to be solved: immutable once it runs */
  tsi_sweeps sweeps;
  bool diagonal;                           /* neither sweep: D alone */
  int dag;                                 /* of the plan */
  const tsi_plan_side *forward, *backward; /* sides that the sweeps work with; NULL: no such sweep */
  tsi_solve_call call;                     /* all but nrhs, stride, workspace; b and x of the first column */
  const tsi_index *in_place, *out_place;   /* inverses of call.in_row and out_row; NULL: identity */
  bool in_user, out_user;                  /* b, x are in the user's order */
  bool here;                               /* too little to do for StarPU */
  int64_t nrhs;
  tsi_reach reach;
  double share;            /* of the factor's bytes */
  double begin;            /* tsi_clock() at the start */
  struct tsi_trace *trace; /* notes what runs; NULL: nothing does */
  /* how far it is */
  tsi_block block[TSI_BLOCKS];
  int oldest, running;
  int64_t next; /* the first column that was not started */
  tsi_solve_sums sums;
  tristar_status status;
  bool done;
};

/* What tristar_solve solves: fills *r, which nothing runs of yet. After a failure it holds nothing. Errors:
 * ARGUMENT, MEMORY, UNSUPPORTED, STALE. */
TRISTAR_CHECKED tristar_status tsi_request_plain(tristar_request_t *r, tristar_plan_t *plan, tristar_op op,
                                                 int64_t nrhs, const void *b, int64_t ldb, void *x,
                                                 int64_t ldx);

/* Starts and ends blocks until the request is done (true), or all that is left is to wait for tasks. wait:
 * waits for them, so true is the answer; not from inside a StarPU task. Failures: r->status. */
bool tsi_request_advance(tristar_request_t *r, bool wait);

#endif
