/* Tiles of a dense front: see front.h. */
#include <math.h>
#include <string.h>

#include "codelets/cpu/base/blas.h"
#include "codelets/cpu/base/dense.h"
#include "codelets/cpu/front.h"

/* The typed view of a front. */
#define P(front) ((tsi_scalar *)(front)->p)
#define Q(front) ((tsi_scalar *)(front)->q)
#define C(front) ((tsi_scalar *)(front)->c)

/* Unblocked LU of columns k0 .. k1-1 of a b x b block, interchanging whole rows of the block (not if fixed).
 */
static void lu_columns(tsi_scalar *a, ptrdiff_t ld, tsi_index b, tsi_index k0, tsi_index k1, tsi_index *pivot,
                       tsi_pivoting *result) {
  const tsi_real threshold = result->threshold > 0 ? (tsi_real)result->threshold : 1;
  const tsi_real tiny = (tsi_real)result->tiny;
  for (tsi_index k = k0; k < k1; k++) {
    tsi_scalar *column = a + k * ld;
    tsi_index best = k;
    for (tsi_index i = k + 1; i < b && !result->fixed; i++)
      if (tsi_abs(column[i]) > tsi_abs(column[best])) best = i;
    if (tsi_abs(column[k]) >= threshold * tsi_abs(column[best]) &&
        (result->threshold == 0 || tsi_abs(column[k]) >= tiny))
      best = k;
    pivot[k] = best;
    if (best != k)
      for (tsi_index j = 0; j < b; j++) {
        const tsi_scalar swap = a[k + j * ld];
        a[k + j * ld] = a[best + j * ld];
        a[best + j * ld] = swap;
      }
    const tsi_real size = tsi_abs(column[k]);
    if (tsi_pivoting_note(result, k, (double)size)) column[k] = size == 0 ? tiny : column[k] / size * tiny;
    if (result->failed != TSI_NONE) return;
    const tsi_scalar inverse = 1 / column[k];
    for (tsi_index i = k + 1; i < b; i++) column[i] *= inverse;
    for (tsi_index j = k + 1; j < k1; j++) {
      const tsi_scalar factor = a[k + j * ld];
      tsi_scalar *to = a + j * ld;
      if (factor != 0)
        for (tsi_index i = k + 1; i < b; i++) to[i] -= column[i] * factor;
    }
  }
}

/* Returns the kernels for small triangles, which do not use BLAS. The choice depends only on the sizes. */
static const tsi_dense_kernels *select_dense(tsi_index order, tsi_index sides) {
  const bool small = !TSI_COMPLEX && order > 1 && tsi_dense_is_small(order, sides);
  return small ? tsi_dense_kernels_select(TSI_LETTER_CHAR, NULL) : NULL;
}

/* LU of a b x b block with row interchanges, 16 columns at a time. */
static void lu_block(tsi_scalar *a, int ld, tsi_index b, tsi_index *pivot, tsi_pivoting *result) {
  for (tsi_index k = 0; k < b; k += 16) {
    const tsi_index end = tsi_index_min(b, k + 16), wide = end - k, rest = b - end;
    lu_columns(a, ld, b, k, end, pivot, result);
    if (result->failed != TSI_NONE) return;
    if (rest == 0) break;
    tsi_scalar *corner = a + k + (ptrdiff_t)k * ld, *right = a + k + (ptrdiff_t)end * ld;
    const tsi_dense_kernels *dense = select_dense(wide, rest);
    if (dense != NULL)
      dense->solve_left(wide, rest, corner, ld, right, ld);
    else
      tsi_trsm(CblasLeft, CblasLower, CblasNoTrans, CblasUnit, wide, rest, corner, ld, right, ld);
    tsi_gemm(CblasNoTrans, CblasNoTrans, rest, rest, wide, corner + wide, ld, right, ld, right + wide, ld);
  }
}

