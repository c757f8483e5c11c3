/* One sweep in one launch. Resident blocks draw tickets in their order, prefetch the first values of a ticket
 * while they wait for the flags of the tickets before it, walk its nodes and raise its flag. A block waits
 * only for tickets that were drawn before its own, so the launch ends with any number of blocks. */
#pragma once

#include "codelets/gpu/panel_walk.gpu.h"
#include "codelets/gpu/tables/launch.h"

/* ---- Nodes --------------------------------------------------------------------------------------------- */

/* A walk of the nodes of device tables by a team; device_tables.h defines the work of each node. A walk
 * begins with a sync of the team, so that the previous walk, whose shared memory it reuses, has ended. */
template <class V, class T, int W, int R> struct gpu_walk : gpu_panel_walk<V, T, W, R> {
  typedef gpu_panel_walk<V, T, W, R> walk;
  typedef typename walk::tile tile;
  using walk::call;
  using walk::first;
  using walk::for_each;
  using walk::from;
  using walk::load;
  using walk::rectangle_of;
  using walk::row;
  using walk::solve;
  using walk::solve_transposed;
  using walk::store;
  using walk::subtract;
  using walk::subtract_transposed;
  using walk::take;
  using walk::team;
  using walk::turn;
  using walk::write;

  const tsi_device_tables &tables;

  /* Writes rows of the team to the user's x. */
  __device__ void write_columns(int64_t x, int column, int columns) const {
    team.sync();
    write(x, column, columns);
  }
  __device__ int64_t x_of(const tsi_device_node &n, const tsi_panel &p) const { return n.x + p.x; }

  /* ---- Forward -------------------------------------------------------------------------------------------
   */

  /* Returns `sum` plus the sum of a list, for right-hand side c. */
  __device__ T gathered(int list, int c, T sum) const {
    const int end = tables.gather_ptr[list + 1] - gpu_fault(GPU_FAULT_GATHER);
    for (int e = tables.gather_ptr[list]; e < end; e++) sum = sum + row(tables.gather[e])[c];
    return sum;
  }
  /* Gathers the updates of the columns of a border. */
  __device__ void gather_border(const tsi_device_node &n) const {
    for_each(n.columns, [&](int k, int c) { row(n.x + k)[c] = gathered(n.column + k, c, T()); });
  }
  /* Gathers the updates of other chunks for the off-rows of the node. */
  __device__ void gather_off_rows(const tsi_device_node &n) const {
    for_each(n.count, [&](int i, int c) {
      row((int64_t)n.update + n.first + i)[c] = gathered(tables.n + n.off + n.first + i, c, T());
    });
  }
  /* Returns the column from which the interchanges of a panel move column k, forward; or to which, backward.
   */
  __device__ int interchanged(const tsi_panel &p, int k) const { return from ? from[p.column + k] : k; }
  /* in := the first `columns` rows of P y; y is R b plus the updates of other chunks. */
  __device__ void gather_panel(const tsi_device_node &n, const tsi_panel &p, int columns) const {
    for_each(columns, [&](int k, int c) {
      const int j = gpu_fault(GPU_FAULT_PIVOTS) ? k : interchanged(p, k);
      team.in[k].c[c] = gathered(n.column + j, c, row((int64_t)n.solution + j)[c]);
    });
  }
  __device__ void forward_panel(const tsi_device_node &n, const tsi_panel &p) const {
    const tsi_index *to = tables.row + p.row;
    walk::forward_panel(x_of(n, p), p, [&](int i, const tile &s) { subtract((int64_t)n.x + to[i], s); });
  }
  __device__ void forward_chunk(const tsi_device_node &n) const {
    for_each(n.columns, [&](int k, int c) {
      row(n.x + k)[c] = gathered(n.column + k, c, gpu_read_user<V, T>(call, n.column + k, first + c));
    });
    gather_off_rows(n);
    for (int p = n.panel; p < n.panel + n.panels; p++) forward_panel(n, tables.panel[p]);
  }
  __device__ void forward_triangle(const tsi_device_node &n) const {
    const tsi_panel &p = tables.panel[n.panel];
    gather_panel(n, p, n.first + n.count);
    team.sync();
    const tile *x = solve(p, n.first, n.first + n.count);
    for (int k = n.first + team.thread; k < n.first + n.count; k += team.threads)
      store((int64_t)n.x + k, x[k]);
    if (!call.backward.values) write_columns(n.x + n.first, n.column + n.first, n.count);
  }
  __device__ void forward_slice(const tsi_device_node &n) const {
    const tsi_panel &p = tables.panel[n.panel];
    const int64_t to = (int64_t)n.update + n.first;
    gather_off_rows(n);
    if (tables.inverse == TSI_INVERSE_PARTITIONED) /* R contains the factor T */
      gather_panel(n, p, p.width);
    else
      take(n.x, p, false, team.in);
    team.sync();
    gpu_rectangle(team, rectangle_of(p) + (int64_t)n.first * p.width, n.count, p.width, team.in,
                  [&](int i, const tile &s) { subtract(to + i, s); });
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
  /* y := y - row k of the partial sums that the node adds. */
  __device__ void subtract_sums(const tsi_device_node &n, int k, tile &y) const {
    const int adds = n.adds - (gpu_fault(GPU_FAULT_SLICE) && n.adds > 0);
    for (int s = 0; s < adds; s++) gpu_subtract(y, load((int64_t)n.add + (int64_t)s * n.columns + k));
  }
  __device__ void backward_triangle(const tsi_device_node &n) const {
    const tsi_panel &p = tables.panel[n.panel];
    const bool triangle_first = tables.inverse == TSI_INVERSE_PARTITIONED;
    for (int k = n.begin + team.thread; k < n.columns; k += team.threads) {
      tile x = load((int64_t)n.x + k);
      if (!triangle_first) subtract_sums(n, k, x);
      team.in[k] = x;
    }
    team.sync();
    const tile *x = solve_transposed(p, n.begin, n.end);
    for (int k = n.begin + team.thread; k < n.end; k += team.threads) {
      tile solution = x[k];
      if (triangle_first) subtract_sums(n, k, solution);
      store((int64_t)n.solution + interchanged(p, k), solution);
    }
    team.sync();
    for_each(n.end - n.begin, [&](int i, int c) {
      const int k = interchanged(p, n.begin + i);
      gpu_write_user<V>(call, n.column + k, first + c, row((int64_t)n.solution + k)[c]);
    });
  }
  __device__ void backward_slice(const tsi_device_node &n) const {
    const tsi_panel &p = tables.panel[n.panel];
    copy_owners(n);
    for (int k = team.thread; k < p.width; k += team.threads) {
      team.in[k] = gpu_no_tile<T, R>();
      subtract_sums(n, k, team.in[k]);
    }
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

  /* Begins a sliced chunk. b is not read later, so x may overwrite it. */
  __device__ void begin_sliced(const tsi_device_node &n, bool backward) const {
    if (backward)
      turn(n.x, n.column, n.columns);
    else
      for_each(n.columns, [&](int k, int c) {
        row((int64_t)n.solution + k)[c] = gpu_read_user<V, T>(call, n.column + k, first + c);
      });
  }
  __device__ void run(const tsi_device_node &n, bool backward) const {
    team.sync();
    if (n.panels == 0) { /* a border */
      if (!backward) gather_border(n);
      return;
    }
    switch (n.kind) {
    case TSI_DEVICE_SLICED:
      begin_sliced(n, backward);
      return;
    case TSI_DEVICE_SLICE:
      backward ? backward_slice(n) : forward_slice(n);
      return;
    case TSI_DEVICE_TRIANGLE:
      backward ? backward_triangle(n) : forward_triangle(n);
      return;
    default:
      backward ? backward_chunk(n) : forward_chunk(n);
      if (backward || !call.backward.values) write_columns(n.x, n.column, n.columns);
    }
  }
};

/* ---- Tickets ------------------------------------------------------------------------------------------- */

/* The range of values that a node reads, in scalars: its panels, or its rows of one panel. */
struct gpu_range {
  int64_t begin, end;
};
__device__ static __forceinline__ gpu_range gpu_node_values(const tsi_device_tables &tables,
                                                            const tsi_device_node &n) {
  const tsi_panel &first = tables.panel[n.panel];
  if (n.kind == TSI_DEVICE_TRIANGLE)
    return {first.values + tsi_triangle_block(n.first), first.values + tsi_triangle_block(n.first + n.count)};
  if (n.kind == TSI_DEVICE_SLICE) {
    const int64_t rectangle = first.values + tsi_triangle_size(first.width);
    return {rectangle + (int64_t)n.first * first.width,
            rectangle + (int64_t)(n.first + n.count) * first.width};
  }
  const tsi_panel &last = tables.panel[n.panel + n.panels - 1];
  return {first.values, last.values + tsi_panel_size(last.width, last.height)};
}

/* Prefetches the values that the first node of a waiting ticket reads: a line per thread, from the end at
 * which the sweep begins. */
template <class V, bool BACKWARD>
__device__ static __forceinline__ void gpu_prefetch_ticket(const tsi_gpu_sweep &s,
                                                           const tsi_device_ticket &ticket) {
  const tsi_device_sweep &sweep = BACKWARD ? s.tables.backward : s.tables.forward;
  const tsi_device_values &values = BACKWARD ? s.call.backward : s.call.forward;
  const tsi_device_node &node = s.tables.node[sweep.order[ticket.first]];
  if (node.panels == 0 || node.kind == TSI_DEVICE_SLICED) return;
  const gpu_range range = gpu_node_values(s.tables, node);
  const char *begin = (const char *)((const V *)values.values + range.begin),
             *end = (const char *)((const V *)values.values + range.end);
  const int64_t offset = (int64_t)gpu_thread() * GPU_LINE_BYTES;
  if (offset < end - begin) gpu_prefetch(BACKWARD ? end - 1 - offset : begin + offset);
}

/* Walks all nodes of a ticket, for each tile of right-hand sides. */
template <class V, class T, int W, int R, bool BACKWARD>
__device__ static __forceinline__ void gpu_walk_ticket(const tsi_gpu_sweep &s,
                                                       const tsi_device_ticket &ticket, gpu_tile<T, R> *in,
                                                       gpu_tile<T, R> *out, gpu_tile<T, R> *parts) {
  const tsi_device_sweep &sweep = BACKWARD ? s.tables.backward : s.tables.forward;
  const tsi_device_values &values = BACKWARD ? s.call.backward : s.call.forward;
  const tsi_index *order = sweep.order + ticket.first;
  const bool whole = s.tables.node[order[0]].kind != TSI_DEVICE_WARP;
  const gpu_team<T, W, R> team = gpu_team_of<T, W, R>(whole, in, out, parts);
  const int step = whole ? 1 : (int)gpu_threads() / W;
  for (int k = whole ? 0 : (int)gpu_thread() / W; k < ticket.nodes; k += step)
    for (int first = 0; first < s.call.nrhs - gpu_fault(GPU_FAULT_TILE); first += R) {
      const int rest = s.call.nrhs - first;
      const gpu_walk<V, T, W, R> walk = {{s.call, team, s.tables.inverse, (const V *)values.values,
                                          values.from, (T *)s.call.workspace + first, first,
                                          rest < R ? rest : R},
                                         s.tables};
      walk.run(s.tables.node[order[k]], BACKWARD);
    }
}

template <class V, class T, int W, int R, bool BACKWARD>
__device__ static __forceinline__ void gpu_run_sweep(const tsi_gpu_sweep &s) {
  typedef gpu_tile<T, R> tile;
  GPU_SHARED(tile, in, TSI_PANEL_WIDTH_MAX);
  GPU_SHARED(tile, out, TSI_PANEL_WIDTH_MAX);
  GPU_SHARED(tile, parts, GPU_THREADS_MAX / TSI_ROW_BLOCK);
  GPU_SHARED(int32_t, drawn, 1);
  const tsi_device_sweep &sweep = BACKWARD ? s.tables.backward : s.tables.forward;
  const int thread = (int)gpu_thread(), threads = (int)gpu_threads();
  for (;;) {
    if (thread == 0) *drawn = gpu_fetch_add(s.ticket, 1, GPU_DEVICE);
    gpu_barrier();
    const int32_t number = *drawn;
    if (number >= sweep.tickets) {
      /* The last block resets the counter: no block draws any more. */
      if (thread == 0 && number == sweep.tickets + (int32_t)gpu_blocks() - 1 - gpu_fault(GPU_FAULT_COUNTER))
        gpu_store_relaxed(s.ticket, 0, GPU_DEVICE);
      return;
    }
    const tsi_device_ticket ticket = sweep.ticket[number];
    if (ticket.befores > 0) gpu_prefetch_ticket<V, BACKWARD>(s, ticket);
    const int waits = ticket.befores - (gpu_fault(GPU_FAULT_FLAG) && ticket.befores > 0);
    for (int e = thread; e < waits; e += threads)
      gpu_await(&s.flag[sweep.before[ticket.before + e]], s.epoch - gpu_fault(GPU_FAULT_EPOCH), GPU_DEVICE);
    gpu_barrier();
    gpu_walk_ticket<V, T, W, R, BACKWARD>(s, ticket, in, out, parts);
    gpu_barrier();
    if (thread != 0) continue;
    if (gpu_fault(GPU_FAULT_FENCE))
      gpu_store_relaxed(&s.flag[number], s.epoch, GPU_DEVICE);
    else
      gpu_store_release(&s.flag[number], s.epoch, gpu_fault(GPU_FAULT_SCOPE) ? GPU_BLOCK : GPU_DEVICE);
  }
}
