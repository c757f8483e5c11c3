/* Two right-hand sides: rectangles, and whole panels of at most 16 columns with an inverted diagonal block as
 * in kernel_narrow.h. Vectors run over rows of the factor and over the two right-hand sides.
 *
 * Reads a panel, its row indices, x and rows of the workspace; writes x in place, and, forward, rows of the
 * workspace. A tile is 8 rows of two scalars. Of each WIDE rows, one register holds the even ones, another
 * one the odd ones:
 *
 *   register 2 q         rows q WIDE, q WIDE + 2, ...
 *   register 2 q + 1     rows q WIDE + 1, q WIDE + 3, ...
 *
 * So a column of a row block is loaded with each entry twice, as the factor of a tile, without any shuffle.
 * Numbers read beyond the width of the panel are finite, and multiplied by zero or dropped. */
#pragma once

#include "codelets/cpu/kernel_narrow.h"
#include "codelets/cpu/kernel_one.h"

#if !TSI_COMPLEX

#define TILE_REGS (2 * REGS)
#define EACH_TILE_REG(r) UNROLL for (int r = 0; r < TILE_REGS; r++)

typedef struct pairs {
  reg r[TILE_REGS];
} pairs;

/* Position of row l in a tile in memory, which is stored register by register. */
#define PAIR_AT(l) ((2 * ((l) / WIDE) + (l) % 2) * LANES + (l) % WIDE / 2 * 2)

INLINE pairs no_pairs(void) {
  pairs a;
  EACH_TILE_REG(r) a.r[r] = (reg){0};
  return a;
}

/* Returns rows first .. end - 1 of a tile, and zero elsewhere. */
INLINE pairs pairs_between(pairs a, tsi_index first, tsi_index end) {
#define PAIR_ROW(l) ((l) / 2 * 2)
  const mask row = {EACH_LANE(PAIR_ROW)};
  EACH_TILE_REG(r) {
    const mask here = row + (r / 2 * WIDE + r % 2);
    a.r[r] = (reg)((mask)a.r[r] & (here >= (integer)first) & (here < (integer)end));
  }
  return a;
}

/* Duplicates the even scalars of a register. */
#if REG_BYTES == 64
#define EVEN_TWICE(v) ((reg)_mm512_movedup_pd((__m512d)(v)))
#elif REG_BYTES == 32 && REAL_BYTES == 8
#define EVEN_TWICE(v) ((reg)_mm256_movedup_pd((__m256d)(v)))
#elif REG_BYTES == 32
#define EVEN_TWICE(v) ((reg)_mm256_moveldup_ps((__m256)(v)))
#else
#define FIRST_OF_TWO(l) ((l) & ~1)
#define EVEN_TWICE(v) SHUFFLE(v, v, FIRST_OF_TWO)
#endif

/* Loads a column of 8 rows, each entry twice. Reads one more scalar. */
INLINE pairs load_twice(const tsi_scalar *column) {
  pairs a;
  EACH_TILE_REG(r) a.r[r] = EVEN_TWICE(load_reg(column + r / 2 * WIDE + r % 2));
  return a;
}

/* Fills a register with copies of two scalars. */
INLINE reg repeat_pair(const tsi_scalar *p) {
#if REG_BYTES == 64
  return (reg)_mm512_broadcast_f64x2(_mm_loadu_pd((const double *)p));
#elif REG_BYTES == 32 && REAL_BYTES == 8
  return (reg)_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i_u *)p));
#elif REG_BYTES == 32
  return (reg)_mm256_broadcastq_epi64(_mm_loadl_epi64((const __m128i_u *)p));
#else
#define ONE_OF_TWO(l) p[(l) % 2]
  return (reg){EACH_LANE(ONE_OF_TWO)};
#endif
}

