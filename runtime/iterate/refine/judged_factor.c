/* tristar_factor, tristar_refactor, tristar_import_supernodal, tristar_reimport: a factorization, and a
 * verdict on it if its pivots, its inverted diagonal blocks or the units of its matrix are suspicious.
 *
 * Reads   an analysis, the user's values, imported factors.   Writes  a factor. */
#include "runtime/iterate/refine/judge.h"
#include "runtime/iterate/refine/system_plan.h"
#include "runtime/iterate/refine/verdict.h"
#include "runtime/import/import.h"
#include "runtime/base/clock.h"

#define KEPT_ROWS 50000 /* maximum for keeping the plan, which costs much of the time of small matrices */

/* The factor takes ownership of the plan. The plan's reference to the factor no longer counts. */
static void keep_plan(tristar_factor_t *factor, tristar_plan_t **plan) {
  const bool large = factor->analysis->stats.n > KEPT_ROWS && factor->update == NULL;
  if (*plan == NULL || (*plan)->way.kind != TRISTAR_WAY_SERIAL || large) return;
  factor->trial_plan = tsi_take(plan);
  factor->destroy_trial_plan = tristar_plan_destroy;
  atomic_fetch_sub(&factor->references, 1);
}

/* A factor of one process, and the factor of the second opinion. */
typedef struct owner {
  tsi_verdict verdict; /* first member */
  tristar_factor_t *other;
  bool again; /* More refactorizations may follow, which need the plan, too. */
} owner;

static void finish(owner *o) {
  tristar_factor_destroy(&o->other);
}

static tristar_status judge(tsi_verdict *verdict, bool last) {
  TSI_CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NULL;
  tristar_factor_t *factor = verdict->factor;
  tsi_plan_system s;
  if (factor->analysis->schur_count > 0) {
    /* a factor with a matching may not need refined solves */
    const bool other_first = !((owner *)verdict)->again && tsi_judge_can_match(factor->analysis);
    return tsi_schur_judge(factor, !other_first);
  }
  if (!tsi_judge_is_due(factor, verdict->is_quiet)) return TRISTAR_OK;
  if (factor->trial_plan == NULL) TSI_TRY(tristar_plan(factor, NULL, &plan));
  TSI_TRY(tsi_plan_system_create(plan ? plan : factor->trial_plan, &s));
  TSI_TRY(tsi_judge(&s.system, factor, last));
  if (((owner *)verdict)->again) keep_plan(factor, &plan);
  return TRISTAR_OK;
}

tristar_status tsi_judge_try(tristar_factor_t *factor, double *error) {
  tristar_plan_options options;
  tsi_plan_system s;
  *error = 0;
  tristar_plan_options_init(&options);
  options.engine = TRISTAR_ENGINE_SERIAL;
  if (factor->trial_plan == NULL) {
    TSI_TRY(tristar_plan(factor, &options, &factor->trial_plan));
    factor->destroy_trial_plan = tristar_plan_destroy;
    atomic_fetch_sub(&factor->references, 1);
  }
  TSI_TRY(tsi_plan_system_create(factor->trial_plan, &s));
  return tsi_judge_one(&s.system, error);
}

static tristar_status factor_again(tsi_verdict *verdict, bool substitute) {
  if (substitute)
    TSI_TRY(tsi_factor_substitute(verdict->factor));
  else
    TSI_TRY(tsi_factor_match_again(verdict->factor));
  return tsi_factor_run_stable(verdict->factor);
}

/* Estimates the condition of a factor without a verdict. The rows that are eliminated before a Schur
 * complement are regular if their solves pass. */
static tristar_status measure(tristar_factor_t *factor) {
  TSI_CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NULL;
  tsi_plan_system s;
  if (factor->analysis->schur_count > 0) {
    factor->analysis->options.singular = TRISTAR_SINGULAR_REFUSE;
    const tristar_status status = tsi_schur_judge(factor, true);
    factor->stats.singular = status == TRISTAR_ERR_SINGULAR || status == TRISTAR_ERR_ACCURACY;
    return factor->stats.singular ? TRISTAR_OK : status;
  }
  TSI_TRY(tristar_plan(factor, NULL, &plan));
  TSI_TRY(tsi_plan_system_create(plan, &s));
  return tsi_judge_measure(&s.system, factor);
}

static tristar_status rematch(tsi_verdict *verdict, const tristar_factor_t **other) {
  owner *o = (owner *)verdict;
  *other = NULL;
  const tristar_status status = tsi_factor_rematch(verdict->factor, &o->other);
  if (tsi_status_ends_call(status)) return status;
  if (status != TRISTAR_OK) return TRISTAR_OK;
  TSI_TRY(measure(o->other));
  *other = o->other;
  return TRISTAR_OK;
}

static void take_other(tsi_verdict *verdict) {
  owner *o = (owner *)verdict;
  o->other->analysis->options.singular = verdict->factor->analysis->options.singular;
  tristar_factor_destroy(&verdict->factor);
  verdict->factor = tsi_take(&o->other);
}

static owner owner_of(tristar_factor_t *factor, bool again) {
  static const tsi_verdict_functions functions = {judge, factor_again, rematch, take_other};
  return (owner){.verdict = {.functions = &functions, .factor = factor, .remedy = "tristar_factor"},
                 .again = again};
}

tristar_status tristar_factor(tristar_analysis_t *analysis, const void *values, tristar_factor_t **out) {
  tristar_status status = TRISTAR_OK;
  tristar_factor_t *factor = NULL;
  TSI_CLEANUP(finish) owner o = {.other = NULL};
  if (out != NULL) *out = NULL;
  TSI_ENTER(analysis, analysis->ts);
  tsi_env *env = &analysis->ts->env;
  const double begin = tsi_clock();
  if (out == NULL) TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "factor is NULL");
  if (values == NULL && analysis->pattern->ptr[analysis->pattern->n] > 0)
    TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "values is NULL");
  const size_t before = tsi_memory_watch(env);
  status = tsi_factor_make(analysis, values, &factor);
  o = owner_of(factor, false);
  status = tsi_verdict_first(&o.verdict, status);
  factor = o.verdict.factor;
  TSI_TRY_OUT(status);
  tsi_factor_fill_stats(factor, before, tsi_clock() - begin);
out:
  if (status != TRISTAR_OK) tristar_factor_destroy(&factor);
  if (out != NULL) *out = factor;
  return tsi_answer(env, status);
}

tristar_status tsi_judge_renewed(tristar_factor_t *factor, tristar_status status) {
  TSI_CLEANUP(finish) owner o = owner_of(factor, true);
  status = tsi_verdict_renewed(&o.verdict, status);
  if (status != TRISTAR_OK) factor->valid = false;
  return status;
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
  const size_t before = tsi_memory_watch(env) - (factor->released ? 0 : factor->stats.factor_bytes);
  TSI_TRY_OUT(tsi_judge_renewed(factor, tsi_factor_renew(factor, values)));
  tsi_factor_fill_stats(factor, before, tsi_clock() - begin);
out:
  return tsi_answer(env, status);
}

/* Judges an imported factor. Without its matrix no trials are possible. */
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
  if (status == TRISTAR_OK) tsi_verdict_warn_of_inverses(factor, "tristar_import_supernodal");
  if (status != TRISTAR_OK) factor->valid = false;
out:
  return tsi_answer(env, status);
}
