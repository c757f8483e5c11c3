/* Products with the triangle and the rectangle of a panel, by a team. Vectors are tiles in shared memory.
 *
 * - gpu_triangle: y := T x, for rows begin .. end-1; a warp computes the sums of a row block
 * - gpu_rectangle: sink(i, (R x)_i), in the same way
 * - gpu_triangle_transposed: y := T' x, for columns begin .. end-1; a warp computes the sums of the columns
 *   of a corner
 * - gpu_rectangle_transposed: y := y - R' x; a warp computes the sums of Q columns, or, if a panel has few
 *   columns, of some of the rows
 * - gpu_substitute: y := T^-1 y, row block by row block: its corner, then its products with the other rows
 * - gpu_substitute_transposed: y := T'^-1 y
 *
 * The team must sync before each call. Results of a call are visible to all after the next sync;
 * substitutions begin with a sync. The order of each sum depends only on the panel. */
#pragma once

#include "codelets/gpu/matrix_unit.gpu.h"

#define B TSI_ROW_BLOCK
/* The columns of a row block of narrower panels do not fill a warp, so the warp takes several row blocks. */
#define NARROW 4

/* Returns the number of rows of the row block that begins with row i of m. */
__device__ static __forceinline__ int gpu_block_rows(int m, int i) {
  return m - i < B ? m - i - gpu_fault(GPU_FAULT_TAIL) : B;
}

/* Returns the tile of another lane of the warp. */
template <int W, class T, int R>
__device__ static __forceinline__ gpu_tile<T, R> gpu_shuffle_tile(gpu_tile<T, R> s, int lane) {
  GPU_UNROLL_ALL
  for (int c = 0; c < R; c++) s.c[c] = gpu_shuffle(s.c[c], (unsigned)lane, W);
  return s;
}

/* Sums of the rows of a row block over its columns. A load has Q columns; H lanes load the rows of each
 * column, so a lane has entry (row, column). */
template <class V, class T, int W, int R, int H = B, bool UNIT = gpu_by_matrix_unit<V, T, W, R>>
struct gpu_row_sums {
  static constexpr int Q = W / H;
  gpu_tile<T, R> s;

  __device__ explicit gpu_row_sums(const gpu_team<T, W, R> &) : s(gpu_no_tile<T, R>()) {}
  /* If lanes load entries `shift` earlier, lanes of column -1 have none. */
  __device__ static int row(int lane) { return lane % H; }
  __device__ static int column(int lane) { return lane / H; }
  /* Adds a x: a is the lane's entry, if `active`; x the tile of its column, if there is such a column. */
  __device__ void add(V a, bool active, const gpu_tile<T, R> *x, bool) {
    if (active) gpu_add_scaled(s, a, *x);
  }
  /* Passes the sums of lanes to the lanes that have the same rows without a shift. */
  __device__ void shift_back(const gpu_team<T, W, R> &team, int shift) {
    s = gpu_shuffle_tile<W>(s, team.lane / B * B + (team.lane + shift) % B);
  }
  /* Returns the sums; lane r gets row r. */
  __device__ gpu_tile<T, R> all(const gpu_team<T, W, R> &team) {
    team.template add_columns<H>(s);
    return s;
  }
};
template <class V, class T, int W, int R, int H> struct gpu_row_sums<V, T, W, R, H, true> {
  static constexpr int Q = 4;
  gpu_row_product<T> product;

  __device__ explicit gpu_row_sums(const gpu_team<T, W, R> &team) : product(team) {}
  __device__ int row(int) const { return product.row; }
  __device__ int column(int) const { return product.column; }
  __device__ void add(V a, bool active, const gpu_tile<T, R> *x, bool has) {
    product.add(active ? a : 0, has ? x : nullptr);
  }
  __device__ gpu_tile<T, R> all(const gpu_team<T, W, R> &team) const { return product.sums(team); }
};

/* sums += the columns 0 .. w-1 of a row block times x.
 *
 * In single precision every other row block of a triangle begins in the middle of a sector of memory. Loads
 * then begin at the start of the sector: lanes load entries `shift` earlier. */
