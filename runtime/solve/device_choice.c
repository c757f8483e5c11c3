/* See device_choice.h. */
#include "runtime/solve/device_choice.h"

#include "runtime/context/context.h"
#include "runtime/solve/device_memory.h"

#define NODE_LEAST 8e3
#define NODE_MOST 1.1e6
#define GROUP_LEAST 1e3

/* Maximum number of placings before nothing is placed; maximum ratio of the memory of one placing to the
 * memory of the placing before. */
#define PLACE_TRIES 12
#define PLACE_LESS 0.95

tristar_status tsi_devices_for(tristar_t *ts, tristar_place place, const char *obstacle,
                               double *start_seconds, int *devices) {
  tsi_env *env = &ts->env;
  *devices = 0;
  if (place == TRISTAR_PLACE_GPU && obstacle)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "PLACE_GPU: %s", obstacle);
  if (place == TRISTAR_PLACE_CPU || obstacle) return TRISTAR_OK;
  TSI_TRY(tsi_context_need_starpu(ts, start_seconds));
  *devices = tsi_devices_count(NULL);
  if (place == TRISTAR_PLACE_GPU && *devices == 0)
    TSI_FAIL(env, TRISTAR_ERR_NO_WORKER, "PLACE_GPU: StarPU has no worker of %s", tsi_devices.name);
  return TRISTAR_OK;
}

tristar_status tsi_device_forecast_make(tsi_env *env, const tristar_factor_t *factor,
                                        const tsi_device_options *options, tsi_device_forecast *forecast) {
  TSI_CLEANUP(tsi_device_plan_destroy) tsi_device_plan *plan = NULL;
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
  return TRISTAR_OK;
}

/* Multiplies the size of nodes (or groups) by `by` as long as the prediction improves. */
static tristar_status climb(tsi_env *env, const tristar_factor_t *factor, bool groups, double by,
                            tsi_device_forecast *best) {
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
  return TRISTAR_OK;
}

tristar_status tsi_device_choose(tsi_env *env, const tristar_factor_t *factor, const tsi_device_costs *costs,
                                 tsi_device_forecast *forecast) {
  tsi_device_options options;
  tsi_device_options_init(&options, factor->scalar_bytes);
  options.costs = *costs;
  TSI_TRY(tsi_device_forecast_make(env, factor, &options, forecast));
  for (int groups = 0; groups < 2; groups++)
    for (int up = 0; up < 2; up++) TSI_TRY(climb(env, factor, groups == 1, up ? 2 : 0.5, forecast));
  return TRISTAR_OK;
}

tsi_device_split_costs tsi_device_split_costs_assumed(const tristar_factor_t *factor,
                                                      const tsi_device *device) {
  const double scalar = (double)factor->scalar_bytes;
  return (tsi_device_split_costs){.devices = 1,
                                  .task_seconds = TSI_DEVICE_TASK_SECONDS,
                                  .device_bandwidth = device->reached * device->peak,
                                  .device_memory = TSI_DEVICE_MEMORY_SHARE * device->memory,
                                  .handover_seconds = TSI_DEVICE_HANDOVER_SECONDS,
                                  .bus_seconds = TSI_DEVICE_BUS_SECONDS,
                                  .bus_bandwidth = TSI_DEVICE_BUS_REACHED * device->bus,
                                  .stream_bytes = scalar,
                                  .row_bytes = scalar,
                                  .solves = 1};
}

/* Computes, for each supernode, the longest chain of waits in its subtree, for a forward sweep with L and one
 * right-hand side. path: an entry per supernode. plan: plan of the factor. */