/* Returns the tile of the rows at p[0..7]. */
INLINE pairs join_rows(const tsi_scalar *const p[B]) {
  pairs a;
  EACH_TILE_REG(r) {
    const tsi_scalar *const *q = p + r / 2 * WIDE + r % 2;
#if REG_BYTES == 64
#define PIECE128(g) _mm_loadu_si128((const __m128i_u *)q[2 * (g)])
    __m512i v = _mm512_zextsi128_si512(PIECE128(0));
    v = _mm512_inserti64x2(v, PIECE128(1), 1);
    v = _mm512_inserti64x2(v, PIECE128(2), 2);
    a.r[r] = (reg)_mm512_inserti64x2(v, PIECE128(3), 3);
#elif REG_BYTES == 32 && REAL_BYTES == 8
#define PIECE128(g) _mm_loadu_si128((const __m128i_u *)q[2 * (g)])
    a.r[r] = (reg)_mm256_inserti128_si256(_mm256_zextsi128_si256(PIECE128(0)), PIECE128(1), 1);
#else
#define LANE_OF_ROW(l) q[(l) / 2 * 2][(l) % 2]
    a.r[r] = (reg){EACH_LANE(LANE_OF_ROW)};
#endif
  }
  return a;
}

/* Returns the tile of rows 0 .. 7 of x; rows from w on are zero. */
INLINE pairs load_pairs(const tsi_scalar *x, tsi_index w) {
  static const tsi_scalar zero[2];
  const tsi_scalar *p[B];
  UNROLL for (int k = 0; k < B; k++) p[k] = k < w ? x + 2 * k : zero;
  return join_rows(p);
}

/* a += column x, row by row */
INLINE void add_pairs(pairs *a, pairs column, pairs x) {
  EACH_TILE_REG(r) a->r[r] += column.r[r] * x.r[r];
}
/* a += column times one row */
INLINE void add_pair(pairs *a, pairs column, reg x) {
  EACH_TILE_REG(r) a->r[r] += column.r[r] * x;
}
INLINE pairs pairs_sum(pairs a, pairs b) {
  EACH_TILE_REG(r) a.r[r] += b.r[r];
  return a;
}

/* Sums over rows: y[k] += column k of a row block times x. */
INLINE void add_pair_sums(reg *y, pairs column, pairs x) {
  EACH_TILE_REG(r) *y += column.r[r] * x.r[r];
}

/* Returns the sums of 8 columns as a tile. */
INLINE pairs fold_pairs(const reg y[B]) {
  reg in_order[TILE_REGS];
  pairs a;
#if LANES == 2
  UNROLL for (int k = 0; k < B; k++) in_order[k] = y[k];
#elif LANES == 4
  EACH_TILE_REG(r) in_order[r] = fold_halves(y[2 * r], y[2 * r + 1]);
#else
  EACH_TILE_REG(r)
  in_order[r] = fold_twos(fold_halves(y[4 * r], y[4 * r + 1]), fold_halves(y[4 * r + 2], y[4 * r + 3]));
#endif
  UNROLL for (int q = 0; q < REGS; q++) {
    a.r[2 * q] = SHUFFLE(in_order[2 * q], in_order[2 * q + 1], FIRST_TWO);
    a.r[2 * q + 1] = SHUFFLE(in_order[2 * q], in_order[2 * q + 1], LAST_TWO);
  }
  return a;
}

INLINE void store_pairs(tsi_scalar *tile, pairs a) {
  EACH_TILE_REG(r) store_reg(tile + r * LANES, a.r[r]);
}
/* Writes rows 0 .. w-1, w <= 8, of a tile in memory. */
INLINE void store_pair_rows(tsi_scalar *x, const tsi_scalar *tile, tsi_index w) {
  tsi_scalar beyond[2];
  UNROLL for (int k = 0; k < B; k++)
      store_first(2, k < w ? x + 2 * k : beyond, load_first(2, tile + PAIR_AT(k)));
}

