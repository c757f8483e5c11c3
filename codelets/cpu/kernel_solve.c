/* Solve kernels on packed panels: see kernels.h for what they compute, panel.h for how panels lie in memory.
 *
 * This file is compiled for each scalar type (TSI_SCALAR_S, _D, _C, _Z) and each instruction set (TSI_ISA:
 * base, avx2, avx512). It is written in vectors of 8 scalars, the height of a row block; the compiler maps
 * them to the registers of the instruction set.
 *
 * One right-hand side: vectors run over the 8 rows of a row block. Several (nrhs is then a multiple of 8, the
 * caller pads): vectors run over right-hand sides, in strips of 16, the last of 8. Each strip reads the panel
 * again, from the cache.
 *
 * The three treatments of diagonal blocks have a table each and share all but the order of triangle and
 * rectangle and, TSI_INVERSE_NONE, the substitutions. All is in this one file because everything is made of
 * the same few functions on row blocks, which must be inlined. */
#include <string.h>

#include "codelets/cpu/kernels.h"
#include "codelets/cpu/kernel_narrow.h"

/* ---- One right-hand side ------------------------------------------------------------------------------ */

/* sum over k of block(i,k) x[k], 8 rows; block has `stride` rows. */
INLINE sum block_times(const tsi_scalar *block, tsi_index stride, tsi_index w, const tsi_scalar *x) {
  sum a0 = no_sum(), a1 = no_sum(), a2 = no_sum(), a3 = no_sum();
  tsi_index k = 0;
  for (; k + 4 <= w; k += 4, block += 4 * (ptrdiff_t)stride) {
    add_times(&a0, load(block), x[k]);
    add_times(&a1, load(block + stride), x[k + 1]);
    add_times(&a2, load(block + 2 * (ptrdiff_t)stride), x[k + 2]);
    add_times(&a3, load(block + 3 * (ptrdiff_t)stride), x[k + 3]);
  }
  for (; k < w; k++, block += stride) add_times(&a0, load(block), x[k]);
  return add_sums(add_sums(a0, a1), add_sums(a2, a3));
}

/* y[k] (partial sums) += block(:,k) xr, k descending. */
INLINE void block_transposed(const tsi_scalar *block, tsi_index stride, tsi_index w, lanes xr,
                             tsi_scalar *y) {
  for (tsi_index k = w; k-- > 0;) {
    sum a = load_sum(y + k * (ptrdiff_t)PARTIAL);
    add_lanes(&a, load(block + k * (ptrdiff_t)stride), xr);
    store_sum(y + k * (ptrdiff_t)PARTIAL, a);
  }
}

/* Four whole row blocks at once: the partial sums are read and written once for 32 rows. */
INLINE void four_blocks_transposed(const tsi_scalar *block, tsi_index w, const lanes xr[4], tsi_scalar *y) {
  const tsi_scalar *b1 = block + B * (ptrdiff_t)w, *b2 = b1 + B * (ptrdiff_t)w, *b3 = b2 + B * (ptrdiff_t)w;
  y += (w - 1) * (ptrdiff_t)PARTIAL;
  for (ptrdiff_t o = B * (ptrdiff_t)(w - 1); o >= 0; o -= B, y -= PARTIAL) {
    sum a = no_sum(), b = no_sum();
    add_lanes(&a, load(block + o), xr[0]);
    add_lanes(&b, load(b2 + o), xr[2]);
    add_lanes(&a, load(b1 + o), xr[1]);
    add_lanes(&b, load(b3 + o), xr[3]);
    store_sum(y, add_sums(load_sum(y), add_sums(a, b)));
  }
}

INLINE lanes load_part(const tsi_scalar *x, tsi_index count) {
  return as_lanes(load_some(x, count));
}

/* Zeroes the partial sums of w columns, and of those up to the next multiple of 8. */
INLINE void clear_sums(tsi_scalar *y, tsi_index w) {
  memset(y, 0, (size_t)tsi_round_up_block(w) * PARTIAL * sizeof *y);
}

/* x := the partial sums y of w columns, or x minus them. */
INLINE void take_sums(tsi_scalar *x, const tsi_scalar *y, tsi_index w, bool subtract) {
  for (tsi_index k = 0; k < w; k += B, y += B * PARTIAL) {
    const tsi_index count = tsi_index_min(B, w - k);
    vec sums = sum_columns(y);
    if (subtract) sums = (count == B ? load(x + k) : load_some(x + k, count)) - sums;
    if (count == B)
      store(x + k, sums);
    else
      store_some(x + k, sums, count);
  }
}

