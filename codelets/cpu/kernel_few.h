/* Panels of at most 16 columns, 3 to 8 right-hand sides, inverted diagonal block: like kernel_narrow.h, which
 * avoids the overhead of short loops, but with vectors over right-hand sides. kernel_pair.h is for two
 * right-hand sides.
 *
 * Reads a panel, its row indices, x and rows of the workspace; writes x in place, and, forward, rows of the
 * workspace. A row has `size` scalars, a whole row of the workspace (4 or 8; a constant). The rows of all
 * columns are in registers, 8 or 16 rows for any width; no loop runs over columns. Numbers read beyond the
 * width of the panel are finite, and multiplied by zero or dropped. If there are not enough registers,
 * rectangles read and write the rows of columns in memory, column by column.
 *
 * Only for real types, like kernel_narrow.h. */
#pragma once

#include "codelets/cpu/kernel_narrow.h"
#include "codelets/cpu/kernel_pair.h"
#include "codelets/cpu/kernel_strips.h"

/* Maximum number of right-hand sides. With SSE2 registers would spill to memory, so strips are used from 3
 * on. All numbers from 3 to 8 must use the same kernels: otherwise the bits of a column would depend on their
 * number. */
#if SUMS == 8 && REGISTER_BYTES == 16
#define FEW 2
#else
#define FEW 8
#endif

INLINE bool is_few(const tsi_panel *panel, tsi_index nrhs) {
  return nrhs > 1 && nrhs <= FEW && is_narrow(panel->width);
}

#if TSI_COMPLEX
INLINE void few_forward(tsi_index nrhs, const tsi_panel *panel, const tsi_scalar *triangle,
                        const tsi_index *row, tsi_scalar *x, tsi_scalar *work) {
  (void)nrhs, (void)panel, (void)triangle, (void)row, (void)x, (void)work;
}
INLINE void few_backward(tsi_index nrhs, const tsi_panel *panel, const tsi_scalar *triangle,
                         const tsi_index *row, tsi_scalar *x, const tsi_scalar *work) {
  (void)nrhs, (void)panel, (void)triangle, (void)row, (void)x, (void)work;
}
#else

/* A row that replaces rows from the width on, for reads or writes. */
typedef struct nowhere {
  tsi_scalar row[B];
} nowhere;

/* A row of right-hand sides. */
#define ROW_REGS (B / WIDE)
typedef struct few_row {
  reg r[ROW_REGS];
} few_row;

INLINE few_row no_row(void) {
  few_row a;
  UNROLL for (int v = 0; v < ROW_REGS; v++) a.r[v] = (reg){0};
  return a;
}
INLINE few_row load_row(const int size, const tsi_scalar *p) {
  few_row a = no_row();
  EACH_STRIP_REG(v) a.r[v] = load_first(size, p + v * WIDE);
  return a;
}
INLINE void store_row(const int size, tsi_scalar *p, few_row a) {
  EACH_STRIP_REG(v) store_first(size, p + v * WIDE, a.r[v]);
}
INLINE few_row row_minus(const int size, few_row a, few_row b) {
  EACH_STRIP_REG(v) a.r[v] -= b.r[v];
  return a;
}
/* a += row entry */
INLINE void add_row_times(const int size, few_row *a, few_row row, tsi_scalar entry) {
  EACH_STRIP_REG(v) add_product(&a->r[v], row.r[v], entry);
}

/* Returns a if k < w, else zero. */
INLINE few_row row_below(const int size, few_row a, int k, tsi_index w) {
  static const integer keep[4 * B] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
  EACH_STRIP_REG(v) a.r[v] = (reg)((mask)a.r[v] & ((mask){0} + keep[2 * B - w + k]));
  return a;
}

/* Loads rows 0 .. 8 nb - 1 of x; rows from w on are zero; w > 8 (nb - 1). */
INLINE void load_rows(const int size, const int nb, const tsi_scalar *x, tsi_index w, few_row t[2 * B]) {
  static const nowhere zero;
  UNROLL for (int k = 0; k < nb * B; k++) t[k] =
      load_row(size, k <= (nb - 1) * B || k < w ? x + k * size : zero.row);
}
/* Writes the first w of them. */
INLINE void store_rows(const int size, const int nb, tsi_scalar *x, tsi_index w, const few_row t[2 * B]) {
  nowhere beyond;
  UNROLL for (int k = 0; k < nb * B; k++)
      store_row(size, k <= (nb - 1) * B || k < w ? x + k * size : beyond.row, t[k]);
}

