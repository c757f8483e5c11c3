/* Iterative refinement of one approximate solution.
 *
 * Job. Corrections by the factors (Arioli, Demmel, Duff 1989; Higham 2002, chapter 12) until the
 * componentwise backward error is small enough or no longer falls by a tenth, then FGMRES with the factors as
 * preconditioner, restarted while it gains a digit. The best x is kept.
 *
 * Reads   the matrix, a plan, b.   Writes  x, work of its own.
 * Invariant: residual and bound are those of the x refined last. */
#ifndef TSI_RUNTIME_REFINEMENT_H
#define TSI_RUNTIME_REFINEMENT_H

#include "runtime/plan.h"

typedef struct tsi_refinement {
  tristar_plan_t *plan;
  const tsi_sparse_kernels *kernels;
  tsi_sparse a;
  tristar_op op;
  double *row_sum; /* n: |op(A)| e */
  double *bound;   /* n: |op(A)| |x| */
  char *residual;  /* n scalars: b - op(A) x */
  char *correction, *best;
} tsi_refinement;

/* *r must be zero; to be finished whatever the status. Errors: MEMORY, UNSUPPORTED (no matrix). */
TRISTAR_CHECKED tristar_status tsi_refinement_begin(tristar_plan_t *plan, tristar_op op, tsi_refinement *r);
void tsi_refinement_finish(tsi_refinement *r);

/* Refines x in place. *result gets the larger of what it holds and what was found. Errors: MEMORY, those of
 * tristar_solve. */
TRISTAR_CHECKED tristar_status tsi_refine(const tsi_refinement *r, const void *b, void *x,
                                          const tristar_refine_options *options,
                                          tristar_refine_result *result);

/* Errors: UNSUPPORTED if the factor was imported without its matrix. */
TRISTAR_CHECKED tristar_status tsi_need_matrix(const tristar_factor_t *factor);

#endif
