/* The kernels of the published solvers, see variants.h. A block solves a panel, for each tile of right-hand
 * sides. */
#pragma once

#include "codelets/gpu/panel_walk.gpu.h"
#include "codelets/gpu/tables/variants.h"

template <class V, class T, int W, int R> struct gpu_variant_walk : gpu_panel_walk<V, T, W, R> {
  typedef gpu_panel_walk<V, T, W, R> walk;
  typedef typename walk::tile tile;
  using walk::call;
  using walk::count;
  using walk::first;
  using walk::for_each;
  using walk::load;
  using walk::row;
  using walk::team;

  const tsi_variant_tables &tables;

  /* Adds s to the sums of column j; other blocks may add concurrently. */
  __device__ void add(int64_t j, const tile &s) const {
    T *at = row(tables.n + j);
    GPU_UNROLL_ALL
    for (int c = 0; c < R; c++)
      if (c < count) gpu_atomic_add(&at[c], s.c[c]);
  }
  /* Returns the complete sum of column j, right-hand side c, and resets it to zero. */
  __device__ T take_sum(int64_t j, int c) const {
    T *at = row(tables.n + j) + c;
    const T sum = *at;
    *at = T();
    return sum;
  }
  __device__ void forward(const tsi_panel &p) const {
    const tsi_index *rows = tables.row + p.row;
    for_each(p.width, [&](int k, int c) {
      const int j = p.column + k;
      row(j)[c] = gpu_read_user<V, T>(call, j, first + c) + take_sum(j, c);
    });
    walk::forward_panel(p.column, p, [&](int i, const tile &s) {
      tile negative = gpu_no_tile<T, R>();
      gpu_subtract(negative, s);
      add(rows[i], negative);
    });
    if (call.backward.values) return;
    team.sync();
    walk::write(p.column, p.column, p.width);
  }
  /* Solves backward; all sums are complete. */
  __device__ void backward_by_sums(const tsi_panel &p) const {
    walk::turn(p.column, p.column, p.width);
    walk::backward_triangle(p.column, p, [&] {
      team.sync();
      for (int k = team.thread; k < p.width; k += team.threads)
        for (int c = 0; c < count; c++) team.in[k].c[c] = team.in[k].c[c] + take_sum(p.column + k, c);
    });
    team.sync();
    walk::write(p.column, p.column, p.width);
  }
  /* Adds the updates of a segment's target, whose x is known, to the sums of the segment's panel, by columns
   * of F'. Uses whole row blocks; rows outside the segment count as zero. */
  __device__ void scatter(const tsi_variant_segment &s) const {
    const tsi_panel &p = tables.panel[s.panel];
    const tsi_index *rows = tables.row + p.row;
    const int end = s.first + s.count, full = (int)tsi_round_up_block(end);
    team.sync();
    for (int k = team.thread; k < p.width; k += team.threads) team.in[k] = gpu_no_tile<T, R>();
    walk::subtract_transposed(
        p, s.first / TSI_ROW_BLOCK * TSI_ROW_BLOCK, full < p.height ? full : p.height,
        [&](int i) { return i < s.first || i >= end ? gpu_no_tile<T, R>() : load(rows[i]); });
    team.sync();
    for (int k = team.thread; k < p.width; k += team.threads) add(p.column + k, team.in[k]);
  }
  __device__ void backward_by_rows(const tsi_panel &p) const {
    const tsi_index *rows = tables.row + p.row;
    walk::turn(p.column, p.column, p.width);
    walk::backward_panel(p.column, p, [&](int i) { return load(rows[i]); });
    team.sync();
    walk::write(p.column, p.column, p.width);
  }
};

/* Calls f(walk) for each tile of right-hand sides. */
template <class V, class T, int W, int R, bool BACKWARD, class F>
__device__ static __forceinline__ void gpu_for_tiles(const tsi_gpu_variant &s, F f) {
  typedef gpu_tile<T, R> tile;
  GPU_SHARED(tile, in, TSI_PANEL_WIDTH_MAX);
  GPU_SHARED(tile, out, TSI_PANEL_WIDTH_MAX);
  GPU_SHARED(tile, parts, GPU_THREADS_MAX / TSI_ROW_BLOCK);
  const tsi_device_values &values = BACKWARD ? s.call.backward : s.call.forward;
  const gpu_team<T, W, R> team = gpu_team_of<T, W, R>(true, in, out, parts);
  for (int first = 0; first < s.call.nrhs; first += R) {
    const int rest = s.call.nrhs - first;
    f(gpu_variant_walk<V, T, W, R>{{s.call, team, s.tables.inverse, (const V *)values.values, values.from,
                                    (T *)s.call.workspace + first, first, rest < R ? rest : R},
                                   s.tables});
    team.sync();
  }
}

/* One block per panel; the grid has `panels` blocks. */
template <class V, class T, int W, int R, bool BACKWARD>
__device__ static __forceinline__ void gpu_run_sc23(const tsi_gpu_variant &s) {
  GPU_SHARED(int32_t, drawn, 1);
  const tsi_variant_tables &t = s.tables;
  const int thread = (int)gpu_thread(), threads = (int)gpu_threads();
  if (thread == 0) *drawn = gpu_fetch_add(s.ticket, 1, GPU_DEVICE);
  gpu_barrier();
  const int32_t number = BACKWARD ? t.panels - 1 - *drawn : *drawn;
  const int32_t begin = t.segment_ptr[number], end = t.segment_ptr[number + 1];
  const int32_t into = t.into_ptr[number], into_end = t.into_ptr[number + 1];
  const int32_t updates = BACKWARD ? end - begin : into_end - into;
  if (thread == 0) {
    if (*drawn == t.panels - 1) gpu_store_relaxed(s.ticket, 0, GPU_DEVICE);
    gpu_await(&s.left[number], gpu_fault(GPU_FAULT_COUNT) && updates > 0 ? 1 : 0, GPU_DEVICE);
    gpu_store_relaxed(&s.left[number], updates, GPU_DEVICE);
  }
  gpu_barrier();
  gpu_for_tiles<V, T, W, R, BACKWARD>(s, [&](const gpu_variant_walk<V, T, W, R> &walk) {
    if (!BACKWARD) {
      walk.forward(t.panel[number]);
      return;
    }
    walk.backward_by_sums(t.panel[number]);
    for (int32_t e = into; e < into_end; e++) walk.scatter(t.segment[t.into[e]]);
  });
  if (BACKWARD)
    for (int32_t e = into + thread; e < into_end; e += threads)
      gpu_add_release(&s.left[t.segment[t.into[e]].panel], -1, GPU_DEVICE);
  else
    for (int32_t e = begin + thread; e < end; e += threads)
      gpu_add_release(&s.left[t.segment[e].target], -1, GPU_DEVICE);
}

/* One block per panel of a level. */
template <class V, class T, int W, int R, bool BACKWARD>
__device__ static __forceinline__ void gpu_run_kk20(const tsi_gpu_variant &s) {
  const tsi_panel &p = s.tables.panel[s.tables.level[s.first + (int)gpu_block()]];
  gpu_for_tiles<V, T, W, R, BACKWARD>(s, [&](const gpu_variant_walk<V, T, W, R> &walk) {
    if (BACKWARD)
      walk.backward_by_rows(p);
    else
      walk.forward(p);
  });
}
