/* tristar_analysis_forecast: the factorization (factor_forecast.h), the plan (plan_forecast.h), and the trial
 * solves of a factor (judge.h).
 *
 * Reads   an analysis.   Writes  the caller's forecast. */
#include "tristar_forecast.h"

#include "runtime/base/options.h"
#include "runtime/factor/factor_forecast.h"
#include "runtime/iterate/refine/judge.h"
#include "runtime/solve/plan_forecast.h"

static tristar_status check(const tristar_analysis_t *an, const tristar_plan_options *options) {
  const tsi_env *env = &an->ts->env;
  const char *what = an->imported                               ? "of imported factors, which are there"
                     : an->schur_count > 0                      ? "with rows of a Schur complement"
                     : options->kernel == TRISTAR_KERNEL_SPMV   ? "with KERNEL_SPMV"
                     : options->storage != TRISTAR_STORAGE_FULL ? "with narrower storage"
                                                                : NULL;
  if (what != NULL) TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "no forecast %s", what);
  return TRISTAR_OK;
}

static size_t larger(size_t a, size_t b) {
  return a > b ? a : b;
}

static tristar_status make(tristar_analysis_t *an, tristar_plan_options *options,
                           tristar_forecast *forecast) {
  tsi_factor_forecast f;
  tsi_plan_forecast p;
  const size_t held = atomic_load(&an->ts->env.memory.current);
  TSI_TRY(check(an, options));
  options->place = TRISTAR_PLACE_CPU;
  TSI_TRY(tsi_factor_forecast_make(an, &f));
  TSI_TRY(tsi_plan_forecast_make(an, options, TSI_TRIAL_COLUMNS, &p));
  const size_t trials = f.factor + p.plan + p.columns + tsi_judge_bytes(an);
  const size_t foreseen = tsi_judge_is_foreseen(an) ? trials : 0;
  *forecast = (tristar_forecast){.analysis_bytes = tsi_analysis_bytes(an),
                                 .factor_bytes = f.factor,
                                 .factor_peak_bytes = larger(f.peak[TSI_FORECAST_ALL], foreseen),
                                 .trial_peak_bytes = larger(f.peak[TSI_FORECAST_ALL], trials),
                                 .least_peak_bytes = larger(f.peak[TSI_FORECAST_ALONE], foreseen),
                                 .plan_bytes = p.plan,
                                 .solve_bytes = p.solve,
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
