/* Converts a block triangular form to one factorization L U. Let S = D + F, where D = L U contains the
 * diagonal blocks and F the entries above these blocks. Then
 *
 *     S = L U + F = L (U + L^-1 F).
 *
 * L is block diagonal, so L^-1 F has entries only above the diagonal blocks, like F. A sparse triangular
 * solve computes each of its columns (Gilbert and Peierls 1988): a depth-first search in the graph of L finds
 * the nonzero rows in an order in which they can be computed.
 *
 * Assumes  L has a unit diagonal (stored or not). Columns need not be sorted.
 * Not checked here: the range of row indices; KLU computed them. */
#pragma once

#include "runtime/adapters/adapter.h"

/* Sparse matrix by columns: column j has entries ptr[j] .. ptr[j+1] - 1. */
typedef struct tsi_klu_columns {
  int64_t *ptr, *index;
  void *values;
} tsi_klu_columns;

/* full = upper + lower^-1 off, of order n, for double and for double complex. The caller owns the arrays of
 * *full, also after a failure. */
TRISTAR_CHECKED tristar_status tsi_klu_blocks_d(tristar_t *ts, int64_t n, const tsi_klu_columns *lower,
                                                const tsi_klu_columns *upper, const tsi_klu_columns *off,
                                                tsi_klu_columns *full);
TRISTAR_CHECKED tristar_status tsi_klu_blocks_z(tristar_t *ts, int64_t n, const tsi_klu_columns *lower,
                                                const tsi_klu_columns *upper, const tsi_klu_columns *off,
                                                tsi_klu_columns *full);
