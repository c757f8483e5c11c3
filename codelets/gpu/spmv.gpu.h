/* The kernel of products with a sparse matrix by rows, see spmv_launch.h. Lane = threads * row + q. All lanes
 * of a warp do the same steps, so that they shuffle and load entries together; lanes without an entry or a
 * row idle. */
#pragma once

#include "codelets/gpu/lanes.gpu.h"
#include "codelets/gpu/tables/spmv_launch.h"

/* V: the scalar type of the matrix; T, of vectors and sums; W: lanes of a warp; R: right-hand sides that are
 * summed at once. */
template <class V, class T, int W, int R> struct gpu_product {
  typedef gpu_tile<T, R> tile;
  typedef typename gpu_scalar<T>::wide wide;

  const tsi_gpu_spmv &s;
  int q;          /* number of the lane in its row */
  bool active;    /* there is a row for the lane */
  int64_t row;    /* row of the lane */
  tsi_count from; /* its entries */
  int length, steps;

  /* Begins with rows first .. first + W / threads - 1. */
  __device__ gpu_product(const tsi_gpu_spmv &product, int64_t first) : s(product) {
    const int lane = (int)gpu_thread() % W;
    q = lane % s.threads;
    row = first + lane / s.threads;
    active = row < s.rows - gpu_fault(GPU_FAULT_TAIL);
    from = active ? s.a.ptr[row] : 0;
    length = active ? (int)(s.a.ptr[row + 1] - from) : 0;
    int longest = length;
    for (int mask = s.threads; mask < W; mask *= 2) {
      const int other = gpu_shuffle_xor(longest, (unsigned)mask, W);
      longest = other > longest ? other : longest;
    }
    steps = (int)(((int64_t)longest + s.threads - 1) / s.threads);
  }

  /* Returns the lane's part of the row times x, for right-hand sides first .. first + count - 1. */
  __device__ tile sum(int first, int count) const {
    tile sums = gpu_no_tile<T, R>();
    for (int step = 0; step < steps; step++) {
      const int64_t e = (int64_t)step * s.threads + q;
      const bool has = e < length;
      const int j = gpu_load_panel(s.a.index + from + e, has);
      const V a = gpu_load_panel((const V *)s.a.values + from + e, has);
      if (!has) continue;
      const T *x = (const T *)s.x + (j * s.x_row + first * s.x_column), factor = gpu_to<T>::from(a);
      GPU_UNROLL_ALL
      for (int c = 0; c < R; c++)
        if (c < count) gpu_add_product(sums.c[c], factor, x[c * s.x_column]);
    }
    return sums;
  }

  /* Writes y of the row for right-hand sides first .. first + count - 1. */
  __device__ void finish(const tile &sums, int first, int count) const {
    GPU_UNROLL_ALL
    for (int c = 0; c < R; c++) {
      if (c >= count) continue;
      T *y = (T *)s.y + (row * s.y_row + (first + c) * s.y_column);
      wide value = gpu_times(s.alpha, gpu_to<wide>::from(sums.c[c]));
      if (s.beta[0] != 0 || s.beta[1] != 0) value = value + gpu_times(s.beta, gpu_to<wide>::from(*y));
      *y = gpu_to<T>::from(value);
    }
  }

  __device__ void run() const {
    const int nrhs = s.nrhs - gpu_fault(GPU_FAULT_TILE);
    for (int first = 0; first < nrhs; first += R) {
      const int rest = nrhs - first, count = rest < R ? rest : R;
      tile sums = sum(first, count);
      int own, mine;
      gpu_add_lanes<T, W, R>(q, s.threads, sums, &own, &mine);
      if (active) finish(sums, first + own, count - own < mine ? count - own : mine);
    }
  }
};

template <class V, class T, int W, int R>
__device__ static __forceinline__ void gpu_run_spmv(const tsi_gpu_spmv &s) {
  const int rows = W / s.threads; /* rows of a warp */
  const int64_t warps = (int64_t)gpu_blocks() * (gpu_threads() / W),
                warp = ((int64_t)gpu_block() * gpu_threads() + gpu_thread()) / W;
  for (int64_t first = warp * rows; first < s.rows; first += warps * rows)
    gpu_product<V, T, W, R>(s, first).run();
}
