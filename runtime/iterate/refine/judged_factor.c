/* tristar_factor and tristar_refactor: a factorization, and a verdict on it where its pivots are suspicious.
 *
 * Reads   an analysis, the user's values.   Writes  a factor. */
#include "runtime/iterate/refine/judge.h"
#include "runtime/iterate/refine/system_plan.h"
#include "runtime/base/clock.h"

#define KEPT_ROWS 50000 /* of a plan that is kept: it takes a large part of the time of small matrices */

/* The factor takes the plan over, and its share of the factor counts no more. */
static void keep_plan(tristar_factor_t *factor, tristar_plan_t **plan) {
  if (*plan == NULL || (*plan)->way.kind != TRISTAR_WAY_SERIAL || factor->analysis->stats.n > KEPT_ROWS)
    return;
  factor->trial_plan = tsi_take(plan);
  factor->destroy_trial_plan = tristar_plan_destroy;
  atomic_fetch_sub(&factor->references, 1);
}

/* again: there may be other refactorizations, which need the plan, too. */
static tristar_status judge(tristar_factor_t *factor, bool last, bool again) {
  TSI_CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NULL;
  tsi_plan_system s;
  if (factor->analysis->schur_count > 0) return tsi_schur_judge(factor);
  if (!tsi_judge_is_needed(factor)) return TRISTAR_OK;
  if (factor->trial_plan == NULL) TSI_TRY(tristar_plan(factor, NULL, &plan));
  TSI_TRY(tsi_plan_system_create(plan ? plan : factor->trial_plan, &s));
  TSI_TRY(tsi_judge(&s.system, factor, last));
  if (again) keep_plan(factor, &plan);
  return TRISTAR_OK;
}

/* GROWTH_MATCH: another analysis, for these values, if the matching does not suit them. */
static tristar_status judge_first(tristar_factor_t *factor) {
  tristar_status status = judge(factor, !tsi_judge_can_match(factor->analysis), false);
  if (status != TRISTAR_ERR_STALE) return status;
  TSI_TRY(tsi_factor_match_again(factor));
  TSI_TRY(tsi_factor_run(factor));
  return judge(factor, true, false);
}

tristar_status tristar_factor(tristar_analysis_t *analysis, const void *values, tristar_factor_t **out) {
  tristar_status status = TRISTAR_OK;
  tristar_factor_t *factor = NULL;
  if (out != NULL) *out = NULL;
  TSI_ENTER(analysis, analysis->ts);
  tsi_env *env = &analysis->ts->env;
  const double begin = tsi_clock();
  if (out == NULL) TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "factor is NULL");
  if (values == NULL && analysis->pattern->ptr[analysis->pattern->n] > 0)
    TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "values is NULL");
  const size_t before = tsi_memory_watch(env);
  TSI_TRY_OUT(tsi_factor_make(analysis, values, &factor));
  TSI_TRY_OUT(judge_first(factor));
  tsi_factor_fill_stats(factor, before, tsi_clock() - begin);
out:
  if (status != TRISTAR_OK) tristar_factor_destroy(&factor);
  if (out != NULL) *out = factor;
  return tsi_answer(env, status);
}

tristar_status tristar_refactor(tristar_factor_t *factor, const void *values) {
  tristar_status status = TRISTAR_OK;
  TSI_ENTER(factor, factor->ts);
  tsi_env *env = &factor->ts->env;
  const double begin = tsi_clock();
  if (factor->analysis->imported)
    TSI_FAIL_OUT(env, TRISTAR_ERR_UNSUPPORTED, "an imported factor gets new values by tristar_reimport");
  if (values == NULL && factor->analysis->pattern->ptr[factor->analysis->pattern->n] > 0)
    TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "values is NULL");
  const size_t before = tsi_memory_watch(env) - factor->stats.factor_bytes;
  TSI_TRY_OUT(tsi_factor_renew(factor, values));
  status = judge(factor, !tsi_judge_can_match(factor->analysis), true);
  if (status != TRISTAR_OK) factor->valid = false;
  TSI_TRY_OUT(status);
  tsi_factor_fill_stats(factor, before, tsi_clock() - begin);
out:
  return tsi_answer(env, status);
}
