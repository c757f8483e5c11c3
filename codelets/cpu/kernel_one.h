/* One right-hand side, panels of any width, any treatment of the diagonal block: triangles and rectangles.
 *
 * Reads one segment of a panel, the right-hand side and the row indices; writes x in place, or subtracts from
 * rows of the workspace. Vectors run over the 8 rows of a row block. Backward, each column has partial sums,
 * one per lane, in scratch; they are added once. Row blocks are then processed downwards in memory, like the
 * sweep. */
#pragma once

#include "codelets/cpu/base/fetch.h"
#include "codelets/cpu/base/entry.h"

/* Number of independent sums of block_times, so that products do not wait for each other. */
#if SUMS / (PARTS * REGS) >= 4
#define CHAINS 4
#elif SUMS / (PARTS * REGS) >= 2
#define CHAINS 2
#else
#define CHAINS 1
#endif

/* sum over k of block(i,k) x[k], 8 rows; block has `stride` rows. */
INLINE sum block_times(const tsi_entry *block, tsi_index stride, tsi_index w, const tsi_scalar *x) {
  sum a[CHAINS];
  tsi_index k = 0;
  UNROLL for (int c = 0; c < CHAINS; c++) a[c] = no_sum();
  for (; k + CHAINS <= w; k += CHAINS, block += CHAINS * (ptrdiff_t)stride)
    UNROLL for (int c = 0; c < CHAINS; c++)
        add_times(&a[c], load_entries(block + c * (ptrdiff_t)stride), x[k + c]);
  for (; k < w; k++, block += stride) add_times(&a[0], load_entries(block), x[k]);
  UNROLL for (int half = CHAINS / 2; half > 0; half /= 2) UNROLL for (int c = 0; c < half; c++) a[c] =
      add_sums(a[c], a[c + half]);
  return a[0];
}

/* y[k] (partial sums) += block(:,k) xr, k descending; block has `stride` rows. */
INLINE void block_transposed(const tsi_entry *block, tsi_index stride, tsi_index w, factors xr,
                             tsi_scalar *y) {
  for (tsi_index k = w; k-- > 0;) {
    const tsi_entry *column = block + k * (ptrdiff_t)stride;
    reg_sum a[2] = {load_partial(y + k * (ptrdiff_t)PARTIAL), no_reg_sum()};
    fetch_before(column, B, sizeof *column);
    EACH_REG(r) add_partial(&a[r % 2], load_entries_reg(column + r * WIDE), xr, r);
    if (REGS > 1) EACH_PART(part) a[0].v[part] += a[1].v[part];
    store_partial(y + k * (ptrdiff_t)PARTIAL, a[0]);
  }
}

/* Loads the first count <= 8 scalars; zero beyond. */
INLINE factors load_factors(const tsi_scalar *x, tsi_index count) {
  return as_factors(load_some(x, count));
}

/* Zeroes the partial sums of w columns, and of those up to the next multiple of 8. */
INLINE void clear_sums(tsi_scalar *y, tsi_index w) {
  memset(y, 0, (size_t)tsi_round_up_block(w) * PARTIAL * sizeof *y);
}

/* x := the partial sums y of w columns, or x minus them. */
INLINE void take_sums(tsi_scalar *x, const tsi_scalar *y, tsi_index w, bool from_x) {
  for (tsi_index k = 0; k < w; k += B) {
    const tsi_index count = tsi_index_min(B, w - k);
    reg_sum column[B];
    UNROLL for (int l = 0; l < B; l++, y += PARTIAL) column[l] = load_partial(y);
    vec sums = fold(column);
    if (from_x) sums = minus(load_some(x + k, count), sums);
    store_some(x + k, sums, count);
  }
}

