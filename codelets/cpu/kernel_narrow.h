/* Panels of at most 16 columns, one right-hand side, inverted diagonal block. Most panels of two-dimensional
 * problems are of this kind; the overhead of short loops would dominate their time.
 *
 * Nothing is stored in memory between triangle and rectangle, and no loop runs over columns: the sums of all
 * columns are in registers, 8 or 16 for any width, or 4 (FOUR_COLUMNS). Numbers read beyond the width are the
 * next row block, or the TSI_STREAM_PAD scalars behind the last panel: finite, and multiplied by zero or
 * dropped.
 *
 * Only for real types: complex ones would need twice the registers, and have twice the work per entry. */
#pragma once

#include "codelets/cpu/base/fetch.h"
#include "codelets/cpu/base/entry.h"

#if TSI_COMPLEX
INLINE bool is_narrow(tsi_index w) {
  (void)w;
  return false;
}
INLINE void narrow_forward(const tsi_panel *panel, const tsi_entry *triangle, const tsi_index *row,
                           tsi_scalar *x, tsi_scalar *work) {
  (void)panel, (void)triangle, (void)row, (void)x, (void)work;
}
INLINE void narrow_backward(const tsi_panel *panel, const tsi_entry *triangle, const tsi_index *row,
                            tsi_scalar *x, const tsi_scalar *work) {
  (void)panel, (void)triangle, (void)row, (void)x, (void)work;
}
#else

INLINE bool is_narrow(tsi_index w) {
  return w <= 2 * B;
}

/* Do panels of at most 4 columns have functions of their own? They make the library larger. The bits stay
 * the same where a column is one register; otherwise the compiler may fuse other products and sums. */
#define FOUR_COLUMNS (REGISTER_BYTES == 64 && REAL_BYTES == 8 && !TSI_STORED)

/* Returns column k of a corner of `rows` rows: its row i >= k is [i]. *next: start of the column, advanced to
 * the next column. Beyond the corner: any finite numbers. */
INLINE const tsi_entry *corner_at(const tsi_entry **next, const tsi_entry *corner, tsi_index rows, int k) {
  const tsi_entry *column = k < rows ? *next - k : corner;
  *next += k < rows ? rows - k : 0;
  return column;
}

/* The same as a vector, zero before row k. */
INLINE vec corner_column(const tsi_entry **next, const tsi_entry *corner, tsi_index rows, int k) {
  return scalars_from(load_entries(corner_at(next, corner, rows, k)), k);
}

/* Corner times x: a += the sum over k <= l of corner(l,k) x[k]; x zero from x[rows] on; rows <= columns. */
INLINE void corner_times(const int columns, const tsi_entry *corner, tsi_index rows, const tsi_scalar x[B],
                         sum a[2]) {
  const tsi_entry *next = corner;
  UNROLL for (int k = 0; k < columns; k++) add_times(&a[k & 1], corner_column(&next, corner, rows, k), x[k]);
}

/* y[k] += column x, row by row */
INLINE void add_column(reg_sum *y, vec column, factors x) {
  EACH_REG(r) add_partial(y, column.r[r], x, r);
}

/* y[k] += corner(:,k) x; x zero from row `rows` on; rows <= columns. */
INLINE void corner_transposed(const int columns, const tsi_entry *corner, tsi_index rows, vec x,
                              reg_sum y[B]) {
  const tsi_entry *next = corner;
  UNROLL for (int k = 0; k < columns; k++)
      add_column(&y[k], corner_column(&next, corner, rows, k), as_factors(x));
}

/* work[row] -= R x; x has `columns` entries, 4, 8 or 16, zero beyond the width. */
INLINE void narrow_rectangle(const int columns, const tsi_entry *rect, tsi_index m, tsi_index w,
                             const tsi_index *row, const tsi_scalar *x, tsi_scalar *work) {
  for (tsi_index i = 0; i < m; i += B, rect += B * (ptrdiff_t)w) {
    const tsi_index count = tsi_index_min(B, m - i);
    tsi_scalar part[B];
    sum a[2] = {no_sum(), no_sum()};
    fetch_behind(rect, count * (tsi_count)w, sizeof *rect);
    UNROLL for (int k = 0; k < columns; k++)
        add_times(&a[k & 1], load_entries(rect + k * (ptrdiff_t)count), x[k]);
    store(part, sum_value(add_sums(a[0], a[1])));
    if (count == B)
      for (int l = 0; l < B; l++) work[row[i + l]] -= part[l];
    else
      for (int l = 0; l < count; l++) work[row[i + l]] -= part[l];
  }
}

/* y[k] += block(:,k) x, block of `rows` rows; downwards in memory. */
INLINE void narrow_block_transposed(const int columns, const tsi_entry *block, tsi_index rows, tsi_index w,
                                    vec x, reg_sum y[2 * B]) {
  fetch_before(block, rows * (tsi_count)w, sizeof *block);
  UNROLL for (int k = columns - 1; k >= 0; k--)
      add_column(&y[k], load_entries(block + k * (ptrdiff_t)rows), as_factors(x));
}

