/* tristar_plan: with STORAGE_AUTO it tries formats, the narrowest first, until trial solves reach the
 * accuracy (judge.h). A margin between both avoids refinement in most solves; tristar_solve measures each of
 * them. With a format but without an accuracy, trial solves decide whether tristar_solve refines. */
#include <float.h>
#include <math.h>

#include "runtime/base/options.h"
#include "runtime/factor/scaling.h"
#include "runtime/factor/storage.h"
#include "runtime/iterate/refine/judge.h"
#include "runtime/iterate/refine/system_plan.h"
#include "runtime/solve/in_flight.h"

#define MARGIN 4

/* Do trial solves of the plan reach its accuracy? */
static tristar_status reaches(tristar_plan_t *plan, bool *reached) {
  tsi_plan_system s;
  double error = 0;
  TSI_TRY(tsi_plan_trials_create(plan, &s));
  TSI_TRY(tsi_judge_solves(&s.system, plan->factor, &error));
  *reached = error <= plan->options.accuracy / MARGIN;
  tsi_log(&plan->ts->env, TRISTAR_LOG_INFO,
          "storage in %s: trial solves have backward errors of %.1e, accuracy is %.1e",
          tsi_storage_words(&plan->options), error, plan->options.accuracy);
  return TRISTAR_OK;
}

/* The plan's copy replaces the entries of the factor from now on. */
static tristar_status release_factor(tristar_plan_t *plan) {
  plan->options.release_factor = 1;
  TSI_TRY(tsi_storage_check(plan->factor, &plan->options));
  tsi_storage_release_factor(plan->storage);
  return TRISTAR_OK;
}

/* Makes a plan with this format; NULL: the format is not suitable. The factor keeps its entries until a
 * format is chosen, since another one, or none, may be needed. */
static tristar_status try_format(tristar_factor_t *factor, const tristar_plan_options *options,
                                 tristar_storage storage, tristar_plan_t **out) {
  tristar_plan_options narrow = *options;
  bool reached = false;
  narrow.storage = storage;
  narrow.release_factor = 0;
  tristar_status status = tsi_plan_cut(factor, &narrow, NULL, out);
  if (status == TRISTAR_ERR_UNSUPPORTED) return TRISTAR_OK;
  if (status == TRISTAR_OK) status = reaches(*out, &reached);
  if (reached && options->release_factor) status = release_factor(*out);
  if (status != TRISTAR_OK || !reached) tristar_plan_destroy(out);
  return status;
}

static tristar_status choose_storage(tristar_factor_t *factor, const tristar_plan_options *options,
                                     tristar_plan_t **out) {
  static const struct {
    tristar_storage storage;
    double error; /* error of one entry */
  } formats[] = {{TRISTAR_STORAGE_BFLOAT16, 0x1p-8}, {TRISTAR_STORAGE_SINGLE, 0x1p-24}};
  tristar_plan_options full = *options;
  for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
    if (options->accuracy < formats[f].error) continue;
    TSI_TRY(try_format(factor, options, formats[f].storage, out));
    if (*out != NULL) return TRISTAR_OK;
  }
  full.storage = TRISTAR_STORAGE_FULL;
  full.release_factor = options->release_factor && options->compress != 0;
  return tsi_plan_cut(factor, &full, NULL, out);
}

/* Twice the rounding of an entry, or the tolerance of a compression. */
static double format_epsilon(const tristar_plan_t *plan) {
  const tristar_plan_options *options = &plan->options;
  const double format = options->storage == TRISTAR_STORAGE_BFLOAT16 ? 0x1p-7
                        : options->storage == TRISTAR_STORAGE_SINGLE ? FLT_EPSILON
                                                                     : 0;
  const double epsilon = tsi_sparse_kernels_select(plan->factor->analysis->factor_scalar)->epsilon;
  return fmax(epsilon, fmax(format, options->compress));
}

