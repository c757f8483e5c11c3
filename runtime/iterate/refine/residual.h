/* Residuals and componentwise backward errors of solutions of a system.
 *
 * Reads   a system, b, x.   Writes  arrays of its own, of one solution at a time. */
#pragma once

#include "runtime/iterate/refine/system.h"

typedef struct tsi_residual {
  const tsi_system *system;
  tristar_op op;
  const double *column_weight; /* of the columns of op(A) */
  const double *own_weight;    /* the scaling that an import with weights (factor.h) was given */
  bool has_own;                /* it was given one, here or on other members */
  /* |op(A)| column_weight, |op(A)| times ones; has_own: 4 n, see unite_sums; else 2 n, which the first
   * residual on one process may make. */
  double *row_sum;
  double *bound; /* n: |op(A)| |x| */
  char *vector;  /* n scalars: b - op(A) x */
  bool precise;  /* vector: with sums of the next wider precision; false at first */
  bool strict; /* no denominator of a row counts as rounding errors (figures.md); at first as the system is */
} tsi_residual;

/* *r is zero; to be finished whatever the status. Errors: MEMORY, of messages. */
TRISTAR_CHECKED tristar_status tsi_residual_begin(const tsi_system *system, tristar_op op, tsi_residual *r);
void tsi_residual_finish(tsi_residual *r);
/* Sets bound and vector for x, and *error (tristar_solve_refined): NaN if x has NaN. Errors: of messages. */
TRISTAR_CHECKED tristar_status tsi_residual_find(const tsi_residual *r, const void *b, const void *x,
                                                 double *error);
/* The error for that vector and bound, which are those of x. Errors: of messages. */
TRISTAR_CHECKED tristar_status tsi_residual_error(const tsi_residual *r, const void *b, const void *x,
                                                  double *error);
/* Sets the entries of vector to zero whose rows have at most that backward error. b and x as they were when
 * it was found. Errors: of messages. */
TRISTAR_CHECKED tristar_status tsi_residual_leave_solved(const tsi_residual *r, const void *b, const void *x,
                                                         double error);
