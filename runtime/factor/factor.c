/* Factors: values, scalings, storage. See factor.h. */
#include "runtime/factor/factor.h"

#include "codelets/cpu/base/panel.h"
#include "runtime/factor/factor_forecast.h"
#include "runtime/factor/method.h"
#include "runtime/factor/update.h"
#include "runtime/rows/row_factor.h"
#include "tristar_typed.h"
#include "runtime/matrix/view.h"

static size_t stream_scalars(tsi_count size) {
  return (size_t)size + TSI_STREAM_PAD;
}

tristar_status tsi_factor_allocate_stream(tsi_env *env, const tristar_factor_t *factor, tsi_count size,
                                          void **out) {
  TSI_TRY(TSI_ALLOC_SIZED(env, *out, stream_scalars(size), factor->scalar_bytes));
  memset((char *)*out + (size_t)size * factor->scalar_bytes, 0, TSI_STREAM_PAD * factor->scalar_bytes);
  return TRISTAR_OK;
}

static tristar_status allocate_streams(tsi_env *env, tristar_factor_t *factor) {
  const tristar_analysis_t *an = factor->analysis;
  const tsi_count size = an->panel_values[an->panels->count];
  TSI_TRY(tsi_factor_allocate_stream(env, factor, size, &factor->lower));
  if (tsi_analysis_is_lu(an)) TSI_TRY(tsi_factor_allocate_stream(env, factor, size, &factor->upper));
  if (an->schur_count > 0)
    TSI_TRY(TSI_ALLOC_SIZED(env, factor->schur, (size_t)an->schur_count * (size_t)an->schur_count,
                            factor->scalar_bytes));
  return TRISTAR_OK;
}

static void free_streams(tsi_env *env, tristar_factor_t *factor) {
  TSI_FREE(env, factor->lower);
  TSI_FREE(env, factor->upper);
  TSI_FREE(env, factor->schur);
  factor->released = false;
}

size_t tsi_factor_stream_bytes(const tristar_factor_t *factor) {
  const tristar_analysis_t *an = factor->analysis;
  const size_t stream = stream_scalars(an->panel_values[an->panels->count]);
  const size_t schur = (size_t)an->schur_count * (size_t)an->schur_count;
  return (stream * (tsi_analysis_is_lu(an) ? 2 : 1) + schur) * factor->scalar_bytes;
}

/* Allocates the arrays that the method of factor->analysis needs in addition to the streams. */
static tristar_status allocate_columns(tsi_env *env, tristar_factor_t *factor) {
  const tristar_analysis_t *an = factor->analysis;
  const tsi_index n = an->pattern->n;
  if (an->stats.method == TRISTAR_METHOD_LLT) return TRISTAR_OK;
  if (an->stats.method == TRISTAR_METHOD_LDLT)
    TSI_TRY(TSI_ALLOC_SIZED(env, factor->inverse, 2 * (size_t)n, factor->scalar_bytes));
  TSI_TRY(TSI_ALLOC(env, factor->pivots, n));
  TSI_TRY(TSI_ALLOC(env, factor->pivot_order, n));
  return TSI_ALLOC(env, factor->position, n);
}

/* Frees the factor order, unless it is the given order, an array of the symbolic analysis
 * (import_triangle.c). */
static void release_order(tsi_env *env, tristar_factor_t *factor) {
  const tristar_analysis_t *an = factor->analysis;
  if (an && an->symbolic && factor->pivot_order == an->symbolic->inverse) {
    factor->pivot_order = factor->position = NULL;
    return;
  }
  TSI_FREE(env, factor->pivot_order);
  TSI_FREE(env, factor->position);
}

static void release_storage(tsi_env *env, tristar_factor_t *factor) {
  tsi_update_release(&factor->update);
  free_streams(env, factor);
  TSI_FREE(env, factor->inverse);
  tsi_row_factor_destroy(env, &factor->rows);
  TSI_FREE(env, factor->pivots);
  release_order(env, factor);
  TSI_FREE(env, factor->row_scale);
  TSI_FREE(env, factor->row_weight);
  TSI_FREE(env, factor->col_weight);
  TSI_FREE(env, factor->col_scale);
}

void tsi_factor_order_pivots(tristar_factor_t *factor) {
  const tsi_panels *panels = factor->analysis->panels;
  tsi_index *order = factor->pivot_order;
  factor->pivoted = false;
  if (factor->pivots == NULL) return;
  for (tsi_index j = 0; j < factor->analysis->symbolic->n; j++) order[j] = j;
  for (tsi_index p = 0; p < panels->count; p++)
    for (tsi_index j = panels->start[p]; j < panels->start[p + 1]; j++) {
      const tsi_index other = panels->start[p] + factor->pivots[j], keep = order[j];
      order[j] = order[other];
      order[other] = keep;
      factor->pivoted |= other != j;
    }
  for (tsi_index k = 0; k < factor->analysis->symbolic->n; k++) factor->position[order[k]] = k;
}

