/* Several right-hand sides, in strips of 8 nv, nv = 1 or 2 (a constant wherever these are inlined).
 *
 * Vectors run over right-hand sides. X has leading dimension nrhs, which is a multiple of 8 (the caller
 * pads); the strip's first right-hand side is already added to the pointers. Each strip reads the panel
 * again, from the cache. */
#ifndef TSI_CODELETS_CPU_KERNEL_STRIPS_H
#define TSI_CODELETS_CPU_KERNEL_STRIPS_H

#include "codelets/cpu/vector.h"

/* Does what follows for each strip of nrhs right-hand sides, c its first: strips of 16, the last of 8. */
#define FOR_STRIPS(nrhs, c, nv, ...)                                                                         \
  do {                                                                                                       \
    tsi_index c = 0;                                                                                         \
    for (; c + 2 * B <= (nrhs); c += 2 * B) {                                                                \
      enum { nv = 2 };                                                                                       \
      __VA_ARGS__;                                                                                           \
    }                                                                                                        \
    if (c < (nrhs)) {                                                                                        \
      enum { nv = 1 };                                                                                       \
      __VA_ARGS__;                                                                                           \
    }                                                                                                        \
  } while (0)

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
        const tsi_scalar entry = tri[tsi_corner_column(rows, j) + i - j];
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
          add_times(&acc[i][v], load(x + (r + j) * ldx + v * B), tri[tsi_corner_column(rows, j) + i - j]);
      for (int v = 0; v < nv; v++) {
        tsi_scalar *to = x + (r + i) * ldx + v * B;
        sum quotient = no_sum();
        add_times(&quotient, load(to) - sum_value(acc[i][v]), tri[tsi_corner_column(rows, i)]);
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
    const tsi_scalar *block = tri + tsi_triangle_block(r), *corner = block + (ptrdiff_t)rows * r;
    vec xr[B][2];
    for (tsi_index j = rows; j-- > 0;) {
      const tsi_scalar *column = corner + tsi_corner_column(rows, j);
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

/* X -= Y, Y of w x 8 nv */
INLINE void strip_subtract(const int nv, tsi_scalar *x, ptrdiff_t ldx, const tsi_scalar *y, tsi_index w) {
  for (tsi_index k = 0; k < w; k++, x += ldx, y += B * nv)
    for (int v = 0; v < nv; v++) store(x + v * B, load(x + v * B) - load(y + v * B));
}

#endif
