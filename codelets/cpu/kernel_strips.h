/* Several right-hand sides, in strips of `size` scalars of each row: 1, 2 or 3 registers, or a part of one.
 * size is a constant in inlined functions.
 *
 * Reads a panel, the right-hand sides and the row indices; writes X in place, or subtracts from rows of the
 * workspace. Vectors run over right-hand sides. The last register of a row may include padding of the row.
 * Rows of 2 or 4 scalars may be shorter than a register: its other lanes are zero.
 *
 * A tile is TILE rows of a row block times a strip: its products with a column of the strip stay in
 * registers. A strip that is only a part of its rows is copied to scratch, where it is contiguous and stays
 * in the nearest cache. A rectangle is processed in groups of GROUP_BYTES, for all strips, so that it is read
 * from memory once and then from a near cache. */
#pragma once

#include "codelets/cpu/base/fetch.h"
#include "codelets/cpu/kernel_pair.h"
#include "codelets/cpu/base/vector.h"

#define GROUP_BYTES 131072
#define TILE (SUMS / (2 * PARTS))

/* Number of registers of a full strip. Three, if there are 16 registers: 12 independent sums, so that
 * products do not wait for each other, 3 factors and one for the entry of the panel. */
#if SUMS == 8
#define STRIP_REGS 3
#else
#define STRIP_REGS 2
#endif

/* Returns the number of registers for so many right-hand sides. */
INLINE tsi_index regs_of(tsi_index nrhs) {
  return (nrhs + WIDE - 1) / WIDE;
}

/* Returns the registers of the next strip, of `left` remaining ones: two and two instead of three and one. */
INLINE int strip_regs(const int most, tsi_index left) {
  return left < 3 || left == 4 ? (int)tsi_index_min(left, 2) : most;
}

/* Executes the code for each strip of nrhs right-hand sides. c: its first one; size: its scalars, at most
 * `most` registers, 2 or 3. */
#define FOR_STRIPS_OF(most, nrhs, c, size, ...)                                                              \
  for (tsi_index c = 0, regs_; c < (nrhs); c += regs_ * WIDE) {                                              \
    regs_ = strip_regs(most, regs_of((nrhs)-c));                                                             \
    if (regs_ == (most)) {                                                                                   \
      enum { size = (most)*WIDE };                                                                           \
      __VA_ARGS__;                                                                                           \
    } else if (regs_ == 2) {                                                                                 \
      enum { size = 2 * WIDE };                                                                              \
      __VA_ARGS__;                                                                                           \
    } else if (WIDE <= 2 || (nrhs) > WIDE / 2) {                                                             \
      enum { size = WIDE };                                                                                  \
      __VA_ARGS__;                                                                                           \
    } else if (WIDE <= 4 || (nrhs) > WIDE / 4) {                                                             \
      enum { size = WIDE / 2 };                                                                              \
      __VA_ARGS__;                                                                                           \
    } else {                                                                                                 \
      enum { size = WIDE / 4 };                                                                              \
      __VA_ARGS__;                                                                                           \
    }                                                                                                        \
  }

#define FOR_STRIPS(nrhs, c, size, ...) FOR_STRIPS_OF(STRIP_REGS, nrhs, c, size, __VA_ARGS__)

/* Number of registers of a strip. */
#define STRIP_REGS_OF(size) (((size) + WIDE - 1) / WIDE)

#define EACH_STRIP_REG(v) UNROLL for (int v = 0; v < STRIP_REGS_OF(size); v++)
#define EACH_TILE_ROW(i) UNROLL for (int i = 0; i < TILE; i++)
#define EACH_TILE(first) UNROLL for (int first = 0; first < B; first += TILE)

/* Returns the number of rows of a group for a rectangle of width w. */
INLINE tsi_index group_rows(tsi_index w) {
  return (tsi_index)(GROUP_BYTES / (B * sizeof(tsi_scalar)) / (size_t)w + 1) * B;
}

INLINE void strip_copy(const int size, tsi_scalar *to, ptrdiff_t ldto, const tsi_scalar *from,
                       ptrdiff_t ldfrom, tsi_index rows) {
  for (tsi_index k = 0; k < rows; k++, to += ldto, from += ldfrom)
    EACH_STRIP_REG(v) store_first(size, to + v * WIDE, load_first(size, from + v * WIDE));
}

