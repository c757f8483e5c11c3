/* Componentwise backward errors of several solutions of one system, for trials of a factorization.
 *
 * Reads   a sparse matrix by lines, columns of b and x.   Writes  scratch. */
#pragma once

#include "codelets/cpu/rows/sparse.h"

#define TSI_ERRORS_AT_ONCE 8 /* maximum number of solutions for backward_errors */

typedef struct tsi_error_kernels {
  const char *isa;
  /* Returns the largest backward error (tsi_sparse_kernels.backward_error) of `count` solutions, at most
   * TSI_ERRORS_AT_ONCE, with one pass over A; infinity if one is not finite. b, x: columns of n. g, row_sum:
   * as for backward_error. order: tsi_sizes.n. work: 2 TSI_ERRORS_AT_ONCE n scalars, then as many doubles. */
  double (*backward_errors)(const tsi_sparse *a, tristar_op op, tsi_index count, const void *b, const void *x,
                            const double *g, const double *row_sum, int64_t order, void *work);
} tsi_error_kernels;

/* As tsi_kernels_select. */
const tsi_error_kernels *tsi_error_kernels_select(char scalar, const char *isa);
