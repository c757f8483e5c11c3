/* One sweep in one launch: resident blocks draw tickets in their order, wait for the flags of those before
 * while the values that they will read first are on their way, walk the ticket's nodes and raise its flag. A
 * block only waits for tickets that were drawn before its own, so any number of blocks comes to an end. */
#ifndef TSI_CODELETS_GPU_SWEEP_GPU_H
#define TSI_CODELETS_GPU_SWEEP_GPU_H

#include "codelets/gpu/node.gpu.h"
#include "codelets/gpu/tables/launch.h"

/* Where the values that a node reads begin and end, in scalars: those of its panels, or of its rows of one.
 */
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

/* While a ticket waits, what its first node will read is on its way: a line a thread, from the end where the
 * sweep begins.
 */
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

/* All nodes of a ticket, tile after tile of the right-hand sides. */
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
      /* The last one of all blocks to come here: nobody draws any more. */
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

#endif
