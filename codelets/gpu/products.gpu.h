/* Products with the triangle and the rectangle of a panel, by a team. Vectors are tiles in shared memory.
 *
 * - gpu_triangle: y := T x; a warp makes the sums of a row block
 * - gpu_rectangle: sink(i, (R x)_i), the same
 * - gpu_triangle_transposed: y := T' x; a warp makes the sums of Q columns
 * - gpu_rectangle_transposed: y := y - R' x, the same; where a panel has few columns, of some of the rows
 * - gpu_substitute: y := T^-1 y, row block after row block: its corner, then what it takes from the others
 * - gpu_substitute_transposed: y := T'^-1 y
 *
 * The team has to be in step before each call, and is not afterwards: what a call writes is there for all
 * after the next sync; the substitutions begin with one. Each sum has its order from the panel alone. */
#ifndef TSI_CODELETS_GPU_PRODUCTS_GPU_H
#define TSI_CODELETS_GPU_PRODUCTS_GPU_H

#include "codelets/gpu/team.gpu.h"

#define B TSI_ROW_BLOCK
/* Panels with fewer columns than this do not fill a warp with the columns of a row block: it takes several.
 */
#define NARROW 4

/* Rows of the row block that begins with row i of m. */
__device__ static __forceinline__ int gpu_block_rows(int m, int i) {
  return m - i < B ? m - i - gpu_fault(GPU_FAULT_TAIL) : B;
}

/* s += the columns 0 .. w-1 of a row block times x: the lane's columns. */
template <class V, class T, int W, int R>
__device__ static __forceinline__ void gpu_add_block(const gpu_team<T, W, R> &team, const V *block, int rows,
                                                     int w, const gpu_tile<T, R> *x, gpu_tile<T, R> &s) {
  constexpr int Q = W / B;
  GPU_UNROLL(4)
  for (int k = team.q; k - team.q < w; k += Q) {
    const bool active = k < w && team.row < rows;
    const V a = gpu_load_panel(block + (int64_t)k * rows + team.row, active);
    if (active) gpu_add_scaled(s, a, x[k]);
  }
}

/* The same with a corner: column j has the rows from j on. */
template <class V, class T, int W, int R>
__device__ static __forceinline__ void gpu_add_corner(const gpu_team<T, W, R> &team, const V *corner,
                                                      int rows, const gpu_tile<T, R> *x, gpu_tile<T, R> &s) {
  constexpr int Q = W / B;
  GPU_UNROLL_ALL
  for (int k = 0; k < B; k += Q) {
    const int j = k + team.q;
    const bool active = j <= team.row && team.row < rows;
    const V a = gpu_load_panel(corner + tsi_corner_column(rows, j) + team.row - j, active);
    if (active) gpu_add_scaled(s, a, x[j]);
  }
}

template <class V, class T, int W, int R>
__device__ void gpu_triangle(const gpu_team<T, W, R> &team, const V *tri, int w, const gpu_tile<T, R> *x,
                             gpu_tile<T, R> *y) {
  for (int i = team.warp * B; i < w; i += team.warps * B) {
    const int rows = w - i < B ? w - i : B;
    const V *block = tri + tsi_triangle_block(i);
    gpu_tile<T, R> s = gpu_no_tile<T, R>();
    gpu_add_block(team, block, rows, i, x, s);
    gpu_add_corner(team, block + rows * i, rows, x + i, s);
    team.add_columns(s);
    if (team.lane < rows) y[i + team.lane] = s;
  }
}

/* Panels of few columns: each quarter (eighth) of a warp has a row block of its own, and no sums to add up.
 */
