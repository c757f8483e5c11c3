/* Iterative refinement of one approximate solution.
 *
 * Job. Corrections by the factors (Arioli, Demmel, Duff 1989; Higham 2002, chapter 12) until the
 * componentwise backward error is small enough or no longer falls by a tenth, then FGMRES with the factors as
 * preconditioner, restarted while it halves the error. The best x is kept.
 *
 * Reads   the matrix, a plan, b.   Writes  x, work of its own.
 * Invariant: residual and bound are those of the x refined last. */
#ifndef TSI_RUNTIME_ACCURACY_REFINEMENT_H
#define TSI_RUNTIME_ACCURACY_REFINEMENT_H

#include "runtime/solve/plan.h"

typedef struct tsi_refinement {
  tristar_plan_t *plan;
  const tsi_sparse_kernels *kernels;
  tsi_sparse a;
  tristar_op op;
  const double *row_scale;     /* of the rows of op(A), as the factorization scaled them; NULL: ones */
  const double *column_weight; /* tsi_column_weight */
  int64_t column;              /* of b and x, for messages and the history */
  double *row_sum;             /* 2 n: |op(A)| column_weight, |op(A)| times ones */
  double *bound;               /* n: |op(A)| |x| */
  char *residual;              /* n scalars: b - op(A) x */
  char *correction, *best;
} tsi_refinement;

/* *r must be zero; to be finished whatever the status. Errors: MEMORY, UNSUPPORTED (no matrix). */
TRISTAR_CHECKED tristar_status tsi_refinement_begin(tristar_plan_t *plan, tristar_op op, tsi_refinement *r);
void tsi_refinement_finish(tsi_refinement *r);

/* The scaling of the columns of op(A) in its factorization: what size the unknowns have, more or less. NULL:
 * ones. */
static inline const double *tsi_column_weight(const tristar_factor_t *factor, tristar_op op) {
  return op == TRISTAR_N ? factor->col_scale : factor->row_scale;
}

/* Solves with the factors. Single factors get each column of b brought to size one, as they will scale it, by
 * a power of two; so it stays in their range. Overwrites b then. n rows, no gaps. Errors: MEMORY, those of
 * tristar_solve. */
TRISTAR_CHECKED tristar_status tsi_solve_in_range(const tsi_refinement *r, int64_t nrhs, void *b, void *x);

/* Refines x in place. *result gets the larger of what it holds and what was found, and the points of the
 * history. Errors: MEMORY, those of tristar_solve; NOT_FINITE: b or x, or what is computed from them, has
 * left the range of numbers (the message names the row). */
TRISTAR_CHECKED tristar_status tsi_refine(const tsi_refinement *r, const void *b, void *x,
                                          const tristar_refine_options *options,
                                          tristar_refine_result *result);

/* Errors: UNSUPPORTED if the factor was imported without its matrix. */
TRISTAR_CHECKED tristar_status tsi_need_matrix(const tristar_factor_t *factor);

#endif
