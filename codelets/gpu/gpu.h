/* Functions and macros of a device for kernels: one source for nvcc, hipcc and, in tests, the emulator, which
 * defines the same names (tests/gpu/emulator/emulator.h, included before this file).
 *
 * - GPU_WARP: lanes of a warp. GPU_SHARED(type, name, count): an array in shared memory;
 *   GPU_SHARED_SPACE(name, bytes): as many words of 8 bytes as the launch asks for, which have so many bytes
 * - gpu_thread, gpu_threads: the thread's number in its block, threads of a block
 * - gpu_block, gpu_blocks: the block's number in the grid, blocks of the grid
 * - gpu_barrier, gpu_warp_barrier: barriers of the block and of the warp; writes before are visible after
 * - gpu_shuffle, gpu_shuffle_xor: return the value of a lane; of the lane whose number differs by a bit mask
 * - gpu_load_acquire, gpu_store_release, gpu_store_relaxed, gpu_fetch_add and gpu_compare_swap (relaxed; they
 *   return the old value), gpu_add_release, gpu_await: atomics in the scope GPU_BLOCK or GPU_DEVICE;
 *   gpu_await returns when it has acquired the value
 * - gpu_store_system, gpu_load_system: release and acquire in the scope of all devices and the host;
 *   gpu_await_system waits for the epoch or a later one (tables/heap.h), or until the word `stopped` is not
 *   zero; gpu_pause: for loops that poll another device
 * - gpu_atomic_add, gpu_atomic_add_system: add to a scalar to which other blocks, or other devices, may add
 *   concurrently; relaxed
 * - gpu_load_panel: loads a scalar of a factor, which is read once a sweep; all lanes of a warp call it
 *   together, inactive lanes get zero
 * - GPU_MATRIX_UNIT: 1 if a warp has a matrix unit for doubles; gpu_multiply_matrices(d, a, b): D += A B, see
 *   matrix_unit.gpu.h; all lanes of the warp call it together
 * - gpu_prefetch: prefetches a line of GPU_LINE_BYTES bytes of memory
 * - gpu_fault: false; tests inject faults with it and verify that they are found
 *
 * A header of its own because only this file differs between nvcc and hipcc. */
#pragma once

#include <stdint.h>

#include "codelets/gpu/tables/gpu_faults.h"

#define GPU_LINE_BYTES 128

#if defined TSI_GPU_EMULATED

#define GPU_LINE __builtin_LINE()
#define GPU_MATRIX_UNIT 1
#define GPU_UNROLL_ALL
#define GPU_UNROLL(times)

#elif defined __CUDACC__ || defined __HIPCC__

#if defined __HIPCC__
#include <hip/hip_runtime.h>
#else
#include <cuda/atomic>
#include <cuda_runtime.h>
#endif

#define GPU_LINE 0
#define GPU_PRAGMA(text) _Pragma(#text)
#define GPU_UNROLL_ALL GPU_PRAGMA(unroll)
#define GPU_UNROLL(times) GPU_PRAGMA(unroll times)
#define GPU_SHARED(type, name, count) __shared__ type name[count]
#define GPU_SHARED_SPACE(name, bytes) extern __shared__ unsigned long long name[]
enum gpu_scope { GPU_BLOCK, GPU_DEVICE };

static __device__ __forceinline__ constexpr bool gpu_fault(gpu_fault_kind) {
  return false;
}
static __device__ __forceinline__ unsigned gpu_thread() {
  return threadIdx.x;
}
static __device__ __forceinline__ unsigned gpu_threads() {
  return blockDim.x;
}
static __device__ __forceinline__ unsigned gpu_block() {
  return blockIdx.x;
}
static __device__ __forceinline__ unsigned gpu_blocks() {
  return gridDim.x;
}
static __device__ __forceinline__ void gpu_barrier(int = 0) {
  __syncthreads();
}

#if defined __HIPCC__ /* ---- AMD ---- */

/* Wavefronts have 64 lanes (gfx9) or 32 (gfx10 and later); the host's side does not use the number. */
#if defined __AMDGCN_WAVEFRONT_SIZE && __AMDGCN_WAVEFRONT_SIZE == 32
#define GPU_WARP 32
#else
#define GPU_WARP 64
#endif

