/* A distributed solve in one persistent launch on each PE: see tables/program_launch.h. */
#pragma once

#include "codelets/gpu/heap.gpu.h"
#include "codelets/gpu/panel_walk.gpu.h"
#include "codelets/gpu/tables/program_launch.h"

/* The steps, for one tile of right-hand sides. */
template <class V, class T, int W, int R> struct gpu_program_walk : gpu_panel_walk<V, T, W, R> {
  typedef gpu_panel_walk<V, T, W, R> walk;
  typedef typename walk::tile tile;
  using walk::call;
  using walk::count;
  using walk::first;
  using walk::for_each;
  using walk::load;
  using walk::row;
  using walk::store;
  using walk::subtract;
  using walk::team;

  const tsi_gpu_program &s;
  T *inbox; /* inbox of the tile */

  __device__ T received(int64_t r, int c) const { return inbox[r * call.stride + c]; }
  /* Returns a part of a sum that another PE computed, or the sum of all parts. */
  __device__ T received_sum(int64_t r, int c) const {
    const T sum = received(r, c);
    if (s.adds && !gpu_fault(GPU_FAULT_CLEAR)) inbox[r * call.stride + c] = T();
    return gpu_fault(GPU_FAULT_TWICE) ? sum + sum : sum;
  }
  __device__ int64_t sums_of(const tsi_gpu_chunk &k) const { return k.x + k.update + k.off_rows; }
  __device__ T user(const tsi_gpu_chunk &k, int j, int c) const {
    return k.reads || gpu_fault(GPU_FAULT_HOME) ? gpu_read_user<V, T>(call, k.column + j, first + c) : T();
  }
  /* Returns sum plus, or minus if negative, the received sums for entry (j, c) of a chunk. */
  __device__ T with_inbox(const tsi_gpu_chunk &k, int backward, int j, int c, T sum, bool negative) const {
    const int begin = k.inbox[backward];
    for (int m = begin; m < begin + k.inboxes[backward]; m++) {
      const T more = received_sum(s.inbox_row[m - (gpu_fault(GPU_FAULT_SLOT) && m > begin)] + j, c);
      sum = negative ? sum - more : sum + more;
    }
    return sum;
  }

  /* ---- Forward -------------------------------------------------------------------------------------------
   */

  __device__ void forward_sum(const tsi_gpu_chunk &k) const {
    for_each(k.columns, [&](int j, int c) {
      T sum = user(k, j, c);
      if (call.forward.values) {
        const int end = s.gather_ptr[k.column + j + 1] - gpu_fault(GPU_FAULT_GATHER);
        for (int e = s.gather_ptr[k.column + j]; e < end; e++) sum = sum + row(s.gather[e])[c];
        sum = with_inbox(k, 0, j, c, sum, false);
      }
      row(k.x + j)[c] = sum;
    });
  }
  __device__ void forward_chunk(const tsi_gpu_chunk &k) const {
    forward_sum(k);
    if (!call.forward.values) return;
    if (k.slices > 0) {
      const tsi_panel &p = s.panel[k.panel];
      team.sync();
      walk::take(k.x, p, true, team.in);
      team.sync();
      walk::give(k.x, p, false, walk::solve(p, 0, p.width));
      return;
    }
    for_each(k.off_rows, [&](int i, int c) { row(k.x + k.update + i)[c] = T(); });
    for (int q = k.panel; q < k.panel + k.panels; q++) {
      const tsi_panel &p = s.panel[q];
      const tsi_index *rows = s.row + p.row;
      walk::forward_panel(k.x + p.x, p, [&](int i, const tile &t) { subtract(k.x + rows[i], t); });
    }
  }
  __device__ void forward_slice(const tsi_gpu_piece &slice) const {
    const tsi_gpu_chunk &k = s.chunk[slice.chunk];
    const tsi_panel &p = s.panel[k.panel];
    if (!call.forward.values) return;
    team.sync();
    walk::take(k.x, p, false, team.in);
    team.sync();
    gpu_rectangle(team, walk::rectangle_of(p) + (int64_t)slice.first * p.width, slice.count, p.width, team.in,
                  [&](int i, const tile &t) {
                    tile negative = gpu_no_tile<T, R>();
                    gpu_subtract(negative, t);
                    store(k.x + k.update + slice.first + i, negative);
                  });
  }

  /* ---- Backward ------------------------------------------------------------------------------------------
   */

  /* in := in - R' y for rows of a chunk's panel; row i of y is x of its owner. */
  __device__ void subtract_owners(const tsi_gpu_chunk &k, const tsi_panel &p, int begin, int end) const {
    const tsi_index *rows = s.row + p.row;
    walk::subtract_transposed(p, begin, end, [&](int i) {
      return load(rows[i] < k.columns ? k.x + rows[i] : (int64_t)s.owner[k.off + rows[i] - k.update]);
    });
  }
  __device__ void backward_slice(const tsi_gpu_piece &slice, int number) const {
    const tsi_gpu_chunk &k = s.chunk[slice.chunk];
    const tsi_panel &p = s.panel[k.panel];
    const int64_t to = sums_of(k) + (int64_t)(number - k.slice) * k.columns;
    if (!call.backward.values) return;
    team.sync();
    for (int j = team.thread; j < p.width; j += team.threads) team.in[j] = gpu_no_tile<T, R>();
    subtract_owners(k, p, slice.first, slice.first + slice.count);
    team.sync();
    for (int j = team.thread; j < p.width; j += team.threads) {
      tile sum = gpu_no_tile<T, R>();
      gpu_subtract(sum, team.in[j]);
      store(to + j, sum);
    }
  }
  __device__ void backward_sum(const tsi_gpu_chunk &k) const {
    if (!call.backward.values) return;
    for_each(k.columns, [&](int j, int c) {
      T sum = row(sums_of(k) + j)[c];
      const int end = k.slices - gpu_fault(GPU_FAULT_SLICE);
      for (int q = 1; q < end; q++) sum = sum + row(sums_of(k) + (int64_t)q * k.columns + j)[c];
      row(sums_of(k) + j)[c] = with_inbox(k, 1, j, c, sum, false);
    });
  }
  __device__ void between(const tsi_gpu_chunk &k) const {
    if (call.inverse) {
      for_each(k.columns, [&](int j, int c) {
        gpu_apply_inverse<V>(call, k.column + j, call.stride, row(k.x + j) + c);
      });
      team.sync();
    }
    for_each(k.columns, [&](int j, int c) {
      T x = row(k.x + j)[c];
      if (gpu_scalar<T>::COMPLEX && call.conjugate_backward) x = gpu_conj(x);
      x = with_inbox(k, 1, j, c, x, true);
      const int end = k.slices - gpu_fault(GPU_FAULT_SLICE);
      for (int q = 0; q < end; q++) x = x - row(sums_of(k) + (int64_t)q * k.columns + j)[c];
      row(k.x + j)[c] = x;
    });
  }
  __device__ void backward_chunk(const tsi_gpu_chunk &k) const {
    if (call.backward.values) {
      between(k);
      if (k.slices > 0) walk::backward_triangle(k.x, s.panel[k.panel], [] {});
      for (int q = k.panel + k.panels - 1; q >= k.panel && k.slices == 0; q--) {
        const tsi_panel &p = s.panel[q];
        walk::backward_triangle(k.x + p.x, p, [&] { subtract_owners(k, p, 0, p.height); });
      }
      team.sync();
    }
    if (k.writes) walk::write(k.x, k.column, k.columns);
  }

  /* ---- Messages ------------------------------------------------------------------------------------------
   */

  __device__ void receive(const tsi_gpu_chunk &k, int64_t arrived) const {
    for_each(k.columns, [&](int j, int c) { row(k.x + j)[c] = received(arrived + j, c); });
  }
  __device__ void add(const tsi_gpu_message &m) const {
    int64_t arrived = m.row;
    for (int i = m.part; i < m.part + m.parts - gpu_fault(GPU_FAULT_PART); i++) {
      const tsi_gpu_chunk &k = s.chunk[s.part[i]];
      for_each(k.columns,
               [&](int j, int c) { row(k.x + j)[c] = row(k.x + j)[c] + received_sum(arrived + j, c); });
      arrived += k.columns;
    }
  }

  __device__ void run(const tsi_gpu_step &step) const {
    const int a = step.argument;
    switch (step.kind) {
    case TSI_GPU_FORWARD_SUM:
      return forward_sum(s.chunk[a]);
    case TSI_GPU_FORWARD_CHUNK:
      return forward_chunk(s.chunk[a]);
    case TSI_GPU_FORWARD_SLICE:
      return forward_slice(s.slice[a]);
    case TSI_GPU_FORWARD_RECEIVE:
      if (call.forward.values) receive(s.chunk[a], s.chunk[a].forward_x);
      return;
    case TSI_GPU_BACKWARD_SUM:
      return backward_sum(s.chunk[a]);
    case TSI_GPU_BACKWARD_CHUNK:
      return backward_chunk(s.chunk[a]);
    case TSI_GPU_BACKWARD_SLICE:
      return backward_slice(s.slice[a], a);
    case TSI_GPU_BACKWARD_RECEIVE:
      if (call.backward.values) receive(s.chunk[a], s.chunk[a].backward_x);
      return;
    case TSI_GPU_EXCHANGE:
      if (a >= 0) add(s.receive[a]);
      return;
    default:
      return;
    }
  }
};