static void stripe_diagonal(const tsi_front_stripe *panel, tsi_index *pivot, tsi_pivoting *result) {
  const int ld = panel->ldl;
  const tsi_index o = panel->begin, b = panel->rows;
  tsi_scalar *block = panel->d;
  tsi_pivoting_begin(result);
  if (pivot == NULL) {
    int info = 0;
    if (o > 0) tsi_herk(b, o, panel->l, ld, block, ld);
    if (b > 1)
      TSI_LAPACK(potrf)("L", &b, block, &ld, &info);
    else if (tsi_re(*block) > 0) /* calls of LAPACK would dominate the time of many fronts with one row */
      *block = (tsi_real)sqrt((double)tsi_re(*block));
    else
      info = 1;
    if (info != 0) {
      const bool finite = isfinite(tsi_re(block[(info - 1) * (ptrdiff_t)(ld + 1)]));
      tsi_pivoting_fail(result, info - 1, finite ? TSI_PIVOT_NOT_POSITIVE : TSI_PIVOT_NOT_FINITE);
    }
    for (tsi_index k = 0; k < b && result->failed == TSI_NONE; k++) { /* potrf does not stop at infinity */
      const double entry = (double)tsi_re(block[k * (ptrdiff_t)(ld + 1)]);
      (void)tsi_pivoting_note(result, k, entry * entry);
    }
    return;
  }
  if (o > 0) tsi_gemm(CblasNoTrans, CblasNoTrans, b, b, o, panel->l, ld, panel->u, panel->ldu, block, ld);
  lu_block(block, ld, b, pivot, result);
}

static tsi_front_stripe stripe_of(const tsi_front *front, tsi_index begin, tsi_index end) {
  return tsi_front_stripe_of(front, sizeof(tsi_scalar), begin, end);
}

static void diagonal(const tsi_front *front, tsi_index o, tsi_index b, tsi_index *pivot,
                     tsi_pivoting *result) {
  const tsi_front_stripe panel = stripe_of(front, o, o + b);
  stripe_diagonal(&panel, pivot, result);
}

static void stripe_below(const tsi_front_stripe *panel, const tsi_front_stripe *stripe) {
  const int ld = stripe->ldl, rows = stripe->rows;
  const tsi_index o = panel->begin, b = panel->rows;
  const tsi_scalar *l = stripe->l;
  tsi_scalar *to = (tsi_scalar *)stripe->l + (ptrdiff_t)o * ld;
  const tsi_dense_kernels *dense = select_dense(b, rows);
  if (panel->u == NULL) {
    if (o > 0) tsi_gemm(CblasNoTrans, CblasConjTrans, rows, b, o, l, ld, panel->l, panel->ldl, to, ld);
    if (dense != NULL)
      dense->solve_right(rows, b, panel->d, panel->ldl, 1, to, ld);
    else
      tsi_trsm(CblasRight, CblasLower, CblasConjTrans, CblasNonUnit, rows, b, panel->d, panel->ldl, to, ld);
    return;
  }
  if (o > 0) tsi_gemm(CblasNoTrans, CblasNoTrans, rows, b, o, l, ld, panel->u, panel->ldu, to, ld);
  if (dense != NULL)
    dense->solve_right(rows, b, panel->d, 1, panel->ldl, to, ld);
  else
    tsi_trsm(CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit, rows, b, panel->d, panel->ldl, to, ld);
}

static void below(const tsi_front *front, tsi_index o, tsi_index b, tsi_index r0, tsi_index r1) {
  const tsi_front_stripe panel = stripe_of(front, o, o + b), rows = stripe_of(front, r0, r1);
  stripe_below(&panel, &rows);
}

static void stripe_right(const tsi_front_stripe *panel, const tsi_front_stripe *stripe,
                         const tsi_index *pivot) {
  const int ld = stripe->ldu, columns = stripe->rows;
  const tsi_index o = panel->begin, b = panel->rows;
  tsi_scalar *column = stripe->u;
  if (o > 0)
    tsi_gemm(CblasNoTrans, CblasNoTrans, b, columns, o, panel->l, panel->ldl, column, ld, column + o, ld);
  for (tsi_index j = 0; j < columns; j++) {
    tsi_scalar *x = column + o + (ptrdiff_t)j * ld;
    for (tsi_index k = 0; k < b; k++)
      if (pivot[k] != k) {
        const tsi_scalar swap = x[k];
        x[k] = x[pivot[k]];
        x[pivot[k]] = swap;
      }
  }
  const tsi_dense_kernels *dense = select_dense(b, columns);
  if (dense != NULL)
    dense->solve_left(b, columns, panel->d, panel->ldl, column + o, ld);
  else
    tsi_trsm(CblasLeft, CblasLower, CblasNoTrans, CblasUnit, b, columns, panel->d, panel->ldl, column + o,
             ld);
}

