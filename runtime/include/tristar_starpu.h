/* TriStar: solves among the tasks of a StarPU program: StarPU handles in, StarPU handles out.
 *
 * tristar_solve_insert puts a solve into the program's graph of tasks and returns. The solve reads b and
 * writes x like a task that is submitted at this place. It runs after earlier tasks that write b or use x,
 * and later tasks that read x wait for it. The caller does not wait, and a solve that cannot run yet occupies
 * no worker. x has the bits of tristar_solve without refinement.
 *
 * b and x are StarPU data with implicit dependencies (STARPU_SEQUENTIAL_CONSISTENCY, the default), which the
 * library acquires with starpu_data_acquire_on_node_cb_sequential_consistency in main memory:
 *
 *   - a matrix handle: nx = rows of the system, ny = right-hand sides, any ld
 *   - a vector handle: one right-hand side; a variable: the same with one row
 *   - a block handle: nx = rows of the system, ny nz right-hand sides, y runs first
 *
 * The elements have the scalar type of the plan's matrix; their size is checked. A handle that
 * starpu_data_partition has cut stands for its pieces. b may be x.
 *
 * Solves are inserted in the order of the calls of a thread. Insertions of several threads of one context
 * follow each other in some order. b must hold a value, or a task that writes it must have been submitted.
 * Not supported: a limit of submitted tasks (STARPU_LIMIT_MAX_SUBMITTED_TASKS), because callbacks submit
 * tasks. The tasks run in the scheduling context that is current at the insertion. It must exist until the
 * solve has ended.
 *
 * The factor must not be refactored until the solve has ended: see `end`, tristar_plan_wait, or use
 * starpu_data_acquire on x. Plan, factor and analysis may be destroyed at once. Tasks, callbacks and `end`
 * may call these functions. */
#ifndef TRISTAR_STARPU_H
#define TRISTAR_STARPU_H

#include <starpu.h>

#include "tristar_solve.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Options of an inserted solve. Call tristar_insert_options_init first. */
typedef struct tristar_insert_options {
  size_t size;       /* Set by tristar_insert_options_init. */
  tristar_op op;     /* The system that is solved. */
  tristar_part part; /* The part of A. */
  int64_t in_flight; /* Maximum number of unfinished inserted solves of the plan, each with a workspace. 0
                        means 16. The call waits for one of them to end if there are as many, so none may need
                        anything that the caller holds. */
  int busy; /* 1: the call returns BUSY instead of waiting, as calls inside tasks and callbacks always do. */
  tristar_end_fn end; /* Called once after a successful insertion: when x holds the solution, before tasks
                         that wait for x run; or with the status of a failed solve. NULL: none. */
  void *end_arg;      /* First argument of end. */
} tristar_insert_options;

/* OP_N, PART_ALL, 16 in flight, no `end`. */
#define tristar_insert_options_init(options) tristar_insert_options_init_sized((options), sizeof *(options))

/* X = op(A)^-1 B as a part of the program's graph of tasks. Starts StarPU, or joins a StarPU that runs, if
 * the plan does not use it; the solve of such a plan is one task. `end`, the log and tristar_plan_wait report
 * a later failure; the tasks that wait for x run. Then x is undefined, except after NOT_FINITE: a column of x
 * is beyond the range of numbers, and the others are solved. Errors: ARGUMENT (another kind of
 * handle, wrong numbers of rows or right-hand sides, wrong size of elements), BUSY, UNSUPPORTED (a context
 * without StarPU), MEMORY, STALE, NO_WORKER, RUNTIME. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_solve_insert(tristar_plan_t *plan, tristar_op op,
                                                                starpu_data_handle_t b,
                                                                starpu_data_handle_t x);

/* The same with options, which may be NULL. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_solve_insert_with(tristar_plan_t *plan,
                                                                     const tristar_insert_options *options,
                                                                     starpu_data_handle_t b,
                                                                     starpu_data_handle_t x);

/* The same with b and x in pieces: sub-data of a partitioned handle (starpu_data_partition, or
 * starpu_data_partition_plan), or data registered by rows. Each piece has all right-hand sides and
 * consecutive rows, the first from row 0; or each has all rows and some right-hand sides. Pieces that are not
 * the columns of one array are copied. A handle may be a piece of both b and x, but only once of x. A handle
 * and its sub-data must not be in one call. The arrays of handles may be freed at once. Errors: as
 * tristar_solve_insert. */
TRISTAR_API TRISTAR_CHECKED tristar_status
tristar_solve_insert_pieces(tristar_plan_t *plan, const tristar_insert_options *options, int64_t b_pieces,
                            const starpu_data_handle_t *b, int64_t x_pieces, const starpu_data_handle_t *x);

#ifdef __cplusplus
}
#endif
#endif
