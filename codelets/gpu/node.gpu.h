/* The nodes of device tables, walked by a team: see device_tables.h for what each of them computes. A walk
 * begins with a sync of the team, so that the walk before, whose shared memory it uses, is over. */
#ifndef TSI_CODELETS_GPU_NODE_GPU_H
#define TSI_CODELETS_GPU_NODE_GPU_H

#include "codelets/gpu/panel_walk.gpu.h"

template <class V, class T, int W, int R> struct gpu_walk : gpu_panel_walk<V, T, W, R> {
  typedef gpu_panel_walk<V, T, W, R> walk;
  typedef typename walk::tile tile;
  using walk::call;
  using walk::first;
  using walk::for_each;
  using walk::give;
  using walk::load;
  using walk::rectangle_of;
  using walk::row;
  using walk::solve;
  using walk::store;
  using walk::subtract;
  using walk::subtract_transposed;
  using walk::take;
  using walk::team;
  using walk::turn;
  using walk::write;

  const tsi_device_tables &tables;

  __device__ int64_t x_of(const tsi_device_node &n, const tsi_panel &p) const { return n.x + p.x; }

  /* ---- Forward -------------------------------------------------------------------------------------------
   */

  /* Columns of the node: R b, and what others add to it; of a border the latter alone. */
  __device__ void gather(const tsi_device_node &n) const {
    for_each(n.columns, [&](int k, int c) {
      const int j = n.column + k;
      T sum = n.panels > 0 ? gpu_read_user<V, T>(call, j, first + c) : T();
      const int end = tables.gather_ptr[j + 1] - gpu_fault(GPU_FAULT_GATHER);
      for (int e = tables.gather_ptr[j]; e < end; e++) sum = sum + row(tables.gather[e])[c];
      row(n.x + k)[c] = sum;
    });
  }
  __device__ void forward_panel(const tsi_device_node &n, const tsi_panel &p) const {
    const tsi_index *to = tables.row + p.row;
    walk::forward_panel(x_of(n, p), p, [&](int i, const tile &s) { subtract((int64_t)n.x + to[i], s); });
  }
  __device__ void forward_chunk(const tsi_device_node &n) const {
    gather(n);
    for_each(n.off_rows, [&](int i, int c) { row((int64_t)n.update + i)[c] = T(); });
    for (int p = n.panel; p < n.panel + n.panels; p++) forward_panel(n, tables.panel[p]);
  }
  __device__ void forward_sliced(const tsi_device_node &n) const {
    const tsi_panel &p = tables.panel[n.panel];
    gather(n);
    team.sync();
    take(x_of(n, p), p, true, team.in);
    team.sync();
    if (tables.inverse == TSI_INVERSE_PARTITIONED)
      for (int k = team.thread; k < p.width; k += team.threads) store((int64_t)n.sums + k, team.in[k]);
    give(x_of(n, p), p, false, solve(p));
  }
  __device__ void forward_slice(const tsi_device_node &n) const {
    const tsi_panel &p = tables.panel[n.panel];
    const bool before = tables.inverse == TSI_INVERSE_PARTITIONED; /* the triangle was applied */
    const int64_t x = before ? (int64_t)n.update + n.off_rows : (int64_t)n.x,
                  to = (int64_t)n.update + n.first;
    for (int k = team.thread; k < p.width; k += team.threads) team.in[k] = load(x + k);
    team.sync();
    gpu_rectangle(team, rectangle_of(p) + (int64_t)n.first * p.width, n.count, p.width, team.in,
                  [&](int i, const tile &s) {
                    tile negative = gpu_no_tile<T, R>();
                    gpu_subtract(negative, s);
                    store(to + i, negative);
                  });
  }

  /* ---- Backward ------------------------------------------------------------------------------------------
   */

  __device__ void copy_owners(const tsi_device_node &n) const {
    for_each(n.count - gpu_fault(GPU_FAULT_OWNER), [&](int i, int c) {
      row((int64_t)n.update + n.first + i)[c] = row(tables.owner[n.off + n.first + i])[c];
    });
  }
  __device__ void backward_panel(const tsi_device_node &n, const tsi_panel &p) const {
    const tsi_index *rows = tables.row + p.row;
    walk::backward_panel(x_of(n, p), p, [&](int i) { return load((int64_t)n.x + rows[i]); });
  }
  __device__ void backward_chunk(const tsi_device_node &n) const {
    turn(n.x, n.column, n.columns);
    copy_owners(n);
    for (int p = n.panel + n.panels - 1; p >= n.panel; p--) backward_panel(n, tables.panel[p]);
  }
  __device__ void backward_sliced(const tsi_device_node &n) const {
    const tsi_panel &p = tables.panel[n.panel];
    turn(n.x, n.column, n.columns);
    walk::backward_triangle(x_of(n, p), p, [&] {
      team.sync();
      for (int k = team.thread; k < p.width; k += team.threads)
        for (int s = 0; s < n.slices - gpu_fault(GPU_FAULT_SLICE); s++)
          gpu_subtract(team.in[k], load((int64_t)n.sums + (int64_t)s * n.columns + k));
    });
  }
  __device__ void backward_slice(const tsi_device_node &n) const {
    const tsi_panel &p = tables.panel[n.panel];
    copy_owners(n);
    for (int k = team.thread; k < p.width; k += team.threads) team.in[k] = gpu_no_tile<T, R>();
    subtract_transposed(p, n.first, n.first + n.count, [&](int i) { return load((int64_t)n.update + i); });
    team.sync();
    for (int k = team.thread; k < p.width; k += team.threads) {
      tile sum = gpu_no_tile<T, R>();
      gpu_subtract(sum, team.in[k]);
      store((int64_t)n.sums + k, sum);
    }
  }

  /* ---- Both ----------------------------------------------------------------------------------------------
   */

  __device__ void run(const tsi_device_node &n, bool backward) const {
    team.sync();
    if (n.panels == 0) { /* a border */
      if (!backward) gather(n);
      return;
    }
    if (n.kind == TSI_DEVICE_SLICE) {
      backward ? backward_slice(n) : forward_slice(n);
      return;
    }
    if (n.kind == TSI_DEVICE_SLICED)
      backward ? backward_sliced(n) : forward_sliced(n);
    else
      backward ? backward_chunk(n) : forward_chunk(n);
    if (!backward && call.backward.values) return;
    team.sync();
    write(n.x, n.column, n.columns);
  }
};

#endif
