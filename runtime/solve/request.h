/* A request: one solve, from its description to its last block of right-hand sides.
 *
 * Job. solve.c describes the solve; here it runs in blocks of plan->block right-hand sides, each in its own
 * replay. There are two ways:
 *   - followed: the waiting thread calls tsi_request_advance, which starts and ends blocks. If the tasks run
 *     on StarPU two blocks are in flight, so the forward sweep of one overlaps the end of the backward sweep
 *     of the block before. A synchronous solve is a request that the caller waits for at once.
 *   - alone: tsi_request_reserve makes all blocks, and tsi_request_launch submits their tasks. The last block
 *     ends the request in a StarPU callback. No thread needs to poll or wait.
 *
 * Reads   the plan, b.   Writes  x, replays of the plan, the plan's statistics, its own members.
 * Invariants
 *   - followed: block[(oldest + k) % blocks], k < running, are in flight, in the order of their columns; the
 *     others are empty; columns 0 .. next-1 are solved or in flight
 *   - alone: block k has the columns from k plan->block on; `left` counts the blocks that have not ended, and
 *     one more for the thread that launches them
 *   - after the first failure, which `failure` keeps, no block is started
 *   - done: nothing is in flight or will be, and the request owns only itself. For a request that runs alone
 *     with `end`, it is guarded as in in_flight.h
 *   - call.sparse and sums.compute point into the request, which therefore must not move
 *   - followed: any thread may use a request, but only one at a time */
#pragma once

#include "runtime/base/in_place.h"
#include "runtime/solve/plan.h"
#include "runtime/solve/reach.h"

#define TSI_BLOCKS 2 /* maximum number of blocks of a followed request in flight */

typedef struct tsi_request_block {
  tsi_replay *replay;
  tsi_tasks *tasks; /* tasks of the replay */
  char *copy;       /* copy of b, if x is b; NULL: none */
  tristar_request_t *request;
} tsi_request_block;

struct tristar_request_s {
  tristar_plan_t *plan;
  /* description of the solve: immutable once it runs */
  tsi_sweeps sweeps;
  bool diagonal;                           /* no sweep: D only */
  tsi_step_list list;                      /* list of steps of the plan */
  const tsi_plan_side *forward, *backward; /* sides of the sweeps; NULL: no such sweep */
  tsi_solve_call call;                     /* all but nrhs, stride, workspace; b and x of the first column */
  bool in_user, out_user;                  /* b, x are in the user's order */
  const tsi_row_sweep *stream;             /* by rows: stream for a single column; NULL: none */
  bool plain;                              /* a single core may use the plain stream instead */
  bool inside_task;                        /* the request shall run inside one StarPU task */
  int64_t nrhs;
  int64_t given, requested; /* rows of b, of x */
  bool checks;              /* fails if x has numbers that are not finite */
  tsi_range_watch watch;    /* call.watch, if tasks watch x */
  tsi_reach reach;
  double share;            /* share of the factor's bytes that the solve reads */
  double begin;            /* tsi_clock() at the start */
  struct tsi_trace *trace; /* trace of a followed request; NULL: none */
  tristar_end_fn end;      /* NULL: none */
  void *end_arg;
  /* progress */
  tsi_solve_sums sums; /* written under the plan's lock */
  tsi_failure failure; /* the first one */
  bool done;
  tsi_request_block pair[TSI_BLOCKS]; /* followed */
  int oldest, running;
  int64_t next;             /* first column that was not started */
  tsi_request_block *block; /* alone; NULL: followed */
  int64_t blocks;
  _Atomic(int64_t) left;
  unsigned context;                    /* StarPU's scheduling context for the tasks */
  void (*ended)(tristar_request_t *r); /* called once, when the last block has ended; may free the request */
  /* fused with others (fuse.c) */
  tristar_op op;
  tristar_request_t *follower; /* next request of the queue, then of the pass */
  tsi_solve_column *columns;   /* first request of a pass: the columns of all its requests; else NULL */
  int64_t solves; /* number of requests that this one runs: 1, or all of the pass; 0: a trial, not counted */
  bool served;    /* without tasks: the pass has ended; guarded by the context's solves.lock */
};

/* Fills *r except b, x and their strides; starts nothing. After a failure *r is empty. Errors: ARGUMENT,
 * UNSUPPORTED, STALE, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_request_prepare(tristar_request_t *r, tristar_plan_t *plan,
                                                   const tristar_solve_options *options, int64_t nrhs);

/* The way of a prepared request. alone: as above; it never waits, so it may have tasks inside a StarPU task.
 */
tsi_way tsi_way_of_request(const tristar_request_t *request, bool alone);

/* Keeps a failure and the calling thread's latest message. OK: nothing. */
void tsi_request_fail(tristar_request_t *r, tristar_status status);

/* Options for columns with these leading dimensions. */
tristar_solve_options tsi_solve_options_columns(tristar_op op, int64_t ldb, int64_t ldx);
/* Returns the options with default values for strides that are 0; without lists of rows b and x have n rows.
 */