static void right(const tsi_front *front, tsi_index o, tsi_index b, tsi_index c0, tsi_index c1,
                  const tsi_index *pivot) {
  const tsi_front_stripe panel = stripe_of(front, o, o + b), columns = stripe_of(front, c0, c1);
  stripe_right(&panel, &columns, pivot);
}

static void pivot_terms(const tsi_front *front, tsi_index o, tsi_index b, double *size, double *term) {
  const tsi_index w = front->w, f = front->f;
  const tsi_scalar *p = P(front);
  memset(term, 0, (size_t)(f - o) * sizeof *term);
  for (tsi_index k = o; k < o + b; k++) {
    const tsi_scalar *column = p + (ptrdiff_t)k * f;
    size[k - o] = (double)tsi_abs(column[k]);
    for (tsi_index i = k + 1; i < f; i++) {
      const tsi_scalar above = i < w ? p[k + (ptrdiff_t)i * f] : Q(front)[k + (ptrdiff_t)(i - w) * w];
      const double product = (double)tsi_abs(column[i]) * (double)tsi_abs(above);
      if (product > term[i - o]) term[i - o] = product;
    }
  }
}

static void schur(const tsi_front *front, tsi_index r0, tsi_index r1, tsi_index c0, tsi_index c1) {
  const bool full = front->full;
  const int w = front->w, ld = front->f, ldc = front->m - tsi_tile_row(c0, full), m = r1 - r0, n = c1 - c0;
  const tsi_scalar *rows = P(front) + w + r0;
  tsi_scalar *to = C(front) + tsi_complement_entry(front->m, r0, c0, full);
  if (front->q)
    tsi_gemm(CblasNoTrans, CblasNoTrans, m, n, w, rows, ld, Q(front) + (ptrdiff_t)c0 * w, w, to, ldc);
  else if (r0 == c0)
    tsi_herk(m, w, rows, ld, to, ldc);
  else
    tsi_gemm(CblasNoTrans, CblasConjTrans, m, n, w, rows, ld, P(front) + w + c0, ld, to, ldc);
}

static void schur_all(const tsi_front *front) {
  const tsi_index m = front->m;
  for (tsi_index c0 = 0; c0 < m; c0 += TSI_TILE) {
    const tsi_index c1 = tsi_index_min(m, c0 + TSI_TILE);
    if (front->full) {
      schur(front, 0, m, c0, c1);
      continue;
    }
    schur(front, c0, c1, c0, c1);
    if (c1 < m) schur(front, c1, m, c0, c1);
  }
}

static void zero_scalars(tsi_scalar *to, ptrdiff_t count) {
  memset(to, 0, (size_t)count * sizeof *to);
}

static void zero(const tsi_front *front, tsi_index c0, tsi_index c1) {
  const tsi_index w = front->w, m = front->m, own = tsi_index_min(c1, w);
  const tsi_index j0 = tsi_index_max(c0, w) - w, j1 = c1 - w; /* columns of C and Q */
  if (c0 < own) zero_scalars(P(front) + (ptrdiff_t)c0 * front->f, (ptrdiff_t)(own - c0) * front->f);
  if (front->full && j0 < j1) {
    zero_scalars(C(front) + tsi_complement_entry(m, 0, j0, true), (ptrdiff_t)(j1 - j0) * m);
    zero_scalars(Q(front) + (ptrdiff_t)j0 * w, (ptrdiff_t)(j1 - j0) * w);
  }
  for (tsi_index j = j0; j < j1 && !front->full; j++) {
    const tsi_index first = tsi_tile_row(j, false);
    zero_scalars(C(front) + tsi_complement_entry(m, first, j, false), m - first);
  }
}

/* Adds rows i .. end-1 of a child's column to a column of the front. Unrolled by four, because half of the
 * instructions would be those of the loop. */
INLINE void add_rows(const tsi_index *restrict position, ptrdiff_t i, ptrdiff_t end,
                     const tsi_scalar *restrict from, tsi_scalar *restrict to) {
#pragma GCC unroll 4
  for (; i < end; i++) to[position[i]] += from[i];
}

