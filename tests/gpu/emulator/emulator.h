/* Runs GPU kernels on the host: what codelets/gpu/gpu.h is on a device, for tests.
 *
 * A test includes this file before any kernel. Every GPU thread is a fiber with a stack of its own; one
 * scheduler, on the calling thread, picks who goes on. Fibers give way at barriers, shuffles and atomics
 * only, in an order that a seed decides and that is meant to hurt: one block runs alone for a while, or is
 * starved while any other can run; within a block the first, the last, the same or any thread goes on. Fewer
 * blocks than the grid has can be resident at once, as on a device that is small or shared: the next one
 * begins when one ends.
 *
 * Problems that are found, and reported in outcome.problem:
 *   - deadlock: who waits, and for which flag (flags get names by name_flags)
 *   - threads of a block that wait at different barriers, or some that ended while others wait
 *   - an atomic in block scope whose address another block uses, too
 *   - writing beyond an array in shared memory; a stack that was too small
 *   - lanes of a warp that make different numbers of panel loads (only where loads are counted)
 * Shared memory holds NaNs when a block begins. Under the address sanitizer overruns end the program at the
 * kernel's line. Under the thread sanitizer switches do not synchronize, but barriers and atomics do, as far
 * as their order and scope reach: a missing barrier or fence is a race that is reported for every schedule
 * that runs the two accesses, as each thread of the grid is one for the sanitizer. Shuffles order no memory,
 * as in CUDA.
 *
 * Not emulated: divergence (lanes meet at shuffles only), caches, weak memory beyond what the thread
 * sanitizer knows, time. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <functional>
#include <string>

#define TSI_GPU_EMULATED 1

namespace emulator {

struct grid {
  unsigned blocks = 1;
  unsigned threads = 32; /* threads of a block; a multiple of warp */
  unsigned warp = 32;    /* lanes of a warp: 32 or 64 */
  unsigned resident = 0; /* maximum number of resident blocks; 0: all */
  unsigned devices =
      1; /* number of launches that the grid represents; gpu_blocks() returns the blocks of one launch */
  uint64_t seed = 0;
  unsigned longest = 10; /* one block runs alone, or is starved, for at most 2^longest switches */
  bool count_loads = false;
  unsigned polls = 0; /* the grid fails after this many consecutive polls without a store; 0: never */
};

struct outcome {
  std::string problem; /* empty: the kernel ended without an error */
  /* Panel loads of warps, the 32-byte sectors that they touch, and the bytes that their lanes read. */
  uint64_t loads = 0, sectors = 0, bytes = 0;
  uint64_t switches = 0;
  unsigned last_block = 0; /* the block that ended last */
  explicit operator bool() const { return problem.empty(); }
};

constexpr unsigned SECTOR_BYTES = 32;

/* Runs the kernel once in each thread of the grid. */
outcome run(const grid &shape, const std::function<void()> &kernel);

/* In reports the `count` flags from `first` on are named name[0], name[1], ... The next call replaces the
 * names. */
void name_flags(const char *name, const int32_t *first, size_t count);

/* Fault that is planted in kernels, a gpu_fault_kind of codelets/gpu/gpu.h; 0: none. */
extern int planted_fault;

/* ---- For what follows here ----------------------------------------------------------------------------- */

enum scope { BLOCK, DEVICE };

unsigned thread_index();
unsigned block_index();
unsigned block_size();
unsigned grid_size();
unsigned warp_size();
void barrier(int line);
void warp_barrier(int line);
/* Exchanges `words` 64-bit words. Each lane provides its words, and gets those of lane `from` in its group
 * of `width` lanes. */
void exchange(const uint64_t *mine, unsigned words, unsigned from, unsigned width, int line,
              uint64_t *theirs);
/* D += A B, computed by the 32 lanes of a warp as described in codelets/gpu/matrix_unit.gpu.h. */
void multiply_matrices(double d[2], double a, double b, int line);
void give_way();
/* Called before an atomic access. Other threads may run first. */
void before_atomic(const void *address, scope reach);
/* Called after a store. Threads that wait for the address check it again. */
void after_store(const void *address);
/* The calling thread waits for a store to the address. It has read `seen` there and waits for `wanted`. */
void sleep(const int32_t *address, int32_t seen, int32_t wanted);
/* The calling thread waits for another process. */
void poll();
void panel_load(const void *address, unsigned bytes, bool active);
void *shared(const void *site, size_t bytes);

} // namespace emulator

/* ---- The shim ------------------------------------------------------------------------------------------ */

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)

