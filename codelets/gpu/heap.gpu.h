/* Symmetric heaps (tables/heap.h) for kernels. Marks its inline functions for the device's compiler, as in
 * panel.gpu.h. Include it before any other file that includes tables/heap.h. */
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
/* Returns the address `offset` bytes after the start of the data. */
__device__ static __forceinline__ char *gpu_heap_at(const tsi_symmetric_heap &heap, int pe, int64_t offset) {
  return heap.base[pe] + tsi_heap_data(heap.flags) + offset;
}
/* Returns the word that is not zero after the PE received a failure. */
__device__ static __forceinline__ const int32_t *gpu_heap_stopped(const tsi_symmetric_heap &heap) {
  return &((const tsi_heap_control *)heap.base[heap.pe])->stopped;
}
