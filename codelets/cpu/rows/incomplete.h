/* Incomplete factorizations and the diagonals of preconditioners, by scalar type.
 *
 * Job. Factor the rows of a square matrix approximately, on a pattern that is given (ilu, ic) or found on the
 * way (ilut, ict), in the order of the rows, without pivoting.
 *
 *   ilu, ilut   A ~ L U, L with a unit diagonal: row i has L left of diagonal[i], U from there on
 *   ic, ict     A ~ U^H U, or U^T U: row i has U from diagonal[i] on; what stands left of it is not written
 *
 * Reads   rows of a matrix, both triangles, factors so far.   Writes  factors, vectors, scratch.
 * Invariants: columns of a row ascend, and the diagonal is one of them. What a row becomes depends on rows
 * before it only; sums have a fixed order. */
#pragma once

#include "runtime/base/types.h"
#include "tristar.h"

/* Why a factorization ended before its last row. */
typedef enum tsi_breakdown_kind {
  TSI_BREAKDOWN_NONE,
  TSI_BREAKDOWN_ZERO,         /* a pivot that is zero, or subnormal: it has no inverse */
  TSI_BREAKDOWN_NOT_POSITIVE, /* a pivot of a positive definite matrix that is not positive */
  TSI_BREAKDOWN_NOT_FINITE    /* NaN or infinity in the row */
} tsi_breakdown_kind;

typedef struct tsi_breakdown {
  tsi_breakdown_kind kind;
  tsi_index row; /* NONE: n, or where there was no more room */
} tsi_breakdown;

/* Rows of a matrix or of factors. */
typedef struct tsi_factor_rows {
  tsi_index n;
  tsi_count *ptr;      /* n + 1 */
  tsi_index *index;    /* ptr[n] */
  tsi_count *diagonal; /* n: its entry in each row */
  void *values;        /* ptr[n]; NULL: a pattern */
} tsi_factor_rows;

/* What a factorization is to do with what it meets. */
typedef struct tsi_dropping {
  double shift;    /* diagonal entries of A count 1 + shift times */
  double modified; /* ilu, ic: share of dropped fill that goes to the diagonal */
  double drop;     /* ilut, ict: relative to the 2-norm of A's row */
  tsi_count fill;  /* ilut, ict: entries beyond those of A's row, in each triangle; at most n */
  bool adjoint;    /* ic, ict: U^H U, not U^T U */
} tsi_dropping;

/* Scratch of ilut and ict: n of each. row: scalars. */
typedef struct tsi_threshold_work {
  tsi_index *place; /* -1, before */
  void *row;
  tsi_index *lower, *upper;
  tsi_index *kept; /* ict: TSI_NONE, before */
  tsi_count *next; /* ict */
  double *magnitude;
} tsi_threshold_work;

typedef struct tsi_incomplete_kernels {
  /* Row i, which needs the rows that it has entries of L in. The pattern of `out` includes the pattern of a;
   * both may have the same values, which the factors replace. place, n: -1, before and after. */
  tsi_breakdown_kind (*ilu)(const tsi_factor_rows *a, const tsi_dropping *how, tsi_index i, tsi_index *place,
                            tsi_factor_rows *out);
  /* The same; it is symmetric. A pivot has to be positive, but for a complex matrix that is not adjoint.
   * cross[e]: of an entry (i, k) left of the diagonal, how far (k, i) is from the diagonal of row k. dropped:
   * what the diagonal entries of all rows lose, n scalars that are zero before the first row; NULL: how
   * modified is 0. */
  tsi_breakdown_kind (*ic)(const tsi_factor_rows *a, const tsi_dropping *how, tsi_index i, tsi_index *place,
                           const tsi_index *cross, void *dropped, tsi_factor_rows *out);
  /* The same with how->modified 0. row: n scalars, of any values before the first row; the rows of a
   * factorization may leave others. */
  tsi_breakdown_kind (*ilu_dense)(const tsi_factor_rows *a, const tsi_dropping *how, tsi_index i, void *row,
                                  tsi_factor_rows *out);
  tsi_breakdown_kind (*ic_dense)(const tsi_factor_rows *a, const tsi_dropping *how, tsi_index i, void *row,
                                 const tsi_index *cross, tsi_factor_rows *out);
  /* Rows from `begin` on, as far as there is room for `capacity` entries and another row: .row tells how far.
   * ptr[0] is 0. */
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

/* The most entries of row i that ilut or ict makes, with the diagonal. */
static inline tsi_count tsi_dropping_room(const tsi_factor_rows *a, const tsi_dropping *how, tsi_index i) {
  const tsi_count lower = a->diagonal[i] - a->ptr[i], upper = a->ptr[i + 1] - a->diagonal[i];
  return tsi_count_min(lower + how->fill, i) + tsi_count_min(upper + how->fill, a->n - i);
}

/* For 's', 'd', 'c' or 'z'; NULL for anything else. */
const tsi_incomplete_kernels *tsi_incomplete_kernels_select(char scalar);
