/* The kernel of columns, see columns_launch.h. Neighbouring threads have the right-hand sides of a column, or
 * the same one of the next column. */
#ifndef TSI_CODELETS_GPU_COLUMNS_GPU_H
#define TSI_CODELETS_GPU_COLUMNS_GPU_H

#include "codelets/gpu/tables/columns_launch.h"
#include "codelets/gpu/user.gpu.h"

/* Right-hand side c of the columns of the pivot that begins with column j; there is none if j is the second
 * one of a pivot.
 */
template <class V, class T>
__device__ static __forceinline__ void gpu_do_column(const tsi_gpu_columns &s, int j, int c) {
  const V *d = s.call.inverse ? (const V *)s.call.inverse + 2 * (int64_t)j : nullptr;
  if (d && j > 0 && !gpu_is_zero(d[-1])) return;
  const int count = d && !gpu_is_zero(d[1]) ? 2 : 1;
  T *workspace = (T *)s.call.workspace + c, x[2] = {T(), T()};
  GPU_UNROLL_ALL
  for (int k = 0; k < 2; k++)
    if (k < count)
      x[k] = s.reads ? gpu_read_user<V, T>(s.call, j + k, c)
                     : workspace[((int64_t)s.from + j + k) * s.call.stride];
  if (d) gpu_apply_inverse<V>(s.call, j, 1, x);
  GPU_UNROLL_ALL
  for (int k = 0; k < 2; k++) {
    if (k >= count) continue;
    const T value = s.call.conjugate_backward ? gpu_conj(x[k]) : x[k];
    if (s.writes)
      gpu_write_user<V>(s.call, j + k, c, value);
    else
      workspace[((int64_t)s.to + j + k) * s.call.stride] = value;
  }
}

template <class V, class T> __device__ static __forceinline__ void gpu_run_columns(const tsi_gpu_columns &s) {
  const int64_t entries = (int64_t)s.n * s.call.nrhs, threads = (int64_t)gpu_blocks() * gpu_threads();
  for (int64_t e = (int64_t)gpu_block() * gpu_threads() + gpu_thread(); e < entries; e += threads)
    gpu_do_column<V, T>(s, (int)(e / s.call.nrhs), (int)(e % s.call.nrhs));
}

#endif
