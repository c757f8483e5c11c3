/* Copies rows between the user's arrays and the workspace: permuted, scaled, conjugated, converted; applies
 * D^-1. The counterpart of node.h and user_rows.h of codelets/cpu (formulas: device_tables.h). */
#pragma once

#include "codelets/gpu/scalar.gpu.h"
#include "codelets/gpu/tables/device_tables.h"

/* Returns the value of b for final column j, right-hand side c. V: type of the factor, and of b unless the
 * call is wide. */
template <class V, class T>
__device__ static __forceinline__ T gpu_read_user(const tsi_device_call &call, int j, int c) {
  typedef typename gpu_scalar<V>::wide wide;
  const int r = call.in_row ? call.in_row[j] : j;
  const int64_t at = r * call.b_row + c * call.b_column;
  wide value = call.wide ? ((const wide *)call.b)[at] : gpu_to<wide>::from(((const V *)call.b)[at]);
  if (call.in_scale) value = gpu_scaled(call.in_scale[r], value);
  return gpu_to<T>::from(call.conjugate_in ? gpu_conj(value) : value);
}

template <class V, class T>
__device__ static __forceinline__ void gpu_write_user(const tsi_device_call &call, int j, int c, T solution) {
  typedef typename gpu_scalar<V>::wide wide;
  const int r = call.out_row ? call.out_row[j] : j;
  const int64_t at = r * call.x_row + c * call.x_column;
  wide value = gpu_to<wide>::from(call.conjugate_out && !gpu_fault(GPU_FAULT_CONJUGATE) ? gpu_conj(solution)
                                                                                        : solution);
  if (call.out_scale) value = gpu_scaled(call.out_scale[r], value);
  if (call.combines) {
    value = gpu_times(call.alpha, value);
    if (call.beta[0] != 0 || call.beta[1] != 0)
      value = value + gpu_times(call.beta, call.wide ? ((const wide *)call.x)[at]
                                                     : gpu_to<wide>::from(((const V *)call.x)[at]));
  }
  if (call.wide)
    ((wide *)call.x)[at] = value;
  else
    ((V *)call.x)[at] = gpu_to<V>::from(value);
}

/* x := D^-1 x for final column j, and the next one if they are one pivot; x[0], x[next] are their entries.
 * The second column of a pivot does nothing. */
template <class V, class T>
__device__ static __forceinline__ void gpu_apply_inverse(const tsi_device_call &call, int j, int64_t next,
                                                         T *x) {
  const V *d = (const V *)call.inverse + 2 * (int64_t)j;
  if (j > 0 && !gpu_is_zero(d[-1])) return;
  const T i11 = gpu_to<T>::from(d[0]), i21 = gpu_to<T>::from(d[1]);
  if (gpu_is_zero(i21)) {
    x[0] = i11 * x[0];
    return;
  }
  const T i12 = call.adjoint && !gpu_fault(GPU_FAULT_ADJOINT) ? gpu_conj(i21) : i21,
          i22 = gpu_to<T>::from(d[2]), x1 = x[0], x2 = x[next];
  x[0] = i11 * x1 + i12 * x2;
  x[next] = i21 * x1 + i22 * x2;
}
