/* Solve kernels on packed panels: see kernels.h for what they compute, panel.h for how panels lie in memory.
 *
 * This file is compiled once for each instruction set (TSI_ISA: base, avx2, avx512). It is written in vectors
 * of 8 scalars, the height of a row block; the compiler maps them to the registers of the instruction set.
 *
 * One right-hand side: vectors run over the 8 rows of a row block. Several (nrhs is then a multiple of 8, the
 * caller pads): vectors run over right-hand sides, in strips of 16, the last of 8. Each strip reads the panel
 * again, from the cache. */
#include <string.h>

#include "codelets/cpu/kernels.h"

#define B TSI_ROW_BLOCK

typedef double vec8 __attribute__((vector_size(64), aligned(8), may_alias));
typedef int64_t mask8 __attribute__((vector_size(64)));

#define INLINE static inline __attribute__((always_inline))

INLINE vec8 load8(const double *p) {
  return *(const vec8 *)p;
}
INLINE void store8(double *p, vec8 v) {
  *(vec8 *)p = v;
}

/* Lanes j .. 7 of v; zero below. */
INLINE vec8 lanes_from(vec8 v, int j) {
  const mask8 lane = {0, 1, 2, 3, 4, 5, 6, 7};
  return (vec8)((mask8)v & (lane >= (int64_t)j));
}