__device__ static __forceinline__ bool gpu_has_message(const tsi_gpu_program &s, const tsi_gpu_message &m) {
  return m.when == TSI_GPU_IN_ALL || (m.when == TSI_GPU_IN_FORWARD ? s.call.forward : s.call.backward).values;
}
template <class T> __device__ static __forceinline__ T *gpu_inbox_of(const tsi_gpu_program &s, int pe) {
  return (T *)gpu_heap_at(s.heap, pe, s.inbox);
}
/* One thread waits for a flag of its PE that another PE raises, or until the run has stopped. */
__device__ static __forceinline__ void gpu_await_peer(const tsi_gpu_program &s, int flag, int32_t epoch) {
  gpu_await_system(gpu_heap_flag(s.heap, s.heap.pe, flag), epoch, gpu_heap_stopped(s.heap));
}
/* One thread waits for a message of this run. */
__device__ static __forceinline__ void gpu_await_message(const tsi_gpu_program &s, const tsi_gpu_message &m) {
  if (!gpu_has_message(s, m) || gpu_fault(GPU_FAULT_ARRIVAL)) return;
  gpu_await_peer(s, m.flag, gpu_fault(GPU_FAULT_STALE) ? tsi_heap_epoch(s.epoch, -2) : s.epoch);
}
__device__ static __forceinline__ int gpu_receiver_of(const tsi_gpu_program &s, const tsi_gpu_message &m) {
  return gpu_fault(GPU_FAULT_CHILD) ? (m.peer + 1) % s.heap.pes : m.peer;
}
/* One thread raises the flag of a message. */
__device__ static __forceinline__ void gpu_raise_peer(const tsi_gpu_program &s, const tsi_gpu_message &m) {
  int32_t *flag = gpu_heap_flag(s.heap, gpu_receiver_of(s, m), m.flag);
  if (gpu_fault(GPU_FAULT_LOST) && &m == s.send) return;
  if (gpu_fault(GPU_FAULT_FENCE))
    gpu_store_relaxed(flag, s.epoch, GPU_DEVICE);
  else
    gpu_store_system(flag, s.epoch);
}

