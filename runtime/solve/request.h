/* A request: one solve, from what is to be solved to its last block of right-hand sides.
 *
 * Job. solve.c says what is to be solved; here it runs in blocks of plan->block right-hand sides, each in
 * a replay of its own. There are two ways:
 *   - followed: tsi_request_advance, called by who waits, starts and ends blocks. Two are in flight where the
 *     tasks run on StarPU, so the forward sweep of one runs while the backward sweep of the one before it
 * ends. A synchronous solve is a request that is waited for at once.
 *   - alone: tsi_request_reserve makes all blocks, tsi_request_launch submits their tasks, and the last one
 * to end ends the request, in a StarPU callback. Nobody needs to look at it, and nothing waits.
 *
 * Reads   the plan, b.   Writes  x, replays of the plan, the plan's statistics, its own members.
 * Invariants
 *   - followed: block[(oldest + k) % blocks], k < running, are in flight, in the order of their columns; the
 * others hold nothing; columns 0 .. next-1 are solved or in flight
 *   - alone: block k has the columns from k plan->block on; `left` counts the blocks that have not ended,
 * and one for who launches them
 *   - after the first failure, which `failure` keeps, no block is started
 *   - done: nothing is in flight or will be, and the request owns nothing but itself. Of a request with
 * `alone` and `end` it is guarded as in_flight.h says
 *   - call.sparse and sums.compute point into the request, which therefore must not move
 *   - followed: one thread at a time works with a request; any thread may */
#pragma once

#include "runtime/solve/plan.h"
#include "runtime/solve/reach.h"

#define TSI_BLOCKS 2 /* of a followed request: in flight at the same time */

typedef struct tsi_request_block {
  tsi_replay *replay;
  tsi_tasks *tasks; /* of the replay */
  char *copy;       /* of b, where x is b; NULL: none */
  tristar_request_t *request;
} tsi_request_block;

struct tristar_request_s {
  tristar_plan_t *plan;
  /* what is to be solved: immutable once it runs */
  tsi_sweeps sweeps;
  bool diagonal;                           /* neither sweep: D alone */
  tsi_step_list list;                      /* of the plan */
  const tsi_plan_side *forward, *backward; /* sides that the sweeps work with; NULL: no such sweep */
  tsi_solve_call call;                     /* all but nrhs, stride, workspace; b and x of the first column */
  bool in_user, out_user;                  /* b, x are in the user's order */
  const tsi_row_sweep *stream;             /* by rows: of a single column; NULL: none is */
  bool plain;                              /* a core alone may take the plain stream instead */
  bool inside_task;                        /* it is to run inside one StarPU task */
  int64_t nrhs;
  tsi_reach reach;
  double share;            /* of the factor's bytes */
  double begin;            /* tsi_clock() at the start */
  struct tsi_trace *trace; /* notes what runs, of a followed request; NULL: nothing does */
  tristar_end_fn end;      /* NULL: none */
  void *end_arg;
  /* how far it is */
  tsi_solve_sums sums; /* written under the plan's lock */
  tsi_failure failure; /* the first one */
  bool done;
  tsi_request_block pair[TSI_BLOCKS]; /* followed */
  int oldest, running;
  int64_t next;             /* the first column that was not started */
  tsi_request_block *block; /* alone; NULL: followed */
  int64_t blocks;
  _Atomic(int64_t) left;
  unsigned context;                    /* StarPU's scheduling context of the tasks */
  void (*ended)(tristar_request_t *r); /* called once, when the last block has ended; may free the request */
  /* fused with others (fuse.c) */
  tristar_op op;
  tristar_request_t *follower; /* in the queue; then of those that the same pass solves */
  tsi_solve_column *columns; /* of a pass for several requests, which the first one of them runs; else NULL */
  int64_t solves; /* requests that this one runs: 1, or all of the pass; 0: a trial, for no statistics */
  bool served;    /* without tasks: the pass is over; under the context's solves.lock */
};

/* Fills *r, which nothing runs of yet: all but b, x and their strides. After a failure it holds nothing.
 * Errors: ARGUMENT, UNSUPPORTED, STALE, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_request_prepare(tristar_request_t *r, tristar_plan_t *plan,
                                                   const tristar_solve_options *options, int64_t nrhs);

/* The way of a prepared request. alone: as above; it never waits, so it may have tasks inside a StarPU task.
 */