/* Prefetches during the multiplication of a segment: a little for each column of each row block, so that
 * memory and arithmetic overlap. A single strip reads a group only once, and prefetches AHEAD bytes further
 * on. If there are several strips, each prefetches its part of the next group. */
typedef struct to_fetch {
  const char *next;
  ptrdiff_t bytes; /* bytes per column of 8 rows, for one strip; negative: downwards */
} to_fetch;

/* Prefetches for a strip of `size` scalars; columns of `stride` rows. f NULL: nothing. */
INLINE void fetch_some(const int size, tsi_index columns, tsi_index stride, to_fetch *f) {
  if (f == NULL) return;
  const char *const end = f->next + columns * STRIP_REGS_OF(size) * f->bytes * stride / B;
  const char *const top = end > f->next ? end : f->next;
  for (const char *line = end < f->next ? end : f->next; line < top; line += LINE)
    __builtin_prefetch(line, 0, 3);
  f->next = end;
}

/* Number of columns per iteration of loops over a tile's columns. With one, counters and prefetches are a
 * fifth of the instructions: too many if another thread runs on the same core. Without fused multiply-add
 * there are not enough registers for more than one. */
#if SUMS == 8 && !defined __FMA__
#define STEP 1
#else
#define STEP 4
#endif
#define EACH_STEP(q) UNROLL for (int q = 0; q < STEP; q++)

/* If set, products of even and of odd rows of a tile have separate sums, so that they wait less for each
 * other. */
#define SUM_PAIRS (TILE == 8)

/* acc[i] += column(i) X(0,:) */
INLINE void column_times(const int size, const tsi_scalar *column, const tsi_scalar *x,
                         reg_sum acc[TILE][STRIP_REGS]) {
  EACH_TILE_ROW(i) EACH_STRIP_REG(v) add_reg_times(&acc[i][v], load_first(size, x + v * WIDE), column[i]);
}

/* acc[i] = sum over k of block(i,k) X(k,:); block: the tile's first row in its row block, which has `stride`
 * rows. Rows beyond them are undefined. X has one strip. */
INLINE void tile_times(const int size, const tsi_scalar *block, tsi_index stride, tsi_index w,
                       const tsi_scalar *x, reg_sum acc[TILE][STRIP_REGS], to_fetch *f) {
  EACH_TILE_ROW(i) EACH_STRIP_REG(v) acc[i][v] = no_reg_sum();
  for (; stride == B && w >= STEP; w -= STEP, block += STEP * B, x += STEP * size) {
    fetch_some(size, STEP, B, f);
    EACH_STEP(q) column_times(size, block + q * B, x + q * size, acc);
  }
  for (; w > 0; w--, block += stride, x += size) {
    fetch_some(size, 1, stride, f);
    column_times(size, block, x, acc);
  }
}

/* Rows of the workspace as the factors of a tile: the rows, and, for complex types, i times the rows. */
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
INLINE void column_transposed(const int size, const tsi_scalar *column, const tile *t, tsi_scalar *y) {
  reg s[STRIP_REGS], odd[STRIP_REGS];
  EACH_STRIP_REG(v) {
    s[v] = load_first(size, y + v * WIDE);
    odd[v] = (reg){0};
  }
  EACH_TILE_ROW(i) EACH_STRIP_REG(v) {
    reg *to = SUM_PAIRS && i % 2 ? &odd[v] : &s[v];
    *to = add_row(*to, t->row[i][v], column[i]);
  }
  EACH_STRIP_REG(v) {
    if (SUM_PAIRS) s[v] += odd[v];
    store_first(size, y + v * WIDE, s[v]);
  }
}

/* Y(k,:) += sum over i of block(i,k) t.row[i], k descending; as above. Y has one strip. */
INLINE void tile_transposed(const int size, const tsi_scalar *block, tsi_index stride, tsi_index w,
                            const tile *t, tsi_scalar *y, to_fetch *f) {
  for (; w > 0 && (stride < B || w % STEP != 0); w--) {
    fetch_some(size, 1, stride, f);
    column_transposed(size, block + (w - 1) * (ptrdiff_t)stride, t, y + (w - 1) * size);
  }
  for (; w > 0; w -= STEP) {
    fetch_some(size, STEP, B, f);
    EACH_STEP(q) column_transposed(size, block + (w - 1 - q) * B, t, y + (w - 1 - q) * size);
  }
}