void tsi_factor_fill_stats(tristar_factor_t *factor, size_t before, double seconds) {
  const tristar_analysis_t *an = factor->analysis;
  const bool lu = tsi_analysis_is_lu(an);
  const tsi_memory *memory = &factor->ts->env.memory;
  tristar_factor_stats *stats = &factor->stats;
  stats->nnz_factor = lu ? 2 * an->stats.nnz_lower - an->stats.n : an->stats.nnz_lower;
  stats->stored_factor = lu ? 2 * an->stats.stored_lower : an->stats.stored_lower;
  stats->factor_bytes = (size_t)an->panel_values[an->panels->count] * (lu ? 2 : 1) * factor->scalar_bytes;
  stats->peak_bytes = atomic_load(&memory->recent) - before;
  stats->factor_seconds = seconds - stats->start_seconds;
  tsi_log(&factor->ts->env, TRISTAR_LOG_INFO, "factor: %.3g s, %.1f GF/s, %.1f MB, %lld perturbed pivots",
          stats->factor_seconds, an->stats.flops / stats->factor_seconds / 1e9,
          (double)stats->factor_bytes / 1e6, (long long)stats->perturbed_pivots);
}

tristar_status tsi_factor_need_valid(const tristar_factor_t *factor) {
  if (factor->valid) return TRISTAR_OK;
  TSI_FAIL(&factor->ts->env, TRISTAR_ERR_STALE,
           "the factor holds no values: its last refactorization failed");
}

tristar_status tsi_factor_need_values(const tristar_factor_t *factor) {
  TSI_TRY(tsi_factor_need_valid(factor));
  if (!factor->released) return TRISTAR_OK;
  TSI_FAIL(&factor->ts->env, TRISTAR_ERR_STALE,
           "the factor holds no entries: a plan with release_factor has taken them over, or failed while it "
           "did, until the next tristar_refactor");
}

tristar_status tsi_analysis_need_whole(const tristar_analysis_t *analysis) {
  if (analysis->schur_count == 0) return TRISTAR_OK;
  TSI_FAIL(&analysis->ts->env, TRISTAR_ERR_UNSUPPORTED,
           "%d rows are left to a Schur complement, which is not factored: tristar_schur_condense and "
           "tristar_schur_expand solve with the others, on one process",
           analysis->schur_count);
}

tristar_status tsi_factor_check_values(tristar_factor_t *factor) {
  tsi_env *env = &factor->ts->env;
  TSI_TRY(tsi_pattern_check_values(env, factor->analysis->pattern, factor->values));
  return tsi_check_method(env, factor->analysis, factor->values, &factor->adjoint);
}

static tristar_status run(tristar_factor_t *factor) {
  factor->valid = factor->dependent = false;
  factor->low_rank_error = 0;
  factor->low_rank_growth = 1;
  if (factor->analysis->lower.ptr == NULL) TSI_TRY(tsi_assembly_create(&factor->ts->env, factor->analysis));
  tsi_update_discard(factor->update);
  if (factor->released) free_streams(&factor->ts->env, factor);
  TSI_TRY(tsi_factor_check_limit(factor));
  if (factor->lower == NULL) TSI_TRY(allocate_streams(&factor->ts->env, factor));
  TSI_TRY(tsi_factorize(factor));
  tsi_factor_order_pivots(factor);
  factor->valid = true;
  factor->generation++;
  return TRISTAR_OK;
}

tristar_status tsi_factor_run(tristar_factor_t *factor) {
  TSI_TRY(run(factor));
  return tsi_factor_delays(factor) ? tsi_factor_test_pivots(factor, NULL, 0) : TRISTAR_OK;
}

tristar_status tsi_factor_take_analysis(tristar_factor_t *factor, tristar_analysis_t *again) {
  release_storage(&factor->ts->env, factor);
  tristar_analysis_destroy(&factor->analysis);
  factor->analysis = again;
  return allocate_columns(&factor->ts->env, factor);
}

/* Replaces the analysis by a new one for that method, in an order that no search has found. */
static tristar_status analyze_again(tristar_factor_t *factor, tristar_method method) {
  tristar_analysis_t *again = NULL;
  factor->stats.pivot_rounds = 0;
  factor->stats.delayed_pivots = factor->stats.added_entries = 0;
  TSI_TRY(tsi_analysis_again(factor->analysis, method, factor->values, &again));
  return tsi_factor_take_analysis(factor, again);
}

static bool is_automatic(const tristar_factor_t *factor) {
  return factor->analysis->options.method == TRISTAR_METHOD_AUTO;
}

