/* tristar_factor, tristar_refactor, tristar_import_supernodal, tristar_reimport: a factorization, and a
 * verdict on it where its pivots, its inverted diagonal blocks or the units of its matrix are suspicious.
 *
 * Reads   an analysis, the user's values, factors from elsewhere.   Writes  a factor. */
#include <math.h>

#include "runtime/iterate/refine/judge.h"
#include "runtime/iterate/refine/system_plan.h"
#include "runtime/factor/scaling.h"
#include "runtime/import/import.h"
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

/* Do inverted diagonal blocks spoil solves, whether or not the right-hand sides of a trial show it? */
static bool inverts_uselessly(const tristar_factor_t *factor) {
  const double epsilon = tsi_sparse_kernels_select(factor->analysis->factor_scalar)->epsilon;
  return factor->inverse_growth * sqrt(epsilon) > 1 ||
         (tsi_factor_inverts_badly(factor) && tsi_factor_loses_digits(factor));
}

/* Would substitution serve them? */
static bool should_substitute(const tristar_factor_t *factor) {
  return factor->analysis->options.inverse == TRISTAR_INVERSE_DIAGONAL && inverts_uselessly(factor);
}

/* Plans rely on the inverted blocks, so they stay when values are renewed. */
static void warn_of_inverses(const tristar_factor_t *factor, const char *remedy) {
  if (tsi_factor_loses_digits(factor) || !inverts_uselessly(factor)) return; /* trials have warned */
  tsi_log(&factor->ts->env, TRISTAR_LOG_WARNING,
          "inverses of diagonal blocks grow to %.1e times their diagonals: solves may lose that many digits; "
          "%s chooses substitution for such values, and needs a new plan",
          factor->inverse_growth, remedy);
}

/* GROWTH_MATCH: another analysis, for these values, if the matching does not suit them. */
static tristar_status judge_first(tristar_factor_t *factor) {
  tristar_status status = judge(factor, !tsi_judge_can_match(factor->analysis), false);
  if (status == TRISTAR_ERR_STALE && !should_substitute(factor)) {
    TSI_TRY(tsi_factor_match_again(factor));
    TSI_TRY(tsi_factor_run(factor));
    status = judge(factor, true, false);
  }
  const bool judged = status == TRISTAR_OK || status == TRISTAR_ERR_SINGULAR || status == TRISTAR_ERR_STALE;
  if (!judged || !should_substitute(factor)) return status;
  TSI_TRY(tsi_factor_substitute(factor));
  TSI_TRY(tsi_factor_run(factor));
  return judge(factor, true, false);
}

/* ---- The second opinion on a matrix that looks singular -------------------------------------------------
 */

/* Is there a doubt whether it is? Pivots can look like rounding errors, and conditions bad, because neither
 * the matching nor the scaling suits the values. */
static bool may_be_regular(const tristar_factor_t *factor, tristar_status status) {
  const tristar_analysis_t *an = factor->analysis;
  if (an->schur_count > 0)
    return an->stats.method != TRISTAR_METHOD_LLT &&
           (status == TRISTAR_ERR_ACCURACY ||
            (status == TRISTAR_ERR_SINGULAR && (factor->dependent || factor->stats.perturbed_pivots > 0)));
  const bool singular = status == TRISTAR_ERR_SINGULAR || (status == TRISTAR_OK && factor->stats.singular);
  return singular && (factor->dependent || (factor->stats.singular && !factor->surely_singular)) &&
         an->stats.method != TRISTAR_METHOD_LLT;
}

/* Estimates the condition of a factor that nobody has judged. The rows that are eliminated before a Schur
 * complement are regular if their solves pass. */
static tristar_status measure(tristar_factor_t *factor) {
  TSI_CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NULL;
  tsi_plan_system s;
  if (factor->analysis->schur_count > 0) {
    factor->analysis->options.singular = TRISTAR_SINGULAR_REFUSE;
    const tristar_status status = tsi_schur_judge(factor);
    factor->stats.singular = status == TRISTAR_ERR_SINGULAR || status == TRISTAR_ERR_ACCURACY;
    return factor->stats.singular ? TRISTAR_OK : status;
  }
  TSI_TRY(tristar_plan(factor, NULL, &plan));
  TSI_TRY(tsi_plan_system_create(plan, &s));
  return tsi_judge_measure(&s.system, factor);
}

/* *other: the same matrix with an analysis of its own, if that shows that it is regular; else NULL. */
static tristar_status find_regular(const tristar_factor_t *factor, tristar_factor_t **other) {
  TSI_CLEANUP(tristar_factor_destroy) tristar_factor_t *found = NULL;
  *other = NULL;
  const tristar_status status = tsi_factor_match_anew(factor, &found);
  if (status == TRISTAR_ERR_MEMORY || status == TRISTAR_ERR_RUNTIME) return status;
  if (status != TRISTAR_OK) return TRISTAR_OK;
  TSI_TRY(measure(found));
  if (!found->stats.singular) *other = tsi_take(&found);
  return TRISTAR_OK;
}