/* x := triangle * t, t a copy of x. */
static void triangle_1(const tsi_scalar *tri, tsi_index w, tsi_scalar *x, tsi_scalar *t) {
  memcpy(t, x, (size_t)w * sizeof *t);
  for (tsi_index r = 0; r < w; r += B) {
    const tsi_index rows = tsi_index_min(B, w - r);
    sum acc = block_times(tri, rows, r, t);
    tri += (ptrdiff_t)rows * r;
    for (int j = 0; j < rows; j++) {
      add_times(&acc, lanes_from(load(tri - j), j), t[r + j]);
      tri += rows - j;
    }
    if (rows == B)
      store(x + r, sum_value(acc));
    else
      store_some(x + r, sum_value(acc), rows);
  }
}

/* x := triangle' * x; y is scratch for partial sums. */
static void triangle_transposed_1(const tsi_scalar *tri, tsi_index w, tsi_scalar *x, tsi_scalar *y) {
  const tsi_scalar *end = tri + (ptrdiff_t)w * (w + 1) / 2;
  clear_sums(y, w);
  for (tsi_index r = (w - 1) / B * B; r >= 0; r -= B) {
    const tsi_index rows = tsi_index_min(B, w - r);
    const lanes xr = load_part(x + r, rows);
    for (tsi_index j = rows; j-- > 0;) {
      end -= rows - j;
      sum a = load_sum(y + PARTIAL * (ptrdiff_t)(r + j));
      add_lanes(&a, lanes_from(load(end - j), (int)j), xr);
      store_sum(y + PARTIAL * (ptrdiff_t)(r + j), a);
    }
    end -= (ptrdiff_t)rows * r;
    block_transposed(end, rows, r, xr, y);
  }
  take_sums(x, y, w, false);
}

/* a b, without the care for infinities that the language has for complex numbers */
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

INLINE tsi_scalar lane(vec v, int j) {
  tsi_scalar part[B];
  store(part, v);
  return part[j];
}

/* x := D^-1 x; TSI_INVERSE_NONE. Forwards by row blocks: what is solved above goes in by a product, then the
 * corner column by column. */
static void substitute_1(const tsi_scalar *tri, tsi_index w, tsi_scalar *x) {
  for (tsi_index r = 0; r < w; r += B) {
    const tsi_index rows = tsi_index_min(B, w - r);
    vec rest = (rows == B ? load(x + r) : load_some(x + r, rows)) - sum_value(block_times(tri, rows, r, x));
    tri += (ptrdiff_t)rows * r;
    for (int j = 0; j < rows; j++) {
      sum below = no_sum();
      x[r + j] = product(lane(rest, j), tri[0]);
      add_times(&below, lanes_from(load(tri - j), j + 1), x[r + j]);
      rest -= sum_value(below);
      tri += rows - j;
    }
  }
}

/* Row block r of a triangle begins here, its corner `rows` r scalars later. */
INLINE const tsi_scalar *row_block(const tsi_scalar *tri, tsi_index r) {
  return tri + (ptrdiff_t)r * (r + 1) / 2;
}
/* The diagonal entry of column j of a corner; those below follow. */
INLINE const tsi_scalar *corner_column(const tsi_scalar *corner, tsi_index rows, tsi_index j) {
  return corner + j * rows - j * (j - 1) / 2;
}

/* x := D'^-1 x; TSI_INVERSE_NONE. Backwards by row blocks; y is scratch for partial sums: what is solved
 * takes from the columns before. */
static void substitute_transposed_1(const tsi_scalar *tri, tsi_index w, tsi_scalar *x, tsi_scalar *y) {
  clear_sums(y, w);
  for (tsi_index r = (w - 1) / B * B; r >= 0; r -= B) {
    const tsi_index rows = tsi_index_min(B, w - r);
    const tsi_scalar *block = row_block(tri, r), *corner = block + (ptrdiff_t)rows * r;
    take_sums(x + r, y + PARTIAL * (ptrdiff_t)r, rows, true);
    for (tsi_index j = rows; j-- > 0;) {
      const tsi_scalar *column = corner_column(corner, rows, j);
      tsi_scalar rest = x[r + j];
      for (tsi_index i = rows - 1; i > j; i--) rest -= product(column[i - j], x[r + i]);
      x[r + j] = product(rest, column[0]);
    }
    block_transposed(block, rows, r, load_part(x + r, rows), y);
  }
}