tristar_status tsi_factor_choose_method(tristar_factor_t *factor) {
  tristar_status status = tsi_factor_check_values(factor);
  if (status != TRISTAR_ERR_ARGUMENT || !is_automatic(factor)) return status;
  tsi_log(&factor->ts->env, TRISTAR_LOG_WARNING,
          "the values are not symmetric as those of the analysis were: analyzed anew");
  TSI_TRY(analyze_again(factor, TRISTAR_METHOD_AUTO));
  return tsi_factor_check_values(factor);
}

tristar_status tsi_factor_fall_back(tristar_factor_t *factor) {
  tsi_log(&factor->ts->env, TRISTAR_LOG_WARNING,
          "the matrix is not positive definite: L D L^T instead of Cholesky");
  return analyze_again(factor, TRISTAR_METHOD_LDLT);
}

/* METHOD_AUTO tries another method if the method of the analysis fails: the one for unsymmetric values, or L
 * D L^T after a pivot that is not positive. */
static tristar_status run_any(tristar_factor_t *factor) {
  TSI_TRY(tsi_factor_choose_method(factor));
  tristar_status status = tsi_factor_run_stable(factor);
  if (status != TRISTAR_ERR_NOT_POSITIVE_DEFINITE || !factor->analysis->fallback) return status;
  TSI_TRY(tsi_factor_fall_back(factor));
  TSI_TRY(tsi_factor_check_values(factor));
  return tsi_factor_run_stable(factor);
}

tristar_status tsi_factor_create_empty(tristar_analysis_t *analysis, tristar_factor_t **out) {
  TSI_CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NULL;
  *out = NULL;
  TSI_TRY(tsi_factor_begin(analysis->ts, &factor));
  factor->analysis = tsi_analysis_share(analysis);
  factor->has_matrix = true;
  factor->user_bytes = tsi_sparse_kernels_select(analysis->pattern->scalar)->scalar_bytes;
  factor->scalar_bytes = tsi_sparse_kernels_select(analysis->factor_scalar)->scalar_bytes;
  TSI_TRY(allocate_columns(&analysis->ts->env, factor));
  *out = tsi_take(&factor);
  return TRISTAR_OK;
}

tristar_status tsi_factor_create(tristar_analysis_t *analysis, const void *values, tristar_factor_t **out) {
  TSI_CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NULL;
  *out = NULL;
  TSI_TRY(tsi_factor_create_empty(analysis, &factor));
  TSI_TRY(tsi_pattern_allocate_values(&analysis->ts->env, analysis->pattern, &factor->values));
  tsi_pattern_take(analysis->pattern, values, factor->values);
  *out = tsi_take(&factor);
  return TRISTAR_OK;
}

tristar_status tsi_factor_make(tristar_analysis_t *analysis, const void *values, tristar_factor_t **out) {
  tristar_status status = TRISTAR_OK;
  TSI_TRY_OUT(tsi_factor_create(analysis, values, out));
  TSI_TRY_OUT(run_any(*out));
out:
  if (status != TRISTAR_OK && *out != NULL && !(*out)->dependent) tristar_factor_destroy(out);
  return status;
}

tristar_status tsi_factor_prepare_again(const tristar_factor_t *factor, bool full, tristar_factor_t **out) {
  TSI_CLEANUP(tristar_factor_destroy) tristar_factor_t *other = NULL;
  TSI_CLEANUP(tristar_analysis_destroy) tristar_analysis_t *again = NULL;
  tsi_env *env = &factor->ts->env;
  const tsi_pattern *pattern = factor->analysis->pattern;
  *out = NULL;
  TSI_TRY(tsi_analysis_match_again(factor->analysis, factor->values, full, &again));
  TSI_TRY(tsi_factor_create_empty(again, &other));
  TSI_TRY(tsi_pattern_allocate_values(env, pattern, &other->values));
  memcpy(other->values, factor->values, (size_t)pattern->ptr[pattern->n] * factor->user_bytes);
  TSI_TRY(tsi_factor_check_values(other));
  *out = tsi_take(&other);
  return TRISTAR_OK;
}

tristar_status tsi_factor_rematch(const tristar_factor_t *factor, tristar_factor_t **out) {
  TSI_CLEANUP(tristar_factor_destroy) tristar_factor_t *other = NULL;
  *out = NULL;
  TSI_TRY(tsi_factor_prepare_again(factor, false, &other));
  TSI_TRY(tsi_factor_run_stable(other));
  *out = tsi_take(&other);
  return TRISTAR_OK;
}

tristar_status tsi_factor_match_again(tristar_factor_t *factor) {
  TSI_TRY(analyze_again(factor, factor->analysis->stats.method));
  return tsi_factor_check_values(factor);
}

