/* Several right-hand sides, in strips of nr registers, nr = 1, 2 or 3 (a constant wherever these are
 * inlined).
 *
 * Reads a panel, the right-hand sides and the row indices; writes X in place, or subtracts from rows of the
 * workspace. Vectors run over right-hand sides: as many registers of each row as the nrhs take, of which the
 * last may reach into the padding of the row.
 *
 * A tile is TILE rows of a row block times a strip: its products with a column of the strip stay in
 * registers. The X of a panel's columns is copied to scratch, strip by strip, where it lies densely and stays
 * in the nearest cache. A rectangle is taken GROUP_BYTES at a time, all strips of them, so that it comes from
 * memory once and from a near cache after that. */
#ifndef TSI_CODELETS_CPU_KERNEL_STRIPS_H
#define TSI_CODELETS_CPU_KERNEL_STRIPS_H

#include "codelets/cpu/fetch.h"
#include "codelets/cpu/vector.h"

#define GROUP_BYTES 131072
#define TILE (SUMS / (2 * PARTS))

/* Registers of a full strip. Three, where there are 16: 12 sums at once, so that products do not wait for
 * each other, 3 factors and one for the entry of the panel. */
#if SUMS == 8
#define STRIP_REGS 3
#else
#define STRIP_REGS 2
#endif

/* Registers that so many right-hand sides take. */
INLINE tsi_index regs_of(tsi_index nrhs) {
  return (nrhs + WIDE - 1) / WIDE;
}

/* Registers of the next strip, of those that are left: two and two instead of three and one. */
INLINE int strip_regs(tsi_index left) {
  return left < 3 || left == 4 ? (int)tsi_index_min(left, 2) : STRIP_REGS;
}

/* Does what follows for each strip of nrhs right-hand sides, c its first, nr its registers. */
#define FOR_STRIPS(nrhs, c, nr, ...)                                                                         \
  for (tsi_index c = 0, regs_; c < (nrhs); c += regs_ * WIDE) {                                              \
    regs_ = strip_regs(regs_of((nrhs)-c));                                                                   \
    if (regs_ == STRIP_REGS) {                                                                               \
      enum { nr = STRIP_REGS };                                                                              \
      __VA_ARGS__;                                                                                           \
    } else if (regs_ == 2) {                                                                                 \
      enum { nr = 2 };                                                                                       \
      __VA_ARGS__;                                                                                           \
    } else {                                                                                                 \
      enum { nr = 1 };                                                                                       \
      __VA_ARGS__;                                                                                           \
    }                                                                                                        \
  }

/* One function for all callers: with several right-hand sides a call takes no time to speak of, and each
 * expansion of the strips takes seconds to compile. */
#define SHARED static __attribute__((noinline))

#define EACH_STRIP_REG(v) UNROLL for (int v = 0; v < nr; v++)
#define EACH_TILE_ROW(i) UNROLL for (int i = 0; i < TILE; i++)
#define EACH_TILE(first) UNROLL for (int first = 0; first < B; first += TILE)

/* Rows of a rectangle of width w that are taken together. */
INLINE tsi_index group_rows(tsi_index w) {
  return (tsi_index)(GROUP_BYTES / (B * sizeof(tsi_scalar)) / (size_t)w + 1) * B;
}

INLINE void strip_copy(const int nr, tsi_scalar *to, ptrdiff_t ldto, const tsi_scalar *from, ptrdiff_t ldfrom,
                       tsi_index rows) {
  for (tsi_index k = 0; k < rows; k++, to += ldto, from += ldfrom)
    EACH_STRIP_REG(v) store_reg(to + v * WIDE, load_reg(from + v * WIDE));
}

/* What a rectangle fetches while it is multiplied, a little with each column of each row block, so that
 * memory and arithmetic overlap: what comes after the group at hand, each strip its part of it; a single
 * strip, which reads each group only once, what lies AHEAD bytes behind. */
typedef struct to_fetch {
  const char *next;
  ptrdiff_t bytes; /* for each register of a strip */
} to_fetch;

INLINE to_fetch fetch_while(const tsi_scalar *group, const tsi_scalar *after, tsi_index nrhs) {
  const tsi_index regs = regs_of(nrhs);
  const ptrdiff_t column = B * sizeof *group;
  return (to_fetch){regs > STRIP_REGS ? (const char *)after : (const char *)group + AHEAD,
                    (column + regs - 1) / regs};
}