/* A regular matrix, and a factor of it that stays. other: of find_regular. */
static tristar_status keep_factor(tristar_factor_t *factor, tristar_status status,
                                  const tristar_factor_t *other) {
  tsi_env *env = &factor->ts->env;
  const bool can_match = tsi_judge_can_match(factor->analysis);
  if (status != TRISTAR_OK && can_match)
    TSI_FAIL(env, TRISTAR_ERR_STALE,
             "the matching or the scaling of the analysis, which was found for other values, does not suit "
             "these, which are not singular: call tristar_analyze with them");
  if (status != TRISTAR_OK)
    TSI_FAIL(env, status, "%.200s; with a matching, which MATCHING_OFF forbids, it is regular",
             tsi_error_text(env));
  factor->stats.singular = 0;
  factor->stats.reciprocal_condition = other->stats.reciprocal_condition;
  tsi_log(env, TRISTAR_LOG_WARNING,
          can_match ? "factor: the matrix is not singular, but the matching or the scaling of the analysis, "
                      "which was found for other values, does not suit these: analyze them"
                    : "factor: the matrix is not singular, but needs a matching, which MATCHING_OFF forbids");
  return status;
}

/* A matrix that looks singular, though it is not, is factored by the other analysis. replace: the factor has
 * no plans, which rely on its analysis. */
static tristar_status reconsider(tristar_factor_t **factor, tristar_status status, bool replace) {
  TSI_CLEANUP(tristar_factor_destroy) tristar_factor_t *other = NULL;
  tsi_failure first;
  if (*factor == NULL || !may_be_regular(*factor, status)) return status;
  tsi_env *env = &(*factor)->ts->env;
  const tristar_singular singular = (*factor)->analysis->options.singular;
  tsi_failure_clear(&first);
  tsi_failure_keep(env, &first, status);
  TSI_TRY(find_regular(*factor, &other));
  status = tsi_failure_tell(env, &first);
  if (other == NULL) return status;
  if (!replace || !tsi_judge_can_match((*factor)->analysis)) return keep_factor(*factor, status, other);
  tsi_log(env, TRISTAR_LOG_WARNING,
          "factor: the matrix looks singular with the scaling or the matching of its analysis, but is not: "
          "analyzed and factored once more, with a matching");
  other->analysis->options.singular = singular;
  tristar_factor_destroy(factor);
  *factor = tsi_take(&other);
  return judge(*factor, true, false);
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
  status = tsi_factor_make(analysis, values, &factor);
  if (status == TRISTAR_OK) status = judge_first(factor);
  TSI_TRY_OUT(reconsider(&factor, status, true));
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
  status = tsi_factor_renew(factor, values);
  if (status == TRISTAR_OK) status = judge(factor, !tsi_judge_can_match(factor->analysis), true);
  status = reconsider(&factor, status, false);
  if (status == TRISTAR_OK) warn_of_inverses(factor, "tristar_factor");
  if (status != TRISTAR_OK) factor->valid = false;
  TSI_TRY_OUT(status);
  tsi_factor_fill_stats(factor, before, tsi_clock() - begin);
out:
  return tsi_answer(env, status);
}

/* Of imports. Without its matrix nothing can be tried. */
static tristar_status judge_import(tristar_factor_t *factor) {
  TSI_CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NULL;
  tristar_plan_options options;
  tsi_plan_system s;
  if (!factor->has_matrix ||
      (!tsi_factor_inverts_badly(factor) && !factor->doubtful && factor->row_weight == NULL))
    return TRISTAR_OK;
  tsi_factor_system_create(factor, &s);
  tristar_plan_options_init(&options);
  options.engine = TRISTAR_ENGINE_SERIAL;
  TSI_TRY(tristar_plan(factor, &options, &plan));
  s.system.context = plan;
  return tsi_judge_import(&s.system, factor);
}

tristar_status tristar_import_supernodal(tristar_t *ts, const tristar_factors *factors,
                                         tristar_factor_t **factor) {
  tristar_status status = TRISTAR_OK;
  if (factor != NULL) *factor = NULL;
  TSI_ENTER(ts, ts);
  tsi_env *env = &ts->env;
  if (factor == NULL) TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "factor is NULL");
  if (factors == NULL) TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "factors is NULL");
  TSI_TRY_OUT(tsi_import_structure(ts, factors, true, factors->method == TRISTAR_METHOD_LU, factor));
  TSI_TRY_OUT(judge_import(*factor));
out:
  if (status != TRISTAR_OK && factor != NULL) tristar_factor_destroy(factor);
  return tsi_answer(env, status);
}

tristar_status tristar_reimport(tristar_factor_t *factor, const tristar_factors *factors) {
  tristar_status status = TRISTAR_OK;
  TSI_ENTER(factor, factor->ts);
  tsi_env *env = &factor->ts->env;
  if (factors == NULL) TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "factors is NULL");
  TSI_TRY_OUT(tsi_reimport_structure(factor, factors));
  status = judge_import(factor);
  if (status == TRISTAR_OK) warn_of_inverses(factor, "tristar_import_supernodal");
  if (status != TRISTAR_OK) factor->valid = false;
out:
  return tsi_answer(env, status);
}