template <class V, class T, int W, int R, int H>
__device__ static __forceinline__ void gpu_add_block(const gpu_team<T, W, R> &team, const V *block, int rows,
                                                     int w, const gpu_tile<T, R> *x,
                                                     gpu_row_sums<V, T, W, R, H> &sums) {
  const int shift = sizeof(V) < 8 && rows == B ? (int)((uintptr_t)block % 32 / sizeof(V)) : 0;
  constexpr int EARLY = sizeof(V) < 8 ? B : 0;
  const int lane = team.lane + EARLY - shift, row = sums.row(lane), column = sums.column(lane) - EARLY / H;
  GPU_UNROLL(4)
  for (int first = 0; first < w + (shift > 0); first += sums.Q) {
    const int k = first + column;
    const bool has = k >= 0 && k < w, active = has && row < rows;
    const V a = gpu_load_panel(block + (int64_t)k * rows + row, active);
    sums.add(a, active, x + k, has);
  }
  if constexpr (sizeof(V) < 8)
    if (shift > 0) sums.shift_back(team, shift);
}

/* s := the columns 0 .. w-1 of a row block times x: lane r has row r. Without a matrix unit a load of a block
 * with few rows has twice as many columns. */
template <class V, class T, int W, int R>
__device__ static __forceinline__ void gpu_add_rows_of(const gpu_team<T, W, R> &team, const V *block,
                                                       int rows, int w, const gpu_tile<T, R> *x,
                                                       gpu_tile<T, R> &s) {
  if constexpr (!gpu_by_matrix_unit<V, T, W, R>)
    if (rows <= B / 2) {
      gpu_row_sums<V, T, W, R, B / 2> sums(team);
      gpu_add_block(team, block, rows, w, x, sums);
      s = sums.all(team);
      return;
    }
  gpu_row_sums<V, T, W, R> sums(team);
  gpu_add_block(team, block, rows, w, x, sums);
  s = sums.all(team);
}

/* The entries of a corner, which are contiguous, in the lanes of a warp: at most two loads; the first one
 * ends with a sector of memory. */
template <class V, int W> struct gpu_corner {
  V low, high; /* entry `lane`, entry half + lane */
  int half;
  bool full; /* has more entries than `half` */

  __device__ gpu_corner(const V *corner, int rows, int lane) {
    const int entries = rows * (rows + 1) / 2;
    half = W - (int)((uintptr_t)corner % 32 / sizeof(V));
    full = entries > half;
    low = gpu_load_panel(corner + lane, lane < (full ? half : entries));
    high = V();
    if (full) high = gpu_load_panel(corner + half + lane, half + lane < entries);
  }
  /* All lanes call it together, each for another entry. */
  __device__ V entry(int at, int line = GPU_LINE) const {
    const V a = gpu_shuffle(low, (unsigned)at % W, W, line);
    if (!full) return a;
    const V b = gpu_shuffle(high, (unsigned)(at < half ? 0 : at - half), W, line);
    return at < half ? a : b;
  }
};

/* sums += a corner times x: column j has the rows from j on. */
template <class V, class T, int W, int R>
__device__ static __forceinline__ void gpu_add_corner(const gpu_team<T, W, R> &team,
                                                      const gpu_corner<V, W> &corner, int rows,
                                                      const gpu_tile<T, R> *x,
                                                      gpu_row_sums<V, T, W, R> &sums) {
  const int row = sums.row(team.lane), column = sums.column(team.lane);
  GPU_UNROLL_ALL
  for (int k = 0; k < B; k += sums.Q) {
    const int j = k + column;
    const bool active = j <= row && row < rows;
    const V a = corner.entry(active ? (int)tsi_corner_column(rows, j) + row - j : 0);
    sums.add(a, active, x + j, j < rows);
  }
}

