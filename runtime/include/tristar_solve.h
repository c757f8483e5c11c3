/* TriStar: solves with options, and several solves at the same time.
 *
 *   tristar_solve_with          parts of A, strides, sparse right-hand sides, chosen rows of X
 *   tristar_solve_start         the same without waiting
 *   tristar_test, tristar_wait  the end of such a solve
 *   tristar_null_space          the null vectors of a singular matrix
 *
 * None of these functions refines: see tristar_solve_refined.
 *
 * Fused solves. A solve reads the whole factor, however many columns it has. In a plan with
 * tristar_plan_options.fuse_columns, solves that start while others run wait for the end of the pass over the
 * factor. The next pass solves all of them that have the same op, up to fuse_columns columns. A solve that
 * starts while nothing runs never waits. Without StarPU tasks each core may run a pass. With tasks, after a
 * pass of several solves, the next one waits for their callers to start others, up to 1/16 of that pass's
 * time.
 *
 *   - Solves with all of A and all rows are fused: by tristar_solve, by tristar_solve_refined and other
 *     functions that refine, and by tristar_solve_with and tristar_solve_start if row strides are 1 and alpha
 *     and beta NULL.
 *   - Each column has the same bits, whatever is fused with it, and however many columns a call has. NaN
 *     remains in its column. Only a lack of memory, or of workers, is an error of all solves of a pass.
 *   - The kernels compute at least 3 columns, and 9 if fuse_columns exceeds 8 (complex: 2). This is the time
 *     of a solve by itself. Calls with more than fuse_columns columns are solved in blocks of that many. */
#include "tristar.h" /* before the guard: see tristar_compat.h */

#ifndef TRISTAR_SOLVE_H
#define TRISTAR_SOLVE_H

