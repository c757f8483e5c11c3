/* Factors a small front in one call. Most supernodes of circuits and power grids have few columns and rows;
 * calls of BLAS and LAPACK would take many times as long as the arithmetic. One table per instruction set.
 * Real scalars; tables of complex types have no functions.
 *
 * Reads   an assembled front of one panel (front.h): P, Q, C.
 * Writes  the packed panel (panel.h), pivots, and C, the Schur complement.
 * The result depends only on the front. Whether a front is small depends only on its sizes. */
#pragma once

#include "codelets/cpu/front.h"

#define TSI_SMALL_WIDTH 16 /* maximum w */
#define TSI_SMALL_ROWS 48  /* maximum m */

static inline bool tsi_front_is_small(tsi_index w, tsi_index m) {
  return w <= TSI_SMALL_WIDTH && m <= TSI_SMALL_ROWS;
}

/* Output arrays for the factors of a small front. */
typedef struct tsi_small_factors {
  tsi_index *pivot;    /* w; LLT: not used. LDLT: result->inverse is written, too. */
  void *lower, *upper; /* the packed panel; upper: LU only */
  tsi_inverse inverse;
  tsi_pivoting *result; /* an entry of the panel that is not finite fails its first column */
  double growth;        /* Output: larger inverse_growth (front.h) of the two; 0: nothing is inverted. */
} tsi_small_factors;

typedef struct tsi_small_kernels {
  const char *isa; /* "base", "avx2", "avx512" */
  /* NULL: complex scalars. */
  void (*lu)(const tsi_front *front, tsi_small_factors *factors);
  void (*llt)(const tsi_front *front, tsi_small_factors *factors);
  void (*ldl)(const tsi_front *front, tsi_small_factors *factors); /* needs no Q */
} tsi_small_kernels;

/* Returns the table of a scalar type for this processor. isa: as in tsi_kernels_select. */
const tsi_small_kernels *tsi_small_kernels_select(char scalar, const char *isa);
