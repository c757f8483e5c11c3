/* Incomplete factors on a given pattern, and diagonals: see incomplete.h. */
#include "codelets/cpu/rows/incomplete.h"

#include "codelets/cpu/rows/pivots.h"
#include "codelets/cpu/base/scalar.h"

/* ---- By rows: A ~ L U ---------------------------------------------------------------------------------- */

/* Copies row i of A, or, upper, of A's upper triangle, to `out` from entry `first` on; place[j]: position of
 * the entry of column j, counted from `first`. */
INLINE void begin_row(const tsi_factor_rows *a, const tsi_factor_rows *out, tsi_index i, bool upper,
                      double shift, tsi_index *place) {
  const tsi_scalar *from = a->values;
  tsi_scalar *v = out->values;
  const tsi_index *index = out->index;
  const tsi_count first = upper ? out->diagonal[i] : out->ptr[i], end = out->ptr[i + 1];
  for (tsi_count q = first; q < end; q++) place[index[q]] = (tsi_index)(q - first);
  if (from != v) {
    for (tsi_count q = first; q < end; q++) v[q] = 0;
    for (tsi_count e = upper ? a->diagonal[i] : a->ptr[i]; e < a->ptr[i + 1]; e++)
      v[first + place[a->index[e]]] = from[e];
  }
  v[out->diagonal[i]] *= (tsi_real)(1 + shift);
}

/* Clears the places of the row. Are its entries finite? */
INLINE bool end_row(const tsi_factor_rows *out, tsi_count first, tsi_index i, tsi_index *place) {
  const tsi_scalar *v = out->values;
  const tsi_index *index = out->index;
  bool finite = true;
  for (tsi_count q = first, end = out->ptr[i + 1]; q < end; q++) {
    place[index[q]] = TSI_NONE;
    finite &= tsi_is_finite(v[q]);
  }
  return finite;
}

/* Row i -= multiplier times row k of U, in the pattern of row i; returns the sum of the dropped entries. */
INLINE tsi_scalar subtract_row(const tsi_factor_rows *out, tsi_scalar multiplier, tsi_index k,
                               tsi_scalar *row, const tsi_index *place) {
  const tsi_scalar *v = out->values;
  const tsi_index *index = out->index;
  tsi_scalar dropped = 0;
  for (tsi_count p = out->diagonal[k] + 1, end = out->ptr[k + 1]; p < end; p++) {
    const tsi_index at = place[index[p]];
    if (at >= 0)
      row[at] -= multiplier * v[p];
    else
      dropped += multiplier * v[p];
  }
  return dropped;
}

static tsi_breakdown_kind ilu(const tsi_factor_rows *a, const tsi_dropping *how, tsi_index i,
                              tsi_index *place, tsi_factor_rows *out) {
  const tsi_count first = out->ptr[i], diagonal = out->diagonal[i];
  tsi_scalar *v = out->values, dropped = 0;
  begin_row(a, out, i, false, how->shift, place);
  for (tsi_count q = first; q < diagonal; q++) {
    const tsi_index k = out->index[q];
    const tsi_scalar multiplier = v[q] / v[out->diagonal[k]];
    v[q] = multiplier;
    if (multiplier != 0) dropped += subtract_row(out, multiplier, k, v + first, place);
  }
  if (how->modified > 0) v[diagonal] -= (tsi_real)how->modified * dropped;
  const bool finite = end_row(out, first, i, place);
  const tsi_breakdown_kind kind = tsi_judge_pivot(v[diagonal]);
  return kind == TSI_BREAKDOWN_NONE && !finite ? TSI_BREAKDOWN_NOT_FINITE : kind;
}

/* ---- By rows of U: A ~ U^H U --------------------------------------------------------------------------- */

/* Row j -= the image of entry p of row k, which is in column j, times the entries of row k from p on. An
 * entry outside the pattern is dropped in row j and, as its image, in the row of its column. */
INLINE void subtract_outer(const tsi_factor_rows *out, tsi_index j, tsi_index k, tsi_count p, bool adjoint,
                           const tsi_index *place, tsi_scalar *dropped) {
  tsi_scalar *v = out->values, *row = v + out->diagonal[j];
  const tsi_scalar multiplier = tsi_image(v[p], adjoint);
  const tsi_index *index = out->index;
  for (tsi_count q = p, end = out->ptr[k + 1]; q < end; q++) {
    const tsi_index i = index[q], at = place[i];
    if (at >= 0)
      row[at] -= multiplier * v[q];
    else if (dropped) {
      const tsi_scalar product = multiplier * v[q];
      dropped[j] += adjoint ? tsi_re(product) : product;
      dropped[i] += adjoint ? tsi_re(product) : product;
    }
  }
}

static tsi_breakdown_kind ic(const tsi_factor_rows *a, const tsi_dropping *how, tsi_index i, tsi_index *place,
                             const tsi_index *cross, void *dropped, tsi_factor_rows *out) {
  const tsi_count diagonal = out->diagonal[i], end = out->ptr[i + 1];
  tsi_scalar *v = out->values, root;
  begin_row(a, out, i, true, how->shift, place);
  for (tsi_count e = out->ptr[i]; e < diagonal; e++) {
    const tsi_index k = out->index[e];
    subtract_outer(out, i, k, out->diagonal[k] + cross[e], how->adjoint, place, dropped);
  }
  if (dropped) v[diagonal] -= (tsi_real)how->modified * ((const tsi_scalar *)dropped)[i];
  (void)end_row(out, diagonal, i, place);
  const tsi_breakdown_kind kind = tsi_pivot_root(v[diagonal], how->adjoint, &root);
  if (kind != TSI_BREAKDOWN_NONE) return kind;
  v[diagonal] = root;
  for (tsi_count q = diagonal + 1; q < end; q++) v[q] /= root;
  return tsi_judge_row(1, end - diagonal, v + diagonal);
}