#ifdef __cplusplus
extern "C" {
#endif

/* The part of A = L D U that is solved with. */
typedef enum tristar_part {
  TRISTAR_PART_ALL, /* op(A) */
  TRISTAR_PART_L,   /* op(L) */
  TRISTAR_PART_D,   /* op(D); D = I except for METHOD_LDLT. */
  TRISTAR_PART_U    /* op(U); U = L^T or L^H for LLT and LDLT. */
} tristar_part;

/* Receives the end of a solve and its status, on any thread, also on a StarPU worker. The function must not
 * wait for anything. It may start (tristar_solve_start) or insert (tristar_starpu.h) other solves. */
typedef void (*tristar_end_fn)(void *arg, tristar_status status);

/* Options of tristar_solve_with. Call tristar_solve_options_init first. */
typedef struct tristar_solve_options {
  size_t size;       /* Set by tristar_solve_options_init. */
  tristar_op op;     /* The system that is solved. */
  tristar_part part; /* The part of A. */
  /* 0: b and x are in the order and scaling of the user where op(A) touches them. The first part that is
   * applied permutes and scales b, the last one x. Vectors between parts are in factor order. So, for OP_N,
   * solves with L, D and U in turn return what ALL returns; for T and C solves with U, D and L. 1: b and x
   * are in factor order, without scaling (tristar_factor_get_order). ALL then is (L D U)^-1. */
  int factor_order;
  /* Scalars between consecutive rows, and between consecutive columns (right-hand sides), of b and x. All 0:
   * column-major without gaps. Row-major: row stride nrhs, column stride 1. */
  int64_t b_row_stride, b_column_stride; /* Strides of b. */
  int64_t x_row_stride, x_column_stride; /* Strides of x. */
  /* Sparse right-hand sides: b has b_rows rows. Its row i is row b_row[i] of the system, and all other rows
   * are zero. b_row NULL: b has all n rows. */
  int64_t b_rows;
  const int64_t *b_row; /* b_rows different numbers of rows, in any order. */
  /* Chosen rows: x has x_rows rows. Its row i becomes row x_row[i] of the solution. x_row NULL: all n rows.
   */
  int64_t x_rows;
  const int64_t *x_row; /* x_rows different numbers of rows, in any order. */
  tristar_end_fn end;   /* tristar_solve_start: called once when the solve has ended. NULL: none. */
  void *end_arg;        /* First argument of end. */
  /* x = beta x + alpha * solution. Each points to a scalar of the type of b and x, which is copied. NULL:
   * alpha is 1, beta is 0. If beta is 0, x is not read; else NaN or infinity in x is NOT_FINITE. With 1 and 0
   * the solve has the same bits and speed as without. Rows of x that are not chosen stay unchanged. */
  const void *alpha;
  const void *beta; /* See alpha. */
} tristar_solve_options;

/* OP_N, PART_ALL, the order of the user, column-major without gaps, all rows, x = the solution. */
#define tristar_solve_options_init(options) tristar_solve_options_init_sized((options), sizeof *(options))

/* Result of one solve. */
typedef struct tristar_solve_result {
  double share;             /* Bytes of the factor that were read / bytes for all rows of b and x. */
  int64_t perturbed_pivots; /* Perturbed pivots of the factor. Above 0, x needs refinement. */
} tristar_solve_result;

/* X = (the part of op(A))^-1 B. The forward sweep runs only the chunks that nonzeros of B reach, the backward
 * sweep only those that the chosen rows of X need (Gilbert 1994). x may be b if both have the same strides
 * and no list of rows exists; other overlaps are not allowed. options and result may be NULL. Errors: as
 * tristar_solve; ARGUMENT also for a row out of range or listed twice (the message names it), for strides
 * that are not positive, and for a part that an imported triangular matrix does not have. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_solve_with(tristar_plan_t *plan,
                                                              const tristar_solve_options *options,
                                                              int64_t nrhs, const void *b, void *x,
                                                              tristar_solve_result *result);

/* Computes an orthonormal basis of the null space of op(A), with 4 to 8 solves of 8 to 2 (count + 4) columns.
 * Refined solves then verify that no null vector is missing: 3 of them, and one more for each vector that
 * was. Up to order 256, and up to order 640 if these solves fail, the columns of A themselves are made
 * orthogonal instead, and each row of A v must be at most eps^0.5 of that row of |A| |v|. The factor may be
 * one of a matrix that is not singular: then *count is 0. TRISTAR_SINGULAR_PERTURB makes factors of singular
 * matrices. Vectors v count whose A v is at most eps^0.75 of |A| |v|, as rows are scaled. basis: n rows with
 * the leading dimension ld >= n, room for `most` columns, in the scalar type of A; *count columns are
 * written. Errors: as tristar_solve; ARGUMENT also if the null space has more than `most` dimensions;
 * UNSUPPORTED (an imported factor that does not store A; tristar_schur.h); ACCURACY (the null space, or its
 * number of dimensions, is not clear); NOT_FINITE. After an error *count is 0. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_null_space(tristar_plan_t *plan, tristar_op op,
                                                              int64_t most, void *basis, int64_t ld,
                                                              int64_t *count);

/* What runs a solve. Results do not depend on it. */
typedef enum tristar_way {
  TRISTAR_WAY_DIRECT, /* One call of the kernels in the calling thread, without a list of steps. */
  TRISTAR_WAY_SERIAL, /* The list of steps in the calling thread. */
  TRISTAR_WAY_LANES,  /* Lanes in the calling thread and helpers (tristar_triangle.h). */
  TRISTAR_WAY_TASKS,  /* StarPU tasks on CPU workers. */
  TRISTAR_WAY_DEVICES /* StarPU tasks on CPU workers and GPUs. */
} tristar_way;

/* What runs a solve, and why. */
typedef struct tristar_explanation {
  tristar_way way;  /* What runs the solve. */
  const char *name; /* "direct", "serial", "lanes", "tasks" or "devices"; static text. */
  int threads;      /* Most CPU threads that work on the solve, with the calling thread if it works. */
  char reason[256]; /* One statement in English, without a full stop; terminated. */
} tristar_explanation;

/* Explains how the calling thread would solve now with these options (NULL: the defaults) and nrhs right-hand
 * sides, without solving. Options that tristar_solve can express explain a call of tristar_solve without
 * refinement, others one of tristar_solve_with, or, with options->end, of tristar_solve_start. b and x are
 * assumed to be different arrays. Errors: ARGUMENT, MEMORY, UNSUPPORTED, STALE as tristar_solve_with. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_plan_explain(tristar_plan_t *plan,
                                                                const tristar_solve_options *options,
                                                                int64_t nrhs,
                                                                tristar_explanation *explanation);

/* A solve that was started. */
typedef struct tristar_request_s tristar_request_t;

/* Starts what tristar_solve_with does, and returns without waiting. Several requests, of one plan or more,
 * may be in flight; no order holds among them. Each has a workspace of its own, which the plan keeps for
 * later solves. Until test or wait reports its end, b must not change, x must not be read or written, and the
 * factor must not be refactored. x then has the bits of tristar_solve_with. options and its lists may be
 * freed at once.
 *
 * The request keeps its plan and the context alive. It must be given to tristar_wait. One thread at a time
 * may use it, not necessarily the one that started it. More than 64 right-hand sides are solved in blocks of
 * 64: two are in flight, and test and wait submit the next ones.
 *
 * The call itself solves, and the request has ended when it returns, if there are no StarPU tasks
 * (ENGINE_SERIAL, lanes, one chunk, few rows) or if it is made inside a StarPU task. Errors: as
 * tristar_solve_with; then nothing is in flight.
 *
 * With options->end all tasks are submitted at once, also inside a StarPU task. `end` is called when the last
 * one has ended, which can be before this function returns. It is not called if this function fails. The
 * request has ended when `end` has returned. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_solve_start(tristar_plan_t *plan,
                                                               const tristar_solve_options *options,
                                                               int64_t nrhs, const void *b, void *x,
                                                               tristar_request_t **request);

/* *done = 1: the request has ended, x is written, and tristar_wait will not wait. A failed request has ended,
 * too; tristar_wait returns its status. The function never waits for a task. It may submit the next block
 * (inside a StarPU task: solve it). Errors: ARGUMENT. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_test(tristar_request_t *request, int *done);

/* Waits for the request, frees it and sets *request to NULL. Returns the status of the solve. Accepts NULL,
 * and a request that is NULL. result may be NULL. Errors: as tristar_solve_with; UNSUPPORTED: inside a StarPU
 * task while tasks of the request run (the request remains), or in a child of fork() (the request is
 * released). */
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
