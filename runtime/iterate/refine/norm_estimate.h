/* Estimates of the 1-norms of matrices that are given only by their products with vectors.
 *
 * Job. Run Hager's iteration with Higham's extra test vector (Higham 1988, algorithm 4.1; for complex
 * matrices Higham and Tisseur 2000: signs become x / |x|, the transpose the adjoint). The estimate is a lower
 * bound, rarely below a third of the norm. It takes 4 to 10 products. Several matrices are estimated side by
 * side, so that their products can share solves with many right-hand sides.
 *
 * Reads   products.   Writes  its own work arrays. */
#pragma once

#include "codelets/cpu/rows/sparse.h"
#include "runtime/iterate/refine/team.h"

#define TSI_ESTIMATES_MAX 16 /* largest number of matrices at a time */

/* Multiplies column c of x (n scalars, columns contiguous) by M_c or, if adjoint, by M_c^H. If a product
 * cannot be computed, the function must write a NaN to the column. */
typedef tristar_status (*tsi_multiply_columns)(void *arg, bool adjoint, tsi_index count, void *x);

/* norm[c] = the estimate for M_c of order team->n, c < count <= TSI_ESTIMATES_MAX; infinite if a product is
 * not finite. n: entries of vectors on this process. Errors: MEMORY, those of multiply. */
TRISTAR_CHECKED tristar_status tsi_estimate_one_norms(tsi_env *env, const tsi_sparse_kernels *kernels,
                                                      tsi_team *team, tsi_index n, tsi_index count,
                                                      tsi_multiply_columns multiply, void *arg, double *norm);