/* y[i] += the sum over k <= i of corner(i,k) t[k]; t zero from row `rows` on. */
INLINE void corner_rows(const int size, const tsi_scalar *corner, tsi_index rows, const few_row t[B],
                        few_row y[B]) {
  EACH_TILE(first) {
    const tsi_scalar *next = corner;
    UNROLL for (int k = 0; k < first + TILE; k++) {
      const tsi_scalar *column = corner_at(&next, corner, rows, k);
      EACH_TILE_ROW(l) if (k <= first + l) add_row_times(size, &y[first + l], t[k], column[first + l]);
    }
  }
}

/* y[k] += the sum over i >= k of corner(i,k) t[i]; as above. */
INLINE void corner_rows_transposed(const int size, const tsi_scalar *corner, tsi_index rows,
                                   const few_row t[B], few_row y[B]) {
  const tsi_scalar *next = corner;
  UNROLL for (int k = 0; k < B; k++) {
    const tsi_scalar *column = corner_at(&next, corner, rows, k);
    UNROLL for (int i = k; i < B; i++) add_row_times(size, &y[k], t[i], column[i]);
  }
}

/* If there are too few registers for the rows of all columns, rows of right-hand sides stay in memory and are
 * processed column by column of the factor. A piece is one or two registers of a row, for as many rows as
 * registers permit. */
#define FEW_REGISTERS (SUMS == 8)
#define EACH_PIECE(first, from)                                                                              \
  UNROLL for (int first = 0; first < B; first += rows) if (first < count)                                    \
      UNROLL for (int from = 0; from < size; from += regs * WIDE)
#define EACH_PIECE_ROW(l) UNROLL for (int l = 0; l < rows; l++)
#define EACH_PIECE_REG(v) UNROLL for (int v = 0; v < regs; v++)

/* work[row] -= R x */
INLINE void column_rectangle(const int size, const tsi_scalar *rect, tsi_index m, tsi_index w,
                             const tsi_index *row, const tsi_scalar *x, tsi_scalar *work) {
  const int regs = size > WIDE ? 2 : 1, rows = size > WIDE ? TILE : B;
  for (tsi_index i = 0; i < m; i += B, rect += B * (ptrdiff_t)w) {
    const tsi_index count = tsi_index_min(B, m - i);
    fetch_behind(rect, count * (tsi_count)w, sizeof *rect);
    EACH_PIECE(first, from) {
      reg a[B][2];
      EACH_PIECE_ROW(l) EACH_PIECE_REG(v) a[l][v] = (reg){0};
      for (tsi_index k = 0; k < w; k++) {
        const tsi_scalar *column = rect + k * (ptrdiff_t)count + first, *xk = x + k * size + from;
        reg t[2];
        EACH_PIECE_REG(v) t[v] = load_first(size, xk + v * WIDE);
        EACH_PIECE_ROW(l) EACH_PIECE_REG(v) add_product(&a[l][v], t[v], column[l]);
      }
      EACH_PIECE_ROW(l) if (first + l < count) {
        tsi_scalar *to = work + (ptrdiff_t)row[i + first + l] * size + from;
        EACH_PIECE_REG(v) store_first(size, to + v * WIDE, load_first(size, to + v * WIDE) - a[l][v]);
      }
    }
  }
}

