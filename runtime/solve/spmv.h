/* Solves by the partitioned inverse (TRISTAR_KERNEL_SPMV): the matrices of dag/products.h with values, and
 * the steps that multiply by them.
 *
 * Workspace. 2 n rows. The first n rows hold t, into which b is read, and later x of the backward sweep. The
 * other n rows hold x of the forward sweep, which becomes y of the backward sweep after D^-1 was applied.
 *
 * Each direction has a separate matrix for each triangular factor. tsi_spmv_prepare fills its columns and
 * values when a solve first needs it, and again when the factor has new values. R T and T are computed by the
 * solve's own kernels, applied to the identity.
 *
 * Reads   a plan's factor and panels.   Writes  its own arrays, under its lock.
 * Invariants: a matrix is valid if it has the generation of the factor. */
#pragma once

#include "codelets/cpu/rows/spmv.h"
#include "dag/product_steps.h"
#include "runtime/solve/plan.h"

typedef struct tsi_spmv_matrix {
  int64_t generation; /* generation of the factor's values; 0: none yet */
  tsi_index *row, *index;
  void *values;
  tsi_spmv_rows rows; /* the same for the kernel */
} tsi_spmv_matrix;

struct tsi_spmv {
  pthread_mutex_t lock;
  const tsi_spmv_kernels *kernels;
  tsi_levels *levels;           /* level sets of the panels */
  tsi_products *products[2];    /* forward, backward */
  tsi_spmv_matrix matrix[2][2]; /* forward, backward; lower, upper factor */
  size_t bytes;                 /* bytes of the matrices, including the layout of their rows */
};

/* Makes the layout of the products. Errors: UNSUPPORTED (L and U of different structure, or only one of
 * them), TOO_LARGE, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_spmv_create(const tristar_plan_t *plan, tsi_spmv **out);
void tsi_spmv_destroy(tsi_env *env, tsi_spmv **spmv);

/* Returns the rows of the matrix of a direction with the current values of the factor. Do not call it while
 * the factor gets new values. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_spmv_prepare(tristar_plan_t *plan, bool backward, bool upper,
                                                const tsi_spmv_rows **out);

/* Returns the bytes of matrices that a solve reads; the sum of the heaviest block of each stage. */
void tsi_spmv_weigh(const tristar_plan_t *plan, double *stream, double *critical);

/* Lists all steps of a solve, and their level sets. Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_spmv_steps(const tristar_plan_t *plan, tsi_steps **steps,
                                              tsi_levels **levels);