/* For so many columns. f: NULL: nothing. */
INLINE void fetch_some(const int nr, tsi_index columns, to_fetch *f) {
  if (f == NULL) return;
  const char *const end = f->next + columns * nr * f->bytes;
  for (const char *line = f->next; line < end; line += LINE) __builtin_prefetch(line, 0, 3);
  f->next = end;
}

/* Columns that loops over a tile's columns take at once. With one, counters and fetching are a fifth of the
 * instructions: too many where another thread, of somebody else's even, runs on the same core. Products and
 * sums apart need too many registers for more. */
#if SUMS == 8 && !defined __FMA__
#define STEP 1
#else
#define STEP 4
#endif
#define EACH_STEP(q) UNROLL for (int q = 0; q < STEP; q++)

/* acc[i] += column(i) X(0,:) */
INLINE void column_times(const int nr, const tsi_scalar *column, const tsi_scalar *x,
                         reg_sum acc[TILE][STRIP_REGS]) {
  EACH_TILE_ROW(i) EACH_STRIP_REG(v) add_reg_times(&acc[i][v], load_reg(x + v * WIDE), column[i]);
}

/* acc[i] = sum over k of block(i,k) X(k,:); block: the tile's first row in its row block, of `stride` rows.
 * Rows beyond those are meaningless. X has one strip. */
INLINE void tile_times(const int nr, const tsi_scalar *block, tsi_index stride, tsi_index w,
                       const tsi_scalar *x, reg_sum acc[TILE][STRIP_REGS], to_fetch *f) {
  EACH_TILE_ROW(i) EACH_STRIP_REG(v) acc[i][v] = no_reg_sum();
  for (; stride == B && w >= STEP; w -= STEP, block += STEP * B, x += STEP * nr * WIDE) {
    fetch_some(nr, STEP, f);
    EACH_STEP(q) column_times(nr, block + q * B, x + q * nr * WIDE, acc);
  }
  for (; w > 0; w--, block += stride, x += nr * WIDE) {
    fetch_some(nr, 1, f);
    column_times(nr, block, x, acc);
  }
}

/* Rows of the workspace as the factors of a tile: theirs, and, complex, i times them. */
typedef struct tile {
  reg_sum row[TILE][STRIP_REGS];
} tile;

INLINE reg_sum as_row(reg x) {
#if TSI_COMPLEX
  return (reg_sum){{x, turned(x)}};
#else
  return (reg_sum){{x}};
#endif
}

/* y += row entry */
INLINE reg add_row(reg y, reg_sum row, tsi_scalar entry) {
  add_product(&y, row.v[0], tsi_re(entry));
#if TSI_COMPLEX
  add_product(&y, row.v[1], tsi_im(entry));
#endif
  return y;
}

/* Y(0,:) += sum over i of column(i) t.row[i] */
INLINE void column_transposed(const int nr, const tsi_scalar *column, const tile *t, tsi_scalar *y) {
  reg s[STRIP_REGS];
  EACH_STRIP_REG(v) s[v] = load_reg(y + v * WIDE);
  EACH_TILE_ROW(i) EACH_STRIP_REG(v) s[v] = add_row(s[v], t->row[i][v], column[i]);
  EACH_STRIP_REG(v) store_reg(y + v * WIDE, s[v]);
}

/* Y(k,:) += sum over i of block(i,k) t.row[i]; as above. Y has one strip. */
INLINE void tile_transposed(const int nr, const tsi_scalar *block, tsi_index stride, tsi_index w, tile t,
                            tsi_scalar *y, to_fetch *f) {
  for (; stride == B && w >= STEP; w -= STEP, block += STEP * B, y += STEP * nr * WIDE) {
    fetch_some(nr, STEP, f);
    EACH_STEP(q) column_transposed(nr, block + q * B, &t, y + q * nr * WIDE);
  }
  for (; w > 0; w--, block += stride, y += nr * WIDE) {
    fetch_some(nr, 1, f);
    column_transposed(nr, block, &t, y);
  }
}

/* Rows x(row[i],:) of the strip, or their negatives, zero from `rows` on; row (may be NULL: 0, 1, ...) says
 * which. */
INLINE tile tile_rows(const int nr, const tsi_scalar *x, ptrdiff_t ldx, const tsi_index *row, tsi_index rows,
                      bool negative) {
  tile t;
  EACH_TILE_ROW(i) {
    const tsi_index at = tsi_index_min(i, rows - 1);
    EACH_STRIP_REG(v) {
      const reg value = load_reg(x + (row ? row[at] : at) * ldx + v * WIDE);
      t.row[i][v] = as_row(i >= rows ? (reg){0} : negative ? -value : value);
    }
  }
  return t;
}

