/* See device_split_options.h. */
#include "runtime/solve/device_split_options.h"

#include <float.h>

#include "codelets/columns.h"
#include "runtime/machine/predict.h"
#include "runtime/solve/device_choice.h"
#include "runtime/solve/plan.h"
#include "runtime/exec/starpu/devices.h"

const char *tsi_device_split_options_obstacle(const tristar_factor_t *factor, const tristar_plan_options *o) {
  if (o->engine == TRISTAR_ENGINE_SERIAL || !factor->ts->workers.allowed) return "there are no tasks";
  if (tsi_devices_obstacle()) return tsi_devices_obstacle();
  if (o->fuse_columns > 1) return "fused solves run on the cores";
  if (factor->rows) return tsi_device_triangle_obstacle();
  if (o->updates != TRISTAR_UPDATES_PULL || o->granularity != TRISTAR_TASKS_CHUNKS ||
      o->kernel != TRISTAR_KERNEL_PANELS)
    return "devices have tasks of chunks only, with updates pulled, and the kernel of panels";
  return NULL;
}

/* Returns the bytes of a factor that the cores read in both sweeps, times the factor for right-hand sides. */
static double stream_bytes(const tristar_factor_t *factor, const tristar_plan_options *o) {
  return 2 * (double)factor->analysis->symbolic->nnz_stored * (double)factor->scalar_bytes *
         tsi_time_of_columns((int)tsi_plan_columns(o));
}

/* Can devices be worthwhile? False if the cores finish before a device could; StarPU is then not even
 * started. */
static bool may_be_worth(const tristar_factor_t *factor, const tristar_plan_options *o) {
  const tsi_device_split_costs device = tsi_device_split_costs_assumed(factor, tsi_device_get(0));
  const tsi_costs cores =
      tsi_costs_assumed(&factor->ts->machine, tsi_expected_cpu_workers(factor->ts->workers.wishes.workers));
  return stream_bytes(factor, o) / cores.all > 2 * (device.task_seconds + device.bus_seconds);
}

/* Return the predicted seconds of a solve with a triangle by rows: on its device, including transfers of b
 * and x; on the cores. */
static double predict_device(const tsi_device_triangle *triangle, const tristar_factor_t *factor,
                             const tristar_plan_options *o, const tsi_device *device) {
  const tsi_index columns = tsi_plan_columns(o);
  const double bytes =
      (double)factor->analysis->symbolic->n * (double)factor->scalar_bytes * tsi_workspace_stride(columns);
  return tsi_time_of_columns((int)columns) * tsi_device_triangle_seconds(triangle, factor->lower == NULL) +
         2 * (TSI_DEVICE_BUS_SECONDS + TSI_DEVICE_HANDOVER_SECONDS +
              bytes / (TSI_DEVICE_BUS_REACHED * device->bus));
}
static double predict_cores(const tristar_factor_t *factor, const tristar_plan_options *o) {
  const tsi_costs cores = tsi_costs_assumed(&factor->ts->machine, tsi_starpu_cpu_workers());
  return stream_bytes(factor, o) / 2 / cores.all;
}

/* Places a triangle by rows on the first device, if it fits, and if this is requested or predicted to be
 * faster. */
static tristar_status place_triangle(const tristar_factor_t *factor, const tristar_plan_options *o,
                                     const tsi_device_facts *facts, tsi_device_split_options *places) {
  const tsi_device *device = tsi_device_named(facts->name);
  const tsi_device_costs costs = tsi_device_costs_of(device);
  const tsi_device_triangle_options options = {.scalar = factor->analysis->factor_scalar,
                                               .task_seconds = TSI_DEVICE_TASK_SECONDS,
                                               .phase_seconds = costs.node_seconds,
                                               .bandwidth = costs.bandwidth,
                                               .memory = tsi_device_space(o->device_bytes, facts),
                                               .rhs = tsi_plan_columns(o),
                                               .solves = tsi_plan_device_solves(o)};
  if (factor->analysis->symbolic->n == 0) return TRISTAR_OK;
  TSI_TRY(tsi_device_triangle_create(&factor->ts->env, factor->rows, &options, factor->lower == NULL,
                                     factor->generation, &places->unfit_bytes, &places->triangle));
  if (places->triangle != NULL && o->place == TRISTAR_PLACE_AUTO &&
      predict_device(places->triangle, factor, o, device) >= predict_cores(factor, o))
    tsi_device_triangle_destroy(&places->triangle);
  return TRISTAR_OK;
}