#define GPU_BLOCK emulator::BLOCK
#define GPU_DEVICE emulator::DEVICE
#define GPU_SHARED(type, name, count)                                                                        \
  static const char name##_site = 0;                                                                         \
  type *const name = (type *)emulator::shared(&name##_site, sizeof(type) * (count))
#define GPU_SHARED_SPACE(name, bytes) GPU_SHARED(unsigned long long, name, ((bytes) + 7) / 8)

static inline bool gpu_fault(int kind) {
  return emulator::planted_fault == kind;
}
static inline unsigned gpu_thread() {
  return emulator::thread_index();
}
static inline unsigned gpu_threads() {
  return emulator::block_size();
}
static inline unsigned gpu_block() {
  return emulator::block_index();
}
static inline unsigned gpu_blocks() {
  return emulator::grid_size();
}
static inline void gpu_barrier(int line = __builtin_LINE()) {
  emulator::barrier(line);
}
static inline void gpu_warp_barrier(int line = __builtin_LINE()) {
  emulator::warp_barrier(line);
}
/* Returns the value of a lane in a group of `width` lanes. */
template <class T>
static inline T gpu_shuffle(T value, unsigned lane, unsigned width, int line = __builtin_LINE()) {
  constexpr unsigned WORDS = (sizeof(T) + 7) / 8;
  uint64_t mine[WORDS] = {}, theirs[WORDS];
  __builtin_memcpy(mine, &value, sizeof value);
  emulator::exchange(mine, WORDS, lane, width, line, theirs);
  __builtin_memcpy(&value, theirs, sizeof value);
  return value;
}
/* Returns the value of the lane whose number differs by the bits of mask. */
template <class T>
static inline T gpu_shuffle_xor(T value, unsigned mask, unsigned width, int line = __builtin_LINE()) {
  return gpu_shuffle(value, gpu_thread() % width ^ mask, width, line);
}
static inline void gpu_multiply_matrices(double d[2], double a, double b, int line = __builtin_LINE()) {
  emulator::multiply_matrices(d, a, b, line);
}
static inline int32_t gpu_load_acquire(const int32_t *address, emulator::scope reach) {
  emulator::before_atomic(address, reach);
  return __atomic_load_n(address, __ATOMIC_ACQUIRE);
}
static inline void gpu_store_release(int32_t *address, int32_t value, emulator::scope reach) {
  emulator::before_atomic(address, reach);
  __atomic_store_n(address, value, __ATOMIC_RELEASE);
  emulator::after_store(address);
}
static inline void gpu_store_relaxed(int32_t *address, int32_t value, emulator::scope reach) {
  emulator::before_atomic(address, reach);
  __atomic_store_n(address, value, __ATOMIC_RELAXED);
  emulator::after_store(address);
}
static inline int32_t gpu_fetch_add(int32_t *address, int32_t value, emulator::scope reach) {
  emulator::before_atomic(address, reach);
  const int32_t before = __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
  emulator::after_store(address);
  return before;
}
static inline int32_t gpu_compare_swap(int32_t *address, int32_t expected, int32_t value,
                                       emulator::scope reach) {
  emulator::before_atomic(address, reach);
  __atomic_compare_exchange_n(address, &expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  emulator::after_store(address);
  return expected;
}
static inline void gpu_add_release(int32_t *address, int32_t value, emulator::scope reach) {
  emulator::before_atomic(address, reach);
  __atomic_fetch_add(address, value, __ATOMIC_RELEASE);
  emulator::after_store(address);
}
template <class R> static inline void gpu_atomic_add(R *address, R value) {
  R before, after;
  emulator::before_atomic(address, GPU_DEVICE);
  __atomic_load(address, &before, __ATOMIC_RELAXED);
  do after = before + value;
  while (!__atomic_compare_exchange(address, &before, &after, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}
template <class R> static inline void gpu_atomic_add_system(R *address, R value) {
  gpu_atomic_add(address, value);
}
static inline void gpu_await(const int32_t *address, int32_t value, emulator::scope reach) {
  for (;;) {
    const int32_t seen = gpu_load_acquire(address, reach);
    if (seen == value) return;
    emulator::sleep(address, seen, value);
  }
}
/* Flags that other processes may set, too. A waiting thread polls. Its process yields the core when all of
 * its threads wait. */
static inline void gpu_store_system(int32_t *address, int32_t value) {
  gpu_store_release(address, value, GPU_DEVICE);
}
static inline int32_t gpu_load_system(const int32_t *address) {
  return gpu_load_acquire(address, GPU_DEVICE);
}
static inline void gpu_pause() {
  emulator::poll();
}
/* Has no effect, except that the address sanitizer reports an invalid address. */
static inline void gpu_prefetch(const void *address) {
  (void)*(const volatile char *)address;
}
template <class T> static inline T gpu_load_panel(const T *address, bool active) {
  emulator::panel_load(address, sizeof(T), active);
  return active ? *address : T();
}