static tristar_status find_paths(tsi_env *env, const tristar_factor_t *factor, const tsi_device_plan *plan,
                                 double *path) {
  const tsi_symbolic *symbolic = factor->analysis->symbolic;
  const tsi_panels *panels = factor->analysis->panels;
  const tsi_device_tables *tables = &plan->side[0].tables;
  TSI_SCRATCH(env, double, of_node, tables->nodes);
  TSI_TRY(tsi_device_paths(env, tables, plan->options.scalar_bytes, &plan->options.costs, of_node));
  for (tsi_index s = 0; s < symbolic->count; s++) path[s] = 0;
  for (tsi_index v = 0; v < tables->nodes; v++)
    for (tsi_index p = tables->node[v].panel; p < tables->node[v].panel + tables->node[v].panels; p++)
      if (path[panels->supernode[p]] < of_node[v]) path[panels->supernode[p]] = of_node[v];
  return TRISTAR_OK;
}

/* Returns the ratio of the time for the whole factor to the larger of two bounds: its longest chain, and its
 * bytes at the bandwidth of the costs. */
static double longer_than_bounds(const tsi_sweep_prediction *solve, double bandwidth) {
  const double stream = solve->factor_bytes / bandwidth,
               bound = solve->path_seconds > stream ? solve->path_seconds : stream;
  return bound > 0 ? solve->seconds / bound : 1;
}

/* Returns the ratio of the entries of both triangles to twice the entries of L, as the model uses only L. */
static double sides_share(const tristar_analysis_t *an) {
  const double lower = (double)an->symbolic->nnz_stored;
  if (tsi_analysis_sides(an) == 1 || lower <= 0) return 1;
  return (lower + (double)an->other.symbolic->nnz_stored) / (2 * lower);
}

/* Places subtrees by the estimate of their memory. Repeats it with less memory as long as the subtrees, once
 * cut, need more than there is. */
static tristar_status place(tsi_env *env, const tristar_factor_t *factor, const tsi_device_options *options,
                            const tsi_device_split_costs *costs, tsi_device_split **out) {
  tristar_status status = TRISTAR_OK;
  const tristar_analysis_t *an = factor->analysis;
  tsi_device_split_costs all = *costs;
  double bytes;
  for (int tries = 1;; tries++) {
    TSI_TRY_OUT(tsi_device_split_create(env, an->symbolic, an->panels, &all, out));
    if (all.device_memory <= 0) goto out;
    TSI_TRY_OUT(tsi_device_memory_measure(env, factor, options, costs, *out, &bytes));
    if (bytes <= costs->device_memory) goto out;
    TSI_FREE(env, *out);
    const double share = costs->device_memory / bytes;
    all.device_memory =
        tries < PLACE_TRIES ? all.device_memory * (share < PLACE_LESS ? share : PLACE_LESS) : 0;
  }
out:
  if (status != TRISTAR_OK) TSI_FREE(env, *out);
  return status;
}

tristar_status tsi_device_place(tsi_env *env, const tristar_factor_t *factor,
                                const tsi_device_split_costs *costs, const tsi_device_forecast *forecast,
                                tsi_device_split **out) {
  const tristar_analysis_t *an = factor->analysis;
  const double longer = longer_than_bounds(&forecast->solve, costs->device_bandwidth);
  tsi_device_split_costs all = *costs;
  TSI_CLEANUP(tsi_device_plan_destroy) tsi_device_plan *plan = NULL;
  TSI_CLEANUP(tsi_device_memory_finish) tsi_device_memory memory = {.stored = NULL};
  *out = NULL;
  if (factor->rows)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "a triangular matrix without supernodes has no subtrees");
  TSI_SCRATCH(env, double, path, an->symbolic->count);
  TSI_TRY(tsi_device_plan_create(env, factor, &forecast->options, &plan));
  TSI_TRY(find_paths(env, factor, plan, path));
  for (tsi_index s = 0; s < an->symbolic->count; s++)
    path[s] *= longer * costs->stream_bytes / (double)factor->scalar_bytes;
  all.device_path = path;
  all.device_bandwidth = costs->device_bandwidth / longer;
  all.stream_bytes *= sides_share(an);
  TSI_TRY(tsi_device_memory_estimate(env, factor, plan, &all, &memory));
  return place(env, factor, &forecast->options, &all, out);
}