INLINE double sum8(vec8 v) {
  return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

/* ---- One right-hand side ------------------------------------------------------------------------------ */

/* acc[i] = sum over k of block(i,k) x[k]; block has `stride` rows. */
INLINE vec8 block_times(const double *block, tsi_index stride, tsi_index w, const double *x) {
  vec8 a0 = {0}, a1 = {0}, a2 = {0}, a3 = {0};
  tsi_index k = 0;
  for (; k + 4 <= w; k += 4, block += 4 * (ptrdiff_t)stride) {
    a0 += load8(block) * x[k];
    a1 += load8(block + stride) * x[k + 1];
    a2 += load8(block + 2 * (ptrdiff_t)stride) * x[k + 2];
    a3 += load8(block + 3 * (ptrdiff_t)stride) * x[k + 3];
  }
  for (; k < w; k++, block += stride) a0 += load8(block) * x[k];
  return (a0 + a1) + (a2 + a3);
}

/* y[k] (8 partial sums each) += block(:,k) xr */
INLINE void block_transposed(const double *block, tsi_index stride, tsi_index w, vec8 xr, double *y) {
  for (tsi_index k = 0; k < w; k++, block += stride)
    store8(y + B * (ptrdiff_t)k, load8(y + B * (ptrdiff_t)k) + load8(block) * xr);
}

/* Four whole row blocks at once: the partial sums are read and written once for 32 rows. */
INLINE void four_blocks_transposed(const double *block, tsi_index w, const vec8 xr[4], double *y) {
  const double *b1 = block + B * (ptrdiff_t)w, *b2 = b1 + B * (ptrdiff_t)w, *b3 = b2 + B * (ptrdiff_t)w;
  for (tsi_index k = 0; k < w; k++) {
    ptrdiff_t o = B * (ptrdiff_t)k;
    store8(y + o, load8(y + o) + ((load8(block + o) * xr[0] + load8(b1 + o) * xr[1]) +
                                  (load8(b2 + o) * xr[2] + load8(b3 + o) * xr[3])));
  }
}

/* Rows row[0..count-1] of w (one scalar each), zero in the lanes beyond. */
INLINE vec8 gather8(const double *w, const tsi_index *row, tsi_index count) {
  vec8 v = {0};
  if (count >= B)
    for (int i = 0; i < B; i++) v[i] = w[row[i]];
  else {
    double part[B] = {0};
    for (tsi_index i = 0; i < count; i++) part[i] = w[row[i]];
    v = load8(part);
  }
  return v;
}

/* x := triangle * t, t a copy of x. */
static void triangle_1(const double *tri, tsi_index w, double *x, double *t) {
  double part[B];
  memcpy(t, x, (size_t)w * sizeof *t);
  for (tsi_index r = 0; r < w; r += B) {
    const tsi_index rows = tsi_index_min(B, w - r);
    vec8 acc = block_times(tri, rows, r, t);
    tri += (ptrdiff_t)rows * r;
    for (int j = 0; j < rows; j++) {
      acc += lanes_from(load8(tri - j), j) * t[r + j];
      tri += rows - j;
    }
    if (rows == B)
      store8(x + r, acc);
    else {
      store8(part, acc);
      memcpy(x + r, part, (size_t)rows * sizeof *x);
    }
  }
}

/* x := triangle' * x; y is scratch for 8 partial sums per column. */
static void triangle_transposed_1(const double *tri, tsi_index w, double *x, double *y) {
  memset(y, 0, (size_t)w * B * sizeof *y);
  for (tsi_index r = 0; r < w; r += B) {
    const tsi_index rows = tsi_index_min(B, w - r);
    double part[B] = {0};
    memcpy(part, x + r, (size_t)rows * sizeof *x);
    const vec8 xr = load8(part);
    block_transposed(tri, rows, r, xr, y);
    tri += (ptrdiff_t)rows * r;
    for (int j = 0; j < rows; j++) {
      store8(y + B * (ptrdiff_t)(r + j), lanes_from(load8(tri - j), j) * xr);
      tri += rows - j;
    }
  }
  for (tsi_index k = 0; k < w; k++) x[k] = sum8(load8(y + B * (ptrdiff_t)k));
}

/* w[row[i]] -= (R x)[i] */
static void rectangle_1(const double *rect, tsi_index m, tsi_index w, const tsi_index *row, const double *x,
                        double *work) {
  tsi_index i = 0;
  for (; i + B <= m; i += B, rect += B * (ptrdiff_t)w) {
    const vec8 acc = block_times(rect, B, w, x);
    for (int l = 0; l < B; l++) work[row[i + l]] -= acc[l];
  }
  if (i < m) {
    double part[B];
    store8(part, block_times(rect, m - i, w, x));
    for (tsi_index l = 0; l < m - i; l++) work[row[i + l]] -= part[l];
  }
}

/* y[k] (8 partial sums each) := R' w[row] */
static void rectangle_transposed_1(const double *rect, tsi_index m, tsi_index w, const tsi_index *row,
                                   const double *work, double *y) {
  tsi_index i = 0;
  memset(y, 0, (size_t)w * B * sizeof *y);
  for (; i + 4 * B <= m; i += 4 * B, rect += 4 * B * (ptrdiff_t)w) {
    vec8 xr[4];
    for (int q = 0; q < 4; q++) xr[q] = gather8(work, row + i + q * B, B);
    four_blocks_transposed(rect, w, xr, y);
  }
  for (; i < m; i += B, rect += B * (ptrdiff_t)w)
    block_transposed(rect, tsi_index_min(B, m - i), w, gather8(work, row + i, m - i), y);
}

/* ---- Strips of 8 nv right-hand sides, nv = 1 or 2 (a constant wherever these are inlined) ----------------
 */
/* X has leading dimension nrhs; the strip's first right-hand side is already added to the pointers. */

/* acc[i] = sum over k of block(i,k) X(k,:), 8 rows; those beyond `stride` are meaningless. */
INLINE void strip_block_times(const int nv, const double *block, tsi_index stride, tsi_index w,
                              const double *x, ptrdiff_t ldx, vec8 acc[B][2]) {
  for (int i = 0; i < B; i++)
    for (int v = 0; v < nv; v++) acc[i][v] = (vec8){0};
  for (tsi_index k = 0; k < w; k++, block += stride, x += ldx)
    for (int v = 0; v < nv; v++) {
      const vec8 xk = load8(x + v * 8);
      for (int i = 0; i < B; i++) acc[i][v] += xk * block[i];
    }
}

/* Y(k,:) += sum over i of block(i,k) xr[i]; Y has 8 nv columns. */
INLINE void strip_block_transposed(const int nv, const double *block, tsi_index stride, tsi_index w,
                                   vec8 xr[B][2], double *y) {
  for (tsi_index k = 0; k < w; k++, block += stride, y += 8 * nv)
    for (int v = 0; v < nv; v++) {
      vec8 sum = load8(y + v * 8);
      for (int i = 0; i < B; i++) sum += xr[i][v] * block[i];
      store8(y + v * 8, sum);
    }
}

/* `rows` rows of the strip, zero beyond; row (may be NULL: consecutive) says which. */
INLINE void strip_gather(const int nv, const double *x, ptrdiff_t ldx, const tsi_index *row, tsi_index rows,
                         vec8 xr[B][2]) {
  for (int i = 0; i < B; i++)
    for (int v = 0; v < nv; v++)
      xr[i][v] = i < rows ? load8(x + (row ? row[i] : i) * ldx + v * 8) : (vec8){0};
}

INLINE void strip_copy(const int nv, double *to, ptrdiff_t ldto, const double *from, ptrdiff_t ldfrom,
                       tsi_index rows) {
  for (tsi_index k = 0; k < rows; k++, to += ldto, from += ldfrom)
    for (int v = 0; v < nv; v++) store8(to + v * 8, load8(from + v * 8));
}

/* X := triangle * X; t is scratch for w x 8 nv. */
INLINE void strip_triangle(const int nv, const double *tri, tsi_index w, double *x, ptrdiff_t ldx,
                           double *t) {
  strip_copy(nv, t, 8 * nv, x, ldx, w);
  for (tsi_index r = 0; r < w; r += B) {
    const tsi_index rows = tsi_index_min(B, w - r);
    vec8 acc[B][2];
    strip_block_times(nv, tri, rows, r, t, 8 * nv, acc);
    tri += (ptrdiff_t)rows * r;
    for (int i = 0; i < rows; i++)
      for (int j = 0; j <= i; j++) {
        const double entry = tri[j * rows - j * (j - 1) / 2 + i - j];
        for (int v = 0; v < nv; v++) acc[i][v] += load8(t + (r + j) * 8 * nv + v * 8) * entry;
      }
    tri += rows * (rows + 1) / 2;
    for (int i = 0; i < rows; i++)
      for (int v = 0; v < nv; v++) store8(x + (r + i) * ldx + v * 8, acc[i][v]);
  }
}

/* X := triangle' * X; y is scratch for w x 8 nv. */
INLINE void strip_triangle_transposed(const int nv, const double *tri, tsi_index w, double *x, ptrdiff_t ldx,
                                      double *y) {
  memset(y, 0, (size_t)w * 8 * (size_t)nv * sizeof *y);
  for (tsi_index r = 0; r < w; r += B) {
    const tsi_index rows = tsi_index_min(B, w - r);
    vec8 xr[B][2];
    strip_gather(nv, x + r * ldx, ldx, NULL, rows, xr);
    strip_block_transposed(nv, tri, rows, r, xr, y);
    tri += (ptrdiff_t)rows * r;
    for (int j = 0; j < rows; tri += rows - j, j++)
      for (int v = 0; v < nv; v++) {
        vec8 sum = {0};
        for (int i = j; i < rows; i++) sum += load8(x + (r + i) * ldx + v * 8) * tri[i - j];
        store8(y + (r + j) * 8 * nv + v * 8, sum);
      }
  }
  strip_copy(nv, x, ldx, y, 8 * nv, w);
}

/* W(row[i],:) -= (R X)(i,:) */
INLINE void strip_rectangle(const int nv, const double *rect, tsi_index m, tsi_index w, const tsi_index *row,
                            const double *x, ptrdiff_t ldx, double *work) {
  for (tsi_index i = 0; i < m; i += B, rect += B * (ptrdiff_t)w) {
    const tsi_index rows = tsi_index_min(B, m - i);
    vec8 acc[B][2];
    strip_block_times(nv, rect, rows, w, x, ldx, acc);
    for (int l = 0; l < rows; l++)
      for (int v = 0; v < nv; v++) {
        double *to = work + (row ? row[i + l] : i + l) * ldx + v * 8;
        store8(to, load8(to) - acc[l][v]);
      }
  }
}

/* Y := R' W(row,:), Y of w x 8 nv; row NULL: rows 0, 1, ... of W */
INLINE void strip_rectangle_transposed(const int nv, const double *rect, tsi_index m, tsi_index w,
                                       const tsi_index *row, const double *work, ptrdiff_t ldx, double *y) {
  memset(y, 0, (size_t)w * 8 * (size_t)nv * sizeof *y);
  for (tsi_index i = 0; i < m; i += B, rect += B * (ptrdiff_t)w) {
    const tsi_index rows = tsi_index_min(B, m - i);
    vec8 xr[B][2];
    strip_gather(nv, row ? work : work + i * ldx, ldx, row ? row + i : NULL, rows, xr);
    strip_block_transposed(nv, rect, rows, w, xr, y);
  }
}

/* ---- Panels ---------------------------------------------------------------------------------------------
 */

/* Interchanges of the diagonal block, LAPACK's convention: row k was swapped with row pivot[k] >= k, k
 * ascending. */
static void interchange(tsi_index w, const tsi_index *pivot, tsi_index nrhs, double *x, bool undo) {
  for (tsi_index q = 0; q < w; q++) {
    const tsi_index k = undo ? w - 1 - q : q;
    if (pivot[k] == k) continue;
    double *a = x + (ptrdiff_t)k * nrhs, *b = x + (ptrdiff_t)pivot[k] * nrhs;
    for (tsi_index c = 0; c < nrhs; c++) {
      const double swap = a[c];
      a[c] = b[c];
      b[c] = swap;
    }
  }
}

static void forward_triangle(const tsi_panel *panel, const double *values, const tsi_index *pivots,
                             tsi_index nrhs, double *x, double *scratch) {
  const double *tri = values + panel->values;
  const tsi_index w = panel->width;
  if (pivots) interchange(w, pivots + panel->column, nrhs, x, false);
  if (nrhs == 1) {
    triangle_1(tri, w, x, scratch);
    return;
  }
  tsi_index c = 0;
  for (; c + 16 <= nrhs; c += 16) strip_triangle(2, tri, w, x + c, nrhs, scratch);
  if (c < nrhs) strip_triangle(1, tri, w, x + c, nrhs, scratch);
}

static void backward_triangle(const tsi_panel *panel, const double *values, const tsi_index *pivots,
                              tsi_index nrhs, double *x, double *scratch) {
  const double *tri = values + panel->values;
  const tsi_index w = panel->width;
  if (nrhs == 1)
    triangle_transposed_1(tri, w, x, scratch);
  else {
    tsi_index c = 0;
    for (; c + 16 <= nrhs; c += 16) strip_triangle_transposed(2, tri, w, x + c, nrhs, scratch);
    if (c < nrhs) strip_triangle_transposed(1, tri, w, x + c, nrhs, scratch);
  }
  if (pivots) interchange(w, pivots + panel->column, nrhs, x, true);
}

static void forward(tsi_index count, const tsi_panel *panels, const double *values, const tsi_index *rows,
                    const tsi_index *pivots, tsi_index nrhs, double *work, double *scratch) {
  for (const tsi_panel *panel = panels; panel < panels + count; panel++) {
    const double *rect = values + panel->values + tsi_triangle_size(panel->width);
    const tsi_index *row = rows + panel->row;
    double *x = work + (ptrdiff_t)panel->x * nrhs;
    forward_triangle(panel, values, pivots, nrhs, x, scratch);
    if (nrhs == 1) {
      rectangle_1(rect, panel->height, panel->width, row, x, work);
      continue;
    }
    tsi_index c = 0;
    for (; c + 16 <= nrhs; c += 16)
      strip_rectangle(2, rect, panel->height, panel->width, row, x + c, nrhs, work + c);
    if (c < nrhs) strip_rectangle(1, rect, panel->height, panel->width, row, x + c, nrhs, work + c);
  }
}

/* x -= y, strip of 8 nv columns */
INLINE void strip_subtract(const int nv, double *x, ptrdiff_t ldx, const double *y, tsi_index w) {
  for (tsi_index k = 0; k < w; k++, x += ldx, y += 8 * nv)
    for (int v = 0; v < nv; v++) store8(x + v * 8, load8(x + v * 8) - load8(y + v * 8));
}

static void backward(tsi_index count, const tsi_panel *panels, const double *values, const tsi_index *rows,
                     const tsi_index *pivots, tsi_index nrhs, double *work, double *scratch) {
  for (const tsi_panel *panel = panels + count; panel-- > panels;) {
    const double *rect = values + panel->values + tsi_triangle_size(panel->width);
    const tsi_index *row = rows + panel->row;
    const tsi_index m = panel->height, w = panel->width;
    double *x = work + (ptrdiff_t)panel->x * nrhs;
    if (m > 0 && nrhs == 1) {
      rectangle_transposed_1(rect, m, w, row, work, scratch);
      for (tsi_index k = 0; k < w; k++) x[k] -= sum8(load8(scratch + B * (ptrdiff_t)k));
    } else if (m > 0) {
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
    backward_triangle(panel, values, pivots, nrhs, x, scratch);
  }
}

/* ---- Row slices -------------------------------------------------------------------------------------------
 */

static void forward_slice(const tsi_panel *panel, const double *values, tsi_index first, tsi_index count,
                          tsi_index nrhs, const double *x, double *u) {
  const tsi_index w = panel->width;
  const double *rect = values + panel->values + tsi_triangle_size(w) + (ptrdiff_t)first * w;
  if (nrhs > 1) memset(u, 0, (size_t)count * (size_t)nrhs * sizeof *u);
  tsi_index c = 0;
  if (nrhs == 1)
    for (tsi_index i = 0; i < count; i += B, rect += B * (ptrdiff_t)w) {
      double part[B];
      const tsi_index r = tsi_index_min(B, count - i);
      store8(part, -block_times(rect, tsi_index_min(B, panel->height - first - i), w, x));
      memcpy(u + i, part, (size_t)r * sizeof *u);
    }
  else {
    for (; c + 16 <= nrhs; c += 16) strip_rectangle(2, rect, count, w, NULL, x + c, nrhs, u + c);
    if (c < nrhs) strip_rectangle(1, rect, count, w, NULL, x + c, nrhs, u + c);
  }
}

static void backward_slice(const tsi_panel *panel, const double *values, tsi_index first, tsi_index count,
                           tsi_index nrhs, const double *work, double *sum, double *scratch) {
  const tsi_index w = panel->width;
  const double *rect = values + panel->values + tsi_triangle_size(w) + (ptrdiff_t)first * w;
  const tsi_index *row = NULL;
  if (nrhs == 1) {
    tsi_index i = 0;
    memset(scratch, 0, (size_t)w * B * sizeof *scratch);
    for (; i + 4 * B <= count; i += 4 * B, rect += 4 * B * (ptrdiff_t)w) {
      const vec8 xr[4] = {load8(work + i), load8(work + i + 8), load8(work + i + 16), load8(work + i + 24)};
      four_blocks_transposed(rect, w, xr, scratch);
    }
    for (; i < count; i += B, rect += B * (ptrdiff_t)w) {
      double part[B] = {0};
      memcpy(part, work + i, (size_t)tsi_index_min(B, count - i) * sizeof *part);
      block_transposed(rect, tsi_index_min(B, count - i), w, load8(part), scratch);
    }
    for (tsi_index k = 0; k < w; k++) sum[k] = sum8(load8(scratch + B * (ptrdiff_t)k));
    return;
  }
  tsi_index c = 0;
  for (; c + 16 <= nrhs; c += 16) {
    strip_rectangle_transposed(2, rect, count, w, row, work + c, nrhs, scratch);
    strip_copy(2, sum + c, nrhs, scratch, 16, w);
  }
  if (c < nrhs) {
    strip_rectangle_transposed(1, rect, count, w, row, work + c, nrhs, scratch);
    strip_copy(1, sum + c, nrhs, scratch, 8, w);
  }
}

#define TABLE_(isa) tsi_kernels_d_##isa
#define TABLE(isa) TABLE_(isa)
#define TEXT_(isa) #isa
#define TEXT(isa) TEXT_(isa)

const tsi_kernels_d TABLE(TSI_ISA) = {
    .isa = TEXT(TSI_ISA),
    .forward = forward,
    .backward = backward,
    .forward_triangle = forward_triangle,
    .backward_triangle = backward_triangle,
    .forward_slice = forward_slice,
    .backward_slice = backward_slice,
};
