/* Vectors and matrices by rows for iterative solvers. Kernels work on pieces of vectors that stay in the
 * nearest cache from one call to the next.
 *
 * Reads   rows of a matrix, pieces of vectors.   Writes  pieces of vectors.
 * Sums are computed in double for every scalar type, in an order that depends only on the number of entries.
 * Factors are complex double: factor[0] + i factor[1]; real types ignore the imaginary part. */
#pragma once

#include "runtime/base/types.h"

/* Row i has the entries ptr[i] .. ptr[i+1]-1 of index and values. */
typedef struct tsi_matrix_rows {
  const tsi_count *ptr;
  const tsi_index *index;
  const void *values;
} tsi_matrix_rows;

typedef struct tsi_krylov_kernels {
  const char *isa;
  /* y[i] = (A x)[i] for the rows i = first .. end-1 */
  void (*multiply)(const tsi_matrix_rows *rows, tsi_index first, tsi_index end, const void *x, void *y);
  /* out[0] + i out[1] = x^H y */
  void (*dot)(tsi_index n, const void *x, const void *y, double out[2]);
  /* y += factor x */
  void (*axpy)(tsi_index n, const double factor[2], const void *x, void *y);
  /* y = x + factor y */
  void (*xpay)(tsi_index n, const double factor[2], const void *x, void *y);
  /* y = factor x */
  void (*scale)(tsi_index n, double factor, const void *x, void *y);
  /* x += alpha p, r -= alpha q, z = d r entry by entry; out: r^H z, z^H z and r^H r, pairs, with the bits of
   * dot. Each entry is read and written once. */
  void (*advance)(tsi_index n, double alpha, const void *p, const void *q, const void *d, void *x, void *r,
                  void *z, double out[6]);
  /* y = x - y */
  void (*subtract)(tsi_index n, const void *x, void *y);
} tsi_krylov_kernels;

/* As tsi_kernels_select. */
const tsi_krylov_kernels *tsi_krylov_kernels_select(char scalar, const char *isa);
