/* tristar_factor and tristar_refactor: values, scalings, storage. See factor.h. */
#include "runtime/factor.h"

#include <math.h>

#include "codelets/cpu/panel.h"
#include "runtime/clock.h"

/* The power of two nearest below 1 / largest, so that scaling is exact; 1 for an empty line. */
static double reciprocal_power(double largest) {
  int exponent;
  if (largest == 0) return 1;
  frexp(largest, &exponent);
  return ldexp(1.0, exponent > 1000 ? -1000 : exponent < -1000 ? 1000 : -exponent);
}

/* Largest entry of every row (of = rows) or column, each entry scaled by `by` of the other index (NULL:
 * ones). */
static void largest_entries(const tsi_pattern *pattern, const double *magnitude, bool rows, const double *by,
                            double *largest) {
  const bool mirror = pattern->symmetry != TRISTAR_GENERAL;
  for (tsi_index j = 0; j < pattern->n; j++) largest[j] = 0;
  for (tsi_index j = 0; j < pattern->n; j++)
    for (tsi_count p = pattern->ptr[j]; p < pattern->ptr[j + 1]; p++) {
      const tsi_index i = pattern->index[p];
      const tsi_index line = pattern->by_rows == rows ? j : i, other = pattern->by_rows == rows ? i : j;
      const double a = magnitude[p];
      if (a * (by ? by[other] : 1) > largest[line]) largest[line] = a * (by ? by[other] : 1);
      if (mirror && a * (by ? by[line] : 1) > largest[other]) largest[other] = a * (by ? by[line] : 1);
    }
}

/* Rows, then columns, to a largest entry between 1/2 and 1. */
static tristar_status equilibrate(tristar_factor_t *factor) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &factor->ts->env;
  const tsi_pattern *pattern = factor->analysis->pattern;
  double *magnitude = NULL;
  TSI_TRY(tsi_pattern_part(env, pattern, factor->values, TSI_PART_MAGNITUDE, &magnitude));
  largest_entries(pattern, magnitude, true, NULL, factor->row_scale);
  for (tsi_index i = 0; i < pattern->n; i++) factor->row_scale[i] = reciprocal_power(factor->row_scale[i]);
  largest_entries(pattern, magnitude, false, factor->row_scale, factor->col_scale);
  for (tsi_index j = 0; j < pattern->n; j++) factor->col_scale[j] = reciprocal_power(factor->col_scale[j]);
out:
  TSI_FREE(env, magnitude);
  return status;
}

/* The same scaling S for rows and columns (Ruiz 2001): each sweep multiplies it by the square roots of the
 * largest entries. */
static tristar_status equilibrate_symmetric(tristar_factor_t *factor) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &factor->ts->env;
  const tsi_pattern *pattern = factor->analysis->pattern;
  double *magnitude = NULL, *largest = factor->col_scale;
  TSI_TRY(tsi_pattern_part(env, pattern, factor->values, TSI_PART_MAGNITUDE, &magnitude));
  for (tsi_index i = 0; i < pattern->n; i++) factor->row_scale[i] = 1;
  for (int sweep = 0; sweep < 4; sweep++) {
    largest_entries(pattern, magnitude, true, factor->row_scale, largest);
    for (tsi_index i = 0; i < pattern->n; i++)
      factor->row_scale[i] = reciprocal_power(sqrt(largest[i] / factor->row_scale[i]));
  }
  memcpy(factor->col_scale, factor->row_scale, (size_t)pattern->n * sizeof *factor->col_scale);
out:
  TSI_FREE(env, magnitude);
  return status;
}

static tristar_status set_scaling(tristar_factor_t *factor) {
  const tristar_analysis_t *an = factor->analysis;
  if (factor->row_scale == NULL) return TRISTAR_OK;
  if (an->row_scale == NULL) return factor->inverse ? equilibrate_symmetric(factor) : equilibrate(factor);
  memcpy(factor->row_scale, an->row_scale, (size_t)an->pattern->n * sizeof *factor->row_scale);
  memcpy(factor->col_scale, an->col_scale, (size_t)an->pattern->n * sizeof *factor->col_scale);
  return TRISTAR_OK;
}

