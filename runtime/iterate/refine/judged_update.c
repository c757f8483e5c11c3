/* tristar_update_begin, tristar_update_values, tristar_update_entries, tristar_update_low_rank: changes of a
 * factor, with the same verdict as after other factorizations.
 *
 * Reads   new values.   Writes  a factor. */
#include "runtime/base/clock.h"
#include "runtime/base/progress.h"
#include "runtime/factor/low_rank.h"
#include "runtime/factor/update.h"
#include "runtime/iterate/refine/judge.h"

static tristar_status update(tristar_factor_t *factor, tsi_new_values *given, tristar_update_result *result) {
  const double begin = tsi_clock();
  const size_t before = tsi_memory_watch(&factor->ts->env) - factor->stats.factor_bytes;
  const bool begun = factor->update != NULL;
  tristar_update_result found;
  TSI_OWNED void *sums = NULL;
  TSI_TRY(tsi_update_create(factor));
  const tristar_status checked = tsi_update_check(factor, given, &sums);
  if (checked != TRISTAR_OK && !begun) tsi_update_release(&factor->update); /* leaves the factor as it was */
  TSI_TRY(checked);
  factor->stats.start_seconds = 0;
  const tristar_status status = tsi_factor_update(factor, given, &found);
  if (status != TRISTAR_OK || found.fronts > 0) TSI_TRY(tsi_judge_renewed(factor, status));
  if (result != NULL) *result = found;
  tsi_factor_fill_stats(factor, before, tsi_clock() - begin);
  return TRISTAR_OK;
}

tristar_status tristar_update_begin(tristar_factor_t *factor) {
  tristar_status status = TRISTAR_OK;
  TSI_ENTER(factor, factor->ts);
  TSI_TRY_OUT(tsi_factor_need_values(factor));
  if (tsi_update_is_ready(factor->update)) return TRISTAR_OK;
  TSI_TRY_OUT(update(factor, &(tsi_new_values){.count = 0}, NULL));
out:
  return tsi_answer(&factor->ts->env, status);
}

void tristar_update_end(tristar_factor_t *factor) {
  if (factor != NULL) tsi_update_release(&factor->update);
}

tristar_status tristar_update_values(tristar_factor_t *factor, const void *values,
                                     tristar_update_result *result) {
  tristar_status status = TRISTAR_OK;
  TSI_ENTER(factor, factor->ts);
  tsi_env *env = &factor->ts->env;
  if (values == NULL && factor->analysis->pattern->ptr[factor->analysis->pattern->n] > 0)
    TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "values is NULL");
  TSI_TRY_OUT(update(factor, &(tsi_new_values){.count = -1, .values = values}, result));
out:
  return tsi_answer(env, status);
}

tristar_status tristar_update_entries(tristar_factor_t *factor, int64_t count, const int64_t *entry,
                                      const void *values, tristar_update_result *result) {
  tristar_status status = TRISTAR_OK;
  TSI_ENTER(factor, factor->ts);
  tsi_env *env = &factor->ts->env;
  if (count < 0) TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "count is %lld", (long long)count);
  if (count > 0 && (entry == NULL || values == NULL))
    TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "%s is NULL", entry ? "values" : "entry");
  TSI_TRY_OUT(tsi_factor_need_values(factor));
  TSI_TRY_OUT(update(factor, &(tsi_new_values){.count = count, .entry = entry, .values = values}, result));
out:
  return tsi_answer(env, status);
}

#define ENOUGH 1000 /* epsilons: determinants, and later changes, build on these factors, too */

/* Is a factor good enough after a change of low rank? Statistics of changed pivots are bounds. Pivots of L D
 * L^T were chosen for other values: a trial solve shows the loss. */
static tristar_status is_fine(tristar_factor_t *factor, bool *fine) {
  double error = 0;
  *fine = !tsi_judge_is_needed(factor);
  if (!*fine || factor->inverse == NULL) return TRISTAR_OK;
  TSI_TRY(tsi_judge_try(factor, &error));
  *fine = error <= ENOUGH * tsi_sparse_kernels_select(factor->analysis->factor_scalar)->epsilon;
  return TRISTAR_OK;
}

/* After a failure the previous values were factored again; their verdict was lost, and is made again. */
static tristar_status judge_restored(tristar_factor_t *factor, tristar_status failed) {
  tsi_env *env = &factor->ts->env;
  tsi_failure first;
  tsi_failure_clear(&first);
  tsi_failure_keep(env, &first, failed);
  struct tsi_progress *paused = tsi_progress_pause(env);
  const tristar_status judged = tsi_judge_renewed(factor, TRISTAR_OK);
  tsi_progress_resume(env, paused);
  TSI_TRY(judged);
  return tsi_failure_report(env, &first);
}

static tristar_status add_low_rank(tristar_factor_t *factor, const tristar_view *w, bool subtract,
                                   tristar_update_result *result) {
  const double begin = tsi_clock();
  const size_t before = tsi_memory_watch(&factor->ts->env) - factor->stats.factor_bytes;
  tristar_update_result found;
  const tristar_status status = tsi_factor_add_low_rank(factor, w, subtract, is_fine, &found);
  if (status != TRISTAR_OK) return found.whole && factor->valid ? judge_restored(factor, status) : status;
  TSI_TRY(tsi_judge_renewed(factor, status));
  if (found.whole) tsi_update_count_fronts(factor, NULL, &found);
  if (result != NULL) *result = found;
  tsi_factor_fill_stats(factor, before, tsi_clock() - begin);
  return TRISTAR_OK;
}

tristar_status tristar_update_low_rank(tristar_factor_t *factor, const tristar_view *w, int subtract,
                                       tristar_update_result *result) {
  tristar_status status = TRISTAR_OK;
  TSI_ENTER(factor, factor->ts);
  tsi_env *env = &factor->ts->env;
  if (w == NULL) TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "w is NULL");
  TSI_TRY_OUT(add_low_rank(factor, w, subtract != 0, result));
out:
  return tsi_answer(env, status);
}
