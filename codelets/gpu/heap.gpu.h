/* Symmetric heaps (tables/heap.h) for kernels: its inline functions are marked for the device's compiler, as
 * in panel.gpu.h. Included before any other file that includes it. */
#pragma once

#include <stddef.h>

#include "codelets/gpu/gpu.h"

#if defined __CUDACC__ || defined __HIPCC__
#define inline __host__ __device__ inline
#endif
#include "codelets/gpu/tables/heap.h"
#undef inline

__device__ static __forceinline__ int32_t *gpu_heap_flag(const tsi_symmetric_heap &heap, int pe, int flag) {
  return (int32_t *)(heap.base[pe] + TSI_HEAP_FLAGS) + flag;
}
/* `offset` bytes from the begin of the data. */
__device__ static __forceinline__ char *gpu_heap_at(const tsi_symmetric_heap &heap, int pe, int64_t offset) {
  return heap.base[pe] + tsi_heap_data(heap.flags) + offset;
}
/* The word that is not zero when the PE has been informed of a failure. */
__device__ static __forceinline__ const int32_t *gpu_heap_stopped(const tsi_symmetric_heap &heap) {
  return &((const tsi_heap_control *)heap.base[heap.pe])->stopped;
}