/* Loads rows x(row[i],:) of the strip, or their negatives; zero from `rows` on; row NULL: rows 0, 1, ... */
INLINE tile tile_rows(const int size, const tsi_scalar *x, ptrdiff_t ldx, const tsi_index *row,
                      tsi_index rows, bool negative) {
  tile t;
  EACH_TILE_ROW(i) {
    const tsi_index at = tsi_index_min(i, rows - 1);
    EACH_STRIP_REG(v) {
      const reg value = load_first(size, x + (row ? row[at] : at) * ldx + v * WIDE);
      t.row[i][v] = as_row(i >= rows ? (reg){0} : negative ? -value : value);
    }
  }
  return t;
}

/* ---- Triangles ----------------------------------------------------------------------------------------- */

/* acc[i] += the corner's rows first .. first+TILE-1 times X, for a corner of `rows` rows. Rows beyond them
 * get finite, undefined numbers. */
INLINE void tile_corner(const int size, const tsi_scalar *corner, tsi_index rows, const int first,
                        const tsi_scalar *x, reg_sum acc[TILE][STRIP_REGS]) {
  UNROLL for (int j = 0; j < first + TILE; j++) if (j < rows) {
    const tsi_scalar *column = corner + tsi_corner_column(rows, j) - j;
    EACH_TILE_ROW(i)
    if (j <= first + i) EACH_STRIP_REG(v)
    add_reg_times(&acc[i][v], load_first(size, x + j * size + v * WIDE), column[first + i]);
  }
}

/* Y(j,:) += the sum over those rows i >= j of corner(i,j) t.row[i], zero beyond `rows` rows. */
INLINE void tile_corner_transposed(const int size, const tsi_scalar *corner, tsi_index rows, const int first,
                                   const tile *t, tsi_scalar *y) {
  UNROLL for (int j = first + TILE - 1; j >= 0; j--) if (j < rows) EACH_STRIP_REG(v) {
    const tsi_scalar *column = corner + tsi_corner_column(rows, j) - j;
    tsi_scalar *to = y + j * size + v * WIDE;
    reg s = load_first(size, to);
    EACH_TILE_ROW(i) if (j <= first + i) s = add_row(s, t->row[i][v], column[first + i]);
    store_first(size, to, s);
  }
}

/* X := triangle * X; t is scratch for a strip of w rows. */
INLINE void strip_triangle(const int size, const tsi_scalar *tri, tsi_index w, tsi_scalar *x, ptrdiff_t ldx,
                           tsi_scalar *t, to_fetch *f) {
  strip_copy(size, t, size, x, ldx, w);
  for (tsi_index r = 0; r < w; r += B) {
    const tsi_index rows = tsi_index_min(B, w - r);
    const tsi_scalar *corner = tri + (ptrdiff_t)rows * r, *below = t + r * (ptrdiff_t)size;
    fetch_some(size, (rows + 1) / 2, rows, f);
    EACH_TILE(first) if (first < rows) {
      reg_sum acc[TILE][STRIP_REGS];
      tile_times(size, tri + first, rows, r, t, acc, first == 0 ? f : NULL);
      tile_corner(size, corner, rows, first, below, acc);
      EACH_TILE_ROW(i)
      if (first + i < rows)
        EACH_STRIP_REG(v) store_first(size, x + (r + first + i) * ldx + v * WIDE, reg_value(acc[i][v]));
    }
    tri = corner + rows * (rows + 1) / 2;
  }
}