template <class V, class T, int W, int R, class SINK>
__device__ static __forceinline__ void gpu_rectangle_narrow(const gpu_team<T, W, R> &team, const V *rect,
                                                            int m, int w, const gpu_tile<T, R> *x,
                                                            SINK sink) {
  for (int first = team.warp * W; first < m; first += team.warps * W) {
    const int i = first + team.q * B, rows = gpu_block_rows(m, i);
    const bool active = i < m && team.row < rows;
    gpu_tile<T, R> s = gpu_no_tile<T, R>();
    for (int k = 0; k < w; k++) {
      const V a = gpu_load_panel(rect + (int64_t)i * w + k * rows + team.row, active);
      gpu_add_scaled(s, a, x[k]);
    }
    if (active) sink(i + team.row, s);
  }
}

/* sink takes row i of the product from one lane. */
template <class V, class T, int W, int R, class SINK>
__device__ void gpu_rectangle(const gpu_team<T, W, R> &team, const V *rect, int m, int w,
                              const gpu_tile<T, R> *x, SINK sink) {
  if (w < NARROW) {
    gpu_rectangle_narrow(team, rect, m, w, x, sink);
    return;
  }
  for (int i = team.warp * B; i < m; i += team.warps * B) {
    const int rows = gpu_block_rows(m, i);
    gpu_tile<T, R> s = gpu_no_tile<T, R>();
    gpu_add_block(team, rect + (int64_t)i * w, rows, w, x, s);
    team.add_columns(s);
    if (team.lane < rows) sink(i + team.lane, s);
  }
}

template <class V, class T, int W, int R>
__device__ void gpu_triangle_transposed(const gpu_team<T, W, R> &team, const V *tri, int w,
                                        const gpu_tile<T, R> *x, gpu_tile<T, R> *y) {
  constexpr int Q = W / B;
  for (int g = team.warp * Q; g < w; g += team.warps * Q) {
    const int column = g + team.q, first = g / B * B;
    gpu_tile<T, R> s = gpu_no_tile<T, R>();
    GPU_UNROLL(2)
    for (int i = first; i < w; i += B) {
      const int rows = w - i < B ? w - i : B, j = column - i;
      const V *block = tri + tsi_triangle_block(i);
      const bool corner = i == first, active = team.row < rows && (!corner || j <= team.row);
      const V a = gpu_load_panel(corner ? block + rows * i + tsi_corner_column(rows, j) + team.row - j
                                        : block + (int64_t)column * rows + team.row,
                                 active);
      if (active) gpu_add_scaled(s, a, x[i + team.row]);
    }
    team.add_rows(s);
    if (team.row == 0 && column < w) y[column] = s;
  }
}

/* The sums of columns g .. g+Q-1 over the row blocks from row `from` up to `to`, of m: every lane of a column
 * gets them. */
template <class V, class T, int W, int R>
__device__ static __forceinline__ gpu_tile<T, R> gpu_columns(const gpu_team<T, W, R> &team, const V *rect,
                                                             int m, int w, int g, int from, int to,
                                                             const gpu_tile<T, R> *x) {
  const int column = g + team.q;
  gpu_tile<T, R> s = gpu_no_tile<T, R>();
  GPU_UNROLL(4)
  for (int i = from; i < to; i += B) {
    const int rows = m - i < B ? m - i : B;
    const bool active = column < w && team.row < rows;
    const V a = gpu_load_panel(rect + (int64_t)i * w + column * rows + team.row, active);
    if (active) gpu_add_scaled(s, a, x[i + team.row]);
  }
  team.add_rows(s);
  return s;
}

/* y := y - s, tiles */
template <class T, int R>
__device__ static __forceinline__ void gpu_subtract(gpu_tile<T, R> &y, const gpu_tile<T, R> &s) {
  GPU_UNROLL_ALL
  for (int c = 0; c < R; c++) y.c[c] = y.c[c] - s.c[c];
}