/* x := triangle * t, t a copy of x. */
static void triangle_1(const tsi_entry *tri, tsi_index w, tsi_scalar *x, tsi_scalar *t) {
  memcpy(t, x, (size_t)w * sizeof *t);
  for (tsi_index r = 0; r < w; r += B) {
    const tsi_index rows = tsi_index_min(B, w - r);
    sum acc = block_times(tri, rows, r, t);
    tri += (ptrdiff_t)rows * r;
    for (int j = 0; j < rows; j++) {
      add_times(&acc, scalars_from(load_entries(tri - j), j), t[r + j]);
      tri += rows - j;
    }
    store_some(x + r, sum_value(acc), rows);
  }
}

/* x := triangle' * x; y is scratch for partial sums. */
static void triangle_transposed_1(const tsi_entry *tri, tsi_index w, tsi_scalar *x, tsi_scalar *y) {
  const tsi_entry *end = tri + (ptrdiff_t)w * (w + 1) / 2;
  clear_sums(y, w);
  for (tsi_index r = (w - 1) / B * B; r >= 0; r -= B) {
    const tsi_index rows = tsi_index_min(B, w - r);
    const factors xr = load_factors(x + r, rows);
    fetch_before(end - tsi_corner_column(rows, rows), tsi_corner_column(rows, rows), sizeof *end);
    for (tsi_index j = rows; j-- > 0;) {
      end -= rows - j;
      const vec column = scalars_from(load_entries(end - j), (int)j);
      reg_sum a = load_partial(y + PARTIAL * (ptrdiff_t)(r + j));
      EACH_REG(q) add_partial(&a, column.r[q], xr, q);
      store_partial(y + PARTIAL * (ptrdiff_t)(r + j), a);
    }
    end -= (ptrdiff_t)rows * r;
    block_transposed(end, rows, r, xr, y);
  }
  take_sums(x, y, w, false);
}

/* a b, without the checks for infinities that C requires for complex numbers */
INLINE tsi_scalar product(tsi_scalar a, tsi_scalar b) {
#if TSI_COMPLEX
  tsi_scalar p;
  __real__ p = tsi_re(a) * tsi_re(b) - tsi_im(a) * tsi_im(b);
  __imag__ p = tsi_re(a) * tsi_im(b) + tsi_im(a) * tsi_re(b);
  return p;
#else
  return a * b;
#endif
}

INLINE tsi_scalar scalar_of(vec v, int j) {
  tsi_scalar part[B];
  store(part, v);
  return part[j];
}

/* x := D^-1 x; TSI_INVERSE_NONE. Forward by row blocks: subtracts the product with the solved rows above,
 * then solves with the corner column by column. */
static void substitute_1(const tsi_entry *tri, tsi_index w, tsi_scalar *x) {
  for (tsi_index r = 0; r < w; r += B) {
    const tsi_index rows = tsi_index_min(B, w - r);
    vec rest = minus(load_some(x + r, rows), sum_value(block_times(tri, rows, r, x)));
    tri += (ptrdiff_t)rows * r;
    for (int j = 0; j < rows; j++) {
      sum below = no_sum();
      x[r + j] = product(scalar_of(rest, j), value_of(tri[0]));
      add_times(&below, scalars_from(load_entries(tri - j), j + 1), x[r + j]);
      rest = minus(rest, sum_value(below));
      tri += rows - j;
    }
  }
}

/* x := D'^-1 x; TSI_INVERSE_NONE. Backward by row blocks; y is scratch for partial sums: the products of
 * solved rows with earlier columns. */
static void substitute_transposed_1(const tsi_entry *tri, tsi_index w, tsi_scalar *x, tsi_scalar *y) {
  if (w > B) clear_sums(y, w);
  for (tsi_index r = (w - 1) / B * B; r >= 0; r -= B) {
    const tsi_index rows = tsi_index_min(B, w - r);
    const tsi_entry *block = tri + tsi_triangle_block(r), *corner = block + (ptrdiff_t)rows * r;
    if (r + B < w) take_sums(x + r, y + PARTIAL * (ptrdiff_t)r, rows, true); /* the last row block has none */
    for (tsi_index j = rows; j-- > 0;) {
      const tsi_entry *column = corner + tsi_corner_column(rows, j);
      tsi_scalar rest = x[r + j];
      for (tsi_index i = rows - 1; i > j; i--) rest -= product(value_of(column[i - j]), x[r + i]);
      x[r + j] = product(rest, value_of(column[0]));
    }
    if (r > 0) block_transposed(block, rows, r, load_factors(x + r, rows), y);
  }
}