/* ---- In a dense row, if dropped fill is not needed ----------------------------------------------------- */

/* Columns without an entry in row i hold any values: no sum reads them before a row with such an entry sets
 * them. */

/* Scatters row i of A, or, upper, of its upper triangle. */
INLINE void scatter_row(const tsi_factor_rows *a, const tsi_factor_rows *out, tsi_index i, bool upper,
                        double shift, tsi_scalar *restrict row) {
  const tsi_scalar *from = a->values;
  if (from != out->values)
    for (tsi_count q = upper ? out->diagonal[i] : out->ptr[i], end = out->ptr[i + 1]; q < end; q++)
      row[out->index[q]] = 0;
  for (tsi_count e = upper ? a->diagonal[i] : a->ptr[i], end = a->ptr[i + 1]; e < end; e++)
    row[a->index[e]] = from[e];
  row[i] *= (tsi_real)(1 + shift);
}

static tsi_breakdown_kind ilu_dense(const tsi_factor_rows *a, const tsi_dropping *how, tsi_index i,
                                    void *scratch, tsi_factor_rows *out) {
  const tsi_count diagonal = out->diagonal[i], end = out->ptr[i + 1];
  const tsi_index *index = out->index;
  tsi_scalar *v = out->values, *row = scratch;
  bool finite = true;
  scatter_row(a, out, i, false, how->shift, row);
  for (tsi_count q = out->ptr[i]; q < diagonal; q++) {
    const tsi_index k = index[q];
    const tsi_count pivot = out->diagonal[k];
    const tsi_scalar multiplier = row[k] / v[pivot];
    v[q] = multiplier;
    finite &= tsi_is_finite(multiplier);
    if (multiplier != 0) tsi_subtract_dense(out, pivot + 1, out->ptr[k + 1], multiplier, row);
  }
  for (tsi_count q = diagonal; q < end; q++) {
    v[q] = row[index[q]];
    finite &= tsi_is_finite(v[q]);
  }
  const tsi_breakdown_kind kind = tsi_judge_pivot(v[diagonal]);
  return kind == TSI_BREAKDOWN_NONE && !finite ? TSI_BREAKDOWN_NOT_FINITE : kind;
}

static tsi_breakdown_kind ic_dense(const tsi_factor_rows *a, const tsi_dropping *how, tsi_index i,
                                   void *scratch, const tsi_index *cross, tsi_factor_rows *out) {
  const tsi_count diagonal = out->diagonal[i], end = out->ptr[i + 1];
  const tsi_index *index = out->index;
  tsi_scalar *v = out->values, *row = scratch, root;
  scatter_row(a, out, i, true, how->shift, row);
  for (tsi_count e = out->ptr[i]; e < diagonal; e++) {
    const tsi_index k = index[e];
    const tsi_count p = out->diagonal[k] + cross[e];
    tsi_subtract_dense(out, p, out->ptr[k + 1], tsi_image(v[p], how->adjoint), row);
  }
  v[diagonal] = row[i];
  const tsi_breakdown_kind kind = tsi_pivot_root(row[i], how->adjoint, &root);
  if (kind != TSI_BREAKDOWN_NONE) return kind;
  v[diagonal] = root;
  for (tsi_count q = diagonal + 1; q < end; q++) v[q] = row[index[q]] / root;
  return tsi_judge_row(1, end - diagonal, v + diagonal);
}

/* ---- Diagonals ----------------------------------------------------------------------------------------- */

static tsi_breakdown relax(tsi_factor_rows *a, double omega, void *middle) {
  tsi_scalar *v = a->values, *to = middle;
  for (tsi_index i = 0; i < a->n; i++) {
    tsi_scalar *d = &v[a->diagonal[i]];
    const tsi_breakdown_kind kind = tsi_judge_pivot(*d);
    if (kind != TSI_BREAKDOWN_NONE) return (tsi_breakdown){kind, i};
    to[i] = *d * (tsi_real)((2 - omega) / omega);
    *d /= (tsi_real)omega;
  }
  return (tsi_breakdown){TSI_BREAKDOWN_NONE, a->n};
}

static tsi_breakdown invert(tsi_index n, const void *diagonal, void *inverse) {
  const tsi_scalar *from = diagonal;
  tsi_scalar *to = inverse;
  for (tsi_index i = 0; i < n; i++) {
    const tsi_breakdown_kind kind = tsi_judge_pivot(from[i]);
    if (kind != TSI_BREAKDOWN_NONE) return (tsi_breakdown){kind, i};
    to[i] = 1 / from[i];
  }
  return (tsi_breakdown){TSI_BREAKDOWN_NONE, n};
}

static void scale(tsi_index n, const void *dv, bool conjugate, void *xv) {
  const tsi_scalar *d = dv;
  tsi_scalar *x = xv;
  for (tsi_index i = 0; i < n; i++) x[i] *= conjugate ? tsi_conj(d[i]) : d[i];
}

static void conjugate(tsi_index n, void *xv) {
  tsi_scalar *x = xv;
  for (tsi_index i = 0; TSI_COMPLEX && i < n; i++) x[i] = tsi_conj(x[i]);
}

extern const tsi_incomplete_kernels TSI_TYPED(tsi_incomplete_kernels);
const tsi_incomplete_kernels TSI_TYPED(tsi_incomplete_kernels) = {
    .ilu = ilu,
    .ic = ic,
    .ilu_dense = ilu_dense,
    .ic_dense = ic_dense,
    .ilut = TSI_TYPED(tsi_ilut),
    .ict = TSI_TYPED(tsi_ict),
    .relax = relax,
    .invert = invert,
    .scale = scale,
    .conjugate = conjugate,
};