static void extend_add(const tsi_front *front, const void *complement, tsi_index m, const tsi_index *position,
                       tsi_index c0, tsi_index c1) {
  const bool full = front->full;
  const tsi_scalar *child = complement;
  tsi_index j = 0, split = 0;
  while (j < m && position[j] < c0) j++;
  while (split < m && position[split] < front->w)
    split++; /* child rows from here on are below the supernode */
  for (; j < m && position[j] < c1; j++) {
    tsi_index i = full ? 0 : j;
    const tsi_scalar *from = child + tsi_complement_entry(m, i, j, full) - i;
    if (position[j] < front->w) {
      add_rows(position, i, m, from, P(front) + (ptrdiff_t)position[j] * front->f);
      continue;
    }
    const tsi_index column = position[j] - front->w;
    if (full) add_rows(position, i, split, from, Q(front) + (ptrdiff_t)column * front->w);
    add_rows(position, tsi_index_max(i, split), m, from,
             C(front) + tsi_complement_entry(front->m, 0, column, full) - front->w);
  }
}

/* Returns the address that row 0 of a column of the front would have, for its rows behind `above`: in P, or
 * in C. */
static tsi_scalar *front_column(const tsi_front *front, tsi_index column) {
  if (column < front->w) return P(front) + (ptrdiff_t)column * front->f;
  return C(front) + tsi_complement_entry(front->m, 0, column - front->w, front->full) - front->w;
}

static void add_block(const tsi_front *front, const tsi_complement_block *block, tsi_index c0, tsi_index c1) {
  const tsi_index *position = block->position;
  const ptrdiff_t rows = block->row_end - block->row;
  for (tsi_index j = block->column; j < block->column_end; j++) {
    const tsi_scalar *from = (const tsi_scalar *)block->values + (j - block->column) * rows - block->row;
    tsi_index i = front->full ? block->row : tsi_index_max(j, block->row);
    if (position[j] < c0 || position[j] >= c1) continue;
    if (position[j] >= front->w && front->full) {
      tsi_scalar *to = Q(front) + (ptrdiff_t)(position[j] - front->w) * front->w;
      for (; i < block->row_end && position[i] < front->w; i++) to[position[i]] += from[i];
    }
    tsi_scalar *to = front_column(front, position[j]);
    for (; i < block->row_end; i++) to[position[i]] += from[i];
  }
}

static void add_entries(const tsi_front *front, const tsi_front_entry *entry, tsi_count count,
                        const void *values, bool wide) {
  for (tsi_count q = 0; q < count; q++) {
    const tsi_index i = entry[q].row, j = entry[q].column;
    const tsi_scalar a = TSI_TYPED(tsi_front_value)(&entry[q], values, wide);
    if (j < front->w)
      P(front)[i + (ptrdiff_t)j * front->f] += a;
    else
      Q(front)[i + (ptrdiff_t)(j - front->w) * front->w] += a;
  }
}

/* Returns entry q of a line. scaled, wide and alike are constants; alike: mirror images are equal. */
INLINE tsi_scalar line_value(const tsi_front_lines *lines, const bool scaled, const bool wide,
                             const bool alike, double own, tsi_count q, const void *values) {
  const tsi_count source = lines->source[q], at = source ^ (source >> 63);
  const tsi_wide value = wide ? ((const tsi_wide *)values)[at] : (tsi_wide)((const tsi_scalar *)values)[at];
  const double other = scaled ? lines->other_scale[lines->other[q]] : 1;
  const double larger = own > other ? own : other, smaller = own > other ? other : own;
  if (alike || source >= 0) return (tsi_scalar)(scaled ? value * larger * smaller : value);
  const tsi_scalar a = (tsi_scalar)(value * (lines->sign * larger) * smaller);
  return TSI_COMPLEX && lines->conjugate ? tsi_conj(a) : a;
}

/* upper, scaled and wide are constants. */
INLINE void add_all_lines(const tsi_front *front, const tsi_front_lines lines, tsi_index c0, tsi_index c1,
                          const void *values, const bool upper, const bool scaled, const bool wide,
                          const bool alike) {
  const tsi_index w = front->w, f = front->f, end = upper ? w : tsi_index_min(c1, w);
  /* Another task may write Q while this task has only columns of P. */
  tsi_scalar *const p = P(front), *const q = c1 > w ? Q(front) : NULL;
  for (tsi_index k = upper ? 0 : c0; k < end; k++) {
    const double own = scaled ? lines.line_scale[k] : 1;
    for (tsi_count e = lines.ptr[k]; e < lines.ptr[k + 1]; e++) {
      const tsi_index place = lines.place[e];
      if (upper && (place < c0 || place >= c1)) continue;
      const tsi_scalar a = line_value(&lines, scaled, wide, alike, own, e, values);
      if (!upper)
        p[place + (ptrdiff_t)k * f] += a;
      else
        *(place < w ? p + k + (ptrdiff_t)place * f : q + k + (ptrdiff_t)(place - w) * w) += a;
    }
  }
}