/* y[k] := R' work[row], partial sums, row blocks descending; zero from y[columns] on. */
INLINE void narrow_rectangle_transposed(const int columns, const tsi_entry *rect, tsi_index m, tsi_index w,
                                        const tsi_index *row, const tsi_scalar *work, reg_sum y[2 * B]) {
  tsi_index i = m / B * B;
  UNROLL for (int k = 0; k < 2 * B; k++) y[k] = no_reg_sum();
  if (i < m)
    narrow_block_transposed(columns, rect + i * (ptrdiff_t)w, m - i, w, gather_rows(work, row + i, m - i), y);
  while (i > 0) {
    i -= B;
    narrow_block_transposed(columns, rect + i * (ptrdiff_t)w, B, w, gather_rows(work, row + i, B), y);
  }
}

/* x := T x;  work[row] -= R x; w <= columns, 4, 8 or 16 */
INLINE void narrow_forward_columns(const int columns, const tsi_panel *panel, const tsi_entry *triangle,
                                   const tsi_index *row, tsi_scalar *x, tsi_scalar *work) {
  const int nb = columns > B ? 2 : 1, corner = columns < B ? columns : B;
  const tsi_index w = panel->width, last = w - (nb - 1) * B; /* columns of the last row block */
  const tsi_entry *below = triangle + B * (B + 1) / 2;       /* row block 1 */
  tsi_scalar t[2 * B] __attribute__((aligned(64)));
  sum a[2] = {no_sum(), no_sum()}, b[2] = {no_sum(), no_sum()};
  fetch_behind(triangle, tsi_triangle_size(w), sizeof *triangle);
  if (nb == 2) store(t, load(x));
  store(t + (nb - 1) * B, load_some(x + (nb - 1) * B, last));
  corner_times(corner, triangle, nb == 2 ? B : w, t, a);
  if (nb == 2) {
    UNROLL for (int k = 0; k < B; k++) add_times(&b[k & 1], load_entries(below + k * (ptrdiff_t)last), t[k]);
    corner_times(B, below + B * (ptrdiff_t)last, last, t + B, b);
    const vec above = sum_value(add_sums(a[0], a[1]));
    store(t, above);
    store(x, above);
    a[0] = b[0], a[1] = b[1];
  }
  const vec end = scalars_below(sum_value(add_sums(a[0], a[1])), last);
  store_some(x + (nb - 1) * B, end, last);
  store(t + (nb - 1) * B, end);
  narrow_rectangle(columns, triangle + tsi_triangle_size(w), panel->height, w, row, t, work);
}

INLINE void narrow_forward(const tsi_panel *panel, const tsi_entry *triangle, const tsi_index *row,
                           tsi_scalar *x, tsi_scalar *work) {
  if (FOUR_COLUMNS && panel->width <= B / 2)
    narrow_forward_columns(B / 2, panel, triangle, row, x, work);
  else if (panel->width <= B)
    narrow_forward_columns(B, panel, triangle, row, x, work);
  else
    narrow_forward_columns(2 * B, panel, triangle, row, x, work);
}

/* x := T' (x - R' work[row]); w <= columns, 4, 8 or 16 */
INLINE void narrow_backward_columns(const int columns, const tsi_panel *panel, const tsi_entry *triangle,
                                    const tsi_index *row, tsi_scalar *x, const tsi_scalar *work) {
  const int nb = columns > B ? 2 : 1, corner = columns < B ? columns : B;
  const tsi_index w = panel->width, last = w - (nb - 1) * B;
  const tsi_entry *below = triangle + B * (B + 1) / 2;
  reg_sum y[2 * B];
  vec x0 = nb == 2 ? load(x) : no_vec(), x1 = load_some(x + (nb - 1) * B, last);
  if (panel->height > 0) {
    narrow_rectangle_transposed(columns, triangle + tsi_triangle_size(w), panel->height, w, row, work, y);
    if (nb == 2) x0 = minus(x0, fold(y));
    x1 = scalars_below(minus(x1, fold(y + (nb - 1) * B)), last);
  }
  UNROLL for (int k = 0; k < nb * B; k++) y[k] = no_reg_sum();
  fetch_before(triangle, tsi_triangle_size(w), sizeof *triangle);
  if (nb == 2) {
    corner_transposed(B, below + B * (ptrdiff_t)last, last, x1, y + B);
    UNROLL for (int k = B - 1; k >= 0; k--)
        add_column(&y[k], load_entries(below + k * (ptrdiff_t)last), as_factors(x1));
    corner_transposed(B, triangle, B, x0, y);
    store(x, fold(y));
  } else
    corner_transposed(corner, triangle, w, x1, y);
  store_some(x + (nb - 1) * B, fold(y + (nb - 1) * B), last);
}

INLINE void narrow_backward(const tsi_panel *panel, const tsi_entry *triangle, const tsi_index *row,
                            tsi_scalar *x, const tsi_scalar *work) {
  if (FOUR_COLUMNS && panel->width <= B / 2)
    narrow_backward_columns(B / 2, panel, triangle, row, x, work);
  else if (panel->width <= B)
    narrow_backward_columns(B, panel, triangle, row, x, work);
  else
    narrow_backward_columns(2 * B, panel, triangle, row, x, work);
}
#endif