/* s := row i + lane of T x, of the row block that begins with row i. */
template <class V, class T, int W, int R>
__device__ static __forceinline__ void gpu_triangle_rows(const gpu_team<T, W, R> &team, const V *block,
                                                         int rows, int i, const gpu_tile<T, R> *x,
                                                         gpu_tile<T, R> &s) {
  gpu_row_sums<V, T, W, R> sums(team);
  gpu_add_block(team, block, rows, i, x, sums);
  gpu_add_corner(team, gpu_corner<V, W>(block + rows * i, rows, team.lane), rows, x + i, sums);
  s = sums.all(team);
}

template <class V, class T, int W, int R>
__device__ void gpu_triangle(const gpu_team<T, W, R> &team, const V *tri, int begin, int end,
                             const gpu_tile<T, R> *x, gpu_tile<T, R> *y) {
  for (int i = begin + team.warp * B; i < end; i += team.warps * B) {
    const int rows = end - i < B ? end - i : B;
    gpu_tile<T, R> s;
    gpu_triangle_rows(team, tri + tsi_triangle_block(i), rows, i, x, s);
    if (team.lane < rows) y[i + team.lane] = s;
  }
}

/* Panels of few columns: each quarter (eighth) of a warp has its own row block, so no sums over lanes are
 * needed. */
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

/* One lane passes row i of the product to sink. */
template <class V, class T, int W, int R, class SINK>
__device__ void gpu_rectangle(const gpu_team<T, W, R> &team, const V *rect, int m, int w,
                              const gpu_tile<T, R> *x, SINK sink) {
  if (w < NARROW && m > B) {
    gpu_rectangle_narrow(team, rect, m, w, x, sink);
    return;
  }
  for (int i = team.warp * B; i < m; i += team.warps * B) {
    const int rows = gpu_block_rows(m, i);
    gpu_tile<T, R> s;
    gpu_add_rows_of(team, rect + (int64_t)i * w, rows, w, x, s);
    if (team.lane < rows) sink(i + team.lane, s);
  }
}

/* Sums of column team.q over row blocks. */
template <class V, class T, int W, int R, bool UNIT = gpu_by_matrix_unit<V, T, W, R>> struct gpu_column_sums {
  gpu_tile<T, R> s;

  __device__ gpu_column_sums() : s(gpu_no_tile<T, R>()) {}
  /* Adds a x: a is entry (team.row, team.q) of a row block, if `active`; x the tiles of its rows. */
  __device__ void add(const gpu_team<T, W, R> &team, V a, bool active, const gpu_tile<T, R> *x, int) {
    if (active) gpu_add_scaled(s, a, x[team.row]);
  }
  /* Returns the sums to every lane of a column. */
  __device__ gpu_tile<T, R> all(const gpu_team<T, W, R> &team) {
    team.add_rows(s);
    return s;
  }
};
template <class V, class T, int W, int R> struct gpu_column_sums<V, T, W, R, true> {
  gpu_column_product<T> product;

  __device__ void add(const gpu_team<T, W, R> &team, V a, bool active, const gpu_tile<T, R> *x, int rows) {
    product.add(team, active ? a : 0, x, rows);
  }
  __device__ gpu_tile<T, R> all(const gpu_team<T, W, R> &team) const { return product.sums(team); }
};

/* Returns the sum of column `column`, one per lane, over the corner with this column and the row blocks below
 * it. The corner begins with row `first`. */
template <class V, class T, int W, int R>
__device__ static __forceinline__ gpu_tile<T, R> gpu_triangle_columns(const gpu_team<T, W, R> &team,
                                                                      const V *tri, int w, int first,
                                                                      const gpu_corner<V, W> &corner,
                                                                      int column, const gpu_tile<T, R> *x) {
  const int corner_rows = w - first < B ? w - first : B, j = column - first;
  const bool below = j <= team.row && team.row < corner_rows;
  const V diagonal = corner.entry(below ? (int)tsi_corner_column(corner_rows, j) + team.row - j : 0);
  gpu_column_sums<V, T, W, R> sums;
  sums.add(team, diagonal, below, x + first, corner_rows);
  GPU_UNROLL(2)
  for (int i = first + B; i < w; i += B) {
    const int rows = w - i < B ? w - i : B;
    const bool active = team.row < rows;
    const V a = gpu_load_panel(tri + tsi_triangle_block(i) + (int64_t)column * rows + team.row, active);
    sums.add(team, a, active, x + i, rows);
  }
  return sums.all(team);
}

