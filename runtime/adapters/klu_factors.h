/* Copies a Symbolic and a Numeric object of KLU to tristar_factors: P R A Q = L U. L and U are stored by
 * columns; U includes the entries above the diagonal blocks. R is the row scaling.
 *
 * Reads   the sizes in the objects, and the factors through klu_*_extract, which copies.
 * Writes  a tristar_factors that points into tsi_klu. tsi_klu must outlive it. */
#pragma once

#include "runtime/adapters/klu_blocks.h"
#include "tristar_klu.h"

typedef struct tsi_klu {
  int64_t n, blocks;
  tsi_klu_columns lower, upper, off; /* L, U, F. tsi_klu_factors sets upper to U + L^-1 F, off to nothing. */
  int64_t *row_order, *column_order;
  double *row_scale;
} tsi_klu;

/* *work must be all zero. The caller releases it, also after a failure. */
TRISTAR_CHECKED tristar_status tsi_klu_factors(tristar_t *ts, tristar_klu family, const void *Symbolic,
                                               const void *Numeric, const tristar_view *matrix, tsi_klu *work,
                                               tristar_factors *factors);
void tsi_klu_release(tsi_klu *work);
