/* The steps from a factorization to a verdict: see verdict.h. */
#include "runtime/iterate/refine/verdict.h"

#include <math.h>

#include "runtime/iterate/refine/judge.h"

/* Do inverted diagonal blocks make solves inaccurate, even if no trial shows it? */
static bool inverts_uselessly(const tristar_factor_t *factor) {
  const double epsilon = tsi_sparse_kernels_select(factor->analysis->factor_scalar)->epsilon;
  return factor->inverse_growth * sqrt(epsilon) > 1 ||
         (tsi_factor_inverts_badly(factor) && tsi_factor_loses_digits(factor));
}

/* Would substitution help? */
static bool should_substitute(const tristar_factor_t *factor) {
  return factor->analysis->options.inverse == TRISTAR_INVERSE_DIAGONAL && inverts_uselessly(factor);
}

void tsi_verdict_warn_of_inverses(const tristar_factor_t *factor, const char *remedy) {
  if (tsi_factor_loses_digits(factor) || !inverts_uselessly(factor)) return; /* trials have warned */
  tsi_log(&factor->ts->env, TRISTAR_LOG_WARNING,
          "inverses of diagonal blocks grow to %.1e times their diagonals: solves may lose that many digits; "
          "%s chooses substitution for such values, and needs a new plan",
          factor->inverse_growth, remedy);
}

static tristar_status judge(tsi_verdict *v, bool last) {
  return v->functions->judge(v, last);
}

/* Computes a new factor, which needs a new verdict. */
static tristar_status factor_again(tsi_verdict *v, bool substitute) {
  TSI_TRY(v->functions->factor_again(v, substitute));
  v->factor->loss = 0;
  return TRISTAR_OK;
}

/* Judges a first factorization. With GROWTH_MATCH it makes another analysis, for these values, if the
 * matching does not suit them. */
static tristar_status judge_first(tsi_verdict *v) {
  tsi_env *env = &v->factor->ts->env;
  tristar_status status = judge(v, v->suits || !tsi_judge_can_match(v->factor->analysis));
  if (status == TRISTAR_ERR_STALE && !should_substitute(v->factor)) {
    if (!v->is_quiet) tsi_log(env, TRISTAR_LOG_WARNING, "%s", tsi_error_text(env));
    TSI_TRY(factor_again(v, false));
    status = judge(v, true);
  }
  const bool judged = status == TRISTAR_OK || status == TRISTAR_ERR_SINGULAR || status == TRISTAR_ERR_STALE;
  if (!judged || !should_substitute(v->factor)) return status;
  if (!v->is_quiet)
    tsi_log(env, TRISTAR_LOG_WARNING,
            "factor: inverses of diagonal blocks grow to %.1e times their diagonals: analyzed and factored "
            "once more, for solves by substitution (INVERSE_NONE), which are slower",
            v->factor->inverse_growth);
  TSI_TRY(factor_again(v, true));
  return judge(v, true);
}

/* ---- The second opinion on a matrix that looks singular ------------------------------------------------ */

/* May the matrix be regular? Pivots can look like rounding errors, and conditions bad, because neither the
 * matching nor the scaling suits the values. */
static bool may_be_regular(const tristar_factor_t *factor, tristar_status status) {
  const tristar_analysis_t *an = factor->analysis;
  if (an->schur_count > 0)
    return an->stats.method != TRISTAR_METHOD_LLT &&
           (status == TRISTAR_ERR_ACCURACY ||
            (status == TRISTAR_ERR_SINGULAR && (factor->dependent || factor->stats.perturbed_pivots > 0 ||
                                                (factor->stats.singular && !factor->surely_singular))));
  const bool singular = status == TRISTAR_ERR_SINGULAR || (status == TRISTAR_OK && factor->stats.singular);
  return singular && (factor->dependent || (factor->stats.singular && !factor->surely_singular)) &&
         an->stats.method != TRISTAR_METHOD_LLT;
}

/* Is there no factor that could be kept? */
static bool has_no_factor(const tristar_factor_t *factor) {
  return factor->dependent || factor->analysis->schur_count > 0;
}