/* a += corner times x; x zero from row `rows` on. x: a tile in memory. */
INLINE void pair_corner(const tsi_scalar *corner, tsi_index rows, const tsi_scalar *x, pairs a[2]) {
  const tsi_scalar *next = corner;
  UNROLL for (int k = 0; k < B; k++)
      add_pair(&a[k & 1], pairs_between(load_twice(corner_at(&next, corner, rows, k)), k, B),
               repeat_pair(x + PAIR_AT(k)));
}
/* y[k] += corner(:,k) x; as above. */
INLINE void pair_corner_transposed(const tsi_scalar *corner, tsi_index rows, pairs x, reg y[B]) {
  const tsi_scalar *next = corner;
  UNROLL for (int k = 0; k < B; k++)
      add_pair_sums(&y[k], pairs_between(load_twice(corner_at(&next, corner, rows, k)), k, B), x);
}

/* a += block times the 8 rows of a tile x in memory; block has `stride` rows. */
INLINE void pair_block(const tsi_scalar *block, tsi_index stride, const tsi_scalar *x, pairs a[2]) {
  UNROLL for (int k = 0; k < B; k++)
      add_pair(&a[k & 1], load_twice(block + k * (ptrdiff_t)stride), repeat_pair(x + PAIR_AT(k)));
}
/* y[k] += block(:,k) x, k descending */
INLINE void pair_block_transposed(const tsi_scalar *block, tsi_index stride, pairs x, reg y[B]) {
  UNROLL for (int k = B - 1; k >= 0; k--) add_pair_sums(&y[k], load_twice(block + k * (ptrdiff_t)stride), x);
}

/* work[row] -= R x; x: nb tiles in memory, zero from row w on. */
INLINE void pair_rectangle(const int nb, const tsi_scalar *rect, tsi_index m, tsi_index w,
                           const tsi_index *row, const tsi_scalar *x, tsi_scalar *work) {
  tsi_scalar beyond[2] = {0};
  for (tsi_index i = 0; i < m; i += B, rect += B * (ptrdiff_t)w) {
    const tsi_index count = tsi_index_min(B, m - i);
    tsi_scalar part[2 * B];
    pairs a[2] = {no_pairs(), no_pairs()};
    fetch_behind_columns(nb * B, rect);
    UNROLL for (int b = 0; b < nb; b++) pair_block(rect + b * B * (ptrdiff_t)count, count, x + b * 2 * B, a);
    store_pairs(part, pairs_sum(a[0], a[1]));
    UNROLL for (int l = 0; l < B; l++) {
      tsi_scalar *to = work + 2 * (ptrdiff_t)row[i + tsi_index_min(l, count - 1)];
      to = l < count ? to : beyond;
      store_first(2, to, load_first(2, to) - load_first(2, part + PAIR_AT(l)));
    }
  }
}

/* y[k] += R' work[row], row blocks descending. */
INLINE void pair_rectangle_transposed(const int nb, const tsi_scalar *rect, tsi_index m, tsi_index w,
                                      const tsi_index *row, const tsi_scalar *work, reg y[2 * B]) {
  static const tsi_scalar zero[2];
  for (tsi_index i = (m - 1) / B * B; i >= 0; i -= B) {
    const tsi_index count = tsi_index_min(B, m - i);
    const tsi_scalar *block = rect + i * (ptrdiff_t)w, *p[B];
    fetch_before_columns(nb * B, block + count * (ptrdiff_t)w);
    UNROLL for (int l = 0; l < B; l++) {
      p[l] = work + 2 * (ptrdiff_t)row[i + tsi_index_min(l, count - 1)];
      p[l] = l < count ? p[l] : zero;
    }
    const pairs x = join_rows(p);
    UNROLL for (int b = nb - 1; b >= 0; b--)
        pair_block_transposed(block + b * B * (ptrdiff_t)count, count, x, y + b * B);
  }
}