/* ---- Triangles ----------------------------------------------------------------------------------------- */

/* acc[i] += the corner's rows first .. first+TILE-1 times X, for a corner of `rows` rows; 8 of them: a
 * constant. */
INLINE void tile_corner(const int nr, const tsi_scalar *corner, const tsi_index rows, const int first,
                        const tsi_scalar *x, reg_sum acc[TILE][STRIP_REGS]) {
  UNROLL for (int j = 0; j < first + TILE; j++) EACH_TILE_ROW(i) if (j <= first + i && first + i < rows)
      EACH_STRIP_REG(v) add_reg_times(&acc[i][v], load_reg(x + (j * nr + v) * WIDE),
                                      corner[tsi_corner_column(rows, j) + first + i - j]);
}

/* Y(j,:) += the sum over those rows i >= j of corner(i,j) t.row[i] */
INLINE void tile_corner_transposed(const int nr, const tsi_scalar *corner, const tsi_index rows,
                                   const int first, tile t, tsi_scalar *y) {
  UNROLL for (int j = 0; j < first + TILE; j++) if (j < rows) EACH_STRIP_REG(v) {
    tsi_scalar *to = y + (j * nr + v) * WIDE;
    reg s = load_reg(to);
    EACH_TILE_ROW(i)
    if (j <= first + i && first + i < rows)
      s = add_row(s, t.row[i][v], corner[tsi_corner_column(rows, j) + first + i - j]);
    store_reg(to, s);
  }
}

/* X := triangle * X; t is scratch for a strip of w rows. */
INLINE void strip_triangle(const int nr, const tsi_scalar *tri, tsi_index w, tsi_scalar *x, ptrdiff_t ldx,
                           tsi_scalar *t) {
  strip_copy(nr, t, nr * WIDE, x, ldx, w);
  for (tsi_index r = 0; r < w; r += B) {
    const tsi_index rows = tsi_index_min(B, w - r);
    const tsi_scalar *corner = tri + (ptrdiff_t)rows * r, *below = t + r * (ptrdiff_t)(nr * WIDE);
    EACH_TILE(first) if (first < rows) {
      reg_sum acc[TILE][STRIP_REGS];
      tile_times(nr, tri + first, rows, r, t, acc, NULL);
      if (rows == B)
        tile_corner(nr, corner, B, first, below, acc);
      else
        tile_corner(nr, corner, rows, first, below, acc);
      EACH_TILE_ROW(i)
      if (first + i < rows)
        EACH_STRIP_REG(v) store_reg(x + (r + first + i) * ldx + v * WIDE, reg_value(acc[i][v]));
    }
    tri = corner + rows * (rows + 1) / 2;
  }
}

/* X := triangle' * X; y is scratch for a strip of w rows. */
INLINE void strip_triangle_transposed(const int nr, const tsi_scalar *tri, tsi_index w, tsi_scalar *x,
                                      ptrdiff_t ldx, tsi_scalar *y) {
  memset(y, 0, (size_t)w * WIDE * (size_t)nr * sizeof *y);
  for (tsi_index r = 0; r < w; r += B) {
    const tsi_index rows = tsi_index_min(B, w - r);
    const tsi_scalar *corner = tri + (ptrdiff_t)rows * r;
    tsi_scalar *own = y + r * (ptrdiff_t)(nr * WIDE);
    EACH_TILE(first) if (first < rows) {
      const tile t = tile_rows(nr, x + (r + first) * ldx, ldx, NULL, rows - first, false);
      tile_transposed(nr, tri + first, rows, r, t, y, NULL);
      if (rows == B)
        tile_corner_transposed(nr, corner, B, first, t, own);
      else
        tile_corner_transposed(nr, corner, rows, first, t, own);
    }
    tri = corner + rows * (rows + 1) / 2;
  }
  strip_copy(nr, x, ldx, y, nr * WIDE, w);
}

/* X(i,:) := (X(i,:) - s) d */
INLINE void strip_quotient(const int nr, tsi_scalar *x, const reg_sum s[STRIP_REGS], tsi_scalar d) {
  EACH_STRIP_REG(v) {
    reg_sum quotient = no_reg_sum();
    add_reg_times(&quotient, load_reg(x + v * WIDE) - reg_value(s[v]), d);
    store_reg(x + v * WIDE, reg_value(quotient));
  }
}

