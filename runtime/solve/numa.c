/* Records processors and moves pages: see numa.h. */
#include "runtime/solve/numa.h"

#include <unistd.h>

#include "runtime/factor/storage.h"
#include "runtime/machine/topology.h"

tsi_count tsi_numa_choose(tsi_numa_range *range, tsi_count count, uintptr_t page) {
  tsi_count merged = 0, kept = 0;
  for (tsi_count k = 0; k < count; k++) {
    if (merged > 0 && range[merged - 1].node == range[k].node && range[merged - 1].end == range[k].begin)
      range[merged - 1].end = range[k].end;
    else
      range[merged++] = range[k];
  }
  for (tsi_count k = 0; k < merged; k++) {
    const tsi_numa_range whole = {(range[k].begin + page - 1) & ~(page - 1), range[k].end & ~(page - 1),
                                  range[k].node};
    if (whole.node >= 0 && whole.begin < whole.end) range[kept++] = whole;
  }
  return kept;
}

void tsi_numa_init(tristar_plan_t *plan) {
  tsi_machine_facts machine;
  atomic_init(&plan->placement, TSI_PLACEMENT_NONE);
  if (!tsi_way_has_tasks(&plan->way) || plan->options.placement == TRISTAR_PLACEMENT_OFF ||
      plan->options.kernel == TRISTAR_KERNEL_SPMV || plan->factor->rows ||
      tsi_storage_is_requested(&plan->options))
    return;
  if (plan->options.placement == TRISTAR_PLACEMENT_AUTO && tsi_topology_one_node()) return;
  if (tsi_topology_need(&plan->ts->machine) != TRISTAR_OK) {
    tsi_log(&plan->ts->env, TRISTAR_LOG_WARNING, "placement: none, as hwloc does not know the machine");
    return;
  }
  tsi_topology_describe(&plan->ts->machine, &machine);
  if (machine.numa_nodes > 1 || plan->options.placement == TRISTAR_PLACEMENT_ON)
    atomic_store(&plan->placement, TSI_PLACEMENT_REQUESTED);
}

/* Returns the side of the plan that a sweep uses; NULL: there is no such sweep. */
static const tsi_plan_side *side_of(const tristar_plan_t *plan, const tsi_solve_data *data) {
  for (int i = 0; i < plan->sides; i++)
    if (data == &plan->side[i].data) return &plan->side[i];
  return NULL;
}

tristar_status tsi_numa_begin(tsi_replay *replay, bool whole) {
  tristar_status status = TRISTAR_OK;
  tristar_plan_t *plan = replay->plan;
  int requested = TSI_PLACEMENT_REQUESTED;
  if (!whole || atomic_load(&plan->placement) != requested) return TRISTAR_OK;
  const tsi_plan_side *forward = side_of(plan, replay->execution.forward),
                      *backward = side_of(plan, replay->execution.backward);
  if ((forward == NULL && backward == NULL) ||
      !atomic_compare_exchange_strong(&plan->placement, &requested, TSI_PLACEMENT_NOTING))
    return TRISTAR_OK;
  replay->execution.forward_nodes = forward ? forward->sweep->nodes : 0;
  const tsi_index nodes = replay->execution.forward_nodes + (backward ? backward->sweep->nodes : 0);
  TSI_TRY_OUT(TSI_ALLOC(&plan->ts->env, replay->execution.processor, nodes));
  TSI_TRY_OUT(TSI_ALLOC(&plan->ts->env, replay->processed, nodes));
  for (tsi_index v = 0; v < nodes; v++) replay->execution.processor[v] = -1;
out:
  if (status != TRISTAR_OK) {
    TSI_FREE(&plan->ts->env, replay->execution.processor);
    atomic_store(&plan->placement, TSI_PLACEMENT_REQUESTED);
  }
  return status;
}

