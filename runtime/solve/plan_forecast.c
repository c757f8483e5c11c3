/* Makes a plan and throws it away: see plan_forecast.h. */
#include "runtime/solve/plan_forecast.h"

#include "runtime/machine/predict.h"
#include "runtime/solve/request.h"

/* Replays of blocks that overlap, each with this stride. */
static tristar_status weigh_replays(tristar_plan_t *plan, int count, tsi_index stride, size_t *bytes) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &plan->ts->env;
  tsi_replay *replay[TSI_BLOCKS] = {NULL};
  tsi_tasks *tasks;
  const size_t before = atomic_load(&env->memory.current);
  for (int k = 0; k < count; k++) {
    TSI_TRY_OUT(tsi_replay_take(plan, stride, &replay[k]));
    TSI_TRY_OUT(tsi_replay_tasks(replay[k], tsi_plan_list(plan), tsi_plan_sweeps(plan), &tasks));
  }
  *bytes = atomic_load(&env->memory.current) - before;
out:
  for (int k = 0; k < count; k++)
    if (replay[k] != NULL) tsi_replay_give_back(replay[k]);
  return status;
}

static tristar_status weigh(tristar_factor_t *factor, const tristar_plan_options *options, tsi_index columns,
                            tsi_plan_forecast *forecast) {
  TSI_CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NULL;
  tsi_env *env = &factor->ts->env;
  const size_t before = atomic_load(&env->memory.current);
  TSI_TRY(tsi_plan_cut(factor, options, NULL, &plan));
  const tristar_plan_stats *stats = &plan->stats;
  const bool tasks = tsi_way_has_tasks(&plan->way), overlap = tasks && options->nrhs > plan->block;
  forecast->plan = atomic_load(&env->memory.current) - before;
  TSI_TRY(weigh_replays(plan, overlap ? plan->followed : 1, tsi_workspace_stride(tsi_plan_columns(options)),
                        &forecast->solve));
  TSI_TRY(weigh_replays(plan, 1, tsi_workspace_stride(columns), &forecast->columns));
  const tsi_costs costs = tsi_costs_assumed(&factor->ts->machine, tasks ? stats->workers : 1);
  forecast->seconds = tsi_predict_reading(&costs, stats->stream_bytes, stats->critical_bytes) +
                      costs.task * (double)stats->tasks;
  return TRISTAR_OK;
}

tristar_status tsi_plan_forecast_make(tristar_analysis_t *an, const tristar_plan_options *options,
                                      tsi_index columns, tsi_plan_forecast *forecast) {
  static char values; /* nobody reads any */
  TSI_CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NULL;
  *forecast = (tsi_plan_forecast){.seconds = 0};
  TSI_TRY(tsi_factor_create_empty(an, &factor));
  factor->valid = true;
  factor->lower = &values;
  if (tsi_analysis_is_lu(an)) factor->upper = &values;
  const tristar_status status = weigh(factor, options, columns, forecast);
  factor->lower = factor->upper = NULL;
  return status;
}
