/* Solves with a triangle that is spread over devices: see tables/spread_launch.h. */
#pragma once

#include "codelets/gpu/heap.gpu.h"
#include "codelets/gpu/lanes.gpu.h"
#include "codelets/gpu/tables/spread_launch.h"
#include "codelets/gpu/user.gpu.h"

template <class T>
__device__ static __forceinline__ T *gpu_left_sum(const tsi_gpu_spread &s, int pe, int slot) {
  return (T *)gpu_heap_at(s.heap, pe, s.sums) + (int64_t)slot * s.call.stride;
}
/* Is it so for any lane of the warp? */
template <int W> __device__ static __forceinline__ bool gpu_any(bool mine) {
  int any = mine;
  for (int mask = 1; mask < W; mask *= 2) any |= gpu_shuffle_xor(any, (unsigned)mask, W);
  return any != 0;
}

/* A lane's part of one item. T: the scalar; W: lanes of a warp; R: right-hand sides that are summed at once.
 */
template <class T, int W, int R> struct gpu_spread_item {
  typedef gpu_tile<T, R> tile;

  const tsi_gpu_spread &s;
  const tsi_spread_bundle &b;
  int q;          /* of the lane, in its item */
  bool active;    /* there is an item for the lane */
  int row;        /* own row, or slot */
  int begin, end; /* entries */
  int pe, slot;   /* another PE, and the left sum there; slot TSI_NONE: it has none */

  /* The lane's item of those from `group` on. */
  __device__ gpu_spread_item(const tsi_gpu_spread &spread, const tsi_spread_bundle &bundle, int group)
      : s(spread), b(bundle) {
    const int lane = (int)gpu_thread() % W, number = group + lane / s.threads;
    q = lane % s.threads;
    active = number < b.items - gpu_fault(GPU_FAULT_TAIL);
    const int item = b.first + (active ? number : 0), others = s.heap.pes - 1;
    row = s.row[item];
    begin = s.begin[item];
    end = active ? s.begin[item + 1] : begin;
    pe = q < s.heap.pe ? q : q + 1;
    slot = active && solves() && q < others ? s.slot[(int64_t)row * others + q] : TSI_NONE;
  }

  __device__ bool solves() const { return b.kind == TSI_SPREAD_ROWS; }
  __device__ T *at(int r, int first) const {
    return (T *)s.call.workspace + (int64_t)r * s.call.stride + first;
  }

  /* Products with own x; the first tile waits for it. */
  __device__ tile products(int first, int count) const {
    tile sums = gpu_no_tile<T, R>();
    for (int step = 0; step < b.steps; step++) {
      const int e = begin + step * s.threads + q;
      const bool has = e < end;
      const int j = gpu_load_panel(s.column + e, has);
      const T a = gpu_load_panel((const T *)s.values + e, has);
      if (!has) continue;
      if (first == 0 && !(gpu_fault(GPU_FAULT_FLAG) && e == end - 1))
        gpu_await(s.flag + j, s.epoch, GPU_DEVICE);
      gpu_add_scaled(sums, a, gpu_load_tile<T, R>(at(j, first), count));
    }
    return sums;
  }

  /* Returns when the left sums of the item are complete, or the solve has stopped: how many flags of other
   * PEs the lane has read. */
  __device__ int await_sums() const {
    const bool needs = slot >= 0, looks = needs || (s.polls_all && active && q < s.heap.pes - 1);
    const int32_t epoch = s.epoch - gpu_fault(GPU_FAULT_EPOCH);
    bool open = needs;
    int count = 0;
    while (gpu_any<W>(open)) {
      if (open || (s.polls_all && looks)) {
        const int32_t seen = gpu_load_system(gpu_heap_flag(s.heap, pe, needs ? slot : 0));
        count++;
        open = needs && !tsi_heap_reached(seen, epoch) && gpu_load_system(gpu_heap_stopped(s.heap)) == 0;
      }
      if (open) gpu_pause();
    }
    return count;
  }

  __device__ void add_sum(tile &sums, int first, int count) const {
    if (slot < 0) return;
    const int from = slot - (gpu_fault(GPU_FAULT_SLOT) && slot > 0);
    const T *at = gpu_left_sum<T>(s, gpu_fault(GPU_FAULT_OWNER) ? s.heap.pe : pe, from) + first;
    const tile more = gpu_load_tile<T, R>(at, count);
    GPU_UNROLL_ALL
    for (int c = 0; c < R; c++) sums.c[c] = sums.c[c] + more.c[c];
  }

  /* Right-hand sides first .. first+count-1 of what the item makes. */
  __device__ void finish(const tile &sums, int first, int count) const {
    const int made = gpu_fault(GPU_FAULT_BUFFER) ? row / 2 : row;
    T *to = solves() ? at(row, first) : gpu_left_sum<T>(s, s.heap.pe, made) + first;
    GPU_UNROLL_ALL
    for (int c = 0; c < R; c++) {
      if (c >= count) continue;
      T value = sums.c[c];
      if (solves()) {
        value = ((const T *)s.inverse)[row] * (gpu_read_user<T, T>(s.call, row, first + c) - value);
        gpu_write_user<T>(s.call, row, first + c, value);
      }
      to[c] = value;
    }
  }

  __device__ void signal() const {
    if (!active || q != 0) return;
    int32_t *flag = solves() ? s.flag + row : gpu_heap_flag(s.heap, s.heap.pe, row);
    if (gpu_fault(GPU_FAULT_LOST) && !solves() && row == 0) return;
    if (gpu_fault(GPU_FAULT_FENCE))
      gpu_store_relaxed(flag, s.epoch, GPU_DEVICE);
    else if (solves())
      gpu_store_release(flag, s.epoch, gpu_fault(GPU_FAULT_SCOPE) ? GPU_BLOCK : GPU_DEVICE);
    else
      gpu_store_system(flag, s.epoch);
  }

  /* Returns how many flags of other PEs the lane has read. */
  __device__ int run() const {
    int count = 0;
    if (gpu_fault(GPU_FAULT_SIGNAL)) signal();
    for (int first = 0; first < s.call.nrhs; first += R) {
      const int rest = s.call.nrhs - first, width = rest < R ? rest : R;
      tile sums = products(first, width);
      if (solves() && first == 0) count = await_sums();
      if (solves()) add_sum(sums, first, width);
      int own, mine;
      gpu_add_lanes<T, W, R>(q, s.threads, sums, &own, &mine);
      if (active) finish(sums, first + own, width - own < mine ? width - own : mine);
    }
    if (!gpu_fault(GPU_FAULT_WARP_BARRIER)) gpu_warp_barrier();
    signal();
    return count;
  }
};

template <class T, int W, int R>
__device__ static __forceinline__ void gpu_run_spread(const tsi_gpu_spread &s) {
  const int lane = (int)gpu_thread() % W;
  int count = 0;
  for (;;) {
    int number = 0;
    if (lane == 0) number = gpu_fetch_add(s.ticket, 1, GPU_DEVICE);
    number = gpu_shuffle(number, 0, W);
    if (number >= s.bundles) break;
    const tsi_spread_bundle b = s.bundle[number];
    for (int group = 0; group < b.items; group += W / s.threads)
      count += gpu_spread_item<T, W, R>(s, b, group).run();
  }
  if (count > 0) (void)gpu_fetch_add(s.polls, count, GPU_DEVICE);
}