/* X := D^-1 X; TSI_INVERSE_NONE. t is scratch for a strip of w rows. */
INLINE void strip_substitute(const int nr, const tsi_scalar *tri, tsi_index w, tsi_scalar *x, ptrdiff_t ldx,
                             tsi_scalar *t) {
  const ptrdiff_t ldt = nr * WIDE;
  strip_copy(nr, t, ldt, x, ldx, w);
  for (tsi_index r = 0; r < w; r += B) {
    const tsi_index rows = tsi_index_min(B, w - r);
    const tsi_scalar *corner = tri + (ptrdiff_t)rows * r;
    reg_sum acc[B][STRIP_REGS];
    for (int first = 0; first < B; first += TILE) tile_times(nr, tri + first, rows, r, t, acc + first, NULL);
    for (tsi_index i = 0; i < rows; i++) {
      for (tsi_index j = 0; j < i; j++) EACH_STRIP_REG(v)
      add_reg_times(&acc[i][v], load_reg(t + (r + j) * ldt + v * WIDE),
                    corner[tsi_corner_column(rows, j) + i - j]);
      strip_quotient(nr, t + (r + i) * ldt, acc[i], corner[tsi_corner_column(rows, i)]);
    }
    tri = corner + rows * (rows + 1) / 2;
  }
  strip_copy(nr, x, ldx, t, ldt, w);
}

/* X := D'^-1 X; TSI_INVERSE_NONE. t is scratch for a strip of w rows. */
INLINE void strip_substitute_transposed(const int nr, const tsi_scalar *tri, tsi_index w, tsi_scalar *x,
                                        ptrdiff_t ldx, tsi_scalar *t) {
  const ptrdiff_t ldt = nr * WIDE;
  strip_copy(nr, t, ldt, x, ldx, w);
  for (tsi_index r = (w - 1) / B * B; r >= 0; r -= B) {
    const tsi_index rows = tsi_index_min(B, w - r);
    const tsi_scalar *block = tri + tsi_triangle_block(r), *corner = block + (ptrdiff_t)rows * r;
    for (tsi_index j = rows; j-- > 0;) {
      const tsi_scalar *column = corner + tsi_corner_column(rows, j);
      reg_sum known[STRIP_REGS];
      EACH_STRIP_REG(v) known[v] = no_reg_sum();
      for (tsi_index i = rows - 1; i > j; i--)
        EACH_STRIP_REG(v) add_reg_times(&known[v], load_reg(t + (r + i) * ldt + v * WIDE), column[i - j]);
      strip_quotient(nr, t + (r + j) * ldt, known, column[0]);
    }
    for (int first = 0; first < rows; first += TILE)
      tile_transposed(nr, block + first, rows, r,
                      tile_rows(nr, t + (r + first) * ldt, ldt, NULL, rows - first, true), t, NULL);
  }
  strip_copy(nr, x, ldx, t, ldt, w);
}

/* X := T X, or, solve, T^-1 X, for all right-hand sides; t is scratch for a strip of w rows. */
SHARED void strips_triangle(bool solve, const tsi_scalar *tri, tsi_index w, tsi_index nrhs, tsi_scalar *x,
                            tsi_scalar *t) {
  const tsi_index ldx = tsi_workspace_stride(nrhs);
  FOR_STRIPS(nrhs, c, nr,
             solve ? strip_substitute(nr, tri, w, x + c, ldx, t) : strip_triangle(nr, tri, w, x + c, ldx, t));
}

/* The same with T' and T'^-1. */
SHARED void strips_triangle_transposed(bool solve, const tsi_scalar *tri, tsi_index w, tsi_index nrhs,
                                       tsi_scalar *x, tsi_scalar *t) {
  const tsi_index ldx = tsi_workspace_stride(nrhs);
  FOR_STRIPS(nrhs, c, nr,
             solve ? strip_substitute_transposed(nr, tri, w, x + c, ldx, t)
                   : strip_triangle_transposed(nr, tri, w, x + c, ldx, t));
}

/* ---- Rectangles ---------------------------------------------------------------------------------------- */

/* X -= a, a row of one strip */
INLINE void strip_subtract(const int nr, tsi_scalar *x, const reg_sum a[STRIP_REGS]) {
  EACH_STRIP_REG(v) store_reg(x + v * WIDE, load_reg(x + v * WIDE) - reg_value(a[v]));
}

