/* Sums over the lanes of a row, for triangles by rows and products by rows. */
#pragma once

#include "codelets/gpu/team.gpu.h"

template <class T, int W> __device__ static __forceinline__ T gpu_from_lane(T value, int mask) {
  return gpu_shuffle_xor(value, (unsigned)(gpu_fault(GPU_FAULT_LANE) ? mask / 2 : mask), W);
}

/* Keeps HALF of the sums, and passes the others to another lane. */
template <class T, int W, int R, int HALF>
__device__ static __forceinline__ void gpu_halve_lanes(int q, int threads, gpu_tile<T, R> &sums, int *own,
                                                       int *mine) {
  if constexpr (HALF > 0) {
    constexpr int MASK = R / 2 / HALF;
    if (MASK >= threads) return;
    const bool upper = q & MASK;
    GPU_UNROLL_ALL
    for (int c = 0; c < HALF; c++) {
      const T kept = gpu_select(upper, sums.c[c + HALF], sums.c[c]),
              given = gpu_select(upper, sums.c[c], sums.c[c + HALF]);
      sums.c[c] = kept + gpu_from_lane<T, W>(given, MASK);
    }
    *own += upper ? HALF : 0;
    *mine = q < R ? HALF : 0;
    gpu_halve_lanes<T, W, R, HALF / 2>(q, threads, sums, own, mine);
  }
}

/* Adds over the lanes of a row, q = 0 .. threads-1 in a warp of W. The lanes share the results: a lane gets
 * `mine` sums, beginning with right-hand side `own` of the tile, as sums.c[0] .. sums.c[mine - 1]. Lanes q
 * and q ^ 1 are added first, then pairs of these, for any number of right-hand sides. All lanes of the warp
 * call it together. */
template <class T, int W, int R>
__device__ static __forceinline__ void gpu_add_lanes(int q, int threads, gpu_tile<T, R> &sums, int *own,
                                                     int *mine) {
  *own = 0;
  *mine = q < R ? R : 0;
  gpu_halve_lanes<T, W, R, R / 2>(q, threads, sums, own, mine);
  for (int mask = R; mask < threads; mask *= 2) sums.c[0] = sums.c[0] + gpu_from_lane<T, W>(sums.c[0], mask);
}
