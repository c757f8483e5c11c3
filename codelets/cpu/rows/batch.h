/* Factors L U, or L D L^T and L D L^H, of many matrices with one pattern, side by side in the lanes of
 * vectors.
 *
 * A number of the structure stands for TSI_BATCH_BYTES / (bytes of a real) numbers, one for each system of a
 * group: a *lane number*. A complex lane number has its real parts first, then its imaginary parts. All
 * systems of a group are factored and solved by the same operations in the same order, so the bits of a
 * system do not depend on its lane, nor on the other systems.
 *
 * The matrices are permuted and scaled already. Pivots are on the diagonal. Left-looking by columns (Gilbert
 * and Peierls 1988), on a structure that is computed beforehand.
 *
 * Reads   structure, lane numbers.   Writes  lane numbers.
 * Invariants
 *   - rows of a column of L, U and A ascend; L has those below the diagonal, U those above it
 *   - the rows of column j of L and U, and j, contain those of column j of A, and the rows of column k of L
 *     for each row k of column j of U */
#pragma once

#include "runtime/base/types.h"
#include "tristar.h"

#define TSI_BATCH_BYTES 64
#define TSI_BATCH_CHAIN 4

typedef struct tsi_batch_columns {
  tsi_count *ptr;   /* n + 1 */
  tsi_index *index; /* ptr[n] */
} tsi_batch_columns;

typedef struct tsi_batch_structure {
  tsi_index n;
  tsi_batch_columns a, l, u;
  tsi_count
      *mirror;    /* L D L^T: by entry (k, j) of U, where (j, k) is in L; u has no values then. NULL: L U */
  bool hermitian; /* L D L^H */
  bool positive;  /* L D L^T: a pivot that is not positive is as bad as zero */
  uint8_t *chain; /* n: columns k .. k + chain[k] - 1 of L, at most TSI_BATCH_CHAIN, are dense below the
                     diagonal down to the last of them, and have the same rows below that */
} tsi_batch_structure;

/* Lane numbers of the factors: n, l.ptr[n] and u.ptr[n] of them; L D L^T: u is D, n of them. */
typedef struct tsi_batch_factors {
  void *inverse, *l, *u;
} tsi_batch_factors;

typedef struct tsi_batch_kernels {
  const char *isa;
  int lanes;         /* systems of a group */
  size_t lane_bytes; /* of a lane number */
  size_t real_bytes;
  /* a[e] = scale[e] values[l][source[e]] in lane l, for `count` entries; source[e] < 0: the mirror image of
   * entry ~source[e]. values: a pointer for each lane. */
  void (*load)(tsi_count count, const tsi_count *source, const double *scale, tristar_symmetry symmetry,
               const void *const *values, void *a);
  /* x[i] = scale[i] b[l][row[i]]; scale may be NULL: ones. */
  void (*gather)(tsi_index n, const tsi_index *row, const double *scale, const void *const *b, void *x);
  /* x[l][row[i]] = scale[i] w[i] in the lanes l whose x[l] is not NULL. */
  void (*scatter)(tsi_index n, const tsi_index *row, const double *scale, const void *w, void *const *x);
  /* work: n lane numbers, zeros before and after. Gives a bit for each lane that has a pivot of zero, one
   * whose inverse is not finite, or a weak one; the first two leave numbers of no use. A pivot is weak if a
   * column of L has entries above eps^-0.4, with which digits are lost where the backward error may not see
   * it, or if it is below eps^0.5 of the largest pivot, as one of a singular matrix is. */
  unsigned (*factor)(const tsi_batch_structure *structure, const void *a, void *work,
                     const tsi_batch_factors *out);
  /* x := op(L U)^-1 x, or op(L D L^T)^-1 x */
  void (*solve)(const tsi_batch_structure *structure, const tsi_batch_factors *factors, tristar_op op,
                void *x);
  /* r = b - op(A) x. error[l]: the componentwise backward error max |r_i| / (|op(A)| |x| + |b|)_i of lane l
   * (Oettli and Prager 1964). Where that sum is at most n eps times (|op(A)|_i times the largest entry of x),
   * the latter is added to it (Arioli, Demmel and Duff 1989). weight (NULL: none): n, by row of x; the latter
   * is also found for the entries of x times their weights, and of |op(A)| divided by them, and the lesser of
   * both counts. work: 3 n lane numbers. */
  void (*residual)(const tsi_batch_structure *structure, tristar_op op, const void *a, const void *b,
                   const double *weight, const void *x, void *r, void *work, double *error);
  /* x += y, n lane numbers, in the lanes that have a bit in `lanes` */
  void (*add)(tsi_index n, unsigned lanes, const void *y, void *x);
} tsi_batch_kernels;

/* As tsi_kernels_select. */
const tsi_batch_kernels *tsi_batch_kernels_select(char scalar, const char *isa);
