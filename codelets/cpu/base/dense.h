/* Operations on small dense blocks of fronts, for which a call of BLAS or LAPACK takes longer than its
 * arithmetic: one table per instruction set. Blocks are column-major, of real scalars; BLAS does complex
 * ones. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/types.h"

#define TSI_DENSE_TRIANGLE 64 /* maximum order of a triangle for invert */
#define TSI_DENSE_ORDER 16    /* maximum order of a triangle for solves */
#define TSI_DENSE_SIZE 2048   /* maximum number of scalars of right-hand sides */

typedef struct tsi_dense_kernels {
  const char *isa; /* "base", "avx2", "avx512" */
  /* Inverts the upper or lower triangle of order n <= TSI_DENSE_TRIANGLE in place, as xTRTI2 does. unit: its
   * diagonal is one, and is neither read nor written. */
  void (*invert)(bool upper, bool unit, tsi_index n, void *a, ptrdiff_t lda);
  /* B := L^-1 B, L unit lower triangular of order m, B m x n. */
  void (*solve_left)(tsi_index m, tsi_index n, const void *l, ptrdiff_t ldl, void *b, ptrdiff_t ldb);
  /* B := B U^-1, U upper triangular of order n, B m x n. Entry (i, j) of U is u[i * row_step + j *
   * column_step]. */
  void (*solve_right)(tsi_index m, tsi_index n, const void *u, ptrdiff_t row_step, ptrdiff_t column_step,
                      void *b, ptrdiff_t ldb);
} tsi_dense_kernels;

/* Returns the table of a scalar type for this processor. isa: as in tsi_kernels_select. */
const tsi_dense_kernels *tsi_dense_kernels_select(char scalar, const char *isa);

/* Is a triangle of this order, with so many right-hand sides, small enough for solve_left and solve_right? */
static inline bool tsi_dense_is_small(tsi_index order, tsi_index sides) {
  return order <= TSI_DENSE_ORDER && (tsi_count)order * sides <= TSI_DENSE_SIZE;
}
