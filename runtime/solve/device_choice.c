/* See device_choice.h. */
#include "runtime/solve/device_choice.h"

#include "codelets/cpu/panel.h"
#include "runtime/execute/device_branch.h"

#define NODE_LEAST 8e3
#define NODE_MOST 1.1e6
#define GROUP_LEAST 1e3

tristar_status tsi_device_forecast_make(tsi_env *env, const tristar_factor_t *factor,
                                        const tsi_device_options *options, tsi_device_forecast *forecast) {
  tristar_status status = TRISTAR_OK;
  tsi_device_plan *plan = NULL;
  tsi_device_forecast f = {.options = *options};
  const bool triangle = tsi_factor_is_triangle(factor);
  TSI_TRY(tsi_device_plan_create(env, factor, options, &plan));
  for (int backward = 0; backward < 2; backward++) {
    if (triangle && backward == (factor->lower != NULL)) continue;
    const tsi_device_tables *tables = &plan->side[backward ? plan->sides - 1 : 0].tables;
    TSI_TRY(tsi_device_predict(env, tables, backward, options->scalar_bytes, &options->costs,
                               &f.sweep[backward]));
  }
  f.solve = tsi_predictions_add(f.sweep[0], f.sweep[1]);
  for (int i = 0; i < plan->sides; i++) {
    f.table_bytes += plan->side[i].tables.bytes;
    f.workspace_rows = tsi_count_max(f.workspace_rows, plan->side[i].tables.workspace_rows);
  }
  for (tsi_index v = 0; v < plan->side[0].tables.nodes; v++) f.nodes[plan->side[0].tables.node[v].kind]++;
  *forecast = f;
out:
  tsi_device_plan_destroy(env, &plan);
  return status;
}

/* Nodes (or groups) become `by` times as large as long as that is predicted to be faster. */
static tristar_status climb(tsi_env *env, const tristar_factor_t *factor, bool groups, double by,
                            tsi_device_forecast *best) {
  tristar_status status = TRISTAR_OK;
  for (;;) {
    tsi_device_forecast next;
    tsi_device_options o = best->options;
    if (groups)
      o.warp_bytes = o.group_bytes *= by;
    else
      o.node_bytes *= by;
    if (o.node_bytes < NODE_LEAST || o.node_bytes > NODE_MOST || o.group_bytes < GROUP_LEAST ||
        o.group_bytes > o.node_bytes)
      return TRISTAR_OK;
    TSI_TRY(tsi_device_forecast_make(env, factor, &o, &next));
    if (next.solve.seconds >= best->solve.seconds) return TRISTAR_OK;
    *best = next;
  }
out:
  return status;
}

tristar_status tsi_device_choose(tsi_env *env, const tristar_factor_t *factor, const tsi_device_costs *costs,
                                 tsi_device_forecast *forecast) {
  tristar_status status = TRISTAR_OK;
  tsi_device_options options;
  tsi_device_options_init(&options, factor->scalar_bytes);
  options.costs = *costs;
  TSI_TRY(tsi_device_forecast_make(env, factor, &options, forecast));
  for (int groups = 0; groups < 2; groups++)
    for (int up = 0; up < 2; up++) TSI_TRY(climb(env, factor, groups == 1, up ? 2 : 0.5, forecast));
out:
  return status;
}

tsi_place_costs tsi_place_costs_assumed(const tristar_factor_t *factor, const tsi_device *device) {
  const double scalar = (double)factor->scalar_bytes;
  return (tsi_place_costs){.devices = 1,
                           .task_seconds = TSI_DEVICE_TASK_SECONDS,
                           .device_bandwidth = device->reached * device->peak,
                           .device_memory = TSI_DEVICE_MEMORY_SHARE * device->memory,
                           .handover_seconds = TSI_DEVICE_HANDOVER_SECONDS,
                           .bus_seconds = TSI_DEVICE_BUS_SECONDS,
                           .bus_bandwidth = TSI_DEVICE_BUS_REACHED * device->bus,
                           .stream_bytes = scalar,
                           .row_bytes = scalar};
}