/* Keeps the factor of a matrix that the other factor proves regular. other: a good factor. */
static tristar_status keep_factor(const tsi_verdict *v, tristar_status status,
                                  const tristar_factor_t *other) {
  tristar_factor_t *factor = v->factor;
  tsi_env *env = &factor->ts->env;
  const bool can_match = tsi_judge_can_match(factor->analysis);
  if (status != TRISTAR_OK && can_match)
    TSI_FAIL(env, TRISTAR_ERR_STALE,
             "the matching or the scaling of the analysis, which was found for other values, does not suit "
             "these, which are not singular: call tristar_analyze with them");
  if (status != TRISTAR_OK && has_no_factor(factor))
    TSI_FAIL(env, status, "%.200s; with a matching, which MATCHING_OFF forbids, it is regular",
             tsi_error_text(env));
  factor->stats.singular = 0;
  factor->stats.solve_error =
      fmax(factor->stats.solve_error, 1); /* solves are refined, even if trials were accurate */
  factor->misfit = true;
  factor->stats.reciprocal_condition = other->stats.reciprocal_condition;
  if (!v->is_quiet)
    tsi_log(env, TRISTAR_LOG_WARNING,
            can_match
                ? "factor: the matrix is not singular, but the matching or the scaling of the analysis, "
                  "which was found for other values, does not suit these: analyze them"
                : "factor: the matrix is not singular, but needs a matching, which MATCHING_OFF forbids");
  return TRISTAR_OK;
}

/* Factors a matrix that looks singular with the other analysis, if it is regular. replace: the factor has no
 * plans, which rely on its analysis. */
static tristar_status reconsider(tsi_verdict *v, tristar_status status, bool replace) {
  const tristar_factor_t *other;
  tsi_failure first;
  if (v->factor == NULL || !may_be_regular(v->factor, status)) return status;
  tsi_env *env = &v->factor->ts->env;
  tsi_failure_clear(&first);
  tsi_failure_keep(env, &first, status);
  TSI_TRY(v->functions->rematch(v, &other));
  status = tsi_failure_report(env, &first);
  if (other == NULL || other->stats.singular) return status;
  if (!replace || !tsi_judge_can_match(v->factor->analysis)) return keep_factor(v, status, other);
  if (!v->is_quiet)
    tsi_log(env, TRISTAR_LOG_WARNING,
            "factor: the matrix looks singular with the scaling or the matching of its analysis, but is not: "
            "analyzed and factored once more, with a matching");
  v->functions->take_other(v);
  return judge(v, true);
}

/* Replaces SINGULAR by ACCURACY if growth is the only evidence: solves with such factors show no null
 * vector. */
static tristar_status doubt(const tsi_verdict *v, tristar_status status) {
  if (status != TRISTAR_ERR_SINGULAR || v->factor == NULL || !tsi_judge_leaves_no_digit(v->factor) ||
      v->factor->analysis->options.matching == TRISTAR_MATCHING_OFF) /* MATCHING_OFF has its own remedy */
    return status;
  TSI_FAIL(
      &v->factor->ts->env, TRISTAR_ERR_ACCURACY,
      "pivots grow to %.1e times the entries of the scaled matrix: not even refined solves are accurate, "
      "and whether the matrix is singular is unknown; another ordering or double precision may help",
      v->factor->stats.growth);
}

tristar_status tsi_verdict_first(tsi_verdict *v, tristar_status made) {
  const tristar_status status = reconsider(v, made == TRISTAR_OK ? judge_first(v) : made, true);
  return made == TRISTAR_OK ? doubt(v, status) : status;
}

tristar_status tsi_verdict_renewed(tsi_verdict *v, tristar_status made) {
  tristar_status status = made;
  if (status == TRISTAR_OK) status = judge(v, !tsi_judge_can_match(v->factor->analysis));
  status = reconsider(v, status, false);
  if (made == TRISTAR_OK) status = doubt(v, status);
  if (status == TRISTAR_OK && !v->is_quiet) tsi_verdict_warn_of_inverses(v->factor, v->remedy);
  return status;
}