tristar_status tsi_factor_substitute(tristar_factor_t *factor) {
  if (factor->analysis->extended) { /* No other factor has this analysis. */
    factor->analysis->options.inverse = TRISTAR_INVERSE_NONE;
    return TRISTAR_OK;
  }
  TSI_TRY(analyze_again(factor, factor->analysis->stats.method));
  factor->analysis->options.inverse = TRISTAR_INVERSE_NONE;
  return tsi_factor_check_values(factor);
}

/* The analysis stays, because plans rely on it. The message of METHOD_AUTO names the remedy. */
tristar_status tsi_factor_explain(const tristar_factor_t *factor, tristar_status status) {
  const tristar_analysis_t *an = factor->analysis;
  const tsi_env *env = &factor->ts->env;
  if (!is_automatic(factor) ||
      (status != TRISTAR_ERR_ARGUMENT && status != TRISTAR_ERR_NOT_POSITIVE_DEFINITE))
    return status;
  TSI_FAIL(env, status,
           "%.200s: METHOD_AUTO has chosen %s by earlier values; tristar_factor chooses anew, and "
           "needs a new plan",
           tsi_error_text(env), an->stats.method == TRISTAR_METHOD_LLT ? "L L^T" : "L D L^T");
}

tristar_status tsi_factor_renew(tristar_factor_t *factor, const void *values) {
  tristar_status status = TRISTAR_OK;
  factor->stats.start_seconds = 0;
  factor->valid = false;
  tsi_pattern_take(factor->analysis->pattern, values, factor->values);
  status = tsi_factor_check_values(factor);
  if (status == TRISTAR_OK) status = tsi_factor_run(factor);
  return tsi_factor_explain(factor, status);
}

tristar_status tristar_factor_get_stats(const tristar_factor_t *factor, tristar_factor_stats *stats) {
  TSI_GET(factor, stats, factor->stats);
}

tristar_status tristar_factor_get_order(const tristar_factor_t *factor, int64_t *row_order,
                                        int64_t *column_order, double *row_scale, double *column_scale) {
  if (factor == NULL) return TSI_NULL(factor);
  const tristar_analysis_t *an = factor->analysis;
  const bool both = an->imported || !tsi_analysis_is_lu(an); /* Rows and columns have the same order. */
  for (tsi_index k = 0; k < an->symbolic->n; k++) {
    const tsi_index j = factor->pivot_order ? factor->pivot_order[k] : k;
    if (row_order) row_order[k] = an->in_row[j];
    if (column_order) column_order[k] = an->out_row[both ? j : k];
    if (row_scale) row_scale[k] = factor->row_scale ? factor->row_scale[k] : 1;
    if (column_scale) column_scale[k] = factor->col_scale ? factor->col_scale[k] : 1;
  }
  return TRISTAR_OK;
}

const tristar_analysis_t *tristar_factor_get_analysis(const tristar_factor_t *factor) {
  if (factor != NULL) return factor->analysis;
  (void)TSI_NULL(factor);
  return NULL;
}

tristar_status tsi_factor_begin(tristar_t *ts, tristar_factor_t **out) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &ts->env;
  *out = NULL;
  TSI_TRY_OUT(TSI_ALLOC_ZERO(env, *out, 1));
  atomic_init(&(*out)->references, 1);
  (*out)->ts = ts;
  TSI_TRY_OUT(tsi_residents_init(env, &(*out)->residents));
  tsi_env_retain(env);
out:
  if (status != TRISTAR_OK) TSI_FREE(env, *out);
  return status;
}

tristar_factor_t *tsi_factor_share(tristar_factor_t *factor) {
  atomic_fetch_add(&factor->references, 1);
  return factor;
}

void tristar_factor_destroy(tristar_factor_t **factor) {
  if (factor == NULL || *factor == NULL) return;
  tristar_factor_t *f = *factor;
  tsi_env *env = &f->ts->env;
  *factor = NULL;
  if (tsi_env_abandon(env, f) || atomic_fetch_sub(&f->references, 1) > 1) return;
  if (f->trial_plan != NULL) { /* Destroying the plan destroys the factor again. */
    tristar_plan_t *plan = tsi_take(&f->trial_plan);
    atomic_store(&f->references, 1);
    f->destroy_trial_plan(&plan);
    return;
  }
  tsi_residents_finish(env, &f->residents);
  release_storage(env, f);
  TSI_FREE(env, f->values);
  tristar_analysis_destroy(&f->analysis);
  TSI_FREE(env, f);
  tsi_env_release(env);
}

tristar_status tristar_factor_check_scalar(const tristar_factor_t *factor, tristar_scalar scalar) {
  TSI_ENTER(factor, factor->ts);
  return tsi_answer(&factor->ts->env,
                    tsi_check_scalar(&factor->ts->env, factor->analysis->pattern->scalar, scalar));
}
