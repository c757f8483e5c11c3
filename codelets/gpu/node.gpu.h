/* The nodes of device tables, walked by a team: see device_tables.h for what each of them computes.
 *
 * A walk takes one tile of right-hand sides, columns first .. first+count-1. It begins with a sync of the
 * team, so that the walk before, whose shared memory it uses, is over. */
#ifndef TSI_CODELETS_GPU_NODE_GPU_H
#define TSI_CODELETS_GPU_NODE_GPU_H

#include "codelets/gpu/products.gpu.h"
#include "codelets/gpu/user.gpu.h"

template <class V, class T, int W, int R> struct gpu_walk {
  typedef gpu_tile<T, R> tile;

  const tsi_device_tables &tables;
  const tsi_device_call &call;
  const gpu_team<T, W, R> &team;
  const V *values;
  const tsi_index *from; /* interchanges; NULL: none */
  T *workspace;          /* of the tile */
  int first, count;

  /* ---- Rows of the workspace -----------------------------------------------------------------------------
   */

  __device__ T *row(int64_t r) const { return workspace + r * call.stride; }
  __device__ tile load(int64_t r) const {
    const T *at = row(r);
    tile x = gpu_no_tile<T, R>();
    GPU_UNROLL_ALL
    for (int c = 0; c < R; c++)
      if (c < count) x.c[c] = at[c];
    return x;
  }
  __device__ void store(int64_t r, const tile &x) const {
    T *at = row(r);
    GPU_UNROLL_ALL
    for (int c = 0; c < R; c++)
      if (c < count) at[c] = x.c[c];
  }
  __device__ void subtract(int64_t r, const tile &x) const {
    T *at = row(r);
    GPU_UNROLL_ALL
    for (int c = 0; c < R; c++)
      if (c < count) at[c] = at[c] - x.c[c];
  }
  /* do(r, c) for all entries of `rows` rows, shared out so that neighbours have the same row or the next one.
   */
  template <class F> __device__ void for_each(int rows, F f) const {
    const int64_t entries = (int64_t)rows * count;
    for (int64_t e = team.thread; e < entries; e += team.threads) f((int)(e / count), (int)(e % count));
  }

  /* ---- Panels --------------------------------------------------------------------------------------------
   */

  __device__ int64_t x_of(const tsi_device_node &n, const tsi_panel &p) const { return n.x + p.x; }
  __device__ const V *triangle_of(const tsi_panel &p) const { return values + p.values; }
  __device__ const V *rectangle_of(const tsi_panel &p) const {
    return values + p.values + tsi_triangle_size(p.width);
  }
  /* to := x of the panel; P x if `interchanged`. */
  __device__ void take(const tsi_device_node &n, const tsi_panel &p, bool interchanged, tile *to) const {
    for (int k = team.thread; k < p.width; k += team.threads)
      to[k] = load(x_of(n, p) + (from && interchanged ? from[p.column + k] : k));
  }
  /* x of the panel := y; P' y if `interchanged`. */
  __device__ void give(const tsi_device_node &n, const tsi_panel &p, bool interchanged, const tile *y) const {
    for (int k = team.thread; k < p.width; k += team.threads)
      store(x_of(n, p) + (from && interchanged ? from[p.column + k] : k), y[k]);
  }
  /* out := T in, or T^-1 in; returns where the result is, and all of the team see it. */
  __device__ const tile *solve(const tsi_panel &p) const {
    if (tables.inverse == TSI_INVERSE_NONE) {
      gpu_substitute(team, triangle_of(p), p.width, team.in);
      team.sync();
      return team.in;
    }
    gpu_triangle(team, triangle_of(p), p.width, team.in, team.out);
    team.sync();
    return team.out;
  }
  __device__ const tile *solve_transposed(const tsi_panel &p) const {
    if (tables.inverse == TSI_INVERSE_NONE) {
      gpu_substitute_transposed(team, triangle_of(p), p.width, team.in);
      team.sync();
      return team.in;
    }
    gpu_triangle_transposed(team, triangle_of(p), p.width, team.in, team.out);
    team.sync();
    return team.out;
  }

  /* ---- Forward -------------------------------------------------------------------------------------------
   */

  /* Columns of the node: R b, and what others add to it. */
  __device__ void gather(const tsi_device_node &n) const {
    for_each(n.columns, [&](int k, int c) {
      const int j = n.column + k;
      T sum = gpu_read_user<V, T>(call, j, first + c);
      for (int e = tables.gather_ptr[j]; e < tables.gather_ptr[j + 1]; e++)
        sum = sum + row(tables.gather[e])[c];
      row(n.x + k)[c] = sum;
    });
  }
  __device__ void forward_panel(const tsi_device_node &n, const tsi_panel &p) const {
    const tsi_index *to = tables.row + p.row;
    const auto sink = [&](int i, const tile &s) { subtract((int64_t)n.x + to[i], s); };
    team.sync();
    take(n, p, true, team.in);
    if (!gpu_fault(GPU_FAULT_BARRIER)) team.sync();
    if (tables.inverse == TSI_INVERSE_PARTITIONED) {
      gpu_rectangle(team, rectangle_of(p), p.height, p.width, team.in, sink);
      give(n, p, false, solve(p));
    } else {
      const tile *x = solve(p);
      give(n, p, false, x);
      gpu_rectangle(team, rectangle_of(p), p.height, p.width, x, sink);
    }
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
    take(n, p, true, team.in);
    team.sync();
    if (tables.inverse == TSI_INVERSE_PARTITIONED)
      for (int k = team.thread; k < p.width; k += team.threads) store((int64_t)n.sums + k, team.in[k]);
    give(n, p, false, solve(p));
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

  /* What stands between the sweeps; R b where there was none before. */
  __device__ void turn(const tsi_device_node &n) const {
    if (call.forward.values == nullptr)
      for_each(n.columns,
               [&](int k, int c) { row(n.x + k)[c] = gpu_read_user<V, T>(call, n.column + k, first + c); });
    team.sync();
    if (call.inverse)
      for_each(n.columns, [&](int k, int c) {
        gpu_apply_inverse<V>(call, n.column + k, call.stride, row(n.x + k) + c);
      });
    if (!gpu_scalar<T>::COMPLEX || !call.conjugate_backward) return;
    team.sync();
    for_each(n.columns, [&](int k, int c) { row(n.x + k)[c] = gpu_conj(row(n.x + k)[c]); });
  }
  __device__ void copy_owners(const tsi_device_node &n) const {
    for_each(n.count, [&](int i, int c) {
      row((int64_t)n.update + n.first + i)[c] = row(tables.owner[n.off + n.first + i])[c];
    });
  }
  /* in := in - R' x, for rows begin .. end-1 of a panel; row i of it is row_of(i) of the workspace. */
  template <class F>
  __device__ void subtract_transposed(const tsi_panel &p, int begin, int end, F row_of) const {
    for (int i = begin; i < end; i += team.width) {
      const int rows = end - i < team.width ? end - i : team.width;
      team.sync();
      for (int k = team.thread; k < rows; k += team.threads) team.out[k] = load(row_of(i + k));
      team.sync();
      gpu_rectangle_transposed(team, rectangle_of(p) + (int64_t)i * p.width, rows, p.width, team.out,
                               team.in);
    }
  }
  /* in := T' in, to be subtracted from. */
  __device__ void solve_in_place(const tsi_panel &p) const {
    const tile *x = solve_transposed(p);
    for (int k = team.thread; k < p.width; k += team.threads) team.in[k] = x[k];
  }
  __device__ void backward_panel(const tsi_device_node &n, const tsi_panel &p) const {
    const tsi_index *rows = tables.row + p.row;
    const bool triangle_first = tables.inverse == TSI_INVERSE_PARTITIONED;
    team.sync();
    take(n, p, false, team.in);
    team.sync();
    if (triangle_first) solve_in_place(p);
    subtract_transposed(p, 0, p.height, [&](int i) { return (int64_t)n.x + rows[i]; });
    team.sync();
    give(n, p, true, triangle_first ? team.in : solve_transposed(p));
  }
  __device__ void backward_chunk(const tsi_device_node &n) const {
    turn(n);
    copy_owners(n);
    for (int p = n.panel + n.panels - 1; p >= n.panel; p--) backward_panel(n, tables.panel[p]);
  }
  __device__ void backward_sliced(const tsi_device_node &n) const {
    const tsi_panel &p = tables.panel[n.panel];
    const bool triangle_first = tables.inverse == TSI_INVERSE_PARTITIONED;
    turn(n);
    team.sync();
    take(n, p, false, team.in);
    team.sync();
    if (triangle_first) solve_in_place(p);
    team.sync();
    for (int k = team.thread; k < p.width; k += team.threads)
      for (int s = 0; s < n.slices; s++)
        gpu_subtract(team.in[k], load((int64_t)n.sums + (int64_t)s * n.columns + k));
    team.sync();
    give(n, p, true, triangle_first ? team.in : solve_transposed(p));
  }
  __device__ void backward_slice(const tsi_device_node &n) const {
    const tsi_panel &p = tables.panel[n.panel];
    copy_owners(n);
    for (int k = team.thread; k < p.width; k += team.threads) team.in[k] = gpu_no_tile<T, R>();
    subtract_transposed(p, n.first, n.first + n.count, [&](int i) { return (int64_t)n.update + i; });
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
    for_each(n.columns,
             [&](int k, int c) { gpu_write_user<V>(call, n.column + k, first + c, row(n.x + k)[c]); });
  }
};

#endif