/* work[row[i]] -= (R x)[i] */
INLINE void rectangle_1(const tsi_scalar *rect, tsi_index m, tsi_index w, const tsi_index *row,
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

/* y[k] (partial sums) := R' work[row], row blocks descending */
INLINE void rectangle_transposed_1(const tsi_scalar *rect, tsi_index m, tsi_index w, const tsi_index *row,
                                   const tsi_scalar *work, tsi_scalar *y) {
  tsi_index i = m / B * B;
  clear_sums(y, w);
  if (i < m) block_transposed(rect + i * (ptrdiff_t)w, m - i, w, gather(work, row + i, m - i), y);
  for (; i % (4 * B) != 0; i -= B)
    block_transposed(rect + (i - B) * (ptrdiff_t)w, B, w, gather(work, row + i - B, B), y);
  for (; i > 0; i -= 4 * B) {
    lanes xr[4];
    for (int q = 0; q < 4; q++) xr[q] = gather(work, row + i - (4 - q) * B, B);
    four_blocks_transposed(rect + (i - 4 * B) * (ptrdiff_t)w, w, xr, y);
  }
}

/* ---- Strips of 8 nv right-hand sides, nv = 1 or 2 (a constant wherever these are inlined) ----------------
 */
/* X has leading dimension nrhs; the strip's first right-hand side is already added to the pointers. */

/* acc[i] = sum over k of block(i,k) X(k,:), 8 rows; those beyond `stride` are meaningless. */
INLINE void strip_block_times(const int nv, const tsi_scalar *block, tsi_index stride, tsi_index w,
                              const tsi_scalar *x, ptrdiff_t ldx, sum acc[B][2]) {
  for (int i = 0; i < B; i++)
    for (int v = 0; v < nv; v++) acc[i][v] = no_sum();
  for (tsi_index k = 0; k < w; k++, block += stride, x += ldx)
    for (int v = 0; v < nv; v++) {
      const vec xk = load(x + v * B);
      for (int i = 0; i < B; i++) add_times(&acc[i][v], xk, block[i]);
    }
}

/* Y(k,:) += sum over i of block(i,k) xr[i]; Y has 8 nv columns. */
INLINE void strip_block_transposed(const int nv, const tsi_scalar *block, tsi_index stride, tsi_index w,
                                   vec xr[B][2], tsi_scalar *y) {
  for (tsi_index k = 0; k < w; k++, block += stride, y += B * nv)
    for (int v = 0; v < nv; v++) {
      sum a = no_sum();
      a.v[0] = load(y + v * B);
      for (int i = 0; i < B; i++) add_times(&a, xr[i][v], block[i]);
      store(y + v * B, sum_value(a));
    }
}

/* `rows` rows of the strip, zero beyond; row (may be NULL: consecutive) says which. */
INLINE void strip_gather(const int nv, const tsi_scalar *x, ptrdiff_t ldx, const tsi_index *row,
                         tsi_index rows, vec xr[B][2]) {
  for (int i = 0; i < B; i++)
    for (int v = 0; v < nv; v++) xr[i][v] = i < rows ? load(x + (row ? row[i] : i) * ldx + v * B) : (vec){0};
}

INLINE void strip_copy(const int nv, tsi_scalar *to, ptrdiff_t ldto, const tsi_scalar *from, ptrdiff_t ldfrom,
                       tsi_index rows) {
  for (tsi_index k = 0; k < rows; k++, to += ldto, from += ldfrom)
    for (int v = 0; v < nv; v++) store(to + v * B, load(from + v * B));
}

/* X := triangle * X; t is scratch for w x 8 nv. */
INLINE void strip_triangle(const int nv, const tsi_scalar *tri, tsi_index w, tsi_scalar *x, ptrdiff_t ldx,
                           tsi_scalar *t) {
  strip_copy(nv, t, B * nv, x, ldx, w);
  for (tsi_index r = 0; r < w; r += B) {
    const tsi_index rows = tsi_index_min(B, w - r);
    sum acc[B][2];
    strip_block_times(nv, tri, rows, r, t, B * nv, acc);
    tri += (ptrdiff_t)rows * r;
    for (int i = 0; i < rows; i++)
      for (int j = 0; j <= i; j++) {
        const tsi_scalar entry = tri[j * rows - j * (j - 1) / 2 + i - j];
        for (int v = 0; v < nv; v++) add_times(&acc[i][v], load(t + (r + j) * B * nv + v * B), entry);
      }
    tri += rows * (rows + 1) / 2;
    for (int i = 0; i < rows; i++)
      for (int v = 0; v < nv; v++) store(x + (r + i) * ldx + v * B, sum_value(acc[i][v]));
  }
}

/* X := triangle' * X; y is scratch for w x 8 nv. */
INLINE void strip_triangle_transposed(const int nv, const tsi_scalar *tri, tsi_index w, tsi_scalar *x,
                                      ptrdiff_t ldx, tsi_scalar *y) {
  memset(y, 0, (size_t)w * B * (size_t)nv * sizeof *y);
  for (tsi_index r = 0; r < w; r += B) {
    const tsi_index rows = tsi_index_min(B, w - r);
    vec xr[B][2];
    strip_gather(nv, x + r * ldx, ldx, NULL, rows, xr);
    strip_block_transposed(nv, tri, rows, r, xr, y);
    tri += (ptrdiff_t)rows * r;
    for (int j = 0; j < rows; tri += rows - j, j++)
      for (int v = 0; v < nv; v++) {
        sum a = no_sum();
        for (int i = j; i < rows; i++) add_times(&a, load(x + (r + i) * ldx + v * B), tri[i - j]);
        store(y + (r + j) * B * nv + v * B, sum_value(a));
      }
  }
  strip_copy(nv, x, ldx, y, B * nv, w);
}

/* X := D^-1 X; TSI_INVERSE_NONE. */
INLINE void strip_substitute(const int nv, const tsi_scalar *tri, tsi_index w, tsi_scalar *x, ptrdiff_t ldx) {
  for (tsi_index r = 0; r < w; r += B) {
    const tsi_index rows = tsi_index_min(B, w - r);
    sum acc[B][2];
    strip_block_times(nv, tri, rows, r, x, ldx, acc);
    tri += (ptrdiff_t)rows * r;
    for (tsi_index i = 0; i < rows; i++) {
      for (tsi_index j = 0; j < i; j++)
        for (int v = 0; v < nv; v++)
          add_times(&acc[i][v], load(x + (r + j) * ldx + v * B), corner_column(tri, rows, j)[i - j]);
      for (int v = 0; v < nv; v++) {
        tsi_scalar *to = x + (r + i) * ldx + v * B;
        sum quotient = no_sum();
        add_times(&quotient, load(to) - sum_value(acc[i][v]), *corner_column(tri, rows, i));
        store(to, sum_value(quotient));
      }
    }
    tri += rows * (rows + 1) / 2;
  }
}

/* X := D'^-1 X; TSI_INVERSE_NONE. y is scratch for w x 8 nv. */
INLINE void strip_substitute_transposed(const int nv, const tsi_scalar *tri, tsi_index w, tsi_scalar *x,
                                        ptrdiff_t ldx, tsi_scalar *y) {
  memset(y, 0, (size_t)w * B * (size_t)nv * sizeof *y);
  for (tsi_index r = (w - 1) / B * B; r >= 0; r -= B) {
    const tsi_index rows = tsi_index_min(B, w - r);
    const tsi_scalar *block = row_block(tri, r), *corner = block + (ptrdiff_t)rows * r;
    vec xr[B][2];
    for (tsi_index j = rows; j-- > 0;) {
      const tsi_scalar *column = corner_column(corner, rows, j);
      for (int v = 0; v < nv; v++) {
        tsi_scalar *to = x + (r + j) * ldx + v * B;
        sum known = no_sum(), quotient = no_sum();
        for (tsi_index i = rows - 1; i > j; i--)
          add_times(&known, load(x + (r + i) * ldx + v * B), column[i - j]);
        add_times(&quotient, load(to) - load(y + (r + j) * B * nv + v * B) - sum_value(known), column[0]);
        store(to, sum_value(quotient));
      }
    }
    strip_gather(nv, x + r * ldx, ldx, NULL, rows, xr);
    strip_block_transposed(nv, block, rows, r, xr, y);
  }
}

/* W(row[i],:) -= (R X)(i,:); row NULL: rows 0, 1, ... of W */
INLINE void strip_rectangle(const int nv, const tsi_scalar *rect, tsi_index m, tsi_index w,
                            const tsi_index *row, const tsi_scalar *x, ptrdiff_t ldx, tsi_scalar *work) {
  for (tsi_index i = 0; i < m; i += B, rect += B * (ptrdiff_t)w) {
    const tsi_index rows = tsi_index_min(B, m - i);
    sum acc[B][2];
    strip_block_times(nv, rect, rows, w, x, ldx, acc);
    for (int l = 0; l < rows; l++)
      for (int v = 0; v < nv; v++) {
        tsi_scalar *to = work + (row ? row[i + l] : i + l) * ldx + v * B;
        store(to, load(to) - sum_value(acc[l][v]));
      }
  }
}

/* Y := R' W(row,:), Y of w x 8 nv; row NULL: rows 0, 1, ... of W */
INLINE void strip_rectangle_transposed(const int nv, const tsi_scalar *rect, tsi_index m, tsi_index w,
                                       const tsi_index *row, const tsi_scalar *work, ptrdiff_t ldx,
                                       tsi_scalar *y) {
  memset(y, 0, (size_t)w * B * (size_t)nv * sizeof *y);
  for (tsi_index i = 0; i < m; i += B, rect += B * (ptrdiff_t)w) {
    const tsi_index rows = tsi_index_min(B, m - i);
    vec xr[B][2];
    strip_gather(nv, row ? work : work + i * ldx, ldx, row ? row + i : NULL, rows, xr);
    strip_block_transposed(nv, rect, rows, w, xr, y);
  }
}

/* ---- Panels ---------------------------------------------------------------------------------------------
 */

/* Interchanges of the diagonal block, LAPACK's convention: row k was swapped with row pivot[k] >= k, k
 * ascending. */
static void interchange(tsi_index w, const tsi_index *pivot, tsi_index nrhs, tsi_scalar *x, bool undo) {
  for (tsi_index q = 0; q < w; q++) {
    const tsi_index k = undo ? w - 1 - q : q;
    if (pivot[k] == k) continue;
    tsi_scalar *a = x + (ptrdiff_t)k * nrhs, *b = x + (ptrdiff_t)pivot[k] * nrhs;
    for (tsi_index c = 0; c < nrhs; c++) {
      const tsi_scalar swap = a[c];
      a[c] = b[c];
      b[c] = swap;
    }
  }
}

/* x := T x, or T^-1 x where the triangle is not inverted. */
INLINE void apply_triangle(const tsi_inverse inverse, const tsi_scalar *tri, tsi_index w, tsi_index nrhs,
                           tsi_scalar *x, tsi_scalar *scratch) {
  const bool solve = inverse == TSI_INVERSE_NONE;
  if (nrhs == 1) {
    solve ? substitute_1(tri, w, x) : triangle_1(tri, w, x, scratch);
    return;
  }
  tsi_index c = 0;
  for (; c + 16 <= nrhs; c += 16)
    solve ? strip_substitute(2, tri, w, x + c, nrhs) : strip_triangle(2, tri, w, x + c, nrhs, scratch);
  if (c < nrhs)
    solve ? strip_substitute(1, tri, w, x + c, nrhs) : strip_triangle(1, tri, w, x + c, nrhs, scratch);
}

/* x := T' x, or T'^-1 x where the triangle is not inverted. */
INLINE void apply_triangle_transposed(const tsi_inverse inverse, const tsi_scalar *tri, tsi_index w,
                                      tsi_index nrhs, tsi_scalar *x, tsi_scalar *scratch) {
  const bool solve = inverse == TSI_INVERSE_NONE;
  if (nrhs == 1) {
    solve ? substitute_transposed_1(tri, w, x, scratch) : triangle_transposed_1(tri, w, x, scratch);
    return;
  }
  tsi_index c = 0;
  for (; c + 16 <= nrhs; c += 16)
    solve ? strip_substitute_transposed(2, tri, w, x + c, nrhs, scratch)
          : strip_triangle_transposed(2, tri, w, x + c, nrhs, scratch);
  if (c < nrhs)
    solve ? strip_substitute_transposed(1, tri, w, x + c, nrhs, scratch)
          : strip_triangle_transposed(1, tri, w, x + c, nrhs, scratch);
}

static void forward_triangle(const tsi_panel *panel, const void *factor, const tsi_index *pivots,
                             tsi_index nrhs, void *vector, void *work) {
  const tsi_scalar *values = factor;
  if (pivots) interchange(panel->width, pivots + panel->column, nrhs, vector, false);
  apply_triangle(TSI_INVERSE_DIAGONAL, values + panel->values, panel->width, nrhs, vector, work);
}
static void forward_triangle_none(const tsi_panel *panel, const void *factor, const tsi_index *pivots,
                                  tsi_index nrhs, void *vector, void *work) {
  const tsi_scalar *values = factor;
  if (pivots) interchange(panel->width, pivots + panel->column, nrhs, vector, false);
  apply_triangle(TSI_INVERSE_NONE, values + panel->values, panel->width, nrhs, vector, work);
}

static void backward_triangle(const tsi_panel *panel, const void *factor, const tsi_index *pivots,
                              tsi_index nrhs, void *vector, void *work) {
  const tsi_scalar *values = factor;
  apply_triangle_transposed(TSI_INVERSE_DIAGONAL, values + panel->values, panel->width, nrhs, vector, work);
  if (pivots) interchange(panel->width, pivots + panel->column, nrhs, vector, true);
}
static void backward_triangle_none(const tsi_panel *panel, const void *factor, const tsi_index *pivots,
                                   tsi_index nrhs, void *vector, void *work) {
  const tsi_scalar *values = factor;
  apply_triangle_transposed(TSI_INVERSE_NONE, values + panel->values, panel->width, nrhs, vector, work);
  if (pivots) interchange(panel->width, pivots + panel->column, nrhs, vector, true);
}

static void interchange_panel(const tsi_panel *panel, const tsi_index *pivots, tsi_index nrhs, void *vector,
                              bool undo) {
  if (pivots) interchange(panel->width, pivots + panel->column, nrhs, vector, undo);
}

/* w[rows] -= R x */
INLINE void subtract_product(const tsi_panel *panel, const tsi_scalar *values, const tsi_index *row,
                             tsi_index nrhs, const tsi_scalar *x, tsi_scalar *work) {
  const tsi_scalar *rect = values + panel->values + tsi_triangle_size(panel->width);
  if (nrhs == 1) {
    rectangle_1(rect, panel->height, panel->width, row, x, work);
    return;
  }
  tsi_index c = 0;
  for (; c + 16 <= nrhs; c += 16)
    strip_rectangle(2, rect, panel->height, panel->width, row, x + c, nrhs, work + c);
  if (c < nrhs) strip_rectangle(1, rect, panel->height, panel->width, row, x + c, nrhs, work + c);
}

/* Fetches the bytes from `from` up to `to`. */
INLINE void fetch(const void *from, const void *to) {
  for (const char *line = from; line < (const char *)to; line += 64) __builtin_prefetch(line, 0, 3);
}

/* A sweep reads its factor strictly upwards or downwards, but panels are short, each waits for what those
 * before it left, and processors foresee little in between. So AHEAD bytes from the panel at hand on,
 * backwards before it, are fetched; *fetched is how far that went the last time. begin: of the array. */
#define AHEAD 8192
INLINE void fetch_before(const void *begin, const void *now, const char **fetched) {
  const ptrdiff_t left = (const char *)now - (const char *)begin;
  const char *from = (const char *)now - (left < AHEAD ? left : AHEAD);
  fetch(from, *fetched < (const char *)now ? *fetched : (const char *)now);
  *fetched = from;
}

INLINE void fetch_behind(const void *now, const char **fetched) {
  const char *to = (const char *)now + AHEAD;
  fetch(*fetched > (const char *)now ? *fetched : (const char *)now, to);
  *fetched = to;
}

INLINE void sweep_forward(const tsi_inverse inverse, tsi_index count, const tsi_panel *panels,
                          const tsi_scalar *values, const tsi_index *rows, const tsi_index *pivots,
                          tsi_index nrhs, tsi_scalar *work, tsi_scalar *scratch) {
  const char *fetched = (const char *)(values + panels->values),
             *fetched_rows = (const char *)(rows + panels->row);
  for (const tsi_panel *panel = panels; panel < panels + count; panel++) {
    tsi_scalar *x = work + (ptrdiff_t)panel->x * nrhs;
    fetch_behind(values + panel->values, &fetched);
    fetch_behind(rows + panel->row, &fetched_rows);
    if (inverse == TSI_INVERSE_DIAGONAL && nrhs == 1 && is_narrow(panel->width)) {
      interchange_panel(panel, pivots, 1, x, false);
      narrow_forward(panel, values + panel->values, rows + panel->row, x, work);
      continue;
    }
    if (inverse == TSI_INVERSE_DIAGONAL) forward_triangle(panel, values, pivots, nrhs, x, scratch);
    if (inverse == TSI_INVERSE_NONE) forward_triangle_none(panel, values, pivots, nrhs, x, scratch);
    if (inverse == TSI_INVERSE_OFF) interchange_panel(panel, pivots, nrhs, x, false);
    subtract_product(panel, values, rows + panel->row, nrhs, x, work);
    if (inverse == TSI_INVERSE_OFF) forward_triangle(panel, values, NULL, nrhs, x, scratch);
  }
}
static void forward(tsi_index count, const tsi_panel *panels, const void *factor, const tsi_index *rows,
                    const tsi_index *pivots, tsi_index nrhs, void *workspace, void *scratch) {
  sweep_forward(TSI_INVERSE_DIAGONAL, count, panels, factor, rows, pivots, nrhs, workspace, scratch);
}
static void forward_none(tsi_index count, const tsi_panel *panels, const void *factor, const tsi_index *rows,
                         const tsi_index *pivots, tsi_index nrhs, void *workspace, void *scratch) {
  sweep_forward(TSI_INVERSE_NONE, count, panels, factor, rows, pivots, nrhs, workspace, scratch);
}
static void forward_off(tsi_index count, const tsi_panel *panels, const void *factor, const tsi_index *rows,
                        const tsi_index *pivots, tsi_index nrhs, void *workspace, void *scratch) {
  sweep_forward(TSI_INVERSE_OFF, count, panels, factor, rows, pivots, nrhs, workspace, scratch);
}

/* x -= y, strip of 8 nv columns */
INLINE void strip_subtract(const int nv, tsi_scalar *x, ptrdiff_t ldx, const tsi_scalar *y, tsi_index w) {
  for (tsi_index k = 0; k < w; k++, x += ldx, y += B * nv)
    for (int v = 0; v < nv; v++) store(x + v * B, load(x + v * B) - load(y + v * B));
}

/* x -= R' w[rows] */
INLINE void subtract_transposed(const tsi_panel *panel, const tsi_scalar *values, const tsi_index *row,
                                tsi_index nrhs, tsi_scalar *x, const tsi_scalar *work, tsi_scalar *scratch) {
  const tsi_index m = panel->height, w = panel->width;
  const tsi_scalar *rect = values + panel->values + tsi_triangle_size(w);
  if (m == 0) return;
  if (nrhs == 1) {
    rectangle_transposed_1(rect, m, w, row, work, scratch);
    take_sums(x, scratch, w, true);
    return;
  }
  tsi_index c = 0;
  for (; c + 16 <= nrhs; c += 16) {
    strip_rectangle_transposed(2, rect, m, w, row, work + c, nrhs, scratch);
    strip_subtract(2, x + c, nrhs, scratch, w);
  }
  if (c < nrhs) {
    strip_rectangle_transposed(1, rect, m, w, row, work + c, nrhs, scratch);
    strip_subtract(1, x + c, nrhs, scratch, w);
  }
}

INLINE void sweep_backward(const tsi_inverse inverse, tsi_index count, const tsi_panel *panels,
                           const tsi_scalar *values, const tsi_index *rows, const tsi_index *pivots,
                           tsi_index nrhs, tsi_scalar *work, tsi_scalar *scratch) {
  const tsi_panel *last = panels + count - 1;
  const char *fetched = (const char *)(values + last->values),
             *fetched_rows = (const char *)(rows + last->row);
  for (const tsi_panel *panel = panels + count; panel-- > panels;) {
    tsi_scalar *x = work + (ptrdiff_t)panel->x * nrhs;
    fetch_before(values + panels->values, values + panel->values, &fetched);
    fetch_before(rows + panels->row, rows + panel->row, &fetched_rows);
    if (inverse == TSI_INVERSE_OFF) {
      backward_triangle(panel, values, NULL, nrhs, x, scratch);
      subtract_transposed(panel, values, rows + panel->row, nrhs, x, work, scratch);
      interchange_panel(panel, pivots, nrhs, x, true);
    } else if (inverse == TSI_INVERSE_DIAGONAL && nrhs == 1 && is_narrow(panel->width)) {
      narrow_backward(panel, values + panel->values, rows + panel->row, x, work);
      interchange_panel(panel, pivots, 1, x, true);
    } else {
      subtract_transposed(panel, values, rows + panel->row, nrhs, x, work, scratch);
      if (inverse == TSI_INVERSE_DIAGONAL) backward_triangle(panel, values, pivots, nrhs, x, scratch);
      if (inverse == TSI_INVERSE_NONE) backward_triangle_none(panel, values, pivots, nrhs, x, scratch);
    }
  }
}
static void backward(tsi_index count, const tsi_panel *panels, const void *factor, const tsi_index *rows,
                     const tsi_index *pivots, tsi_index nrhs, void *workspace, void *scratch) {
  sweep_backward(TSI_INVERSE_DIAGONAL, count, panels, factor, rows, pivots, nrhs, workspace, scratch);
}
static void backward_none(tsi_index count, const tsi_panel *panels, const void *factor, const tsi_index *rows,
                          const tsi_index *pivots, tsi_index nrhs, void *workspace, void *scratch) {
  sweep_backward(TSI_INVERSE_NONE, count, panels, factor, rows, pivots, nrhs, workspace, scratch);
}
static void backward_off(tsi_index count, const tsi_panel *panels, const void *factor, const tsi_index *rows,
                         const tsi_index *pivots, tsi_index nrhs, void *workspace, void *scratch) {
  sweep_backward(TSI_INVERSE_OFF, count, panels, factor, rows, pivots, nrhs, workspace, scratch);
}

/* ---- Row slices -------------------------------------------------------------------------------------------
 */

static void forward_slice(const tsi_panel *panel, const void *factor, tsi_index first, tsi_index count,
                          tsi_index nrhs, const void *vector, void *update) {
  const tsi_scalar *values = factor, *x = vector;
  tsi_scalar *u = update;
  const tsi_index w = panel->width;
  const tsi_scalar *rect = values + panel->values + tsi_triangle_size(w) + (ptrdiff_t)first * w;
  if (nrhs > 1) memset(u, 0, (size_t)count * (size_t)nrhs * sizeof *u);
  tsi_index c = 0;
  if (nrhs == 1)
    for (tsi_index i = 0; i < count; i += B, rect += B * (ptrdiff_t)w)
      store_some(u + i, -sum_value(block_times(rect, tsi_index_min(B, panel->height - first - i), w, x)),
                 tsi_index_min(B, count - i));
  else {
    for (; c + 16 <= nrhs; c += 16) strip_rectangle(2, rect, count, w, NULL, x + c, nrhs, u + c);
    if (c < nrhs) strip_rectangle(1, rect, count, w, NULL, x + c, nrhs, u + c);
  }
}

static void backward_slice(const tsi_panel *panel, const void *factor, tsi_index first, tsi_index count,
                           tsi_index nrhs, const void *vector, void *result, void *partial) {
  const tsi_scalar *values = factor, *work = vector;
  tsi_scalar *out = result, *scratch = partial;
  const tsi_index w = panel->width;
  const tsi_scalar *rect = values + panel->values + tsi_triangle_size(w) + (ptrdiff_t)first * w;
  if (nrhs == 1) {
    tsi_index i = 0;
    clear_sums(scratch, w);
    for (; i + 4 * B <= count; i += 4 * B, rect += 4 * B * (ptrdiff_t)w) {
      lanes xr[4];
      for (int q = 0; q < 4; q++) xr[q] = as_lanes(load(work + i + q * B));
      four_blocks_transposed(rect, w, xr, scratch);
    }
    for (; i < count; i += B, rect += B * (ptrdiff_t)w) {
      const tsi_index rows = tsi_index_min(B, count - i);
      block_transposed(rect, rows, w, load_part(work + i, rows), scratch);
    }
    take_sums(out, scratch, w, false);
    return;
  }
  tsi_index c = 0;
  for (; c + 16 <= nrhs; c += 16) {
    strip_rectangle_transposed(2, rect, count, w, NULL, work + c, nrhs, scratch);
    strip_copy(2, out + c, nrhs, scratch, 16, w);
  }
  if (c < nrhs) {
    strip_rectangle_transposed(1, rect, count, w, NULL, work + c, nrhs, scratch);
    strip_copy(1, out + c, nrhs, scratch, 8, w);
  }
}

#define TABLE(isa) TSI_PASTE(TSI_TYPED(tsi_kernels), isa)
#define TEXT_(isa) #isa
#define TEXT(isa) TEXT_(isa)

#define ENTRIES(treatment, forward_sweep, backward_sweep, forward_diagonal, backward_diagonal)               \
  [treatment] = {                                                                                            \
      .isa = TEXT(TSI_ISA),                                                                                  \
      .inverse = treatment,                                                                                  \
      .forward = forward_sweep,                                                                              \
      .backward = backward_sweep,                                                                            \
      .forward_triangle = forward_diagonal,                                                                  \
      .backward_triangle = backward_diagonal,                                                                \
      .interchange = interchange_panel,                                                                      \
      .forward_slice = forward_slice,                                                                        \
      .backward_slice = backward_slice,                                                                      \
  }

extern const tsi_kernels TABLE(TSI_ISA)[TSI_INVERSES];
const tsi_kernels TABLE(TSI_ISA)[TSI_INVERSES] = {
    ENTRIES(TSI_INVERSE_DIAGONAL, forward, backward, forward_triangle, backward_triangle),
    ENTRIES(TSI_INVERSE_NONE, forward_none, backward_none, forward_triangle_none, backward_triangle_none),
    ENTRIES(TSI_INVERSE_OFF, forward_off, backward_off, forward_triangle, backward_triangle),
};