#define GROWN 8 /* growth of inverted diagonal blocks that makes rounded copies inaccurate */
#define EVEN 64 /* ratio of pivots, the square of the ratio of units, that is harmless */

/* Does rounding the factors do no more harm than rounding A? Entries of L of L L^T never exceed the square
 * roots of the diagonal of A, and rows have similar units. */
static bool bears_rounding(const tristar_factor_t *factor) {
  return factor->analysis->stats.method == TRISTAR_METHOD_LLT && !factor->analysis->imported &&
         factor->inverse_growth <= GROWN &&
         factor->stats.largest_pivot <= EVEN * factor->stats.smallest_pivot;
}

/* Without memory for trials, solves are refined, and the next call tries again. (Not with a Schur complement:
 * condensing and expanding must have one verdict.) */
static tristar_status go_untried(tristar_plan_t *plan) {
  atomic_store(&plan->storage_loses, true);
  tsi_log(&plan->ts->env, TRISTAR_LOG_WARNING,
          "plan: no memory for trial solves with the factor in %s: tristar_solve refines",
          tsi_storage_words(&plan->options));
  return TRISTAR_OK;
}

tristar_status tsi_judge_storage(tristar_plan_t *plan) {
  const tristar_factor_t *factor = plan->factor;
  const double epsilon = format_epsilon(plan);
  const int64_t generation = factor->generation;
  tsi_plan_system s;
  double error = 0;
  if (plan->storage == NULL || plan->options.accuracy > 0 || !factor->has_matrix ||
      plan->options.refine == TRISTAR_REFINE_NEVER || tsi_factor_needs_refinement(factor) ||
      atomic_load(&plan->storage_judged) == generation)
    return TRISTAR_OK;
  TSI_TRY(tsi_plan_trials_create(plan, &s));
  const bool schur = factor->analysis->schur_count > 0;
  if (!bears_rounding(factor)) {
    const tristar_status status = schur ? tsi_schur_judge_rounded(plan, epsilon, &error)
                                        : tsi_judge_rounded(&s.system, factor, epsilon, &error);
    if (status == TRISTAR_ERR_MEMORY && !schur) return go_untried(plan);
    TSI_TRY(status);
  }
  const bool loses = !(error <= tsi_acceptable_error(epsilon));
  atomic_store(&plan->storage_loses, loses);
  atomic_store(&plan->storage_judged, generation);
  if (loses)
    tsi_log(&plan->ts->env, TRISTAR_LOG_WARNING,
            "plan: solves with the factor in %s that are not refined may have backward errors of %.1e; %s",
            tsi_storage_words(&plan->options), error,
            schur ? "tristar_schur_condense and tristar_schur_expand refine" : "tristar_solve refines");
  return TRISTAR_OK;
}

tristar_status tristar_plan(tristar_factor_t *factor, const tristar_plan_options *options,
                            tristar_plan_t **out) {
  tristar_status status = TRISTAR_OK;
  tristar_plan_options full;
  if (out != NULL) *out = NULL;
  TSI_ENTER(factor, factor->ts);
  tsi_env *env = &factor->ts->env;
  if (out == NULL) TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "plan is NULL");
  tsi_solves_reclaim(&factor->ts->solves);
  TSI_TRY_OUT(TSI_OPTIONS(env, tristar_plan_options, options, &full));
  if (full.accuracy > 0) TSI_TRY_OUT(tsi_need_matrix(factor));
  const bool released = factor->released; /* by an earlier plan */
  status = full.storage == TRISTAR_STORAGE_AUTO ? choose_storage(factor, &full, out)
                                                : tsi_plan_cut(factor, &full, NULL, out);
  TSI_TRY_OUT(released ? status : tsi_storage_explain(factor, status));
  status = tsi_judge_storage(*out);
  if (status != TRISTAR_OK) tristar_plan_destroy(out);
  if (!released) status = tsi_storage_explain(factor, status);
out:
  return tsi_answer(env, status);
}