tristar_status tsi_factor_allocate_stream(tsi_env *env, const tristar_factor_t *factor, tsi_count size,
                                          void **out) {
  tristar_status status = TRISTAR_OK;
  TSI_TRY(tsi_allocate(env, (size_t)size + TSI_STREAM_PAD, factor->scalar_bytes, __func__, __FILE__, __LINE__,
                       out));
  memset((char *)*out + (size_t)size * factor->scalar_bytes, 0, TSI_STREAM_PAD * factor->scalar_bytes);
out:
  return status;
}

/* Storage for the method of factor->analysis. */
static tristar_status allocate(tsi_env *env, tristar_factor_t *factor) {
  tristar_status status = TRISTAR_OK;
  const tristar_analysis_t *an = factor->analysis;
  const tsi_index n = an->pattern->n;
  const tsi_count size = an->panel_values[an->panels->count];
  TSI_TRY(tsi_factor_allocate_stream(env, factor, size, &factor->lower));
  if (an->stats.method == TRISTAR_METHOD_LLT) goto out;
  if (tsi_analysis_is_lu(an))
    TSI_TRY(tsi_factor_allocate_stream(env, factor, size, &factor->upper));
  else
    TSI_TRY(tsi_allocate(env, 2 * (size_t)n, factor->scalar_bytes, __func__, __FILE__, __LINE__,
                         &factor->inverse));
  TSI_TRY(TSI_ALLOC(env, factor->pivots, n));
  TSI_TRY(TSI_ALLOC(env, factor->pivot_order, n));
  TSI_TRY(TSI_ALLOC(env, factor->position, n));
  TSI_TRY(TSI_ALLOC(env, factor->row_scale, n));
  TSI_TRY(TSI_ALLOC(env, factor->col_scale, n));
out:
  return status;
}

static void release_storage(tsi_env *env, tristar_factor_t *factor) {
  TSI_FREE(env, factor->lower);
  TSI_FREE(env, factor->upper);
  TSI_FREE(env, factor->inverse);
  TSI_FREE(env, factor->pivots);
  TSI_FREE(env, factor->pivot_order);
  TSI_FREE(env, factor->position);
  TSI_FREE(env, factor->row_scale);
  TSI_FREE(env, factor->col_scale);
}

/* The order that the interchanges inside the panels make. */
static void order_pivots(tristar_factor_t *factor) {
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

static void fill_stats(tristar_factor_t *factor, size_t before, double seconds) {
  const tristar_analysis_t *an = factor->analysis;
  const bool lu = factor->upper != NULL;
  const tsi_memory *memory = &factor->ts->env.memory;
  tristar_factor_stats *stats = &factor->stats;
  stats->nnz_factor = lu ? 2 * an->stats.nnz_lower - an->stats.n : an->stats.nnz_lower;
  stats->stored_factor = lu ? 2 * an->stats.stored_lower : an->stats.stored_lower;
  stats->factor_bytes = (size_t)an->panel_values[an->panels->count] * (lu ? 2 : 1) * factor->scalar_bytes;
  stats->peak_bytes = atomic_load(&memory->recent) - before;
  stats->factor_seconds = seconds;
  tsi_log(&factor->ts->env, TRISTAR_LOG_INFO, "factor: %.3g s, %.1f GF/s, %.1f MB, %lld perturbed pivots",
          seconds, an->stats.flops / seconds / 1e9, (double)stats->factor_bytes / 1e6,
          (long long)stats->perturbed_pivots);
}

/* Copies the values and factors them with the current analysis and storage. */
static tristar_status run(tristar_factor_t *factor, const void *values) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &factor->ts->env;
  const tsi_pattern *pattern = factor->analysis->pattern;
  factor->valid = false;
  TSI_TRY(tsi_pattern_check_values(env, pattern, values));
  if (pattern->ptr[pattern->n] > 0 && values != factor->values)
    memcpy(factor->values, values, (size_t)pattern->ptr[pattern->n] * factor->user_bytes);
  TSI_TRY(set_scaling(factor));
  TSI_TRY(tsi_factorize(factor));
  order_pivots(factor);
  factor->valid = true;
  factor->generation++;
out:
  return status;
}

/* METHOD_AUTO chose LLT and met a pivot that is not positive: analyze again and factor as LDLT. */
static tristar_status fall_back(tristar_factor_t *factor) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &factor->ts->env;
  tristar_analysis_t *again = NULL;
  tsi_log(env, TRISTAR_LOG_WARNING, "the matrix is not positive definite: L D L^T instead of Cholesky");
  TSI_TRY(tsi_analysis_for_ldlt(factor->analysis, factor->values, &again));
  release_storage(env, factor);
  tristar_analysis_destroy(&factor->analysis);
  factor->analysis = again;
  TSI_TRY(allocate(env, factor));
  TSI_TRY(run(factor, factor->values));
