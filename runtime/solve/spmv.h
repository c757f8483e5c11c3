/* Solves by the partitioned inverse (TRISTAR_KERNEL_SPMV): the matrices of dag/products.h with values, and
 * the steps that multiply with them.
 *
 * Workspace. 2 n rows: first t, which b is read into, and x of the backward sweep; then x of the forward
 * sweep, which is y of the backward one once D^-1 has been applied.
 *
 * A direction with a triangular factor has a matrix of its own: columns and values, which tsi_spmv_prepare
 * fills in when a solve needs it first, and again when the factor has new values. R T and T come from the
 * solve's own kernels, applied to the identity.
 *
 * Reads   a plan's factor and panels.   Writes  its own arrays, under its lock.
 * Invariants: a matrix is valid if its generation is that of the factor. */
#pragma once

#include "codelets/cpu/rows/spmv.h"
#include "dag/product_steps.h"
#include "runtime/solve/plan.h"

typedef struct tsi_spmv_matrix {
  int64_t generation; /* of the factor's values; 0: none yet */
  tsi_index *row, *index;
  void *values;
  tsi_spmv_rows rows; /* the same for the kernel */
} tsi_spmv_matrix;

struct tsi_spmv {
  pthread_mutex_t lock;
  const tsi_spmv_kernels *kernels;
  tsi_levels *levels;           /* of the panels */
  tsi_products *products[2];    /* forward, backward */
  tsi_spmv_matrix matrix[2][2]; /* the same; of the lower, the upper factor */
  size_t bytes;                 /* of the matrices, the layout of their rows included */
};

/* Lays out the products. Errors: UNSUPPORTED (L and U of different structure, or one of them alone),
 * TOO_LARGE, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_spmv_create(const tristar_plan_t *plan, tsi_spmv **out);
void tsi_spmv_destroy(tsi_env *env, tsi_spmv **spmv);

/* The rows of the matrix of a direction with the values that the factor has now. Not while the factor gets
 * new ones. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_spmv_prepare(tristar_plan_t *plan, bool backward, bool upper,
                                                const tsi_spmv_rows **out);

/* Bytes of matrices that a solve reads; of the heaviest block of each stage. */
void tsi_spmv_weigh(const tristar_plan_t *plan, double *stream, double *critical);

/* All steps of a solve, and their level sets. Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_spmv_steps(const tristar_plan_t *plan, tsi_steps **steps,
                                              tsi_levels **levels);