tristar_solve_options tsi_solve_options_fill(const tristar_solve_options *given, int64_t n);
/* Errors: ARGUMENT. */
TRISTAR_CHECKED tristar_status tsi_check_op(tsi_env *env, tristar_op op);
/* Checks filled options as far as possible without a factor. Errors: ARGUMENT. */
TRISTAR_CHECKED tristar_status tsi_solve_options_check(tsi_env *env, const tristar_solve_options *options,
                                                       int64_t nrhs);

/* Checks b and x in columns, for every function that reads them: nrhs >= 0; pointers are not NULL unless
 * there is nothing to read; leading dimensions are at least n, even for one column. Errors: ARGUMENT. */
TRISTAR_CHECKED tristar_status tsi_check_columns(tsi_env *env, int64_t n, int64_t nrhs, const void *b,
                                                 int64_t ldb, const void *x, int64_t ldx);

/* tsi_check_columns, where x is computed and may be b. */
TRISTAR_CHECKED tristar_status tsi_check_solve_columns(tsi_env *env, int64_t n, int64_t nrhs, const void *b,
                                                       int64_t ldb, const void *x, int64_t ldx);

/* The request shall fail if x has NaN or infinities, unless b has, too. Call it after prepare. */
void tsi_request_check_range(tristar_request_t *r);

/* Numbers of the user: entry (i, c), i < rows, is number i row + c column of values. */
typedef struct tsi_numbers {
  const void *values;
  int64_t rows, row, column;
} tsi_numbers;

/* Returns the first row of a column that is not finite; the number of rows if there is none. */
int64_t tsi_numbers_first_not_finite(char scalar, const tsi_numbers *of, int64_t column);

/* Checks that nrhs solutions are finite, except columns whose b is not. If values of b and x are the same
 * array, b is gone and excuses nothing. was_read: the solve read x (beta is not 0), so the message names this
 * cause, too. Errors: NOT_FINITE; the message names row and column. */
TRISTAR_CHECKED tristar_status tsi_solution_check(const tristar_plan_t *plan, int64_t nrhs, tsi_numbers b,
                                                  tsi_numbers x, bool was_read);
/* Does so for a request that has ended, and its first nrhs columns. */
TRISTAR_CHECKED tristar_status tsi_request_check(const tristar_request_t *r, int64_t nrhs);

/* tristar_solve without refinement. Errors: as tristar_solve_with. */
TRISTAR_CHECKED tristar_status tsi_solve_checked(tristar_plan_t *plan, tristar_op op, int64_t nrhs,
                                                 const void *b, int64_t ldb, void *x, int64_t ldx);
/* Does the same, but x may have NaN or infinities. */
TRISTAR_CHECKED tristar_status tsi_solve_plain(tristar_plan_t *plan, tristar_op op, int64_t nrhs,
                                               const void *b, int64_t ldb, void *x, int64_t ldx);
/* Does the same for internal purposes: the statistics of the plan do not count it. */
TRISTAR_CHECKED tristar_status tsi_solve_trial(tristar_plan_t *plan, tristar_op op, int64_t nrhs,
                                               const void *b, int64_t ldb, void *x, int64_t ldx);

/* Fills *r for the solve of tristar_solve; starts nothing. After a failure *r is empty. Errors: ARGUMENT,
 * MEMORY, UNSUPPORTED, STALE. */
TRISTAR_CHECKED tristar_status tsi_request_plain(tristar_request_t *r, tristar_plan_t *plan, tristar_op op,
                                                 int64_t nrhs, const void *b, int64_t ldb, void *x,
                                                 int64_t ldx);

/* Followed. Starts and ends blocks until the request is done (true), or it could only wait for tasks (false).
 * wait: waits for the tasks and returns true; not allowed inside a StarPU task if there are tasks to wait for
 * (tsi_way_of_request). Failures: r->failure. */
bool tsi_request_advance(tristar_request_t *r, bool wait);
/* Returns the result of a request that has ended. */
tristar_solve_result tsi_request_result(const tristar_request_t *r);

/* Can it run alone? Only if it has tasks. */
bool tsi_request_has_tasks(const tristar_request_t *r);
/* Alone: takes a replay for each block. Does not wait if this is not allowed (tsi_tasks_may_wait). Errors:
 * MEMORY, RUNTIME; then it keeps no replay. */
TRISTAR_CHECKED tristar_status tsi_request_reserve(tristar_request_t *r);
/* Submits all tasks, after call's b, x and strides are set; does not wait. From then on `ended` owns the
 * request. A request with a failure submits nothing, and ends. */
void tsi_request_launch(tristar_request_t *r);
/* Releases the resources of prepare and reserve, for a request that was not launched. */
void tsi_request_cancel(tristar_request_t *r);

/* Fused solves: see fuse.c. Can this prepared request be fused? */
bool tsi_fuse_takes(const tristar_request_t *r);
/* Runs it in this pass or a later one. With tasks: returns at once; tsi_request_advance detects its end, and
 * `end` is called. Without tasks: it is done on return. Failures: r->failure. */
void tsi_fuse_start(tristar_request_t *r);
/* Sets plan->fuse and plan->block by the options of the plan. Errors: UNSUPPORTED. */
TRISTAR_CHECKED tristar_status tsi_fuse_init(tristar_plan_t *plan);
