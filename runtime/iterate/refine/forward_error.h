/* Bounds of the forward error of computed solutions, as LAPACK's xGERFS estimates them.
 *
 * Job. The error of x is A^-1 times the residual in exact arithmetic. If r is the computed residual, the
 * exact one is at most
 *
 *   f = |r| + k eps (|A| |x| + |b|),     k_i = 1 + entries in row i.
 *
 * So max_i |x - A^-1 b|_i <= || |A^-1| f ||_inf = || F A^-H ||_1, F = diag(f) (Arioli, Demmel, Duff 1989;
 * Higham 2002, chapter 7). The norm is estimated by solves with the factors. eps is two units of roundoff, as
 * complex products have larger errors than real ones.
 *
 * Factors may be inexact: single or rounded factors, perturbed pivots. They do not represent the small
 * singular values of A. Then each of these solves is refined, to the backward error of x or to 100 units of
 * roundoff. If a solve stays more than ten times above, the bound is infinite. The bound is also infinite if
 * A, as scaled, is singular or nearly singular to the precision of these solves: then estimates have no
 * correct digit.
 *
 * Reads   a system, solutions with their residuals.   Writes  its own work arrays. */
#pragma once

#include "runtime/iterate/refine/norm_estimate.h"
#include "runtime/iterate/refine/refinement.h"

typedef struct tsi_forward_error {
  const tsi_system *system;
  const tsi_sparse_kernels *kernels;
  tsi_index n;
  tristar_op op, other; /* N and C, or C and N, since |A^-T| = |A^-H| */
  tsi_index capacity;   /* largest number of solutions at a time */
  tsi_index held;       /* number of added solutions without an estimate */
  tsi_index *terms;     /* n: k */
  double *f;            /* `capacity` columns: f, scaled by a power of two to a largest entry near one */
  double factor[TSI_ESTIMATES_MAX]; /* for each column: the power of two divided by |x|; norm times factor is
                                       the bound */
  /* for solves that need refinement; zero before the first one */
  char *copy; /* `capacity` columns */
  tsi_refinement refinement, other_refinement;
  double enough;            /* backward error that these solves must reach */
  bool lenient;             /* Solves are refined as long as this reduces errors, and none fails. */
  double distance;          /* result of tsi_condition, after tsi_forward_error_condition */
  bool judged, meaningless; /* the condition was computed; it is so bad that estimates mean nothing */
} tsi_forward_error;

/* Begins with estimates for nrhs solutions of op(A) x = b. *e must be zero. It must be finished, also after a
 * failure. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_forward_error_begin(const tsi_system *system, tristar_op op, int64_t nrhs,
                                                       tsi_forward_error *e);
/* Adds a solution; requires held < capacity. residual: computed b - op(A) x. bound: |op(A)| |x|. */
void tsi_forward_error_add(tsi_forward_error *e, const void *b, const void *x, const void *residual,
                           const double *bound);
/* Estimates the errors of the added solutions, and removes these. result: results of refinement so far;
 * forward_error becomes the largest bound, if that is larger. Errors: MEMORY, those of tristar_solve. */
TRISTAR_CHECKED tristar_status tsi_forward_error_estimate(tsi_forward_error *e,
                                                          tristar_refine_result *result);
/* 1 / condition of the scaled matrix, by the same solves. result: results of refinement, or zeros. Errors:
 * MEMORY, those of tristar_solve. */
TRISTAR_CHECKED tristar_status tsi_forward_error_condition(tsi_forward_error *e,
                                                           const tristar_refine_result *result,
                                                           double *reciprocal);
/* Bytes of an estimate of the condition, without workspaces of solves. */
size_t tsi_forward_error_bytes(tsi_index n, size_t scalar_bytes);
void tsi_forward_error_finish(tsi_forward_error *e);