/* X := triangle' * X, row blocks descending; y is scratch for a strip of w rows. */
INLINE void strip_triangle_transposed(const int size, const tsi_scalar *tri, tsi_index w, tsi_scalar *x,
                                      ptrdiff_t ldx, tsi_scalar *y, to_fetch *f) {
  memset(y, 0, (size_t)w * (size_t)size * sizeof *y);
  for (tsi_index r = (w - 1) / B * B; r >= 0; r -= B) {
    const tsi_index rows = tsi_index_min(B, w - r);
    const tsi_scalar *block = tri + tsi_triangle_block(r), *corner = block + (ptrdiff_t)rows * r;
    tsi_scalar *own = y + r * (ptrdiff_t)size;
    fetch_some(size, (rows + 1) / 2, rows, f);
    EACH_TILE(first) if (first < rows) {
      const tile t = tile_rows(size, x + (r + first) * ldx, ldx, NULL, rows - first, false);
      tile_corner_transposed(size, corner, rows, first, &t, own);
      tile_transposed(size, block + first, rows, r, &t, y, first == 0 ? f : NULL);
    }
  }
  strip_copy(size, x, ldx, y, size, w);
}

/* Substitutions have strips of at most two registers, and their loops are not unrolled: shorter code. */
#define SUBSTITUTED_REGS 2

/* X(i,:) := (X(i,:) - s) d */
INLINE void strip_quotient(const int size, tsi_scalar *x, const reg_sum s[STRIP_REGS], tsi_scalar d) {
  EACH_STRIP_REG(v) {
    reg_sum quotient = no_reg_sum();
    add_reg_times(&quotient, load_first(size, x + v * WIDE) - reg_value(s[v]), d);
    store_first(size, x + v * WIDE, reg_value(quotient));
  }
}

/* X := D^-1 X; TSI_INVERSE_NONE. t is scratch for a strip of w rows. */
INLINE void strip_substitute(const int size, const tsi_scalar *tri, tsi_index w, tsi_scalar *x, ptrdiff_t ldx,
                             tsi_scalar *t, to_fetch *f) {
  const ptrdiff_t ldt = size;
  strip_copy(size, t, ldt, x, ldx, w);
  for (tsi_index r = 0; r < w; r += B) {
    const tsi_index rows = tsi_index_min(B, w - r);
    const tsi_scalar *corner = tri + (ptrdiff_t)rows * r;
    reg_sum acc[B][STRIP_REGS];
    fetch_some(size, (rows + 1) / 2, rows, f);
    ROLLED for (int first = 0; first < B; first += TILE)
        tile_times(size, tri + first, rows, r, t, acc + first, first == 0 ? f : NULL);
    for (tsi_index i = 0; i < rows; i++) {
      ROLLED for (tsi_index j = 0; j < i; j++) EACH_STRIP_REG(v)
          add_reg_times(&acc[i][v], load_first(size, t + (r + j) * ldt + v * WIDE),
                        corner[tsi_corner_column(rows, j) + i - j]);
      strip_quotient(size, t + (r + i) * ldt, acc[i], corner[tsi_corner_column(rows, i)]);
    }
    tri = corner + rows * (rows + 1) / 2;
  }
  strip_copy(size, x, ldx, t, ldt, w);
}

/* X := D'^-1 X; TSI_INVERSE_NONE. t is scratch for a strip of w rows. */
INLINE void strip_substitute_transposed(const int size, const tsi_scalar *tri, tsi_index w, tsi_scalar *x,
                                        ptrdiff_t ldx, tsi_scalar *t, to_fetch *f) {
  const ptrdiff_t ldt = size;
  strip_copy(size, t, ldt, x, ldx, w);
  for (tsi_index r = (w - 1) / B * B; r >= 0; r -= B) {
    const tsi_index rows = tsi_index_min(B, w - r);
    const tsi_scalar *block = tri + tsi_triangle_block(r), *corner = block + (ptrdiff_t)rows * r;
    for (tsi_index j = rows; j-- > 0;) {
      const tsi_scalar *column = corner + tsi_corner_column(rows, j);
      reg_sum known[STRIP_REGS];
      EACH_STRIP_REG(v) known[v] = no_reg_sum();
      ROLLED for (tsi_index i = rows - 1; i > j; i--) EACH_STRIP_REG(v)
          add_reg_times(&known[v], load_first(size, t + (r + i) * ldt + v * WIDE), column[i - j]);
      strip_quotient(size, t + (r + j) * ldt, known, column[0]);
    }
    fetch_some(size, (rows + 1) / 2, rows, f);
    for (int first = 0; first < rows; first += TILE) {
      const tile known = tile_rows(size, t + (r + first) * ldt, ldt, NULL, rows - first, true);
      tile_transposed(size, block + first, rows, r, &known, t, first == 0 ? f : NULL);
    }
  }
  strip_copy(size, x, ldx, t, ldt, w);
}