/* x := T x;  work[row] -= R x */
INLINE void pair_forward(const int nb, const tsi_panel *panel, const tsi_scalar *triangle,
                         const tsi_index *row, tsi_scalar *x, tsi_scalar *work) {
  const tsi_index w = panel->width, last = w - (nb - 1) * B;
  const tsi_scalar *below = triangle + B * (B + 1) / 2;
  tsi_scalar t[4 * B] __attribute__((aligned(64))), y[4 * B] __attribute__((aligned(64)));
  pairs a[2] = {no_pairs(), no_pairs()}, b[2] = {no_pairs(), no_pairs()};
  fetch_behind_columns(nb == 1 ? 5 : 17, triangle);
  if (nb == 2) store_pairs(t, load_pairs(x, B));
  store_pairs(t + (nb - 1) * 2 * B, load_pairs(x + (nb - 1) * 2 * B, last));
  pair_corner(triangle, nb == 2 ? B : w, t, a);
  if (nb == 2) {
    pair_block(below, last, t, b);
    pair_corner(below + B * (ptrdiff_t)last, last, t + 2 * B, b);
    store_pairs(y, pairs_sum(a[0], a[1]));
    store_pair_rows(x, y, B);
    a[0] = b[0], a[1] = b[1];
  }
  store_pairs(y + (nb - 1) * 2 * B, pairs_between(pairs_sum(a[0], a[1]), 0, last));
  store_pair_rows(x + (nb - 1) * 2 * B, y + (nb - 1) * 2 * B, last);
  pair_rectangle(nb, triangle + tsi_triangle_size(w), panel->height, w, row, y, work);
}

/* x := T' (x - R' work[row]) */
INLINE void pair_backward(const int nb, const tsi_panel *panel, const tsi_scalar *triangle,
                          const tsi_index *row, tsi_scalar *x, const tsi_scalar *work) {
  const tsi_index w = panel->width, last = w - (nb - 1) * B;
  const tsi_scalar *below = triangle + B * (B + 1) / 2;
  tsi_scalar out[2 * B];
  reg y[2 * B];
  pairs x0 = nb == 2 ? load_pairs(x, B) : no_pairs(), x1 = load_pairs(x + (nb - 1) * 2 * B, last);
  UNROLL for (int k = 0; k < nb * B; k++) y[k] = (reg){0};
  if (panel->height > 0) {
    pair_rectangle_transposed(nb, triangle + tsi_triangle_size(w), panel->height, w, row, work, y);
    const pairs sum0 = fold_pairs(y), sum1 = fold_pairs(y + (nb - 1) * B);
    EACH_TILE_REG(r) x0.r[r] -= sum0.r[r], x1.r[r] -= sum1.r[r];
    x1 = pairs_between(x1, 0, last);
  }
  UNROLL for (int k = 0; k < nb * B; k++) y[k] = (reg){0};
  fetch_before_columns(nb == 1 ? 5 : 17, triangle + tsi_triangle_size(w));
  if (nb == 2) {
    pair_corner_transposed(below + B * (ptrdiff_t)last, last, x1, y + B);
    pair_block_transposed(below, last, x1, y);
    pair_corner_transposed(triangle, B, x0, y);
    store_pairs(out, fold_pairs(y));
    store_pair_rows(x, out, B);
  } else
    pair_corner_transposed(triangle, w, x1, y);
  store_pairs(out, fold_pairs(y + (nb - 1) * B));
  store_pair_rows(x + (nb - 1) * 2 * B, out, last);
}

/* ---- Rectangles of any width --------------------------------------------------------------------------- */

/* Number of independent sums of wide_pair_block, so that products do not wait for each other. */
#if SUMS / TILE_REGS >= 4
#define PAIR_CHAINS 4
#elif SUMS / TILE_REGS >= 2
#define PAIR_CHAINS 2
#else
#define PAIR_CHAINS 1
#endif