/* Does the same for all columns of the front, scaled, if mirror images are equal: the common case. Its only
 * branch is the end of a line. upper: a constant. */
INLINE void add_whole_lines(const tsi_front *front, const tsi_front_lines *lines, const tsi_scalar *values,
                            const bool upper) {
  const ptrdiff_t w = front->w, f = front->f;
  const tsi_index *const restrict other = lines->other, *const restrict place = lines->place;
  const tsi_count *const restrict source = lines->source, *const restrict ptr = lines->ptr;
  const double *const restrict own_scale = lines->line_scale, *const restrict scale = lines->other_scale;
  tsi_scalar *const p = P(front), *const q = upper ? Q(front) - w * w : NULL;
  for (ptrdiff_t k = 0; k < w; k++) {
    const double own = own_scale[k];
    const tsi_count end = ptr[k + 1];
    for (tsi_count e = ptr[k]; e < end; e++) {
      const double crossing = scale[other[e]];
      const tsi_scalar a = (tsi_scalar)((tsi_wide)values[source[e]] * (own > crossing ? own : crossing) *
                                        (own < crossing ? own : crossing));
      const ptrdiff_t at = place[e];
      tsi_scalar *const to = !upper ? p + at + k * f : (at < w ? p : q) + k + at * (at < w ? f : w);
      *to += a;
    }
  }
}

static void add_lines(const tsi_front *front, const tsi_front_lines *lines, tsi_index c0, tsi_index c1,
                      const void *values, bool wide) {
  const bool scaled = lines->line_scale != NULL, whole = c0 == 0 && c1 == front->f;
  const bool alike = lines->sign == 1 && !lines->conjugate;
  if (wide)
    add_all_lines(front, *lines, c0, c1, values, lines->upper, scaled, true, false);
  else if (scaled && whole && alike && lines->upper)
    add_whole_lines(front, lines, values, true);
  else if (scaled && whole && alike)
    add_whole_lines(front, lines, values, false);
  else if (lines->upper)
    add_all_lines(front, *lines, c0, c1, values, true, scaled, false, false);
  else if (scaled)
    add_all_lines(front, *lines, c0, c1, values, false, true, false, alike);
  else
    add_all_lines(front, *lines, c0, c1, values, false, false, false, false);
}

const tsi_front_kernels TSI_TYPED(tsi_front_kernels) = {
    .scalar_bytes = sizeof(tsi_scalar),
    .zero = zero,
    .add_entries = add_entries,
    .add_lines = add_lines,
    .extend_add = extend_add,
    .add_block = add_block,
    .diagonal = diagonal,
    .below = below,
    .right = right,
    .diagonal_ldl = TSI_TYPED(tsi_front_diagonal_ldl),
    .below_ldl = TSI_TYPED(tsi_front_below_ldl),
    .pivot_terms = pivot_terms,
    .schur = schur,
    .schur_all = schur_all,
    .pack = TSI_TYPED(tsi_front_pack),
    .stripe_add_entries = TSI_TYPED(tsi_stripe_add_entries),
    .stripe_add_block = TSI_TYPED(tsi_stripe_add_block),
    .stripe_diagonal = stripe_diagonal,
    .stripe_diagonal_ldl = TSI_TYPED(tsi_stripe_diagonal_ldl),
    .stripe_below = stripe_below,
    .stripe_below_ldl = TSI_TYPED(tsi_stripe_below_ldl),
    .stripe_right = stripe_right,
    .stripe_schur = TSI_TYPED(tsi_stripe_schur),
    .stripe_terms = TSI_TYPED(tsi_stripe_terms),
    .stripe_pack_panel = TSI_TYPED(tsi_stripe_pack_panel),
    .stripe_pack = TSI_TYPED(tsi_stripe_pack),
    .inverse_growth = TSI_TYPED(tsi_front_inverse_growth),
    .pack_lower = TSI_TYPED(tsi_front_pack_lower),
    .add_column = TSI_TYPED(tsi_front_add_column),
    .zero_diagonal = TSI_TYPED(tsi_front_zero_diagonal),
    .invert_diagonal = TSI_TYPED(tsi_front_invert_diagonal),
};