/* W(row[i],:) -= (R X)(i,:); row NULL: rows 0, 1, ... of W. X has one strip. */
INLINE void strip_rectangle(const int nr, const tsi_scalar *rect, tsi_index m, tsi_index w,
                            const tsi_index *row, const tsi_scalar *x, tsi_scalar *work, ptrdiff_t ldw,
                            to_fetch *f) {
  for (tsi_index i = 0; i < m; i += B, rect += B * (ptrdiff_t)w) {
    const tsi_index rows = tsi_index_min(B, m - i);
    for (int first = 0; first < rows; first += TILE) {
      reg_sum acc[TILE][STRIP_REGS];
      if (first == 0)
        tile_times(nr, rect, rows, w, x, acc, f);
      else
        tile_times(nr, rect + first, rows, w, x, acc, NULL);
      EACH_TILE_ROW(l) {
        const tsi_index at = i + first + l;
        if (first + l < rows) strip_subtract(nr, work + (row ? row[at] : at) * ldw, acc[l]);
      }
    }
  }
}

/* Y += R' W(row,:), or, negative, Y -= it; row NULL: rows 0, 1, ... of W. Y has one strip. */
INLINE void strip_rectangle_transposed(const int nr, const tsi_scalar *rect, tsi_index m, tsi_index w,
                                       const tsi_index *row, const tsi_scalar *work, ptrdiff_t ldw,
                                       bool negative, tsi_scalar *y, to_fetch *f) {
  for (tsi_index i = 0; i < m; i += B, rect += B * (ptrdiff_t)w) {
    const tsi_index rows = tsi_index_min(B, m - i);
    for (int first = 0; first < rows; first += TILE) {
      const tsi_index at = i + first;
      const tile t =
          tile_rows(nr, row ? work : work + at * ldw, ldw, row ? row + at : NULL, rows - first, negative);
      if (first == 0)
        tile_transposed(nr, rect, rows, w, t, y, f);
      else
        tile_transposed(nr, rect + first, rows, w, t, y, NULL);
    }
  }
}

/* W(row,:) -= R X for all right-hand sides; t is scratch for a strip of w rows. */
SHARED void strips_rectangle(const tsi_scalar *rect, tsi_index m, tsi_index w, const tsi_index *row,
                             tsi_index nrhs, const tsi_scalar *x, tsi_scalar *work, tsi_scalar *t) {
  const tsi_index group = group_rows(w), ld = tsi_workspace_stride(nrhs);
  for (tsi_index i = 0; i < m; i += group) {
    const tsi_index rows = tsi_index_min(group, m - i);
    const tsi_scalar *part = rect + i * (ptrdiff_t)w;
    const tsi_index *at = row ? row + i : NULL;
    tsi_scalar *to = row ? work : work + i * (ptrdiff_t)ld;
    to_fetch fetch = fetch_while(part, part + rows * (ptrdiff_t)w, nrhs);
    FOR_STRIPS(nrhs, c, nr, strip_copy(nr, t, nr * WIDE, x + c, ld, w);
               strip_rectangle(nr, part, rows, w, at, t, to + c, ld, &fetch));
  }
}

/* X += R' W(row,:) for all right-hand sides, or, negative, X -= it; t as above. Panels are taken downwards:
 * behind the last group comes what lies before the triangle. */
SHARED void strips_rectangle_transposed(const tsi_scalar *rect, tsi_index m, tsi_index w,
                                        const tsi_index *row, tsi_index nrhs, tsi_scalar *x,
                                        const tsi_scalar *work, bool negative, tsi_scalar *t) {
  const tsi_index group = group_rows(w), ld = tsi_workspace_stride(nrhs);
  for (tsi_index i = 0; i < m; i += group) {
    const tsi_index rows = tsi_index_min(group, m - i);
    const tsi_scalar *part = rect + i * (ptrdiff_t)w, *end = part + rows * (ptrdiff_t)w;
    const tsi_index *at = row ? row + i : NULL;
    const tsi_scalar *from = row ? work : work + i * (ptrdiff_t)ld;
    to_fetch fetch = fetch_while(part, i + rows < m ? end : rect - tsi_triangle_size(w) - (end - part), nrhs);
    FOR_STRIPS(nrhs, c, nr, strip_copy(nr, t, nr * WIDE, x + c, ld, w);
               strip_rectangle_transposed(nr, part, rows, w, at, from + c, ld, negative, t, &fetch);
               strip_copy(nr, x + c, ld, t, nr * WIDE, w));
  }
}

#endif