/* The matrix instructions of CDNA (mfma) are faster than ordinary instructions only from 16 rows and 16
 * right-hand sides on. For blocks of 8 and tiles of 8 half of their work is wasted, and the rest takes as
 * long. */
#define GPU_MATRIX_UNIT 0

static __device__ __forceinline__ void gpu_warp_barrier(int = 0) {
  __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");
  __builtin_amdgcn_wave_barrier();
}
template <class T>
static __device__ __forceinline__ T gpu_shuffle_xor(T value, unsigned mask, unsigned width, int = 0) {
  return __shfl_xor(value, (int)mask, (int)width);
}
template <class T>
static __device__ __forceinline__ T gpu_shuffle(T value, unsigned lane, unsigned width, int = 0) {
  return __shfl(value, (int)lane, (int)width);
}
static __device__ __forceinline__ void gpu_prefetch(const void *) {} /* gfx90a has no such instruction */
/* The scope must be a constant for the compiler. */
#define GPU_ATOMIC(call, reach, ...)                                                                         \
  ((reach) == GPU_BLOCK ? call(__VA_ARGS__, __HIP_MEMORY_SCOPE_WORKGROUP)                                    \
                        : call(__VA_ARGS__, __HIP_MEMORY_SCOPE_AGENT))
static __device__ __forceinline__ int32_t gpu_load_acquire(const int32_t *address, gpu_scope reach) {
  return GPU_ATOMIC(__hip_atomic_load, reach, address, __ATOMIC_ACQUIRE);
}
static __device__ __forceinline__ void gpu_store_release(int32_t *address, int32_t value, gpu_scope reach) {
  GPU_ATOMIC(__hip_atomic_store, reach, address, value, __ATOMIC_RELEASE);
}
static __device__ __forceinline__ void gpu_store_relaxed(int32_t *address, int32_t value, gpu_scope reach) {
  GPU_ATOMIC(__hip_atomic_store, reach, address, value, __ATOMIC_RELAXED);
}
static __device__ __forceinline__ int32_t gpu_fetch_add(int32_t *address, int32_t value, gpu_scope reach) {
  return GPU_ATOMIC(__hip_atomic_fetch_add, reach, address, value, __ATOMIC_RELAXED);
}
static __device__ __forceinline__ int32_t gpu_compare_swap(int32_t *address, int32_t expected, int32_t value,
                                                           gpu_scope reach) {
  (void)GPU_ATOMIC(__hip_atomic_compare_exchange_strong, reach, address, &expected, value, __ATOMIC_RELAXED,
                   __ATOMIC_RELAXED);
  return expected;
}
static __device__ __forceinline__ void gpu_add_release(int32_t *address, int32_t value, gpu_scope reach) {
  (void)GPU_ATOMIC(__hip_atomic_fetch_add, reach, address, value, __ATOMIC_RELEASE);
}
#undef GPU_ATOMIC
static __device__ __forceinline__ int32_t gpu_load_system(const int32_t *address) {
  return __hip_atomic_load(address, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM);
}
static __device__ __forceinline__ void gpu_store_system(int32_t *address, int32_t value) {
  __hip_atomic_store(address, value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
}
template <class R> static __device__ __forceinline__ void gpu_atomic_add_system(R *address, R value) {
  (void)__hip_atomic_fetch_add(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
static __device__ __forceinline__ void gpu_pause() {
  __builtin_amdgcn_s_sleep(1);
}
template <class T> static __device__ __forceinline__ T gpu_load_streamed(const T *address) {
  return __builtin_nontemporal_load(address);
}

#else /* ---- NVIDIA ---- */

#define GPU_WARP 32

/* From sm_80 on. */
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
#define GPU_MATRIX_UNIT 1
static __device__ __forceinline__ void gpu_multiply_matrices(double d[2], double a, double b, int = 0) {
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
               : "+d"(d[0]), "+d"(d[1])
               : "d"(a), "d"(b));
}
#else
#define GPU_MATRIX_UNIT 0
#endif

static __device__ __forceinline__ void gpu_warp_barrier(int = 0) {
  __syncwarp();
}
template <class T>
static __device__ __forceinline__ T gpu_shuffle_xor(T value, unsigned mask, unsigned width, int = 0) {
  return __shfl_xor_sync(0xffffffffu, value, (int)mask, (int)width);
}
template <class T>
static __device__ __forceinline__ T gpu_shuffle(T value, unsigned lane, unsigned width, int = 0) {
  return __shfl_sync(0xffffffffu, value, (int)lane, (int)width);
}
static __device__ __forceinline__ void gpu_prefetch(const void *address) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}
typedef cuda::atomic_ref<int32_t, cuda::thread_scope_block> gpu_block_atomic;
typedef cuda::atomic_ref<int32_t, cuda::thread_scope_device> gpu_device_atomic;
#define GPU_ATOMIC(address, reach, call)                                                                     \
  ((reach) == GPU_BLOCK ? gpu_block_atomic(*const_cast<int32_t *>(address)).call                             \
                        : gpu_device_atomic(*const_cast<int32_t *>(address)).call)
static __device__ __forceinline__ int32_t gpu_load_acquire(const int32_t *address, gpu_scope reach) {
  return GPU_ATOMIC(address, reach, load(cuda::memory_order_acquire));
}
static __device__ __forceinline__ void gpu_store_release(int32_t *address, int32_t value, gpu_scope reach) {
  GPU_ATOMIC(address, reach, store(value, cuda::memory_order_release));
}
static __device__ __forceinline__ void gpu_store_relaxed(int32_t *address, int32_t value, gpu_scope reach) {
  GPU_ATOMIC(address, reach, store(value, cuda::memory_order_relaxed));
}
static __device__ __forceinline__ int32_t gpu_fetch_add(int32_t *address, int32_t value, gpu_scope reach) {
  return GPU_ATOMIC(address, reach, fetch_add(value, cuda::memory_order_relaxed));
}
static __device__ __forceinline__ int32_t gpu_compare_swap(int32_t *address, int32_t expected, int32_t value,
                                                           gpu_scope reach) {
  (void)GPU_ATOMIC(address, reach, compare_exchange_strong(expected, value, cuda::memory_order_relaxed));
  return expected;
}
static __device__ __forceinline__ void gpu_add_release(int32_t *address, int32_t value, gpu_scope reach) {
  (void)GPU_ATOMIC(address, reach, fetch_add(value, cuda::memory_order_release));
}
#undef GPU_ATOMIC
typedef cuda::atomic_ref<int32_t, cuda::thread_scope_system> gpu_system_atomic;
static __device__ __forceinline__ int32_t gpu_load_system(const int32_t *address) {
  return gpu_system_atomic(*const_cast<int32_t *>(address)).load(cuda::memory_order_acquire);
}
static __device__ __forceinline__ void gpu_store_system(int32_t *address, int32_t value) {
  gpu_system_atomic(*address).store(value, cuda::memory_order_release);
}
template <class R> static __device__ __forceinline__ void gpu_atomic_add_system(R *address, R value) {
  (void)atomicAdd_system(address, value);
}
static __device__ __forceinline__ void gpu_pause() {
  __nanosleep(20);
}
template <class T> static __device__ __forceinline__ T gpu_load_streamed(const T *address) {
  return __ldcs(address);
}

#endif /* ---- Both ---- */

static __device__ __forceinline__ void gpu_await(const int32_t *address, int32_t value, gpu_scope reach) {
  while (gpu_load_acquire(address, reach) != value) gpu_pause();
}
template <class R> static __device__ __forceinline__ void gpu_atomic_add(R *address, R value) {
  (void)atomicAdd(address, value);
}
template <class T> static __device__ __forceinline__ T gpu_load_panel(const T *address, bool active) {
  return active ? gpu_load_streamed(address) : T();
}

#else
#error "include tests/gpu/emulator/emulator.h first, or compile with nvcc or hipcc"
#endif

static __device__ __forceinline__ void gpu_await_system(const int32_t *address, int32_t epoch,
                                                        const int32_t *stopped) {
  while ((int32_t)((uint32_t)gpu_load_system(address) - (uint32_t)epoch) < 0 && gpu_load_system(stopped) == 0)
    gpu_pause();
}
