/* Packs rows of a sparse approximate inverse from lists of a fixed stride, and makes G^H by rows: see
 * fsai_launch.h. */
#pragma once

#include "codelets/gpu/tables/fsai_launch.h"
#include "codelets/gpu/scalar.gpu.h"
#include "codelets/gpu/team.gpu.h"

/* A range of rows: begin .. end - 1. */
typedef struct gpu_rows_of {
  int begin, end;
} gpu_rows_of;
__device__ static __forceinline__ gpu_rows_of gpu_deal_rows(gpu_rows_of all, unsigned part, unsigned parts) {
  const int64_t rows = all.end - all.begin;
  return {all.begin + (int)(rows * part / parts), all.begin + (int)(rows * (part + 1) / parts)};
}
__device__ static __forceinline__ gpu_rows_of gpu_rows_of_block(const tsi_gpu_fsai_rows &s) {
  return gpu_deal_rows({0, s.count}, gpu_block(), gpu_blocks());
}

/* Writes the number of entries of the thread's rows to its element of `sum`, which the block shares. */
__device__ static __forceinline__ gpu_rows_of gpu_sum_rows(const tsi_gpu_fsai_rows &s, tsi_count *sum) {
  const gpu_rows_of rows = gpu_deal_rows(gpu_rows_of_block(s), gpu_thread(), gpu_threads());
  tsi_count own = 0;
  for (int k = rows.begin; k < rows.end; k++) own += s.entries[k];
  sum[gpu_thread()] = own;
  gpu_barrier();
  return rows;
}

/* Counts the entries of the block's rows. */
__device__ static __forceinline__ void gpu_run_fsai_sums(const tsi_gpu_fsai_rows &s) {
  GPU_SHARED(tsi_count, sum, GPU_THREADS_MAX);
  (void)gpu_sum_rows(s, sum);
  if (gpu_thread() > 0) return;
  tsi_count all = 0;
  for (unsigned k = 0; k < gpu_threads(); k++) all += sum[k];
  s.sum[gpu_block()] = all;
}

/* Computes the start of each row from the sums of the blocks; the number of blocks is the same. */
__device__ static __forceinline__ void gpu_run_fsai_ptr(const tsi_gpu_fsai_rows &s) {
  GPU_SHARED(tsi_count, sum, GPU_THREADS_MAX);
  const gpu_rows_of rows = gpu_sum_rows(s, sum);
  tsi_count at = 0;
  for (unsigned k = 0; k < gpu_block(); k++) at += s.sum[k];
  for (unsigned k = 0; k < gpu_thread(); k++) at += sum[k];
  for (int k = rows.begin; k < rows.end; k++) {
    s.ptr[k] = at;
    at += s.entries[k];
  }
  if (gpu_block() + 1 == gpu_blocks() && gpu_thread() + 1 == gpu_threads()) s.ptr[s.count] = at;
}

/* Copies rows, one per warp. */
template <class T, int W>
__device__ static __forceinline__ void gpu_run_fsai_pack(const tsi_gpu_fsai_rows &s) {
  const int lane = (int)gpu_thread() % W;
  const int64_t warps = (int64_t)gpu_blocks() * (gpu_threads() / W),
                warp = ((int64_t)gpu_block() * gpu_threads() + gpu_thread()) / W;
  for (int64_t k = warp; k < s.count; k += warps)
    for (int e = lane; e < s.entries[k]; e += W) {
      s.packed_index[s.ptr[k] + e] = s.index[k * s.stride + e];
      ((T *)s.packed_values)[s.ptr[k] + e] = ((const T *)s.values)[k * s.stride + e];
    }
}

/* ---- G^H ----------------------------------------------------------------------------------------------- */

/* Counts the entries of each column. */
__device__ static __forceinline__ void gpu_run_adjoint_count(const tsi_gpu_fsai_adjoint &s) {
  const int64_t threads = (int64_t)gpu_blocks() * gpu_threads();
  for (int64_t e = (int64_t)gpu_block() * gpu_threads() + gpu_thread(); e < s.g.ptr[s.n]; e += threads)
    (void)gpu_fetch_add(s.left + s.g.index[e], 1, GPU_DEVICE);
}

/* A warp copies a row of G to the columns; each column is filled from its end. */
template <class T, int W>
__device__ static __forceinline__ void gpu_run_adjoint_fill(const tsi_gpu_fsai_adjoint &s) {
  const int64_t warps = (int64_t)gpu_blocks() * (gpu_threads() / W),
                warp = ((int64_t)gpu_block() * gpu_threads() + gpu_thread()) / W;
  for (int64_t i = warp; i < s.n; i += warps)
    for (tsi_count e = s.g.ptr[i] + gpu_thread() % W; e < s.g.ptr[i + 1]; e += W) {
      const tsi_index j = s.g.index[e];
      const tsi_count at = s.ptr[j] + gpu_fetch_add(s.left + j, -1, GPU_DEVICE) - 1;
      s.index[at] = (tsi_index)i;
      ((T *)s.values)[at] = gpu_conj(((const T *)s.g.values)[e]);
    }
}

template <class T>
__device__ static __forceinline__ void gpu_order_pair(tsi_index *index, T *values, tsi_count a, tsi_count b) {
  const tsi_index first = index[a], second = index[b];
  if (first < second) return;
  const T value = values[a];
  index[a] = second;
  index[b] = first;
  values[a] = values[b];
  values[b] = value;
}

/* A warp sorts a row by a bitonic network. All its comparators have the same direction, so comparators beyond
 * the last entry can be left out (Knuth, volume 3, 5.3.4). */
template <class T, int W>
__device__ static __forceinline__ void gpu_run_adjoint_sort(const tsi_gpu_fsai_adjoint &s) {
  const int64_t warps = (int64_t)gpu_blocks() * (gpu_threads() / W),
                warp = ((int64_t)gpu_block() * gpu_threads() + gpu_thread()) / W;
  for (int64_t j = warp; j < s.n; j += warps) {
    tsi_index *index = s.index + s.ptr[j];
    T *values = (T *)s.values + s.ptr[j];
    const tsi_count count = s.ptr[j + 1] - s.ptr[j];
    for (tsi_count size = 2; size / 2 < count; size *= 2)
      for (tsi_count half = size / 2; half > 0; half /= 2) {
        const tsi_count mask = half == size / 2 ? size - 1 : half;
        for (tsi_count k = gpu_thread() % W; 2 * k < count + size; k += W) {
          const tsi_count a = k / half * 2 * half + k % half, b = a ^ mask; /* bit `half` of a is clear */
          if (b < count) gpu_order_pair(index, values, a, b);
        }
        gpu_warp_barrier();
      }
  }
}
