/* A block triangular form as one L U. With S = D + F, D = L U the diagonal blocks and F what lies above them,
 *
 *     S = L U + F = L (U + L^-1 F),
 *
 * and L^-1 F has its entries in the rows of the blocks above, because L is block diagonal. Each of its
 * columns is found by a sparse triangular solve (Gilbert and Peierls 1988): a depth-first search in the graph
 * of L gives the rows that are not zero, in an order in which they can be computed.
 *
 * Assumes  sorted or unsorted columns, L with ones on its diagonal (stored or not).
 * Not checked here: row indices in range; KLU made them. */
#pragma once

#include "runtime/adapters/adapter.h"

/* A sparse matrix by columns: the entries of column j are ptr[j] .. ptr[j+1] - 1. */
typedef struct tsi_klu_columns {
  int64_t *ptr, *index;
  void *values;
} tsi_klu_columns;

/* full = upper + lower^-1 off, of order n, for double and for double complex. Its arrays belong to the
 * caller, also after a failure. */
TRISTAR_CHECKED tristar_status tsi_klu_blocks_d(tristar_t *ts, int64_t n, const tsi_klu_columns *lower,
                                                const tsi_klu_columns *upper, const tsi_klu_columns *off,
                                                tsi_klu_columns *full);
TRISTAR_CHECKED tristar_status tsi_klu_blocks_z(tristar_t *ts, int64_t n, const tsi_klu_columns *lower,
                                                const tsi_klu_columns *upper, const tsi_klu_columns *off,
                                                tsi_klu_columns *full);