tsi_way tsi_way_of_request(const tristar_request_t *request, bool alone);

/* Keeps a failure and the calling thread's latest message. OK: nothing. */
void tsi_request_fail(tristar_request_t *r, tristar_status status);

/* Options for columns with these leading dimensions. */
tristar_solve_options tsi_solve_options_columns(tristar_op op, int64_t ldb, int64_t ldx);
/* Options with those strides that were left 0, for b and x of n rows where no list of rows is given. */
tristar_solve_options tsi_solve_options_fill(const tristar_solve_options *given, int64_t n);
/* Errors: ARGUMENT. */
TRISTAR_CHECKED tristar_status tsi_check_op(tsi_env *env, tristar_op op);
/* What can be said of filled options without a factor. Errors: ARGUMENT. */
TRISTAR_CHECKED tristar_status tsi_solve_options_check(tsi_env *env, const tristar_solve_options *options,
                                                       int64_t nrhs);

/* What holds of b and x in columns, in every function that takes them: nrhs >= 0; where there is something to
 * read, not NULL; leading dimensions of at least n, also for one column: a smaller one is a mistake. Errors:
 * ARGUMENT. */
TRISTAR_CHECKED tristar_status tsi_check_columns(tsi_env *env, int64_t n, int64_t nrhs, const void *b,
                                                 int64_t ldb, const void *x, int64_t ldx);

/* tristar_solve without refinement. Errors: as tristar_solve_with. */
TRISTAR_CHECKED tristar_status tsi_solve_plain(tristar_plan_t *plan, tristar_op op, int64_t nrhs,
                                               const void *b, int64_t ldb, void *x, int64_t ldx);
/* The same for the library itself: the statistics of the plan do not count it. */
TRISTAR_CHECKED tristar_status tsi_solve_trial(tristar_plan_t *plan, tristar_op op, int64_t nrhs,
                                               const void *b, int64_t ldb, void *x, int64_t ldx);

/* What tristar_solve solves: fills *r, which nothing runs of yet. After a failure it holds nothing. Errors:
 * ARGUMENT, MEMORY, UNSUPPORTED, STALE. */
TRISTAR_CHECKED tristar_status tsi_request_plain(tristar_request_t *r, tristar_plan_t *plan, tristar_op op,
                                                 int64_t nrhs, const void *b, int64_t ldb, void *x,
                                                 int64_t ldx);

/* Followed. Starts and ends blocks until the request is done (true), or all that is left is to wait for
 * tasks. wait: waits for them, so true is the answer; not from inside a StarPU task that waits
 * for tasks (tsi_way_of_request).
 * Failures: r->failure.
 */
bool tsi_request_advance(tristar_request_t *r, bool wait);
/* Of a request that has ended. */
tristar_solve_result tsi_request_result(const tristar_request_t *r);

/* Can it run alone? Not where there are no tasks. */
bool tsi_request_has_tasks(const tristar_request_t *r);
/* Alone: takes a replay for each block. Waits for nothing where that is not allowed (tsi_tasks_may_wait).
 * Errors: MEMORY, RUNTIME; nothing is held then. */
TRISTAR_CHECKED tristar_status tsi_request_reserve(tristar_request_t *r);
/* Submits all tasks, after call's b, x and strides are set; waits for nothing. From then on the request
 * belongs to `ended`. A request with a failure submits nothing, and ends. */
void tsi_request_launch(tristar_request_t *r);
/* Gives back what prepare and reserve took, of a request that was not launched. */
void tsi_request_cancel(tristar_request_t *r);

/* Fused solves: see fuse.c. Can this prepared request be fused? */
bool tsi_fuse_takes(const tristar_request_t *r);
/* Runs it in this pass or a later one. With tasks: tsi_request_advance finds its end, and `end` is called;
 * without: it is done. Failures: r->failure. */
void tsi_fuse_start(tristar_request_t *r);
/* Fills plan->fuse and plan->block by the options of the plan. Errors: UNSUPPORTED. */
TRISTAR_CHECKED tristar_status tsi_fuse_init(tristar_plan_t *plan);