/* y += R' work[row], row blocks descending; y: w rows in memory. */
INLINE void column_rectangle_transposed(const int size, const tsi_scalar *rect, tsi_index m, tsi_index w,
                                        const tsi_index *row, const tsi_scalar *work, tsi_scalar *y) {
  const int regs = size > WIDE ? 2 : 1, rows = size > WIDE ? TILE : B;
  static const nowhere zero;
  for (tsi_index i = (m - 1) / B * B; i >= 0; i -= B) {
    const tsi_index count = tsi_index_min(B, m - i);
    const tsi_scalar *block = rect + i * (ptrdiff_t)w;
    fetch_before(block, count * (tsi_count)w, sizeof *block);
    EACH_PIECE(first, from) {
      reg t[B][2];
      EACH_PIECE_ROW(l) {
        const tsi_scalar *at = work + (ptrdiff_t)row[i + tsi_index_min(first + l, count - 1)] * size + from;
        at = first + l < count ? at : zero.row;
        EACH_PIECE_REG(v) t[l][v] = load_first(size, at + v * WIDE);
      }
      for (tsi_index k = 0; k < w; k++) {
        const tsi_scalar *column = block + k * (ptrdiff_t)count + first;
        tsi_scalar *yk = y + k * size + from;
        reg sum_k[2];
        EACH_PIECE_REG(v) sum_k[v] = load_first(size, yk + v * WIDE);
        EACH_PIECE_ROW(l) EACH_PIECE_REG(v) add_product(&sum_k[v], t[l][v], column[l]);
        EACH_PIECE_REG(v) store_first(size, yk + v * WIDE, sum_k[v]);
      }
    }
  }
}

/* work[row] -= R t; t zero from row w on. */
INLINE void few_rectangle(const int size, const int nb, const tsi_scalar *rect, tsi_index m, tsi_index w,
                          const tsi_index *row, const few_row t[2 * B], tsi_scalar *work) {
  for (tsi_index i = 0; i < m; i += B, rect += B * (ptrdiff_t)w) {
    const tsi_index count = tsi_index_min(B, m - i);
    nowhere beyond = {{0}};
    fetch_behind_columns(nb * B, rect);
    EACH_TILE(first) if (first < count) {
      few_row a[TILE];
      EACH_TILE_ROW(l) a[l] = no_row();
      UNROLL for (int k = 0; k < nb * B; k++) EACH_TILE_ROW(l)
          add_row_times(size, &a[l], t[k], rect[k * (ptrdiff_t)count + first + l]);
      EACH_TILE_ROW(l) {
        tsi_scalar *to = work + (ptrdiff_t)row[i + tsi_index_min(first + l, count - 1)] * size;
        to = first + l < count ? to : beyond.row;
        store_row(size, to, row_minus(size, load_row(size, to), a[l]));
      }
    }
  }
}

/* y[k] += R' work[row], row blocks descending; from row w on of y: finite. */
INLINE void few_rectangle_transposed(const int size, const int nb, const tsi_scalar *rect, tsi_index m,
                                     tsi_index w, const tsi_index *row, const tsi_scalar *work,
                                     few_row y[2 * B]) {
  static const nowhere zero;
  for (tsi_index i = (m - 1) / B * B; i >= 0; i -= B) {
    const tsi_index count = tsi_index_min(B, m - i);
    const tsi_scalar *block = rect + i * (ptrdiff_t)w;
    fetch_before_columns(nb * B, block + count * (ptrdiff_t)w);
    EACH_TILE(first) if (first < count) {
      few_row t[TILE];
      EACH_TILE_ROW(l) {
        const tsi_scalar *from = work + (ptrdiff_t)row[i + tsi_index_min(first + l, count - 1)] * size;
        t[l] = load_row(size, first + l < count ? from : zero.row);
      }
      UNROLL for (int k = 0; k < nb * B; k++) EACH_TILE_ROW(l)
          add_row_times(size, &y[k], t[l], block[k * (ptrdiff_t)count + first + l]);
    }
  }
}

/* x := T x;  work[row] -= R x */
INLINE void few_forward_blocks(const int size, const int nb, const tsi_panel *panel,
                               const tsi_scalar *triangle, const tsi_index *row, tsi_scalar *x,
                               tsi_scalar *work) {
  const tsi_index w = panel->width, last = w - (nb - 1) * B;
  const tsi_scalar *below = triangle + B * (B + 1) / 2;
  few_row t[2 * B], y[2 * B];
  fetch_behind_columns(nb == 1 ? 5 : 17, triangle);
  load_rows(size, nb, x, w, t);
  UNROLL for (int k = 0; k < nb * B; k++) y[k] = no_row();
  corner_rows(size, triangle, nb == 2 ? B : w, t, y);
  if (nb == 2) {
    EACH_TILE(first)
    UNROLL for (int k = 0; k < B; k++) EACH_TILE_ROW(l)
        add_row_times(size, &y[B + first + l], t[k], below[k * (ptrdiff_t)last + first + l]);
    corner_rows(size, below + B * (ptrdiff_t)last, last, t + B, y + B);
  }
  UNROLL for (int k = (nb - 1) * B; k < nb * B; k++) y[k] = row_below(size, y[k], k, w);
  store_rows(size, nb, x, w, y);
  if (FEW_REGISTERS)
    column_rectangle(size, triangle + tsi_triangle_size(w), panel->height, w, row, x, work);
  else
    few_rectangle(size, nb, triangle + tsi_triangle_size(w), panel->height, w, row, y, work);
}

