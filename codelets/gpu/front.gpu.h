/* The work of a thread in the kernels of front_launch.h: one column, or one row. Neighbouring threads have
 * neighbouring rows, so exchanges of columns and D^-1 access whole lines of memory. Exchanges of rows do not,
 * but their data stays in the caches of the device. */
#pragma once

#include "codelets/gpu/tables/front_launch.h"
#include "codelets/gpu/scalar.gpu.h"

/* Exchanges the b entries of a line, which are `step` scalars apart. */
template <class T>
__device__ static __forceinline__ void gpu_exchange(const tsi_gpu_front &f, T *x, int64_t step) {
  for (int k = 0; k < f.b; k++) {
    const int other = f.pivot[k];
    if (other == k) continue;
    const T keep = x[k * step];
    x[k * step] = x[other * step];
    x[other * step] = keep;
  }
}

/* Divides row i of W. */
template <class T> __device__ static __forceinline__ void gpu_divide(const tsi_gpu_front &f, int64_t i) {
  const int64_t ld = f.ldx;
  const T *inverse = (const T *)f.inverse;
  T *w = (T *)f.x + i, *upper = (T *)f.upper + i * f.ldupper;
  for (int k = 0; k < f.b; k++) upper[k] = f.adjoint ? gpu_conj(w[k * ld]) : w[k * ld];
  for (int k = 0; k < f.b; k++) {
    const T first = w[k * ld], i11 = inverse[2 * k], i21 = inverse[2 * k + 1];
    if (gpu_is_zero(i21)) {
      w[k * ld] = first * i11;
      continue;
    }
    const T i22 = inverse[2 * k + 2], i12 = f.adjoint ? gpu_conj(i21) : i21, second = w[(k + 1) * ld];
    w[k * ld] = first * i11 + second * i21;
    w[(k + 1) * ld] = first * i12 + second * i22;
    k++;
  }
}

/* Processes one of f.lines lines; KIND is f.kind. */
template <class T, tsi_gpu_front_kind KIND>
__device__ static __forceinline__ void gpu_do_line(const tsi_gpu_front &f, int64_t line) {
  if (KIND == TSI_GPU_EXCHANGE_ROWS)
    gpu_exchange(f, (T *)f.x + line * f.ldx, 1);
  else if (KIND == TSI_GPU_EXCHANGE_COLUMNS)
    gpu_exchange(f, (T *)f.x + line, f.ldx);
  else
    gpu_divide<T>(f, line);
}

template <class T, tsi_gpu_front_kind KIND>
__device__ static __forceinline__ void gpu_run_front(const tsi_gpu_front &f) {
  const int64_t threads = (int64_t)gpu_blocks() * gpu_threads();
  for (int64_t line = (int64_t)gpu_block() * gpu_threads() + gpu_thread(); line < f.lines; line += threads)
    gpu_do_line<T, KIND>(f, line);
}
