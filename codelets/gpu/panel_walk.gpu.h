/* Common functions of walks of nodes and of single panels: rows of the workspace, diagonal blocks, a panel
 * forward and backward.
 *
 * A walk has one tile of right-hand sides, columns first .. first+count-1. The team must sync before each
 * call that reads results of other threads. */
#pragma once

#include "codelets/gpu/products.gpu.h"
#include "codelets/gpu/user.gpu.h"

template <class V, class T, int W, int R> struct gpu_panel_walk {
  typedef gpu_tile<T, R> tile;

  const tsi_device_call &call;
  const gpu_team<T, W, R> &team;
  tsi_inverse inverse;
  const V *values;
  const tsi_index *from; /* interchanges; NULL: none */
  T *workspace;          /* workspace of the tile */
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
  /* Calls f(r, c) for all entries of `rows` rows; neighbouring threads have the same row or the next one. */
  template <class F> __device__ void for_each(int rows, F f) const {
    const int64_t entries = (int64_t)rows * count;
    for (int64_t e = team.thread; e < entries; e += team.threads) f((int)(e / count), (int)(e % count));
  }

  /* ---- Panels --------------------------------------------------------------------------------------------
   */

  __device__ const V *triangle_of(const tsi_panel &p) const { return values + p.values; }
  __device__ const V *rectangle_of(const tsi_panel &p) const {
    return values + p.values + tsi_triangle_size(p.width);
  }
  /* to := x of the panel, whose first row is x; P x if `interchanged`. */
  __device__ void take(int64_t x, const tsi_panel &p, bool interchanged, tile *to) const {
    for (int k = team.thread; k < p.width; k += team.threads)
      to[k] = load(x + (from && interchanged && !gpu_fault(GPU_FAULT_PIVOTS) ? from[p.column + k] : k));
  }
  /* x of the panel := y; P' y if `interchanged`. */
  __device__ void give(int64_t x, const tsi_panel &p, bool interchanged, const tile *y) const {
    for (int k = team.thread; k < p.width; k += team.threads)
      store(x + (from && interchanged ? from[p.column + k] : k), y[k]);
  }
  /* Computes rows begin .. end-1 of T in, or T^-1 in; if T is not inverted these are all rows. Returns the
   * address of the result, which is visible to the whole team. */
  __device__ const tile *solve(const tsi_panel &p, int begin, int end) const {
    if (inverse == TSI_INVERSE_NONE) {
      gpu_substitute(team, triangle_of(p), p.width, team.in);
      team.sync();
      return team.in;
    }
    gpu_triangle(team, triangle_of(p), begin, end, team.in, team.out);
    team.sync();
    return team.out;
  }
  __device__ const tile *solve_transposed(const tsi_panel &p, int begin, int end) const {
    if (inverse == TSI_INVERSE_NONE) {
      gpu_substitute_transposed(team, triangle_of(p), p.width, team.in);
      team.sync();
      return team.in;
    }
    gpu_triangle_transposed(team, triangle_of(p), p.width, begin, end, team.in, team.out);
    team.sync();
    return team.out;
  }

  /* in := T' in, before sums are subtracted. */
  __device__ void solve_in_place(const tsi_panel &p) const {
    const tile *x = solve_transposed(p, 0, p.width);
    for (int k = team.thread; k < p.width; k += team.threads) team.in[k] = x[k];
  }

  /* ---- A panel -------------------------------------------------------------------------------------------
   */

  /* x := T P x, first row x; sink(i, s) receives row i of R x. */
  template <class SINK> __device__ void forward_panel(int64_t x, const tsi_panel &p, SINK sink) const {
    team.sync();
    take(x, p, true, team.in);
    if (!gpu_fault(GPU_FAULT_BARRIER)) team.sync();
    if (inverse == TSI_INVERSE_PARTITIONED) {
      gpu_rectangle(team, rectangle_of(p), p.height, p.width, team.in, sink);
      give(x, p, false, solve(p, 0, p.width));
    } else {
      const tile *solved = solve(p, 0, p.width);
      give(x, p, false, solved);
      gpu_rectangle(team, rectangle_of(p), p.height, p.width, solved, sink);
    }
  }
  /* in := in - R' y, for rows begin .. end-1 of a panel; load_row(i): row i of y. */
  template <class F>
  __device__ void subtract_transposed(const tsi_panel &p, int begin, int end, F load_row) const {
    for (int i = begin; i < end; i += team.width) {
      const int rows = end - i < team.width ? end - i : team.width;
      team.sync();
      for (int k = team.thread; k < rows; k += team.threads) team.out[k] = load_row(i + k);
      team.sync();
      gpu_rectangle_transposed(team, rectangle_of(p) + (int64_t)i * p.width, rows, p.width, team.out,
                               team.in);
    }
  }
  /* x := P' T' (x - s), or, if T' is applied first, P' (T' x - s); `subtract` subtracts s from in. */
  template <class F> __device__ void backward_triangle(int64_t x, const tsi_panel &p, F subtract) const {
    const bool triangle_first = inverse == TSI_INVERSE_PARTITIONED;
    team.sync();
    take(x, p, false, team.in);
    team.sync();
    if (triangle_first) solve_in_place(p);
    subtract();
    team.sync();
    give(x, p, true, triangle_first ? team.in : solve_transposed(p, 0, p.width));
  }
  /* x := P' T' (x - R' y), load_row(i): row i of y. */
  template <class F> __device__ void backward_panel(int64_t x, const tsi_panel &p, F load_row) const {
    backward_triangle(x, p, [&] { subtract_transposed(p, 0, p.height, load_row); });
  }

  /* ---- The ends of sweeps --------------------------------------------------------------------------------
   */

  /* Begins the backward sweep for `columns` columns from `column` on, whose first row is x: applies D^-1 and
   * conj; reads R b if there was no sweep before. */
  __device__ void turn(int64_t x, int column, int columns) const {
    if (call.forward.values == nullptr)
      for_each(columns,
               [&](int k, int c) { row(x + k)[c] = gpu_read_user<V, T>(call, column + k, first + c); });
    team.sync();
    if (call.inverse)
      for_each(columns,
               [&](int k, int c) { gpu_apply_inverse<V>(call, column + k, call.stride, row(x + k) + c); });
    if (!gpu_scalar<T>::COMPLEX || !call.conjugate_backward) return;
    team.sync();
    for_each(columns, [&](int k, int c) { row(x + k)[c] = gpu_conj(row(x + k)[c]); });
  }
  /* Writes the same rows to the user's x. */
  __device__ void write(int64_t x, int column, int columns) const {
    for_each(columns, [&](int k, int c) { gpu_write_user<V>(call, column + k, first + c, row(x + k)[c]); });
  }
};