/* The block copies a message to the inbox of its receiver, and raises the flag there. */
template <class T>
__device__ static __forceinline__ void gpu_put_message(const tsi_gpu_program &s, const tsi_gpu_message &m) {
  const int thread = (int)gpu_thread(), threads = (int)gpu_threads();
  if (!gpu_has_message(s, m)) return;
  if (thread == 0 && !gpu_fault(GPU_FAULT_REUSE))
    gpu_await_peer(s, s.done + m.peer, tsi_heap_epoch(s.epoch, -2));
  gpu_barrier();
  T *to =
      gpu_inbox_of<T>(s, gpu_receiver_of(s, m)) + (gpu_fault(GPU_FAULT_BUFFER) ? 0 : m.row) * s.call.stride;
  for (int i = m.part; i < m.part + m.parts; i++) {
    const tsi_gpu_chunk &k = s.chunk[s.part[i]];
    const int64_t scalars = (int64_t)k.columns * s.call.stride;
    const T *from =
        (const T *)s.call.workspace + (m.sums ? k.x + k.update + k.off_rows : k.x) * s.call.stride;
    for (int64_t e = thread; e < scalars; e += threads) {
      if (e % s.call.stride >= s.call.nrhs) continue; /* skips padding */
      if (m.adds)
        gpu_atomic_add_system(&to[e], from[e]);
      else
        to[e] = from[e];
    }
    to += scalars;
  }
  if (!gpu_fault(GPU_FAULT_BARRIER)) gpu_barrier();
  if (thread == 0 && !gpu_fault(GPU_FAULT_SIGNAL)) gpu_raise_peer(s, m);
}