/* At most team.width rows. */
template <class V, class T, int W, int R>
__device__ void gpu_rectangle_transposed(const gpu_team<T, W, R> &team, const V *rect, int m, int w,
                                         const gpu_tile<T, R> *x, gpu_tile<T, R> *y) {
  constexpr int Q = W / B, UNITS = gpu_team<T, W, R>::UNITS;
  const int groups = (w + Q - 1) / Q, parts = team.whole && groups < UNITS ? UNITS / groups : 1;
  const int size = ((m + B - 1) / B + parts - 1) / parts * B; /* rows of a part */
  for (int unit = team.warp; unit < groups * parts; unit += team.warps) {
    const int g = unit % groups * Q, from = unit / groups * size, to = m < from + size ? m : from + size;
    const gpu_tile<T, R> s = gpu_columns(team, rect, m, w, g, from, to, x);
    if (team.row != 0 || g + team.q >= w) continue;
    if (parts == 1)
      gpu_subtract(y[g + team.q], s);
    else
      team.parts[unit * Q + team.q] = s;
  }
  if (parts == 1) return;
  team.sync();
  for (int k = team.thread; k < w; k += team.threads)
    for (int p = 0; p < parts; p++) gpu_subtract(y[k], team.parts[p * groups * Q + k]);
}

/* The corner of row block i alone, by the first warp. The diagonal has reciprocals. */
template <class V, class T, int W, int R>
__device__ static __forceinline__ void gpu_substitute_corner(const gpu_team<T, W, R> &team, const V *corner,
                                                             int rows, bool transposed, gpu_tile<T, R> *y) {
  const int r = team.row;
  for (int step = 0; step < rows; step++) {
    const int j = transposed ? rows - 1 - step : step;
    const bool solves = r == j, takes = r < rows && (transposed ? r < j : r > j);
    const int at = (int)tsi_corner_column(rows, transposed && takes ? r : j) +
                   (takes ? (transposed ? j - r : r - j) : 0);
    const T a = gpu_to<T>::from(gpu_load_panel(corner + at, solves || takes));
    if (solves)
      for (int c = team.q; c < R; c += W / B) y[j].c[c] = y[j].c[c] * a;
    if (!gpu_fault(GPU_FAULT_WARP_BARRIER)) team.sync_warp();
    if (takes)
      for (int c = team.q; c < R; c += W / B) gpu_add_product(y[r].c[c], a, -y[j].c[c]);
    team.sync_warp();
  }
}

template <class V, class T, int W, int R>
__device__ void gpu_substitute(const gpu_team<T, W, R> &team, const V *tri, int w, gpu_tile<T, R> *y) {
  for (int i = 0; i < w; i += B) {
    const int rows = w - i < B ? w - i : B;
    team.sync();
    if (team.warp == 0)
      gpu_substitute_corner(team, tri + tsi_triangle_block(i) + rows * i, rows, false, y + i);
    team.sync();
    for (int k = i + B + team.warp * B; k < w; k += team.warps * B) {
      const int below = w - k < B ? w - k : B;
      gpu_tile<T, R> s = gpu_no_tile<T, R>();
      gpu_add_block(team, tri + tsi_triangle_block(k) + below * i, below, B, y + i, s);
      team.add_columns(s);
      if (team.lane < below) gpu_subtract(y[k + team.lane], s);
    }
  }
}

template <class V, class T, int W, int R>
__device__ void gpu_substitute_transposed(const gpu_team<T, W, R> &team, const V *tri, int w,
                                          gpu_tile<T, R> *y) {
  constexpr int Q = W / B;
  for (int i = (w - 1) / B * B; i >= 0; i -= B) {
    const int rows = w - i < B ? w - i : B;
    const V *block = tri + tsi_triangle_block(i);
    team.sync();
    if (team.warp == 0) gpu_substitute_corner(team, block + rows * i, rows, true, y + i);
    team.sync();
    for (int g = team.warp * Q; g < i; g += team.warps * Q) {
      const gpu_tile<T, R> s = gpu_columns(team, block, rows, i, g, 0, rows, y + i);
      if (team.row == 0) gpu_subtract(y[g + team.q], s);
    }
  }
}

#undef B
#undef NARROW

#endif
