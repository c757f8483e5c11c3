/* Incomplete factors without fill, for matrices without difficulties: see at_once.h. */
#include "codelets/cpu/rows/at_once.h"

#include "codelets/cpu/base/finite.h"
#include "codelets/cpu/rows/pivots.h"

/* Number of entries of factors that are checked at a time, while they are in the cache. */
#define LOOKED_AT 2048

static bool ilu(const tsi_factor_rows *a, double shift, void *scratch, void *inverse, tsi_factor_rows *out) {
  const tsi_count *ptr = out->ptr;
  const tsi_index *index = out->index;
  const tsi_scalar *from = a->values;
  tsi_scalar *v = out->values, *row = scratch, *to = inverse;
  tsi_count seen = 0; /* number of entries checked to be finite */
  for (tsi_index i = 0; i < out->n; i++) {
    const tsi_count end = ptr[i + 1];
    tsi_count q = ptr[i];
    for (tsi_count e = q; e < end; e++) row[index[e]] = from[e];
    row[i] *= (tsi_real)(1 + shift);
    for (; q < end && index[q] < i; q++) {
      const tsi_index k = index[q];
      const tsi_count pivot = out->diagonal[k];
      const tsi_scalar multiplier = row[k] / v[pivot];
      v[q] = multiplier;
      if (multiplier != 0) tsi_subtract_dense(out, pivot + 1, ptr[k + 1], multiplier, row);
    }
    if (q == end || index[q] != i) return false;
    out->diagonal[i] = q;
    for (tsi_count e = q; e < end; e++) v[e] = row[index[e]];
    if (!(tsi_abs(v[q]) >= TSI_TINY)) return false;
    to[i] = (tsi_scalar)1 / v[q];
    if (end - seen < LOOKED_AT && i + 1 < out->n) continue;
    if (!tsi_are_finite(end - seen, v + seen)) return false;
    seen = end;
  }
  return tsi_are_finite(out->n, to);
}

/* Computes row i of U from a row from which earlier rows were subtracted; *seen becomes NaN if an entry is
 * not finite. */
INLINE bool end_cholesky_row(const tsi_factor_rows *out, tsi_index i, tsi_count diagonal, bool adjoint,
                             const tsi_scalar *row, tsi_scalar *inverse, tsi_scalar *seen) {
  const tsi_index *index = out->index;
  tsi_scalar *v = out->values, root;
  if (tsi_pivot_root(row[i], adjoint, &root) != TSI_BREAKDOWN_NONE) return false;
  v[diagonal] = root;
  inverse[i] = (tsi_scalar)1 / root;
  for (tsi_count q = diagonal + 1, end = out->ptr[i + 1]; q < end; q++) {
    const tsi_scalar x = row[index[q]] / root;
    v[q] = x;
    *seen += x - x;
  }
  return true;
}

static bool ic(const tsi_factor_rows *a, const tsi_count *first, double shift, bool adjoint, void *scratch,
               const tsi_index *cross, void *inverse, tsi_factor_rows *out) {
  const tsi_index *index = out->index;
  const tsi_scalar *v = out->values;
  tsi_scalar *row = scratch, seen = 0;
  for (tsi_index i = 0; i < out->n; i++) {
    const tsi_count diagonal = out->diagonal[i], end = out->ptr[i + 1];
    const tsi_scalar *from = (const tsi_scalar *)a->values + first[i];
    for (tsi_count q = diagonal; q < end; q++) row[index[q]] = from[q - diagonal];
    row[i] *= (tsi_real)(1 + shift);
    for (tsi_count e = out->ptr[i]; e < diagonal; e++) {
      const tsi_index k = index[e];
      const tsi_count p = out->diagonal[k] + cross[e];
      tsi_subtract_dense(out, p, out->ptr[k + 1], tsi_image(v[p], adjoint), row);
    }
    if (!end_cholesky_row(out, i, diagonal, adjoint, row, inverse, &seen)) return false;
  }
  return seen == 0 && tsi_are_finite(out->n, inverse);
}

/* Entries left of a diagonal are the images of the next entries of their lines. */
static bool ic_both(const tsi_factor_rows *a, double shift, bool adjoint, void *scratch,
                    tsi_unmet *restrict unmet, tsi_index *restrict cross, void *inverse, tsi_factor_rows *out,
                    bool *equal) {
  const tsi_count *ptr = out->ptr;
  const tsi_index *index = out->index;
  const tsi_scalar *from = a->values, *v = out->values;
  tsi_scalar *row = scratch, seen = 0;
  tsi_count left = 0; /* number of entries right of a diagonal whose images were not visited yet */
  bool same = true;
  for (tsi_index i = 0; i < out->n; i++) {
    const tsi_count begin = ptr[i], end = ptr[i + 1];
    tsi_count diagonal = end;
    for (; diagonal > begin && index[diagonal - 1] >= i; diagonal--)
      row[index[diagonal - 1]] = from[diagonal - 1];
    if (diagonal == end || index[diagonal] != i) return false;
    same &= from[diagonal] == tsi_image(from[diagonal], adjoint);
    out->diagonal[i] = diagonal;
    unmet[i] = (tsi_unmet){diagonal + 1, 1, (tsi_index)(end - diagonal - 1)};
    row[i] *= (tsi_real)(1 + shift);
    for (tsi_count e = begin; e < diagonal; e++) {
      tsi_unmet *k = &unmet[index[e]];
      const tsi_count p = k->first++, last = p + k->left--;
      if (p == last || index[p] != i) return false;
      same &= from[e] == tsi_image(from[p], adjoint);
      cross[e] = k->passed++;
      tsi_subtract_dense(out, p, last, tsi_image(v[p], adjoint), row);
    }
    left += (end - diagonal - 1) - (diagonal - begin);
    if (!end_cholesky_row(out, i, diagonal, adjoint, row, inverse, &seen)) return false;
  }
  *equal = same;
  return left == 0 && seen == 0 && tsi_are_finite(out->n, inverse);
}

const tsi_at_once_kernels TSI_TYPED(tsi_at_once_kernels) = {.ilu = ilu, .ic = ic, .ic_both = ic_both};
