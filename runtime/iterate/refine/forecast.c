/* tristar_analysis_forecast: predicts the factorization (factor_forecast.h), the trial solves of a factor
 * (judge.h), and a plan. The plan is made for a factor without values and destroyed.
 *
 * Reads   an analysis.   Writes  the caller's forecast. */
#include "tristar_forecast.h"

#include "runtime/base/options.h"
#include "runtime/factor/factor_forecast.h"
#include "runtime/iterate/refine/judge.h"
#include "runtime/iterate/refine/projection.h"
#include "runtime/iterate/refine/refinement.h"
#include "runtime/solve/plan.h"
#include "runtime/solve/request.h"

static tristar_status check(const tristar_analysis_t *an, const tristar_plan_options *options) {
  const tsi_env *env = &an->ts->env;
  TSI_TRY(tsi_plan_check_options(env, options));
  const char *what = an->imported                               ? "of imported factors, which are there"
                     : an->schur_count > 0                      ? "with rows of a Schur complement"
                     : options->kernel == TRISTAR_KERNEL_SPMV   ? "with KERNEL_SPMV"
                     : options->storage != TRISTAR_STORAGE_FULL ? "with narrower storage"
                     : options->compress > 0                    ? "with compression"
                                                                : NULL;
  if (what != NULL) TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "no forecast %s", what);
  return TRISTAR_OK;
}

/* Predicted bytes and seconds of a plan and its solves. */
typedef struct plan_forecast {
  size_t plan;    /* the plan, with the workspace and the tasks of a solve */
  size_t solve;   /* further workspaces that a solve with options->nrhs columns needs at the same time */
  size_t block;   /* workspace of a block of null vectors, which the plan keeps */
  size_t trials;  /* additional bytes of trial solves */
  double seconds; /* time of a solve with one column */
} plan_forecast;

/* Measures the bytes of replays of `count` blocks that overlap, each with this stride. */
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

static tristar_status weigh_plan(tristar_factor_t *factor, const tristar_plan_options *options,
                                 plan_forecast *forecast) {
  TSI_CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NULL;
  tsi_env *env = &factor->ts->env;
  const size_t before = atomic_load(&env->memory.current);
  tsi_index columns;
  TSI_TRY(tsi_plan_cut(factor, options, NULL, &plan));
  const bool overlap = tsi_way_has_tasks(&plan->way) && options->nrhs > plan->block;
  forecast->plan = atomic_load(&env->memory.current) - before;
  TSI_TRY(weigh_replays(plan, overlap ? plan->followed : 1, tsi_workspace_stride(tsi_plan_columns(options)),
                        &forecast->solve));
  TSI_TRY(weigh_replays(plan, 1, tsi_workspace_stride(TSI_NULL_COLUMNS), &forecast->block));
  const size_t vectors = tsi_judge_bytes(factor->analysis, &columns);
  if (columns > 1) TSI_TRY(weigh_replays(plan, 1, tsi_workspace_stride(columns), &forecast->trials));
  forecast->trials += vectors;
  forecast->seconds = plan->stats.predicted_seconds;
  return TRISTAR_OK;
}

static tristar_status forecast_plan(tristar_analysis_t *an, const tristar_plan_options *options,
                                    plan_forecast *forecast) {
  static char values; /* values are never read */
  TSI_CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NULL;
  *forecast = (plan_forecast){.seconds = 0};
  TSI_TRY(tsi_factor_create_empty(an, &factor));
  factor->valid = true;
  factor->lower = &values;
  if (tsi_analysis_is_lu(an)) factor->upper = &values;
  const tristar_status status = weigh_plan(factor, options, forecast);
  factor->lower = factor->upper = NULL;
  return status;
}

static size_t user_bytes(const tristar_analysis_t *an) {
  return tsi_sparse_kernels_select(an->pattern->scalar)->scalar_bytes;
}

static size_t larger(size_t a, size_t b) {
  return a > b ? a : b;
}

static tristar_status make(tristar_analysis_t *an, tristar_plan_options *options,
                           tristar_forecast *forecast) {
  tsi_factor_forecast f;
  plan_forecast p;
  double search;
  const size_t held = atomic_load(&an->ts->env.memory.current);
  TSI_TRY(check(an, options));
  options->place = TRISTAR_PLACE_CPU;
  TSI_TRY(tsi_factor_forecast_make(an, &f));
  TSI_TRY(forecast_plan(an, options, &p));
  TSI_TRY(tsi_factor_weigh_search(an, &search));
  const size_t trials = f.factor + p.plan + p.trials,
               condition = f.factor + p.plan + tsi_judge_condition_bytes(an);
  const size_t kept = p.block + tsi_kept_vectors_bytes(an->pattern->n, user_bytes(an));
  const size_t again =
      f.peak[TSI_FORECAST_ALL] + tsi_analysis_bytes(an); /* the other factor has its own analysis */
  const size_t foreseen = tsi_judge_foresees(an) ? trials : 0;
  *forecast =
      (tristar_forecast){.analysis_bytes = tsi_analysis_bytes(an),
                         .factor_bytes = f.factor,
                         .factor_peak_bytes = larger(f.peak[TSI_FORECAST_ALL], foreseen),
                         .trial_peak_bytes = larger(again, larger(trials, condition)),
                         .search_peak_bytes = search > 0 ? larger(f.factor + (size_t)search, again) : 0,
                         .least_peak_bytes = larger(f.peak[TSI_FORECAST_ALONE], foreseen),
                         .plan_bytes = p.plan,
                         .solve_bytes = p.solve,
                         .singular_bytes = kept + tsi_refine_singular_bytes(an->pattern->n, user_bytes(an)),
                         .singular_kept_bytes = kept,
                         .workers = f.workers,
                         .factor_seconds = f.seconds[TSI_FORECAST_ALL],
                         .solve_seconds = p.seconds};
  forecast->peak_bytes = held + larger(forecast->factor_peak_bytes, f.factor + p.plan + p.solve);
  return TRISTAR_OK;
}

tristar_status tristar_analysis_forecast(tristar_analysis_t *analysis, const tristar_plan_options *options,
                                         tristar_forecast *forecast) {
  tristar_status status = TRISTAR_OK;
  tristar_plan_options full;
  if (forecast != NULL) memset(forecast, 0, sizeof *forecast);
  TSI_ENTER(analysis, analysis->ts);
  tsi_env *env = &analysis->ts->env;
  if (forecast == NULL) TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "forecast is NULL");
  TSI_TRY_OUT(TSI_OPTIONS(env, tristar_plan_options, options, &full));
  TSI_TRY_OUT(make(analysis, &full, forecast));
out:
  return tsi_answer(env, status);
}