/* Lists the bytes that the chunks and slices of a sweep stream, in the order of addresses. */
static tsi_count list_ranges(const tristar_plan_t *plan, const tsi_plan_side *side, const void *values,
                             const int *processor, tsi_numa_range *range) {
  const tsi_count scalar = (tsi_count)plan->factor->scalar_bytes;
  const uintptr_t base = (uintptr_t)values;
  tsi_count count = 0;
  for (tsi_index c = 0; c < side->chunks->count; c++) {
    const tsi_solve_chunk *chunk = &side->data.chunk[c];
    const tsi_panel *first = &side->data.panel[chunk->panel], *last = first + chunk->panels - 1;
    const tsi_count rectangle = first->values + tsi_triangle_size(first->width);
    const tsi_count end = last->values + tsi_panel_size(last->width, last->height);
    const int node = tsi_topology_node(&plan->ts->machine, processor[c]);
    range[count++] = (tsi_numa_range){base + (uintptr_t)(first->values * scalar),
                                      base + (uintptr_t)((chunk->slices ? rectangle : end) * scalar), node};
    for (tsi_index k = chunk->slice; k < chunk->slice + chunk->slices; k++) {
      const tsi_count from = rectangle + (tsi_count)side->data.slice[k].first * first->width;
      const tsi_count to = k + 1 < chunk->slice + chunk->slices
                               ? rectangle + (tsi_count)side->data.slice[k + 1].first * first->width
                               : end;
      range[count++] =
          (tsi_numa_range){base + (uintptr_t)(from * scalar), base + (uintptr_t)(to * scalar),
                           tsi_topology_node(&plan->ts->machine, processor[side->chunks->count + k])};
    }
  }
  return count;
}

/* Moves the pages that one sweep streamed. */
static void place(const tristar_plan_t *plan, const tsi_plan_side *side, const void *values,
                  const int *processor, tsi_numa_range *range) {
  tsi_env *env = &plan->ts->env;
  double bytes = 0;
  int code = 0;
  const tsi_count listed = list_ranges(plan, side, values, processor, range);
  const tsi_count count = tsi_numa_choose(range, listed, (uintptr_t)sysconf(_SC_PAGESIZE));
  for (tsi_count k = 0; k < count && code == 0; k++) {
    code = tsi_topology_move(&plan->ts->machine, range[k].begin, range[k].end, range[k].node);
    if (code == 0) bytes += (double)(range[k].end - range[k].begin);
  }
  if (code != 0)
    tsi_log(env, TRISTAR_LOG_INFO, "placement: the system does not move pages: %s", strerror(code));
  else
    tsi_log(env, TRISTAR_LOG_INFO, "placement: %.3g MB of factor in %lld ranges", 1e-6 * bytes,
            (long long)count);
}

void tsi_numa_end(tsi_replay *replay) {
  tristar_plan_t *plan = replay->plan;
  const tsi_solve_call *call = &replay->execution.call;
  if (replay->execution.processor == NULL) return;
  const tsi_plan_side *forward = side_of(plan, replay->execution.forward),
                      *backward = side_of(plan, replay->execution.backward);
  const int nodes = replay->execution.forward_nodes + (backward ? backward->sweep->nodes : 0);
  int noted = 0;
  for (int v = 0; v < nodes; v++) noted += replay->execution.processor[v] >= 0;
  const bool ran = noted == nodes; /* all tasks ran on StarPU */
  if (ran && forward != NULL)
    place(plan, forward, call->forward_values, replay->execution.processor, replay->processed);
  if (ran && backward != NULL && (forward == NULL || call->backward_values != call->forward_values))
    place(plan, backward, call->backward_values,
          replay->execution.processor + replay->execution.forward_nodes, replay->processed);
  TSI_FREE(&plan->ts->env, replay->processed);
  TSI_FREE(&plan->ts->env, replay->execution.processor);
  atomic_store(&plan->placement, ran ? TSI_PLACEMENT_DONE : TSI_PLACEMENT_REQUESTED);
}