/* Places the subtrees on so many devices. facts: of the first one. */
static tristar_status place(const tristar_factor_t *factor, const tristar_plan_options *o, const bool *shared,
                            int devices, const tsi_device_facts *facts, tsi_device_split_options *places) {
  tsi_env *env = &factor->ts->env;
  const tsi_device *device = tsi_device_named(facts->name);
  const double longer = tsi_time_of_columns((int)tsi_plan_columns(o));
  const tsi_device_costs node = tsi_device_costs_of(device);
  tsi_device_forecast forecast;
  TSI_OWNED tsi_device_split *placing = NULL;
  tsi_index on_devices = 0;
  TSI_TRY(tsi_device_choose(env, factor, &node, &forecast));
  tsi_device_split_costs costs = tsi_device_split_costs_assumed(factor, device);
  costs.devices = devices;
  const double space = tsi_device_space(o->device_bytes, facts);
  costs.device_memory = space > 0 ? space : DBL_MAX;
  costs.cores = tsi_starpu_cpu_workers();
  const tsi_costs cores = tsi_costs_assumed(&factor->ts->machine, costs.cores);
  costs.core_bandwidth = cores.one;
  costs.cores_bandwidth = cores.all;
  costs.core_task_seconds = cores.task;
  costs.cut = tsi_plan_chunk_options(factor, o);
  costs.stream_bytes *= longer;
  costs.row_bytes *= tsi_workspace_stride(tsi_plan_columns(o));
  costs.devices_first = o->place == TRISTAR_PLACE_GPU;
  costs.shared = shared;
  costs.solves = tsi_plan_device_solves(o);
  TSI_TRY(tsi_device_place(env, factor, &costs, &forecast, &placing));
  tsi_log(env, TRISTAR_LOG_INFO,
          "placing: predicted %.3g s for a solve, %.3g s with the cores alone; %d subtrees, %.3g s for those "
          "on the cores, %.3g s above",
          placing->seconds, placing->only_cores, (int)placing->count, placing->cores_seconds,
          placing->above_seconds);
  for (tsi_index d = 0; d < placing->devices; d++) on_devices += placing->load[d].subtrees;
  places->unfit_bytes = placing->unfit_bytes;
  places->cut = forecast.options;
  places->memory = costs.device_memory < DBL_MAX ? costs.device_memory : 0;
  if (on_devices == 0) return TRISTAR_OK;
  TSI_TRY(TSI_ALLOC(env, places->device, factor->analysis->symbolic->count));
  tsi_device_split_devices(placing, factor->analysis->symbolic, places->device);
  return TRISTAR_OK;
}

tristar_status tsi_device_split_options_choose(const tristar_factor_t *factor, const tristar_plan_options *o,
                                               double *start_seconds, tsi_device_split_options *places) {
  return tsi_device_split_options_choose_shared(factor, o, NULL, start_seconds, places);
}

tristar_status tsi_device_split_options_choose_shared(const tristar_factor_t *factor,
                                                      const tristar_plan_options *o, const bool *shared,
                                                      double *start_seconds,
                                                      tsi_device_split_options *places) {
  const bool requested = o->place == TRISTAR_PLACE_GPU;
  const char *obstacle = tsi_device_split_options_obstacle(factor, o);
  int devices;
  *places = (tsi_device_split_options){.device = NULL};
  if (!requested && (obstacle || !may_be_worth(factor, o))) return TRISTAR_OK;
  TSI_TRY(tsi_devices_for(factor->ts, o->place, obstacle, start_seconds, &devices));
  if (devices == 0) return TRISTAR_OK;
  const tsi_device_facts facts = tsi_device_describe(0);
  tristar_status status = factor->rows ? place_triangle(factor, o, &facts, places)
                                       : place(factor, o, shared, devices, &facts, places);
  if (status != TRISTAR_OK) *places = (tsi_device_split_options){.device = NULL}; /* `device` is made last */
  places->optional =
      !requested && (status != TRISTAR_OK || places->device != NULL || places->triangle != NULL);
  return status;
}

void tsi_device_split_options_finish(tsi_env *env, tsi_device_split_options *places) {
  TSI_FREE(env, places->device);
  tsi_device_triangle_destroy(&places->triangle);
}
