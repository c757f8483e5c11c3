/* One right-hand side, panels of any width, any treatment of the diagonal block: triangles and rectangles.
 *
 * Reads one segment of a panel, the right-hand side and the row indices; writes x in place, or subtracts from
 * rows of the workspace. Vectors run over the 8 rows of a row block. Backwards, each column has partial sums,
 * lane by lane, in scratch; they are added up once. Row blocks go downwards in memory there, as the sweep
 * does. */
#ifndef TSI_CODELETS_CPU_KERNEL_ONE_H
#define TSI_CODELETS_CPU_KERNEL_ONE_H

#include "codelets/cpu/vector.h"

/* A sweep reads its factor strictly upwards or downwards, but panels are short, each waits for what those
 * before it left, and processors foresee little in between, downwards less. So what lies AHEAD bytes further
 * on is fetched; where the factor has ended, that has no effect. */
#define AHEAD 8192

/* Fetches the bytes from `from` up to `to`. */
INLINE void fetch(const void *from, const void *to) {
  for (const char *line = from; line < (const char *)to; line += 64) __builtin_prefetch(line, 0, 3);
}

/* Sums that block_times has at once, so that products do not wait for each other. */
#if SUMS / (PARTS * REGS) >= 4
#define CHAINS 4
#elif SUMS / (PARTS * REGS) >= 2
#define CHAINS 2
#else
#define CHAINS 1
#endif

/* sum over k of block(i,k) x[k], 8 rows; block has `stride` rows. */
INLINE sum block_times(const tsi_scalar *block, tsi_index stride, tsi_index w, const tsi_scalar *x) {
  sum a[CHAINS];
  tsi_index k = 0;
  UNROLL for (int c = 0; c < CHAINS; c++) a[c] = no_sum();
  for (; k + CHAINS <= w; k += CHAINS, block += CHAINS * (ptrdiff_t)stride)
    UNROLL for (int c = 0; c < CHAINS; c++) add_times(&a[c], load(block + c * (ptrdiff_t)stride), x[k + c]);
  for (; k < w; k++, block += stride) add_times(&a[0], load(block), x[k]);
  UNROLL for (int half = CHAINS / 2; half > 0; half /= 2) UNROLL for (int c = 0; c < half; c++) a[c] =
      add_sums(a[c], a[c + half]);
  return a[0];
}

/* Row blocks that are read together backwards, so that partial sums are read and written once for all of
 * them. One, where a vector is one register: the fewer places are read at once, the better the processor
 * foresees them. Four, where the sums of a wide panel fill the nearest cache. */
#if defined TSI_SCALAR_Z
#define TOGETHER 4
#elif REGS == 1
#define TOGETHER 1
#else
#define TOGETHER 2
#endif

/* y[k] (partial sums) += blocks(:,k) xr, k descending, for one or more row blocks of `stride` rows. In the
 * order of memory, downwards, what lies AHEAD bytes before them is fetched. */
INLINE void blocks_transposed(const int blocks, const tsi_scalar *block, tsi_index stride, tsi_index w,
                              const factors *xr, tsi_scalar *y) {
  const ptrdiff_t next = stride * (ptrdiff_t)w;
  const char *ahead = (const char *)(block + blocks * next) - AHEAD;
  for (tsi_index k = w; k-- > 0;) {
    const tsi_scalar *column = block + k * (ptrdiff_t)stride;
    reg_sum a[2] = {load_partial(y + k * (ptrdiff_t)PARTIAL), no_reg_sum()};
    for (int q = 0; q < blocks; q++) {
      fetch(ahead - B * sizeof *y, ahead);
      ahead -= B * sizeof *y;
      EACH_REG(r) add_partial(&a[(q * REGS + r) % 2], load_reg(column + q * next + r * WIDE), xr[q], r);
    }
    if (blocks * REGS > 1) EACH_PART(part) a[0].v[part] += a[1].v[part];
    store_partial(y + k * (ptrdiff_t)PARTIAL, a[0]);
  }
}

/* The first count <= 8 scalars, zero beyond. */
INLINE factors load_factors(const tsi_scalar *x, tsi_index count) {
  return as_factors(count == B ? load(x) : load_some(x, count));
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
    if (from_x) sums = minus(count == B ? load(x + k) : load_some(x + k, count), sums);
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
      add_times(&acc, scalars_from(load(tri - j), j), t[r + j]);
      tri += rows - j;
    }
    store_some(x + r, sum_value(acc), rows);
  }
}