/* path: supernodes. The longest chain of waits of each one's subtree, in a forward sweep, for one right-hand
 * side. */
static tristar_status find_paths(tsi_env *env, const tristar_factor_t *factor,
                                 const tsi_device_options *options, double *path) {
  tristar_status status = TRISTAR_OK;
  const tsi_symbolic *symbolic = factor->analysis->symbolic;
  const tsi_panels *panels = factor->analysis->panels;
  tsi_device_plan *plan = NULL;
  double *of_node = NULL;
  TSI_TRY(tsi_device_plan_create(env, factor, options, &plan));
  const tsi_device_tables *tables = &plan->side[0].tables;
  TSI_TRY(TSI_ALLOC(env, of_node, tables->nodes));
  TSI_TRY(tsi_device_paths(env, tables, options->scalar_bytes, &options->costs, of_node));
  for (tsi_index s = 0; s < symbolic->count; s++) path[s] = 0;
  for (tsi_index v = 0; v < tables->nodes; v++)
    for (tsi_index p = tables->node[v].panel; p < tables->node[v].panel + tables->node[v].panels; p++)
      if (path[panels->supernode[p]] < of_node[v]) path[panels->supernode[p]] = of_node[v];
out:
  TSI_FREE(env, of_node);
  tsi_device_plan_destroy(env, &plan);
  return status;
}

/* How much longer the whole factor takes than its longest chain, and than its bytes at the bandwidth of the
 * costs. */
static double longer_than_bounds(const tsi_sweep_prediction *solve, double bandwidth) {
  const double stream = solve->factor_bytes / bandwidth,
               bound = solve->path_seconds > stream ? solve->path_seconds : stream;
  return bound > 0 ? solve->seconds / bound : 1;
}

/* What a device keeps of each supernode, and of each subtree beside: as much as residents.c registers, or as
 * many scalars more as a stream is cut off before a subtree to be aligned. stored: supernodes. */
static void find_stored(const tristar_factor_t *factor, double *stored, tsi_place_costs *costs) {
  const tristar_analysis_t *an = factor->analysis;
  const tsi_panels *panels = an->panels;
  const double scalar = (double)factor->scalar_bytes;
  const int streams = factor->lower && factor->upper ? 2 : 1;
  const double column = (factor->pivots ? sizeof(tsi_index) : 0) + (factor->inverse ? 2 * scalar : 0);
  for (tsi_index s = 0; s < an->symbolic->count; s++)
    stored[s] = streams * scalar *
                    (double)(an->panel_values[panels->first[s + 1]] - an->panel_values[panels->first[s]]) +
                column * (an->symbolic->start[s + 1] - an->symbolic->start[s]);
  costs->stored = stored;
  costs->subtree_bytes = streams * scalar * (TSI_BRANCH_ALIGNMENT - 1 + TSI_STREAM_PAD);
}

tristar_status tsi_device_place(tsi_env *env, const tristar_factor_t *factor, const tsi_place_costs *costs,
                                const tsi_device_forecast *forecast, tsi_placing **out) {
  tristar_status status = TRISTAR_OK;
  const tristar_analysis_t *an = factor->analysis;
  const double longer = longer_than_bounds(&forecast->solve, costs->device_bandwidth);
  tsi_place_costs all = *costs;
  double *path = NULL, *stored = NULL;
  *out = NULL;
  if (factor->rows || tsi_analysis_sides(an) > 1)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "only subtrees of factorizations are placed on devices");
  TSI_TRY(TSI_ALLOC(env, path, an->symbolic->count));
  TSI_TRY(TSI_ALLOC(env, stored, an->symbolic->count));
  TSI_TRY(find_paths(env, factor, &forecast->options, path));
  for (tsi_index s = 0; s < an->symbolic->count; s++)
    path[s] *= longer * costs->stream_bytes / (double)factor->scalar_bytes;
  all.device_path = path;
  all.device_bandwidth = costs->device_bandwidth / longer;
  find_stored(factor, stored, &all);
  TSI_TRY(tsi_placing_create(env, an->symbolic, an->panels, &all, out));
out:
  TSI_FREE(env, path);
  TSI_FREE(env, stored);
  return status;
}
