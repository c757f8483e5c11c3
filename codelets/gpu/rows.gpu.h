/* Solves with triangles by rows: see device_rows.h for bundles, tickets and phases, and rows_launch.h for
 * launches.
 *
 * Lane = threads * row + q takes entries q, q + threads, ... of a row of the bundle. All lanes of a warp do
 * the same steps, so that they shuffle together and load contiguous entries together; lanes without an entry
 * or a row idle. Rows of a bundle do not depend on each other, so lanes that wait for flags never wait for
 * lanes of their own warp. After the sums the lanes of a row share its right-hand sides. */
#pragma once

#include "codelets/gpu/lanes.gpu.h"
#include "codelets/gpu/tables/rows_launch.h"
#include "codelets/gpu/user.gpu.h"

/* One bundle, of a warp of W lanes: T, the scalar type; R, right-hand sides that are summed at once. */
template <class T, int W, int R> struct gpu_bundle {
  typedef gpu_tile<T, R> tile;

  const tsi_gpu_rows &s;
  const tsi_device_bundle b;
  int kind;       /* kind of the phase */
  int q;          /* number of the lane in its row */
  bool active;    /* there is a row for the lane */
  int row;        /* row of the workspace */
  int begin, end; /* range of its entries, counted from the bundle's first one */

  __device__ gpu_bundle(const tsi_gpu_rows &rows, const tsi_device_bundle &bundle, int phase_kind)
      : s(rows), b(bundle), kind(phase_kind) {
    const int lane = (int)gpu_thread() % W, group = lane / b.threads;
    q = lane % b.threads;
    active = group < b.rows - gpu_fault(GPU_FAULT_TAIL);
    const int listed = b.first + (active ? group : 0);
    row = listed < s.tables.n ? listed : s.tables.row[listed - s.tables.n];
    begin = group > 0 && active ? s.tables.end[listed - 1] : 0;
    end = active ? s.tables.end[listed] : 0;
  }

  __device__ T *at(int r, int first) const {
    return (T *)s.call.workspace + (int64_t)r * s.call.stride + first;
  }

  __device__ int column(int e, bool has) const {
    return b.narrow ? b.base + (int)gpu_load_panel(s.tables.short_column + b.at + e, has)
                    : gpu_load_panel(s.tables.column + b.at + e, has);
  }

  /* Returns the lane's part of the row times x, for right-hand sides first .. first+count-1. */
  __device__ tile sum(int first, int count) const {
    tile sums = gpu_no_tile<T, R>();
    for (int step = 0; step < b.steps; step++) {
      const int e = begin + step * b.threads + q;
      const bool has = e < end;
      const int j = column(e, has);
      const T a = gpu_load_panel((const T *)s.values + b.entry + e, has);
      if (!has) continue;
      if (kind == TSI_PHASE_FREE && first == 0 && !(gpu_fault(GPU_FAULT_FLAG) && e == end - 1))
        gpu_await(s.flag + j, s.epoch, GPU_DEVICE);
      gpu_add_scaled(sums, s.conjugate ? gpu_conj(a) : a, gpu_load_tile<T, R>(at(j, first), count));
    }
    return sums;
  }

  __device__ bool solves() const { return kind == TSI_PHASE_SOLVE || kind == TSI_PHASE_FREE; }

  /* Writes the row, for right-hand sides first .. first+count-1; also the user's x. */
  __device__ void finish(const tile &sums, int first, int count) const {
    T *w = at(row, first);
    T inverse = T();
    if (solves() && s.inverse) {
      inverse = ((const T *)s.inverse)[row];
      if (s.conjugate) inverse = gpu_conj(inverse);
    }
    GPU_UNROLL_ALL
    for (int c = 0; c < R; c++) {
      if (c >= count) continue;
      T value = (b.fresh ? gpu_read_user<T, T>(s.call, row, first + c) : w[c]) - sums.c[c];
      if (solves()) {
        if (s.inverse) value = inverse * value;
        gpu_write_user<T>(s.call, row, first + c, value);
      }
      w[c] = value;
    }
  }

  __device__ void run() const {
    for (int first = 0; first < s.call.nrhs; first += R) {
      const int rest = s.call.nrhs - first, count = rest < R ? rest : R;
      tile sums = sum(first, count);
      int own, mine;
      gpu_add_lanes<T, W, R>(q, b.threads, sums, &own, &mine);
      if (active) finish(sums, first + own, count - own < mine ? count - own : mine);
    }
    if (kind != TSI_PHASE_FREE) return;
    gpu_warp_barrier();
    if (!active || q != 0) return;
    if (gpu_fault(GPU_FAULT_FENCE))
      gpu_store_relaxed(s.flag + row, s.epoch, GPU_DEVICE);
    else
      gpu_store_release(s.flag + row, s.epoch, GPU_DEVICE);
  }
};

/* Waits until all tickets of the previous phase have ended, if the launch has that phase. */
__device__ static __forceinline__ void gpu_await_phase(const tsi_gpu_rows &s, int phase) {
  if (phase == s.phase || gpu_fault(GPU_FAULT_FLAG)) return;
  const uint32_t through = (uint32_t)s.epoch * (uint32_t)s.tables.phase[phase - 1].tickets;
  gpu_await(s.done + phase - 1, (int32_t)through, GPU_DEVICE);
}

template <class T, int W, int R> __device__ static __forceinline__ void gpu_run_rows(const tsi_gpu_rows &s) {
  GPU_SHARED(int32_t, drawn, 1);
  const tsi_device_phase &last = s.tables.phase[s.phase + s.phases - 1];
  const int thread = (int)gpu_thread(), warp = thread / W, warps = (int)gpu_threads() / W;
  const int32_t first = s.tables.phase[s.phase].ticket, tickets = last.ticket + last.tickets - first;
  for (;;) {
    if (thread == 0) *drawn = gpu_fetch_add(s.ticket, 1, GPU_DEVICE);
    gpu_barrier();
    const int32_t number = *drawn;
    if (number >= tickets) {
      /* The last block resets the counter: no block draws any more. */
      if (thread == 0 && number == tickets + (int32_t)gpu_blocks() - 1)
        gpu_store_relaxed(s.ticket, 0, GPU_DEVICE);
      return;
    }
    const tsi_device_row_ticket ticket = s.tables.ticket[first + number];
    if (thread == 0) gpu_await_phase(s, ticket.phase);
    gpu_barrier();
    for (int k = warp; k < ticket.bundles; k += warps)
      gpu_bundle<T, W, R>(s, s.tables.bundle[ticket.bundle + k], s.tables.phase[ticket.phase].kind).run();
    if (!gpu_fault(GPU_FAULT_BARRIER)) gpu_barrier();
    if (thread == 0) gpu_add_release(s.done + ticket.phase, 1, GPU_DEVICE);
  }
}