/* x := triangle' * x; y is scratch for partial sums. */
static void triangle_transposed_1(const tsi_scalar *tri, tsi_index w, tsi_scalar *x, tsi_scalar *y) {
  const tsi_scalar *end = tri + (ptrdiff_t)w * (w + 1) / 2;
  clear_sums(y, w);
  for (tsi_index r = (w - 1) / B * B; r >= 0; r -= B) {
    const tsi_index rows = tsi_index_min(B, w - r);
    const factors xr = load_factors(x + r, rows);
    for (tsi_index j = rows; j-- > 0;) {
      end -= rows - j;
      const vec column = scalars_from(load(end - j), (int)j);
      reg_sum a = load_partial(y + PARTIAL * (ptrdiff_t)(r + j));
      EACH_REG(q) add_partial(&a, column.r[q], xr, q);
      store_partial(y + PARTIAL * (ptrdiff_t)(r + j), a);
    }
    end -= (ptrdiff_t)rows * r;
    blocks_transposed(1, end, rows, r, &xr, y);
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

INLINE tsi_scalar scalar_of(vec v, int j) {
  tsi_scalar part[B];
  store(part, v);
  return part[j];
}

/* x := D^-1 x; TSI_INVERSE_NONE. Forwards by row blocks: what is solved above goes in by a product, then the
 * corner column by column. */
static void substitute_1(const tsi_scalar *tri, tsi_index w, tsi_scalar *x) {
  for (tsi_index r = 0; r < w; r += B) {
    const tsi_index rows = tsi_index_min(B, w - r);
    vec rest = minus(load_some(x + r, rows), sum_value(block_times(tri, rows, r, x)));
    tri += (ptrdiff_t)rows * r;
    for (int j = 0; j < rows; j++) {
      sum below = no_sum();
      x[r + j] = product(scalar_of(rest, j), tri[0]);
      add_times(&below, scalars_from(load(tri - j), j + 1), x[r + j]);
      rest = minus(rest, sum_value(below));
      tri += rows - j;
    }
  }
}

/* x := D'^-1 x; TSI_INVERSE_NONE. Backwards by row blocks; y is scratch for partial sums: what is solved
 * takes from the columns before. */
static void substitute_transposed_1(const tsi_scalar *tri, tsi_index w, tsi_scalar *x, tsi_scalar *y) {
  clear_sums(y, w);
  for (tsi_index r = (w - 1) / B * B; r >= 0; r -= B) {
    const tsi_index rows = tsi_index_min(B, w - r);
    const tsi_scalar *block = tri + tsi_triangle_block(r), *corner = block + (ptrdiff_t)rows * r;
    take_sums(x + r, y + PARTIAL * (ptrdiff_t)r, rows, true);
    for (tsi_index j = rows; j-- > 0;) {
      const tsi_scalar *column = corner + tsi_corner_column(rows, j);
      tsi_scalar rest = x[r + j];
      for (tsi_index i = rows - 1; i > j; i--) rest -= product(column[i - j], x[r + i]);
      x[r + j] = product(rest, column[0]);
    }
    const factors xr = load_factors(x + r, rows);
    blocks_transposed(1, block, rows, r, &xr, y);
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

/* Rows i .. i+count-1 of the workspace as row (NULL: consecutive) says, zero beyond. */
INLINE factors work_factors(const tsi_scalar *work, const tsi_index *row, tsi_index i, tsi_index count) {
  return row ? as_factors(gather_rows(work, row + i, count)) : load_factors(work + i, count);
}

/* y[k] (partial sums) := R' work[row], row blocks descending; row NULL: rows 0, 1, ... of work */
INLINE void rectangle_transposed_1(const tsi_scalar *rect, tsi_index m, tsi_index w, const tsi_index *row,
                                   const tsi_scalar *work, tsi_scalar *y) {
  tsi_index i = m / B * B;
  factors xr[TOGETHER];
  clear_sums(y, w);
  if (i < m) {
    xr[0] = work_factors(work, row, i, m - i);
    blocks_transposed(1, rect + i * (ptrdiff_t)w, m - i, w, xr, y);
  }
  for (; i % (TOGETHER * B) != 0; i -= B) {
    xr[0] = work_factors(work, row, i - B, B);
    blocks_transposed(1, rect + (i - B) * (ptrdiff_t)w, B, w, xr, y);
  }
  for (; i > 0; i -= TOGETHER * B) {
    for (int q = 0; q < TOGETHER; q++) xr[q] = work_factors(work, row, i - (TOGETHER - q) * B, B);
    blocks_transposed(TOGETHER, rect + (i - TOGETHER * B) * (ptrdiff_t)w, B, w, xr, y);
  }
}

/* u[i] := -(R x)[i], i < count, the rows of a slice; `rows`: those that R has from its first on, so that the
 * last row block is stored in less than 8 rows where the panel ends in it. */
INLINE void rectangle_slice_1(const tsi_scalar *rect, tsi_index rows, tsi_index w, tsi_index count,
                              const tsi_scalar *x, tsi_scalar *u) {
  for (tsi_index i = 0; i < count; i += B, rect += B * (ptrdiff_t)w)
    store_some(u + i, negated(sum_value(block_times(rect, tsi_index_min(B, rows - i), w, x))),
               tsi_index_min(B, count - i));
}

#endif
