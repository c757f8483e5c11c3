/* Bounds of the forward error of computed solutions, as LAPACK's xGERFS estimates them.
 *
 * Job. The error of x is A^-1 times the residual of exact arithmetic, and that is at most
 *
 *   f = |r| + k eps (|A| |x| + |b|),     k_i = 1 + entries in row i,
 *
 * when r is the computed one; so max_i |x - A^-1 b|_i <= || |A^-1| f ||_inf = || F A^-H ||_1, F = diag(f)
 * (Arioli, Demmel, Duff 1989; Higham 2002, chapter 7). The norm is estimated by solves with the factors. eps
 * is two units of roundoff: complex products have larger errors than real ones.
 *
 * Factors that are not those of A to working precision (single or rounded factors, perturbed pivots) know
 * little of the small singular values of A. With them, each of these solves is refined, to the backward error
 * of x or to 100 units of roundoff; where one remains ten times above, the bound is infinite. And so it is
 * where A, as scaled, is singular to the precision of these solves, or nearly: estimates that hold no digit
 * of A^-1 mean nothing.
 *
 * Reads   a system, solutions with their residuals.   Writes  work of its own. */
#pragma once

#include "runtime/iterate/refine/norm_estimate.h"
#include "runtime/iterate/refine/refinement.h"

typedef struct tsi_forward_error {
  const tsi_system *system;
  const tsi_sparse_kernels *kernels;
  tsi_index n;
  tristar_op op, other; /* N and C, or C and N: |A^-T| is |A^-H| */
  tsi_index room;       /* solutions that fit */
  tsi_index held;       /* solutions added and not estimated yet */
  tsi_index *terms;     /* n: k */
  double *f;            /* room columns: f, brought to a largest entry near one by a power of two ... */
  double factor[TSI_ESTIMATES_MAX]; /* ... which, by |x|, is this: a norm times it is a bound */
  /* for solves that have to be refined; zero before the first one */
  char *copy; /* room columns */
  tsi_refinement refinement, other_refinement;
  double enough;            /* the backward error that they are to reach */
  bool lenient;             /* They go on as long as refinement helps, and none fails. */
  double distance;          /* of tsi_condition, after tsi_forward_error_condition */
  bool judged, meaningless; /* the condition: leaves it estimates a meaning? */
} tsi_forward_error;

/* For nrhs solutions of op(A) x = b. *e must be zero; to be finished whatever the status. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_forward_error_begin(const tsi_system *system, tristar_op op, int64_t nrhs,
                                                       tsi_forward_error *e);
/* Adds a solution, held < room; residual: b - op(A) x as computed, bound: |op(A)| |x|. */
void tsi_forward_error_add(tsi_forward_error *e, const void *b, const void *x, const void *residual,
                           const double *bound);
/* Estimates what is held, and forgets it. result: what refinement found so far; its forward_error becomes the
 * largest bound, if that is larger. Errors: MEMORY, those of tristar_solve. */
TRISTAR_CHECKED tristar_status tsi_forward_error_estimate(tsi_forward_error *e,
                                                          tristar_refine_result *result);
/* 1 / condition of the scaled matrix, by the same solves. result: what refinement found, or zeros. Errors:
 * MEMORY, those of tristar_solve. */
TRISTAR_CHECKED tristar_status tsi_forward_error_condition(tsi_forward_error *e,
                                                           const tristar_refine_result *result,
                                                           double *reciprocal);
void tsi_forward_error_finish(tsi_forward_error *e);
