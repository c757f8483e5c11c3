/* What a Symbolic and a Numeric object of KLU hold, as tristar_factors: P R A Q = L U with the part above the
 * diagonal blocks in U, L and U by columns, R the row scaling.
 *
 * Reads   the objects: their sizes, and the rest through klu_*_extract, which copies.
 * Writes  a tristar_factors that points into tsi_klu, which must outlive it. */
#pragma once

#include "runtime/adapters/klu_blocks.h"
#include "tristar_klu.h"

typedef struct tsi_klu {
  int64_t n, blocks;
  tsi_klu_columns lower, upper, off; /* L, U and F; after tsi_klu_factors upper is U + L^-1 F, off is empty */
  int64_t *row_order, *column_order;
  double *row_scale;
} tsi_klu;

/* *work must be all zero; release it whatever the status. */
TRISTAR_CHECKED tristar_status tsi_klu_factors(tristar_t *ts, tristar_klu family, const void *Symbolic,
                                               const void *Numeric, const tristar_view *matrix, tsi_klu *work,
                                               tristar_factors *factors);
void tsi_klu_release(tsi_klu *work);
