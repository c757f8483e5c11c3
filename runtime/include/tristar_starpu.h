/* Solves among the tasks of a StarPU program: StarPU handles in, handles out.
 *
 * tristar_solve_insert puts a solve into the program's own graph of tasks and returns. The solve reads b and
 * writes x as a task would that is submitted at this place: it runs after the tasks submitted before it that
 * write b, or use x; tasks submitted after it that read x wait for it. The caller does not wait, and no
 * worker is occupied by a solve that cannot run yet. x gets the bits that tristar_solve gives.
 *
 * b and x are StarPU data with implicit dependencies (STARPU_SEQUENTIAL_CONSISTENCY, the default), which the
 * library acquires with starpu_data_acquire_on_node_cb_sequential_consistency in main memory:
 *   - a matrix handle: nx = rows of the system, ny = right-hand sides, any ld
 *   - a vector handle: one right-hand side; a variable: the same with one row
 *   - a block handle: nx = rows of the system, ny nz right-hand sides, y runs first
 * with elements of the scalar type of the plan's matrix (their size is checked). A handle that
 * starpu_data_partition has cut stands for its pieces. b may be x.
 *
 * Everything is submitted in the order in which one thread calls; insertions of several threads of one
 * context are made one after the other, in some order. b must hold a value, or a task that writes it must
 * have been submitted. Where StarPU limits the number of submitted tasks (STARPU_LIMIT_MAX_SUBMITTED_TASKS)
 * nothing can be inserted: callbacks submit tasks. The tasks run in the scheduling context that is current
 * where the solve is inserted; it must live until the solve has ended.
 *
 * The factor must not be refactored until the solve has ended: see `end`, tristar_plan_wait, or use
 * starpu_data_acquire on x. Plan, factor and analysis may be destroyed at once. The functions may be called
 * from inside tasks, from callbacks and from `end`. */
#ifndef TRISTAR_STARPU_H
#define TRISTAR_STARPU_H

#include <starpu.h>

#include "tristar_solve.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How an inserted solve is to solve. Fill it with tristar_insert_options_init first. */
typedef struct tristar_insert_options {
  size_t size;       /* Set by tristar_insert_options_init. */
  tristar_op op;     /* which system is solved */
  tristar_part part; /* with which part of A */
  /* At most so many inserted solves of the plan may be unfinished, each with a workspace; 0: 16. Where there
   * are as many, the call waits for one of them to end, which must not need anything that the caller holds.
   */
  int64_t in_flight;
  int busy; /* 1: the call does not wait, but gives BUSY; so do calls from inside tasks and callbacks always
             */
  /* Called once if the insertion succeeds: when x holds the solution, before x is released to the tasks that
   * wait for it; or with the status of a solve that failed. NULL: none. */
  tristar_end_fn end;
  void *end_arg; /* handed to end */
} tristar_insert_options;

/* OP_N, PART_ALL, 16 in flight, no `end`. */
#define tristar_insert_options_init(options) tristar_insert_options_init_sized((options), sizeof *(options))

/* X = op(A)^-1 B as a part of the program's graph of tasks, see above. Starts StarPU, or finds it running, if
 * the plan does not use it; such a plan's solve is one task. A failure later on is reported to `end`, to
 * the log and by tristar_plan_wait; x then holds anything, and the tasks that wait for it run. Errors:
 * ARGUMENT (a handle that is none of the above, wrong numbers of rows or right-hand sides, wrong size of
 * elements), BUSY, UNSUPPORTED (a context without StarPU), MEMORY, STALE, NO_WORKER, RUNTIME. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_solve_insert(tristar_plan_t *plan, tristar_op op,
                                                                starpu_data_handle_t b,
                                                                starpu_data_handle_t x);

/* options may be NULL. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_solve_insert_with(tristar_plan_t *plan,
                                                                     const tristar_insert_options *options,
                                                                     starpu_data_handle_t b,
                                                                     starpu_data_handle_t x);

/* b and x in pieces: sub-data of a partitioned handle (starpu_data_partition, or starpu_data_partition_plan),
 * or data registered by rows. Each piece has all right-hand sides and some rows, one after the other from row
 * 0; or each has all rows and some right-hand sides. Pieces that do not lie in memory as the columns of one
 * array are copied. A handle may be a piece of both b and x, but not twice of x; a handle and its own
 * sub-data must not be used in the same call. The arrays of handles may be freed at once. Errors as above. */
TRISTAR_API TRISTAR_CHECKED tristar_status
tristar_solve_insert_pieces(tristar_plan_t *plan, const tristar_insert_options *options, int64_t b_pieces,
                            const starpu_data_handle_t *b, int64_t x_pieces, const starpu_data_handle_t *x);

#ifdef __cplusplus
}
#endif
#endif