/* Returns the prefetches of a segment: the data of *ahead_of, or, if it is NULL, the bytes after the segment
 * (downwards: before it), divided among the strips; a single strip prefetches AHEAD bytes from its reads. */
INLINE to_fetch fetch_while(const tsi_scalar *first, ptrdiff_t count, tsi_index nrhs, const bool down,
                            const tsi_ahead *ahead_of) {
  const tsi_index regs = regs_of(nrhs);
  const ptrdiff_t bytes = ahead_of ? ahead_of->bytes : (ptrdiff_t)sizeof *first;
  const ptrdiff_t column = (B * bytes + regs - 1) / regs;
  if (ahead_of) return (to_fetch){ahead_of->from, down ? -column : column};
  const char *const from = (const char *)(down ? first + count : first);
  const ptrdiff_t ahead = regs > STRIP_REGS ? count * (ptrdiff_t)sizeof *first : AHEAD;
  return (to_fetch){down ? from - ahead : from + ahead, down ? -column : column};
}

/* X := T X, or, solve, T^-1 X, for all right-hand sides; t is scratch for a strip of w rows. */
SHARED void strips_triangle(bool solve, const tsi_scalar *tri, tsi_index w, tsi_index nrhs, tsi_scalar *x,
                            tsi_scalar *t) {
  const tsi_index ldx = tsi_workspace_stride(nrhs);
  to_fetch fetch = fetch_while(tri, tsi_triangle_size(w), nrhs, false, NULL);
  if (solve)
    FOR_STRIPS_OF(SUBSTITUTED_REGS, nrhs, c, size, strip_substitute(size, tri, w, x + c, ldx, t, &fetch))
  else
    FOR_STRIPS(nrhs, c, size, strip_triangle(size, tri, w, x + c, ldx, t, &fetch))
}

/* Does the same with T' and T'^-1. */
SHARED void strips_triangle_transposed(bool solve, const tsi_scalar *tri, tsi_index w, tsi_index nrhs,
                                       tsi_scalar *x, tsi_scalar *t) {
  const tsi_index ldx = tsi_workspace_stride(nrhs);
  to_fetch fetch = fetch_while(tri, tsi_triangle_size(w), nrhs, true, NULL);
  if (solve)
    FOR_STRIPS_OF(SUBSTITUTED_REGS, nrhs, c, size,
                  strip_substitute_transposed(size, tri, w, x + c, ldx, t, &fetch))
  else
    FOR_STRIPS(nrhs, c, size, strip_triangle_transposed(size, tri, w, x + c, ldx, t, &fetch))
}

/* ---- Rectangles ---------------------------------------------------------------------------------------- */

/* X -= a, a row of one strip */
INLINE void strip_subtract(const int size, tsi_scalar *x, const reg_sum a[STRIP_REGS]) {
  EACH_STRIP_REG(v) store_first(size, x + v * WIDE, load_first(size, x + v * WIDE) - reg_value(a[v]));
}

/* W(row[i],:) -= (R X)(i,:); row NULL: rows 0, 1, ... of W. X has one strip. */
INLINE void strip_rectangle(const int size, const tsi_scalar *rect, tsi_index m, tsi_index w,
                            const tsi_index *row, const tsi_scalar *x, tsi_scalar *work, ptrdiff_t ldw,
                            to_fetch *f) {
  for (tsi_index i = 0; i < m; i += B, rect += B * (ptrdiff_t)w) {
    const tsi_index rows = tsi_index_min(B, m - i);
    for (int first = 0; first < rows; first += TILE) {
      reg_sum acc[TILE][STRIP_REGS];
      if (first == 0)
        tile_times(size, rect, rows, w, x, acc, f);
      else
        tile_times(size, rect + first, rows, w, x, acc, NULL);
      EACH_TILE_ROW(l) {
        const tsi_index at = i + first + l;
        if (first + l < rows) strip_subtract(size, work + (row ? row[at] : at) * ldw, acc[l]);
      }
    }
  }
}

