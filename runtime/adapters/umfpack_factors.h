/* Copies a Numeric object of UMFPACK to tristar_factors: P R A Q = L U, with L by rows, U by columns, and R
 * the row scaling.
 *
 * Reads   the Numeric object, through umfpack_*_get_lunz and umfpack_*_get_numeric, which copy.
 * Writes  a tristar_factors that points into tsi_umfpack. tsi_umfpack must outlive it. */
#pragma once

#include "tristar_umfpack.h"
#include "tristar_triangle.h"

/* The copies. */
typedef struct tsi_umfpack {
  char *lower_ptr, *lower_index, *upper_ptr, *upper_index; /* integers of UMFPACK's type */
  double *lower, *upper;
  int64_t *row_order, *column_order;
  double *row_scale;
} tsi_umfpack;

/* *work must be all zero. The caller releases it, also after a failure. */
TRISTAR_CHECKED tristar_status tsi_umfpack_factors(tristar_t *ts, tristar_umfpack family, const void *Numeric,
                                                   const tristar_view *matrix, tsi_umfpack *work,
                                                   tristar_factors *factors);
void tsi_umfpack_release(tsi_umfpack *work);
