/* The threads that walk a node: a block, or one warp of it. Sums do not depend on the number of warps of a
 * block: each sum is computed by one warp, or in parts whose number depends only on the panel.
 *
 * Lanes. Rows of a factor are stored in row blocks of 8, column by column (codelets/cpu/base/panel.h). The
 * lane with number row + 8 q takes columns q, q + Q, ... of a row block, Q = GPU_WARP / 8. So a warp loads 8
 * rows of Q columns at once, which are contiguous, forward and backward.
 *
 * Right-hand sides are processed in tiles of up to R. Vectors in shared memory are arrays of tiles, one per
 * row. */
#pragma once

#include "codelets/gpu/scalar.gpu.h"
#include "codelets/gpu/tables/device_tables.h"

#define GPU_THREADS_MAX 256

/* One row of up to R right-hand sides. */
template <class T, int R> struct alignas(sizeof(T) * R >= 16 ? 16 : sizeof(T) * R) gpu_tile { T c[R]; };

template <class T, int W, int R> struct gpu_team {
  typedef gpu_tile<T, R> tile;
  static constexpr int Q = W / TSI_ROW_BLOCK;
  static constexpr int UNITS = GPU_THREADS_MAX / W; /* number of warps for which sums of a block are split */

  bool whole;          /* the team is a block; false: one warp */
  int thread, threads; /* number of the thread; number of threads */
  int warp, warps;
  int lane, row, q;
  int width;      /* rows of in and out */
  tile *in, *out; /* shared memory: vectors of a panel, or of as many rows */
  tile *parts;    /* shared memory of a block: GPU_THREADS_MAX / 8 sums in parts */

  /* A barrier of the team; writes before it are visible after it. */
  __device__ void sync(int line = GPU_LINE) const {
    if (whole)
      gpu_barrier(line);
    else
      gpu_warp_barrier(line);
  }
  __device__ void sync_warp(int line = GPU_LINE) const { gpu_warp_barrier(line); }
  /* Adds over the columns of a row block whose rows H lanes have; every lane of a row gets the sums. */
  template <int H = TSI_ROW_BLOCK> __device__ void add_columns(tile &s) const {
    GPU_UNROLL_ALL
    for (int mask = H; mask < W; mask *= 2) GPU_UNROLL_ALL
    for (int c = 0; c < R; c++)
      s.c[c] = s.c[c] + gpu_shuffle_xor(s.c[c], (unsigned)(gpu_fault(GPU_FAULT_LANE) ? mask / 2 : mask), W);
  }
  /* Adds over the rows of a row block; every lane of a column gets the sums. */
  __device__ void add_rows(tile &s) const {
    GPU_UNROLL_ALL
    for (int mask = 1; mask < TSI_ROW_BLOCK; mask *= 2) GPU_UNROLL_ALL
    for (int c = 0; c < R; c++) s.c[c] = s.c[c] + gpu_shuffle_xor(s.c[c], (unsigned)mask, W);
  }
};

/* Number of right-hand sides that are solved at once, so that vectors of a block need at most 34 KB of shared
 * memory.
 */
template <class T> constexpr int gpu_tile_max() {
  return sizeof(T) > 8 ? 4 : 8;
}

/* Returns the team: the block, or one of its warps for warp nodes, which have narrow panels. A warp gets its
 * part of the shared memory. */
template <class T, int W, int R>
__device__ static __forceinline__ gpu_team<T, W, R> gpu_team_of(bool whole, gpu_tile<T, R> *in,
                                                                gpu_tile<T, R> *out, gpu_tile<T, R> *parts) {
  const int thread = (int)gpu_thread(), lane = thread % W, warp = thread / W;
  gpu_team<T, W, R> team;
  team.whole = whole;
  team.thread = whole ? thread : lane;
  team.threads = whole ? (int)gpu_threads() : W;
  team.warp = whole ? warp : 0;
  team.warps = whole ? (int)gpu_threads() / W : 1;
  team.lane = lane;
  team.row = lane % TSI_ROW_BLOCK;
  team.q = lane / TSI_ROW_BLOCK;
  team.width = whole ? TSI_PANEL_WIDTH_MAX : TSI_WARP_WIDTH;
  team.in = in + (whole ? 0 : warp * TSI_WARP_WIDTH);
  team.out = out + (whole ? 0 : warp * TSI_WARP_WIDTH);
  team.parts = parts;
  return team;
}

template <class T, int R> __device__ static __forceinline__ gpu_tile<T, R> gpu_no_tile() {
  gpu_tile<T, R> zero;
  GPU_UNROLL_ALL
  for (int c = 0; c < R; c++) zero.c[c] = T();
  return zero;
}

/* Loads the first `count` scalars of a row of the workspace as a tile. */
template <class T, int R>
__device__ static __forceinline__ gpu_tile<T, R> gpu_load_tile(const T *at, int count) {
  gpu_tile<T, R> x = gpu_no_tile<T, R>();
  GPU_UNROLL_ALL
  for (int c = 0; c < R; c++)
    if (c < count) x.c[c] = at[c];
  return x;
}

/* s += a x */
template <class V, class T, int R>
__device__ static __forceinline__ void gpu_add_scaled(gpu_tile<T, R> &s, V a, const gpu_tile<T, R> &x) {
  const T factor = gpu_to<T>::from(a);
  GPU_UNROLL_ALL
  for (int c = 0; c < R; c++) gpu_add_product(s.c[c], factor, x.c[c]);
}