/* Y += R' W(row,:), or, negative, Y -= it, row blocks descending; row NULL: rows 0, 1, ... of W. Y has one
 * strip. */
INLINE void strip_rectangle_transposed(const int size, const tsi_scalar *rect, tsi_index m, tsi_index w,
                                       const tsi_index *row, const tsi_scalar *work, ptrdiff_t ldw,
                                       bool negative, tsi_scalar *y, to_fetch *f) {
  for (tsi_index i = (m - 1) / B * B; i >= 0; i -= B) {
    const tsi_index rows = tsi_index_min(B, m - i);
    const tsi_scalar *block = rect + i * (ptrdiff_t)w;
    for (int first = 0; first < rows; first += TILE) {
      const tsi_index at = i + first;
      const tile t =
          tile_rows(size, row ? work : work + at * ldw, ldw, row ? row + at : NULL, rows - first, negative);
      tile_transposed(size, block + first, rows, w, &t, y, first == 0 ? f : NULL);
    }
  }
}

/* W(row,:) -= R X for all right-hand sides; t is scratch for a strip of w rows. ahead: where what is fetched
 * is not what follows R. */
SHARED void strips_rectangle(const tsi_scalar *rect, tsi_index m, tsi_index w, const tsi_ahead *ahead,
                             const tsi_index *row, tsi_index nrhs, const tsi_scalar *x, tsi_scalar *work,
                             tsi_scalar *t) {
  const tsi_index group = group_rows(w), ld = tsi_workspace_stride(nrhs);
  tsi_ahead rest = ahead ? *ahead : (tsi_ahead){NULL, 0};
#if !TSI_COMPLEX
  if (nrhs == 2) {
    pairs_rectangle(rect, m, w, ahead, row, x, work);
    return;
  }
#endif
  for (tsi_index i = 0; i < m; i += group) {
    const tsi_index rows = tsi_index_min(group, m - i);
    const tsi_scalar *part = rect + i * (ptrdiff_t)w;
    const tsi_index *at = row ? row + i : NULL;
    tsi_scalar *to = row ? work : work + i * (ptrdiff_t)ld;
    to_fetch fetch = fetch_while(part, rows * (ptrdiff_t)w, nrhs, false, ahead ? &rest : NULL);
    FOR_STRIPS(nrhs, c, size, const bool whole = size == ld;
               if (!whole) strip_copy(size, t, size, x + c, ld, w);
               strip_rectangle(size, part, rows, w, at, whole ? x : t, to + c, ld, &fetch));
    rest.from = fetch.next;
  }
}

/* X += R' W(row,:) for all right-hand sides, or, negative, X -= it; t as above. All goes downwards. */
SHARED void strips_rectangle_transposed(const tsi_scalar *rect, tsi_index m, tsi_index w,
                                        const tsi_ahead *ahead, const tsi_index *row, tsi_index nrhs,
                                        tsi_scalar *x, const tsi_scalar *work, bool negative, tsi_scalar *t) {
  const tsi_index group = group_rows(w), ld = tsi_workspace_stride(nrhs);
  tsi_ahead rest = ahead ? *ahead : (tsi_ahead){NULL, 0};
#if !TSI_COMPLEX
  if (nrhs == 2) {
    pairs_rectangle_transposed(rect, m, w, ahead, row, x, work, negative, t);
    return;
  }
#endif
  for (tsi_index i = (m - 1) / group * group; i >= 0; i -= group) {
    const tsi_index rows = tsi_index_min(group, m - i);
    const tsi_scalar *part = rect + i * (ptrdiff_t)w;
    const tsi_index *at = row ? row + i : NULL;
    const tsi_scalar *from = row ? work : work + i * (ptrdiff_t)ld;
    to_fetch fetch = fetch_while(part, rows * (ptrdiff_t)w, nrhs, true, ahead ? &rest : NULL);
    FOR_STRIPS(
        nrhs, c, size, const bool whole = size == ld; if (!whole) strip_copy(size, t, size, x + c, ld, w);
        strip_rectangle_transposed(size, part, rows, w, at, from + c, ld, negative, whole ? x : t, &fetch);
        if (!whole) strip_copy(size, x + c, ld, t, size, w));
    rest.from = fetch.next;
  }
}
