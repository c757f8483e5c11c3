/* Incomplete factorizations and the diagonals of preconditioners, by scalar type.
 *
 * Job. Factor a square matrix approximately, row by row, without pivoting. The pattern is given (ilu, ic) or
 * found during the factorization (ilut, ict).
 *
 *   ilu, ilut   A ~ L U, L with a unit diagonal: row i has L left of diagonal[i], U from there on
 *   ic, ict     A ~ U^H U, or U^T U: row i has U from diagonal[i] on; entries left of it are not written
 *
 * Reads   rows of a matrix, both triangles, the factors of earlier rows.   Writes  factors, vectors, scratch.
 * Invariants: columns of a row ascend, and contain the diagonal. A row of the factors depends only on earlier
 * rows; sums have a fixed order. */
#pragma once

#include "runtime/base/types.h"
#include "tristar.h"

/* The reason why a factorization ended before its last row. */
typedef enum tsi_breakdown_kind {
  TSI_BREAKDOWN_NONE,
  TSI_BREAKDOWN_ZERO,         /* a pivot that is zero, or subnormal: it has no inverse */
  TSI_BREAKDOWN_NOT_POSITIVE, /* a pivot of a positive definite matrix that is not positive */
  TSI_BREAKDOWN_NOT_FINITE    /* NaN or infinity in the row */
} tsi_breakdown_kind;

typedef struct tsi_breakdown {
  tsi_breakdown_kind kind;
  tsi_index row; /* NONE: n, or the first row without space */
} tsi_breakdown;

/* Rows of a matrix or of factors. */
typedef struct tsi_factor_rows {
  tsi_index n;
  tsi_count *ptr;      /* n + 1 */
  tsi_index *index;    /* ptr[n] */
  tsi_count *diagonal; /* n: position of the diagonal entry of each row */
  void *values;        /* ptr[n]; NULL: a pattern */
} tsi_factor_rows;

/* Options of a factorization: shift, and dropping of entries. */
typedef struct tsi_dropping {
  double shift;    /* diagonal entries of A are multiplied by 1 + shift */
  double modified; /* ilu, ic: share of dropped fill that is added to the diagonal */
  double drop;     /* ilut, ict: relative to the 2-norm of A's row */
  tsi_count fill;  /* ilut, ict: number of additional entries in each triangle of a row; at most n */
  bool adjoint;    /* ic, ict: U^H U, not U^T U */
} tsi_dropping;

/* Scratch of ilut and ict: n of each. row: scalars. */
typedef struct tsi_threshold_work {
  tsi_index *place; /* -1 before */
  void *row;
  tsi_index *lower, *upper;
  tsi_index *kept; /* ict: TSI_NONE before */
  tsi_count *next; /* ict */
  double *magnitude;
} tsi_threshold_work;

typedef struct tsi_incomplete_kernels {
  /* Factors row i; the rows of its entries in L must be factored. The pattern of `out` includes the pattern
   * of a. Both may share the values; then the factors replace them. place, n: -1 before and after. */
  tsi_breakdown_kind (*ilu)(const tsi_factor_rows *a, const tsi_dropping *how, tsi_index i, tsi_index *place,
                            tsi_factor_rows *out);
  /* Does the same for a symmetric pattern. A pivot must be positive, unless the matrix is complex and not
   * adjoint. cross[e]: for entry e, (i, k) left of the diagonal, the distance of (k, i) from the diagonal of
   * row k. dropped: sums subtracted from the diagonal entries of all rows, n scalars, zero before the first
   * row; NULL: how->modified is 0. */
  tsi_breakdown_kind (*ic)(const tsi_factor_rows *a, const tsi_dropping *how, tsi_index i, tsi_index *place,
                           const tsi_index *cross, void *dropped, tsi_factor_rows *out);
  /* Does the same with how->modified 0. row: n scalars of scratch, with any values. */
  tsi_breakdown_kind (*ilu_dense)(const tsi_factor_rows *a, const tsi_dropping *how, tsi_index i, void *row,
                                  tsi_factor_rows *out);
  tsi_breakdown_kind (*ic_dense)(const tsi_factor_rows *a, const tsi_dropping *how, tsi_index i, void *row,
                                 const tsi_index *cross, tsi_factor_rows *out);
  /* Factors rows from `begin` on, as long as another row fits in `capacity` entries; .row is the first row
   * that was not factored. ptr[0] is 0. */
  tsi_breakdown (*ilut)(const tsi_factor_rows *a, const tsi_dropping *how, const tsi_threshold_work *work,
                        tsi_index begin, tsi_count capacity, tsi_factor_rows *out);
  tsi_breakdown (*ict)(const tsi_factor_rows *a, const tsi_dropping *how, const tsi_threshold_work *work,
                       tsi_index begin, tsi_count capacity, tsi_factor_rows *out);
  /* SSOR: middle[i] = (2 - omega) / omega d, and d becomes d / omega, d the diagonal entry of row i */
  tsi_breakdown (*relax)(tsi_factor_rows *a, double omega, void *middle);
  /* inverse[i] = 1 / diagonal[i]; inverse may be diagonal */
  tsi_breakdown (*invert)(tsi_index n, const void *diagonal, void *inverse);
  /* x = d x, entry by entry; conjugate: with the conjugates of d */
  void (*scale)(tsi_index n, const void *d, bool conjugate, void *x);
  /* x = conj(x) */
  void (*conjugate)(tsi_index n, void *x);
} tsi_incomplete_kernels;

/* Returns the maximum number of entries, with the diagonal, that ilut or ict makes in row i. */
static inline tsi_count tsi_dropping_space(const tsi_factor_rows *a, const tsi_dropping *how, tsi_index i) {
  const tsi_count lower = a->diagonal[i] - a->ptr[i], upper = a->ptr[i + 1] - a->diagonal[i];
  return tsi_count_min(lower + how->fill, i) + tsi_count_min(upper + how->fill, a->n - i);
}

/* For 's', 'd', 'c' or 'z'; NULL for anything else. */
const tsi_incomplete_kernels *tsi_incomplete_kernels_select(char scalar);
