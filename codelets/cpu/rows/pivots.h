/* Common functions of the files of incomplete factorizations, which are compiled for each scalar type. */
#pragma once

#include <float.h>
#include <math.h>

#include "codelets/cpu/rows/incomplete.h"
#include "codelets/cpu/base/scalar.h"

#if defined TSI_SCALAR_S || defined TSI_SCALAR_C
#define TSI_TINY FLT_MIN
#else
#define TSI_TINY DBL_MIN
#endif

/* Members of tsi_incomplete_kernels (typed_threshold.c). */
tsi_breakdown TSI_TYPED(tsi_ilut)(const tsi_factor_rows *a, const tsi_dropping *how,
                                  const tsi_threshold_work *work, tsi_index begin, tsi_count capacity,
                                  tsi_factor_rows *out);
tsi_breakdown TSI_TYPED(tsi_ict)(const tsi_factor_rows *a, const tsi_dropping *how,
                                 const tsi_threshold_work *work, tsi_index begin, tsi_count capacity,
                                 tsi_factor_rows *out);

INLINE bool tsi_is_finite(tsi_scalar x) {
  return isfinite(tsi_re(x)) && isfinite(tsi_im(x));
}

INLINE tsi_breakdown_kind tsi_judge_pivot(tsi_scalar pivot) {
  if (!tsi_is_finite(pivot)) return TSI_BREAKDOWN_NOT_FINITE;
  return tsi_abs(pivot) < TSI_TINY ? TSI_BREAKDOWN_ZERO : TSI_BREAKDOWN_NONE;
}

/* Checks a pivot of ilu, and the other entries of its row: multipliers and entries of U. */
INLINE tsi_breakdown_kind tsi_judge_row(tsi_scalar pivot, tsi_count count, const tsi_scalar *row) {
  const tsi_breakdown_kind kind = tsi_judge_pivot(pivot);
  bool finite = true;
  for (tsi_count q = 0; q < count; q++) finite &= tsi_is_finite(row[q]);
  return kind == TSI_BREAKDOWN_NONE && !finite ? TSI_BREAKDOWN_NOT_FINITE : kind;
}

/* Computes the root of a pivot of ic. The pivot must be real and positive; in a complex symmetric matrix it
 * must only be nonzero. */
INLINE tsi_breakdown_kind tsi_pivot_root(tsi_scalar pivot, bool adjoint, tsi_scalar *root) {
  *root = 1;
  if (!tsi_is_finite(pivot)) return TSI_BREAKDOWN_NOT_FINITE;
#if TSI_COMPLEX
  if (!adjoint) {
    *root = (tsi_scalar)csqrt((tsi_wide)pivot);
    return tsi_judge_pivot(pivot);
  }
#else
  (void)adjoint;
#endif
  if (!(tsi_re(pivot) > 0)) return TSI_BREAKDOWN_NOT_POSITIVE;
  *root = (tsi_real)sqrt((double)tsi_re(pivot));
  return TSI_BREAKDOWN_NONE;
}

INLINE tsi_scalar tsi_image(tsi_scalar x, bool adjoint) {
  return adjoint ? tsi_conj(x) : x;
}

/* row -= multiplier times the entries `first` to end - 1 of `out`. */
INLINE void tsi_subtract_dense(const tsi_factor_rows *out, tsi_count first, tsi_count end,
                               tsi_scalar multiplier, tsi_scalar *restrict row) {
  const tsi_scalar *restrict v = out->values;
  const tsi_index *restrict index = out->index;
  for (tsi_count q = first; q < end; q++) row[index[q]] -= multiplier * v[q];
}