template <class V, class T, int W, int R>
__device__ static __forceinline__ void gpu_run_step(const tsi_gpu_program &s, const tsi_gpu_step &step,
                                                    gpu_tile<T, R> *in, gpu_tile<T, R> *out,
                                                    gpu_tile<T, R> *parts) {
  const gpu_team<T, W, R> team = gpu_team_of<T, W, R>(true, in, out, parts);
  for (int first = 0; first < s.call.nrhs - gpu_fault(GPU_FAULT_TILE); first += R) {
    const int rest = s.call.nrhs - first;
    const bool backward = step.kind >= TSI_GPU_BACKWARD_SUM && step.kind <= TSI_GPU_BACKWARD_RECEIVE;
    const tsi_device_values &values = backward ? s.call.backward : s.call.forward;
    const gpu_program_walk<V, T, W, R> walk = {{s.call, team, s.inverse, (const V *)values.values,
                                                values.from, (T *)s.call.workspace + first, first,
                                                rest < R ? rest : R},
                                               s,
                                               gpu_inbox_of<T>(s, s.heap.pe) + first};
    walk.run(step);
    team.sync();
  }
}

template <class V, class T, int W, int R>
__device__ static __forceinline__ void gpu_run_program(const tsi_gpu_program &s) {
  typedef gpu_tile<T, R> tile;
  GPU_SHARED(tile, in, TSI_PANEL_WIDTH_MAX);
  GPU_SHARED(tile, out, TSI_PANEL_WIDTH_MAX);
  GPU_SHARED(tile, parts, GPU_THREADS_MAX / TSI_ROW_BLOCK);
  GPU_SHARED(int32_t, drawn, 1);
  const int thread = (int)gpu_thread(), threads = (int)gpu_threads();
  for (;;) {
    if (thread == 0) *drawn = gpu_fetch_add(s.ticket, 1, GPU_DEVICE);
    gpu_barrier();
    const int32_t number = *drawn;
    if (number >= s.steps) {
      /* The last block resets the counter: no block draws any more. */
      if (thread == 0 && number == s.steps + (int32_t)gpu_blocks() - 1 - gpu_fault(GPU_FAULT_COUNTER))
        gpu_store_relaxed(s.ticket, 0, GPU_DEVICE);
      return;
    }
    const tsi_gpu_step step = s.step[number];
    const int waits = step.befores - (gpu_fault(GPU_FAULT_FLAG) && step.befores > 0);
    for (int e = thread; e < waits; e += threads)
      gpu_await(&s.flag[s.before[step.before + e]], tsi_heap_epoch(s.epoch, -gpu_fault(GPU_FAULT_EPOCH)),
                GPU_DEVICE);
    if (step.kind == TSI_GPU_ARRIVAL && thread == 0) gpu_await_message(s, s.receive[step.argument]);
    gpu_barrier();
    for (int m = step.send; gpu_fault(GPU_FAULT_SIGNAL) && thread == 0 && m < step.send + step.sends; m++)
      gpu_raise_peer(s, s.send[m]);
    gpu_run_step<V, T, W, R>(s, step, in, out, parts);
    gpu_barrier();
    for (int m = step.send; m < step.send + step.sends; m++) gpu_put_message<T>(s, s.send[m]);
    gpu_barrier();
    if (thread != 0) continue;
    if (gpu_fault(GPU_FAULT_FENCE))
      gpu_store_relaxed(&s.flag[number], s.epoch, GPU_DEVICE);
    else
      gpu_store_release(&s.flag[number], s.epoch, gpu_fault(GPU_FAULT_SCOPE) ? GPU_BLOCK : GPU_DEVICE);
  }
}