/* work[row[i]] -= (R x)[i] */
INLINE void rectangle_1(const tsi_entry *rect, tsi_index m, tsi_index w, const tsi_index *row,
                        const tsi_scalar *x, tsi_scalar *work) {
  tsi_scalar part[B];
  tsi_index i = 0;
  for (; i + B <= m; i += B, rect += B * (ptrdiff_t)w) {
    store(part, sum_value(block_times(rect, B, w, x)));
    for (int l = 0; l < B; l++) work[row[i + l]] -= part[l];
  }
  if (i < m) {
    store(part, sum_value(block_times(rect, m - i, w, x)));
    for (tsi_index l = 0; l < m - i; l++) work[row[i + l]] -= part[l];
  }
}

/* Loads rows i .. i+count-1 of the list `row` (NULL: consecutive rows) of the workspace; zero beyond. */
INLINE factors work_factors(const tsi_scalar *work, const tsi_index *row, tsi_index i, tsi_index count) {
  return row ? as_factors(gather_rows(work, row + i, count)) : load_factors(work + i, count);
}

#if TSI_STORED
/* Does the same for two row blocks of 8 rows each, of w columns, so that partial sums are loaded half as
 * often: loading narrow entries from memory is faster than loading partial sums from the nearest cache. */
INLINE void blocks_transposed(const tsi_entry *block, tsi_index w, factors above, factors below,
                              tsi_scalar *y) {
  for (tsi_index k = w; k-- > 0;) {
    const tsi_entry *upper = block + k * (ptrdiff_t)B, *lower = upper + w * (ptrdiff_t)B;
    reg_sum a[2] = {load_partial(y + k * (ptrdiff_t)PARTIAL), no_reg_sum()};
    fetch_before(lower, B, sizeof *lower);
    fetch_before(upper, B, sizeof *upper);
    EACH_REG(r) {
      add_partial(&a[0], load_entries_reg(upper + r * WIDE), above, r);
      add_partial(&a[1], load_entries_reg(lower + r * WIDE), below, r);
    }
    EACH_PART(part) a[0].v[part] += a[1].v[part];
    store_partial(y + k * (ptrdiff_t)PARTIAL, a[0]);
  }
}
#endif

/* y[k] (partial sums) := R' work[row], row blocks descending; row NULL: rows 0, 1, ... of work */
INLINE void rectangle_transposed_1(const tsi_entry *rect, tsi_index m, tsi_index w, const tsi_index *row,
                                   const tsi_scalar *work, tsi_scalar *y) {
  tsi_index i = m / B * B;
  clear_sums(y, w);
  if (i < m) block_transposed(rect + i * (ptrdiff_t)w, m - i, w, work_factors(work, row, i, m - i), y);
#if TSI_STORED
  for (; i >= 2 * B; i -= 2 * B)
    blocks_transposed(rect + (i - 2 * B) * (ptrdiff_t)w, w, work_factors(work, row, i - 2 * B, B),
                      work_factors(work, row, i - B, B), y);
#endif
  while (i > 0) {
    i -= B;
    block_transposed(rect + i * (ptrdiff_t)w, B, w, work_factors(work, row, i, B), y);
  }
}

/* u[i] := -(R x)[i], i < count, the rows of a slice. rows: number of rows of R from the slice's first one on;
 * so the last row block has less than 8 rows if the panel ends in it. */
INLINE void rectangle_slice_1(const tsi_entry *rect, tsi_index rows, tsi_index w, tsi_index count,
                              const tsi_scalar *x, tsi_scalar *u) {
  for (tsi_index i = 0; i < count; i += B, rect += B * (ptrdiff_t)w)
    store_some(u + i, negated(sum_value(block_times(rect, tsi_index_min(B, rows - i), w, x))),
               tsi_index_min(B, count - i));
}