/* x := T' (x - R' work[row]) */
INLINE void few_backward_blocks(const int size, const int nb, const tsi_panel *panel,
                                const tsi_scalar *triangle, const tsi_index *row, tsi_scalar *x,
                                const tsi_scalar *work) {
  const tsi_index w = panel->width, last = w - (nb - 1) * B;
  const tsi_scalar *below = triangle + B * (B + 1) / 2;
  few_row t[2 * B], y[2 * B];
  fetch_before(x, w * (tsi_count)size, sizeof *x); /* rows of other panels may have evicted x */
  UNROLL for (int k = 0; k < nb * B; k++) y[k] = no_row();
  if (panel->height > 0 && FEW_REGISTERS) {
    tsi_scalar part[2 * B * B] __attribute__((aligned(64)));
    UNROLL for (int k = 0; k < nb * B; k++) store_row(size, part + k * size, y[k]);
    column_rectangle_transposed(size, triangle + tsi_triangle_size(w), panel->height, w, row, work, part);
    UNROLL for (int k = 0; k < nb * B; k++) y[k] = load_row(size, part + k * size);
  } else if (panel->height > 0)
    few_rectangle_transposed(size, nb, triangle + tsi_triangle_size(w), panel->height, w, row, work, y);
  load_rows(size, nb, x, w, t);
  UNROLL for (int k = 0; k < nb * B; k++) {
    t[k] = row_minus(size, t[k], y[k]);
    if (k >= (nb - 1) * B) t[k] = row_below(size, t[k], k, w);
    y[k] = no_row();
  }
  fetch_before_columns(nb == 1 ? 5 : 17, triangle + tsi_triangle_size(w));
  if (nb == 2) {
    corner_rows_transposed(size, below + B * (ptrdiff_t)last, last, t + B, y + B);
    UNROLL for (int k = 0; k < B; k++) UNROLL for (int i = 0; i < B; i++)
        add_row_times(size, &y[k], t[B + i], below[k * (ptrdiff_t)last + i]);
  }
  corner_rows_transposed(size, triangle, nb == 2 ? B : w, t, y);
  store_rows(size, nb, x, w, y);
}

/* Calls f with the stride and the number of row blocks as constants, or calls pair. */
#define FOR_FEW(f, pair, nrhs, panel, ...)                                                                   \
  do {                                                                                                       \
    const tsi_index stride_ = tsi_workspace_stride(nrhs);                                                    \
    if (stride_ == 2)                                                                                        \
      (panel)->width <= B ? pair(1, panel, __VA_ARGS__) : pair(2, panel, __VA_ARGS__);                       \
    else if (FEW > 2 && stride_ == 4)                                                                        \
      (panel)->width <= B ? f(4, 1, panel, __VA_ARGS__) : f(4, 2, panel, __VA_ARGS__);                       \
    else if (FEW > 2)                                                                                        \
      (panel)->width <= B ? f(8, 1, panel, __VA_ARGS__) : f(8, 2, panel, __VA_ARGS__);                       \
  } while (0)

SHARED void few_forward(tsi_index nrhs, const tsi_panel *panel, const tsi_scalar *triangle,
                        const tsi_index *row, tsi_scalar *x, tsi_scalar *work) {
  FOR_FEW(few_forward_blocks, pair_forward, nrhs, panel, triangle, row, x, work);
}
SHARED void few_backward(tsi_index nrhs, const tsi_panel *panel, const tsi_scalar *triangle,
                         const tsi_index *row, tsi_scalar *x, const tsi_scalar *work) {
  FOR_FEW(few_backward_blocks, pair_backward, nrhs, panel, triangle, row, x, work);
}
#endif