/* sum over k of block(i,k) x(k,:), 8 rows; block has `stride` rows. */
INLINE pairs wide_pair_block(const tsi_scalar *block, tsi_index stride, tsi_index w, const tsi_scalar *x,
                             tsi_ahead *ahead) {
  pairs a[PAIR_CHAINS];
  tsi_index k = 0;
  UNROLL for (int c = 0; c < PAIR_CHAINS; c++) a[c] = no_pairs();
  for (; k + PAIR_CHAINS <= w; k += PAIR_CHAINS, block += PAIR_CHAINS * (ptrdiff_t)stride) {
    fetch_next(ahead, PAIR_CHAINS * stride);
    UNROLL for (int c = 0; c < PAIR_CHAINS; c++)
        add_pair(&a[c], load_twice(block + c * (ptrdiff_t)stride), repeat_pair(x + 2 * (k + c)));
  }
  if (k < w) fetch_next(ahead, (w - k) * (ptrdiff_t)stride);
  for (; k < w; k++, block += stride) add_pair(&a[0], load_twice(block), repeat_pair(x + 2 * k));
  UNROLL for (int half = PAIR_CHAINS / 2; half > 0; half /= 2) UNROLL for (int c = 0; c < half; c++) a[c] =
      pairs_sum(a[c], a[c + half]);
  return a[0];
}

/* W(row[i],:) -= (R X)(i,:); row NULL: rows 0, 1, ... of W; ahead NULL: see tsi_kernels.subtract */
SHARED void pairs_rectangle(const tsi_scalar *rect, tsi_index m, tsi_index w, const tsi_ahead *ahead,
                            const tsi_index *row, const tsi_scalar *x, tsi_scalar *work) {
  tsi_ahead next = ahead ? *ahead : (tsi_ahead){(const char *)rect + AHEAD, sizeof *rect};
  for (tsi_index i = 0; i < m; i += B, rect += B * (ptrdiff_t)w) {
    const tsi_index count = tsi_index_min(B, m - i);
    tsi_scalar part[2 * B];
    store_pairs(part, wide_pair_block(rect, count, w, x, &next));
    for (int l = 0; l < count; l++) {
      tsi_scalar *to = work + 2 * (ptrdiff_t)(row ? row[i + l] : i + l);
      store_first(2, to, load_first(2, to) - load_first(2, part + PAIR_AT(l)));
    }
  }
}

/* X += R' W(row,:), or, negative, X -= it, row blocks descending; y is scratch for partial sums. */
SHARED void pairs_rectangle_transposed(const tsi_scalar *rect, tsi_index m, tsi_index w,
                                       const tsi_ahead *ahead, const tsi_index *row, tsi_scalar *x,
                                       const tsi_scalar *work, bool negative, tsi_scalar *y) {
  static const tsi_scalar zero[2];
  tsi_ahead next =
      ahead ? *ahead : (tsi_ahead){(const char *)(rect + m * (ptrdiff_t)w) - AHEAD, sizeof *rect};
  clear_sums(y, w);
  for (tsi_index i = (m - 1) / B * B; i >= 0; i -= B) {
    const tsi_index count = tsi_index_min(B, m - i);
    const tsi_scalar *block = rect + i * (ptrdiff_t)w, *p[B];
    UNROLL for (int l = 0; l < B; l++) {
      const tsi_index at = i + tsi_index_min(l, count - 1);
      p[l] = l < count ? work + 2 * (ptrdiff_t)(row ? row[at] : at) : zero;
    }
    const pairs t = join_rows(p);
    for (tsi_index k = w; k-- > 0;) {
      const tsi_scalar *column = block + k * (ptrdiff_t)count;
      reg total = load_reg(y + k * (ptrdiff_t)PARTIAL);
      fetch_previous(&next, count);
      add_pair_sums(&total, load_twice(column), t);
      store_reg(y + k * (ptrdiff_t)PARTIAL, total);
    }
  }
  for (tsi_index k = 0; k < w; k += B, x += 2 * B, y += B * PARTIAL) {
    reg column[B];
    tsi_scalar out[2 * B];
    UNROLL for (int l = 0; l < B; l++) column[l] = load_reg(y + l * PARTIAL);
    store_pairs(out, fold_pairs(column));
    for (int l = 0; l < tsi_index_min(B, w - k); l++) {
      const reg total = load_first(2, out + PAIR_AT(l)), to = load_first(2, x + 2 * l);
      if (negative)
        store_first(2, x + 2 * l, to - total);
      else
        store_first(2, x + 2 * l, to + total);
    }
  }
}
#endif
