/* Residuals and componentwise backward errors of solutions of a system.
 *
 * Reads   a system, b, x.   Writes  its own arrays, for one solution at a time. */
#pragma once

#include "runtime/iterate/refine/system.h"

typedef struct tsi_residual {
  const tsi_system *system;
  tristar_op op;
  const double *column_weight; /* scaling of the columns of op(A) */
  const double *own_weight;    /* scaling of an import with weights (factor.h) */
  bool has_own;                /* an import has such a scaling, on this or another member */
  /* |op(A)| column_weight, then |op(A)| times ones. With has_own 4 n entries, see unite_sums. Otherwise 2 n.
   * On one process they are computed with the first residual that needs them. */
  double *row_sum;
  double *bound; /* n: |op(A)| |x| */
  char *vector;  /* n scalars: b - op(A) x */
  bool precise;  /* compute `vector` with sums of the next wider precision; initially false */
  bool frugal;   /* compute row_sum without further memory, which takes longer; initially false */
  bool
      strict; /* no denominator of a row counts as rounding errors (figures.md); initially as in the system */
} tsi_residual;

/* *r must be zero. It must be finished, also after a failure. Errors: MEMORY, those of messages. */
TRISTAR_CHECKED tristar_status tsi_residual_begin(const tsi_system *system, tristar_op op, tsi_residual *r);
void tsi_residual_finish(tsi_residual *r);
/* Computes the first n entries of row_sum unless they are known. Errors: those of messages. */
TRISTAR_CHECKED tristar_status tsi_residual_need_weighted(const tsi_residual *r);
/* Sets bound and vector for x, and *error (tristar_solve_refined): NaN if x has NaN. Errors: those of
 * messages. */
TRISTAR_CHECKED tristar_status tsi_residual_find(const tsi_residual *r, const void *b, const void *x,
                                                 double *error);
/* *error for the stored vector and bound, which belong to x. Errors: those of messages. */
TRISTAR_CHECKED tristar_status tsi_residual_error(const tsi_residual *r, const void *b, const void *x,
                                                  double *error);
/* Sets entries of vector to zero if their rows have at most this backward error. b and x are unchanged since
 * vector was computed. Errors: those of messages. */
TRISTAR_CHECKED tristar_status tsi_residual_leave_solved(const tsi_residual *r, const void *b, const void *x,
                                                         double error);
