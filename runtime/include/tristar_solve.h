/* TriStar: solves with options, and several solves at the same time.
 *
 *   tristar_solve_with          parts of A, strides, sparse right-hand sides, chosen rows of X
 *   tristar_solve_start         the same without waiting
 *   tristar_test, tristar_wait  the end of such a solve
 *
 * Include it beside tristar.h; it belongs to the same library. */
#include "tristar.h" /* before the guard: see tristar_compat.h */

#ifndef TRISTAR_SOLVE_H
#define TRISTAR_SOLVE_H

#ifdef __cplusplus
extern "C" {
#endif

/* Which part of A = L D U is solved with. */
typedef enum tristar_part {
  TRISTAR_PART_ALL, /* op(A) */
  TRISTAR_PART_L,   /* op(L) */
  TRISTAR_PART_D,   /* op(D); D = I but for METHOD_LDLT */
  TRISTAR_PART_U    /* op(U); U = L^T or L^H for LLT and LDLT */
} tristar_part;

/* Tells that a solve has ended, and how. May be called on any thread, also on a StarPU worker: it must not
 * wait for anything, but may start (tristar_solve_start) or insert (tristar_starpu.h) further solves. */
typedef void (*tristar_end_fn)(void *arg, tristar_status status);

/* How tristar_solve_with is to solve. */
typedef struct tristar_solve_options {
  size_t size;       /* Set by tristar_solve_options_init. */
  tristar_op op;     /* which system is solved */
  tristar_part part; /* with which part of A */
  /* 0: b and x are in the user's order and scaling where op(A) touches them: the first part to be applied
   * permutes and scales b, the last one x; what stands between parts is in factor order. So, for OP_N, solves
   * with L, D and U one after the other give what ALL gives (for T and C: with U, D and L). 1: b and x are in
   * factor order and not scaled (tristar_factor_get_order); with ALL: (L D U)^-1. */
  int factor_order;
  /* Scalars between consecutive rows and consecutive columns (right-hand sides) of b and x. All 0:
   * column-major without gaps. Row-major: row stride nrhs, column stride 1. */
  int64_t b_row_stride, b_column_stride; /* of b */
  int64_t x_row_stride, x_column_stride; /* of x */
  /* Sparse right-hand sides: b has only b_rows rows; its row i is row b_row[i] of the system (each at most
   * once), all others are zero. NULL: b has all n rows. */
  int64_t b_rows;
  const int64_t *b_row; /* b_rows numbers of rows, in any order */
  /* Rows wanted: x has only x_rows rows; its row i becomes row x_row[i] of the solution. NULL: all n rows. */
  int64_t x_rows;
  const int64_t *x_row; /* x_rows numbers of rows, in any order */
  /* Only for tristar_solve_start; NULL: none. Called once when the solve has ended. */
  tristar_end_fn end;
  void *end_arg; /* handed to end */
  /* x = beta x + alpha times the solution, in one go: each points to a scalar of the type of b and x, which
   * is copied; NULL: alpha is 1, beta 0. Where beta is 0, x is not read. With 1 and 0 a solve has the bits
   * and the speed of one without. Rows of x that are not wanted stay as they are. */
  const void *alpha;
  const void *beta; /* see alpha */
} tristar_solve_options;

/* OP_N, PART_ALL, the user's order, column-major without gaps, all rows, x = the solution. */
#define tristar_solve_options_init(options) tristar_solve_options_init_sized((options), sizeof *(options))

/* Figures of one solve. */
typedef struct tristar_solve_result {
  double share; /* bytes of factor streamed / bytes that the same solve streams with all rows of b and x */
  int64_t perturbed_pivots; /* Pivots of the factor that were perturbed. Above 0, x needs refinement. */
} tristar_solve_result;

/* X = (the part of op(A))^-1 B, with right-hand sides in any layout, sparse ones, and chosen rows of X:
 * forward, only chunks take part that nonzeros of B lead to, backward only those that the wanted rows need
 * (Gilbert 1994). x may be b where both have the same strides and neither list of rows is given; other
 * overlaps are not allowed. result may be NULL. Errors: as tristar_solve; ARGUMENT also for a row out of
 * range or listed twice (the message names it), strides that are not positive, and a part that an imported
 * triangular matrix does not have. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_solve_with(tristar_plan_t *plan,
                                                              const tristar_solve_options *options,
                                                              int64_t nrhs, const void *b, void *x,
                                                              tristar_solve_result *result);

/* A solve that was started and not yet waited for. */
typedef struct tristar_request_s tristar_request_t;

/* tristar_solve_with that does not wait: submits the tasks and returns. Several requests, of one plan or
 * more, may be in flight, and are not ordered among each other: the forward sweep of one runs while the
 * backward sweep of another ends. Each has a workspace of its own, kept by the plan for later solves. Until
 * test or wait says that the request is done, b must not change, x must be neither read nor written, and the
 * factor must not be refactored; then x has the bits that tristar_solve_with gives. x may be b as there;
 * options and its lists may be freed at once.
 *
 * The request keeps its plan and the context alive, and must be given to tristar_wait. One
 * thread at a time may use a request; it need not be the one that started it. More than 64 right-hand sides
 * are solved in blocks of 64: two are in flight, test and wait submit the next ones.
 *
 * Without StarPU tasks (ENGINE_SERIAL, lanes, a plan of one chunk, few rows), and from inside a StarPU task,
 * which must not wait for others, the call solves, and the request is done when it returns. Errors: as
 * tristar_solve_with; nothing is in flight then.
 *
 * With options->end the tasks of all right-hand sides are submitted at once, also from inside a StarPU task,
 * and `end` is called when the last one is over (before this function returns, where it solves), but not if
 * this function fails. The request is done when `end` has returned, and is given to tristar_wait as any
 * other. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_solve_start(tristar_plan_t *plan,
                                                               const tristar_solve_options *options,
                                                               int64_t nrhs, const void *b, void *x,
                                                               tristar_request_t **request);

/* *done = 1: the request is done, x is written, and tristar_wait will not wait; or the request failed, which
 * tristar_wait tells. Never waits for a task; may submit the next block (inside a StarPU task: solve it).
 * Errors: ARGUMENT. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_test(tristar_request_t *request, int *done);

/* Waits for the request, frees it and sets *request to NULL, also if the solve failed: the status is that of
 * the solve. result may be NULL. Accepts NULL, and a request that is NULL. Errors: as tristar_solve_with;
 * UNSUPPORTED: called from inside a StarPU task while tasks of the request run, which keeps the request; or
 * in the child of a fork(), which gives it up. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_wait(tristar_request_t **request,
                                                        tristar_solve_result *result);

/* Waits for all solves of the plan that were inserted (tristar_starpu.h) or started with `end`; their `end`
 * has returned then. Errors: the first failure of an inserted solve since the last call; ARGUMENT;
 * UNSUPPORTED (such solves exist, and the call is inside a StarPU task or callback). */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_plan_wait(tristar_plan_t *plan);

#ifdef __cplusplus
}
#endif
#endif