template <class V, class T, int W, int R>
__device__ void gpu_triangle_transposed(const gpu_team<T, W, R> &team, const V *tri, int w, int begin,
                                        int end, const gpu_tile<T, R> *x, gpu_tile<T, R> *y) {
  constexpr int Q = W / B;
  for (int first = begin + team.warp * B; first < end; first += team.warps * B) {
    const int rows = w - first < B ? w - first : B;
    const gpu_corner<V, W> corner(tri + tsi_triangle_block(first) + rows * first, rows, team.lane);
    for (int g = first; g < first + rows; g += Q) {
      const int column = g + team.q;
      const gpu_tile<T, R> s = gpu_triangle_columns(team, tri, w, first, corner, column, x);
      if (team.row == 0 && column < w) y[column] = s;
    }
  }
}

/* Returns the sums of columns g .. g+Q-1 over the row blocks from row `from` up to `to`, of m, to every lane
 * of a column. */
template <class V, class T, int W, int R>
__device__ static __forceinline__ gpu_tile<T, R> gpu_columns(const gpu_team<T, W, R> &team, const V *rect,
                                                             int m, int w, int g, int from, int to,
                                                             const gpu_tile<T, R> *x) {
  const int column = g + team.q;
  gpu_column_sums<V, T, W, R> sums;
  GPU_UNROLL(4)
  for (int i = from; i < to; i += B) {
    const int rows = m - i < B ? m - i : B;
    const bool active = column < w && team.row < rows;
    const V a = gpu_load_panel(rect + (int64_t)i * w + column * rows + team.row, active);
    sums.add(team, a, active, x + i, rows);
  }
  return sums.all(team);
}

/* y := y - s, tiles */
template <class T, int R>
__device__ static __forceinline__ void gpu_subtract(gpu_tile<T, R> &y, const gpu_tile<T, R> &s) {
  GPU_UNROLL_ALL
  for (int c = 0; c < R; c++) y.c[c] = y.c[c] - s.c[c];
}

/* Panels of few columns: a warp computes the sums of a column; each quarter (eighth) of it has its own row
 * blocks. */
template <class V, class T, int W, int R>
__device__ static __forceinline__ void gpu_rectangle_transposed_narrow(const gpu_team<T, W, R> &team,
                                                                       const V *rect, int m, int w,
                                                                       const gpu_tile<T, R> *x,
                                                                       gpu_tile<T, R> *y) {
  for (int k = team.warp; k < w; k += team.warps) {
    gpu_tile<T, R> s = gpu_no_tile<T, R>();
    for (int group = 0; group < m; group += W) {
      const int i = group + team.q * B, rows = m - i < B ? m - i : B;
      const bool active = team.row < rows;
      const V a = gpu_load_panel(rect + (int64_t)i * w + k * rows + team.row, active);
      if (active) gpu_add_scaled(s, a, x[i + team.row]);
    }
    team.add_rows(s);
    team.add_columns(s);
    if (team.lane == 0) gpu_subtract(y[k], s);
  }
}

/* y := y - R' x, for at most team.width rows. */
template <class V, class T, int W, int R>
__device__ void gpu_rectangle_transposed(const gpu_team<T, W, R> &team, const V *rect, int m, int w,
                                         const gpu_tile<T, R> *x, gpu_tile<T, R> *y) {
  if (w < NARROW && m > B) {
    gpu_rectangle_transposed_narrow(team, rect, m, w, x, y);
    return;
  }
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

/* Substitutes with the corner of row block i, by the first warp. The diagonal holds reciprocals. */
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
      gpu_tile<T, R> s;
      gpu_add_rows_of(team, tri + tsi_triangle_block(k) + below * i, below, B, y + i, s);
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