out:
  return status;
}

tristar_status tristar_factor(tristar_analysis_t *analysis, const void *values, tristar_factor_t **out) {
  tristar_status status = TRISTAR_OK;
  tristar_factor_t *factor = NULL;
  if (analysis == NULL) return TRISTAR_ERR_ARGUMENT;
  tsi_env *env = &analysis->ts->env;
  const double begin = tsi_clock();
  if (out == NULL) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "factor is NULL");
  *out = NULL;
  if (values == NULL && analysis->pattern->ptr[analysis->pattern->n] > 0)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "values is NULL");
  const size_t before = tsi_memory_watch(env);
  TSI_TRY(TSI_ALLOC_ZERO(env, factor, 1));
  atomic_init(&factor->references, 1);
  factor->ts = analysis->ts;
  factor->analysis = tsi_analysis_share(analysis);
  factor->has_matrix = true;
  factor->user_bytes = tsi_sparse_kernels_select(analysis->pattern->scalar)->scalar_bytes;
  factor->scalar_bytes = tsi_sparse_kernels_select(analysis->factor_scalar)->scalar_bytes;
  TSI_TRY(tsi_allocate(env, (size_t)analysis->pattern->ptr[analysis->pattern->n], factor->user_bytes,
                       __func__, __FILE__, __LINE__, &factor->values));
  TSI_TRY(allocate(env, factor));
  status = run(factor, values);
  if (status == TRISTAR_ERR_NOT_POSITIVE_DEFINITE && analysis->fallback) status = fall_back(factor);
  TSI_TRY(status);
  fill_stats(factor, before, tsi_clock() - begin);
out:
  if (status != TRISTAR_OK) tristar_factor_destroy(&factor);
  if (out != NULL) *out = factor;
  return status;
}

tristar_status tristar_refactor(tristar_factor_t *factor, const void *values) {
  tristar_status status = TRISTAR_OK;
  if (factor == NULL) return TRISTAR_ERR_ARGUMENT;
  tsi_env *env = &factor->ts->env;
  const double begin = tsi_clock();
  if (factor->analysis->imported)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "an imported factor gets new values by tristar_reimport");
  if (values == NULL && factor->analysis->pattern->ptr[factor->analysis->pattern->n] > 0)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "values is NULL");
  const size_t before = tsi_memory_watch(env) - factor->stats.factor_bytes;
  TSI_TRY(run(factor, values));
  fill_stats(factor, before, tsi_clock() - begin);
out:
  return status;
}

void tristar_factor_get_stats(const tristar_factor_t *factor, tristar_factor_stats *stats) {
  *stats = factor->stats;
}

void tristar_factor_get_order(const tristar_factor_t *factor, int64_t *row_order, int64_t *column_order,
                              double *row_scale, double *column_scale) {
  const tristar_analysis_t *an = factor->analysis;
  const bool both = an->imported || !tsi_analysis_is_lu(an); /* rows and columns alike */
  for (tsi_index k = 0; k < an->symbolic->n; k++) {
    const tsi_index j = factor->pivot_order ? factor->pivot_order[k] : k;
    if (row_order) row_order[k] = an->in_row[j];
    if (column_order) column_order[k] = an->out_row[both ? j : k];
    if (row_scale) row_scale[k] = factor->row_scale ? factor->row_scale[k] : 1;
    if (column_scale) column_scale[k] = factor->col_scale ? factor->col_scale[k] : 1;
  }
}

const tristar_analysis_t *tristar_factor_analysis(const tristar_factor_t *factor) {
  return factor->analysis;
}

tristar_factor_t *tsi_factor_share(tristar_factor_t *factor) {
  atomic_fetch_add(&factor->references, 1);
  return factor;
}

void tristar_factor_destroy(tristar_factor_t **factor) {
  if (factor == NULL || *factor == NULL) return;
  tristar_factor_t *f = *factor;
  *factor = NULL;
  if (atomic_fetch_sub(&f->references, 1) > 1) return;
  tsi_env *env = &f->ts->env;
  release_storage(env, f);
  TSI_FREE(env, f->values);
  tristar_analysis_destroy(&f->analysis);
  TSI_FREE(env, f);
}
