/* The records of a factor: see objects.h. */
#include "runtime/base/scalars.h"
#include "runtime/factor/scaling.h"
#include "runtime/import/import.h"
#include "runtime/save/objects.h"

#define F(member) TSI_FIELD(tristar_factor_t, member)
static const tsi_field factor_fields[] = {
    F(adjoint),
    F(has_matrix),
    F(moves_rows),
    F(moves_columns),
    F(weakest_pivot),
    F(weakest_row),
    F(inherited_error),
    F(fixed),
    F(surely_singular),
    F(misfit),
    F(inverse_growth),
    F(scaled_error),
    F(loss),
    F(loses_by_weakness),
    F(low_rank_error),
    F(low_rank_growth),
    F(stats.perturbed_pivots),
    F(stats.smallest_pivot),
    F(stats.largest_pivot),
    F(stats.nnz_factor),
    F(stats.stored_factor),
    F(stats.factor_bytes),
    F(stats.peak_bytes),
    F(stats.factor_seconds),
    F(stats.device_fronts),
    F(stats.device_unfit_fronts),
    F(stats.device_flops),
    F(stats.device_bus_bytes),
    F(stats.growth),
    F(stats.judged),
    F(stats.solve_error),
    F(stats.reciprocal_condition),
    F(stats.singular),
    F(stats.pivot_rounds),
    F(stats.delayed_pivots),
    F(stats.added_entries),
    F(stats.unstable_pivots),
};

/* Number of scalars in the stream of L or U. */
static tsi_count stream_size(const tristar_analysis_t *an, bool upper) {
  const tsi_structure side = tsi_analysis_structure(an, upper ? tsi_analysis_sides(an) - 1 : 0);
  return side.panel_values[side.panels->count];
}

tristar_status tsi_factor_put_shell(tsi_sink *sink, const tristar_factor_t *factor) {
  const tristar_analysis_t *an = factor->analysis;
  const tsi_index n = an->symbolic->n;
  TSI_TRY(tsi_analysis_put(sink, an));
  TSI_TRY(TSI_PUT_FIELDS(sink, "factor", factor_fields, factor));
  if (factor->has_matrix && an->pattern->ptr != NULL)
    TSI_TRY(tsi_put(sink, "values", factor->user_bytes, an->pattern->ptr[n], factor->values));
  TSI_TRY(TSI_PUT(sink, "row_scale", n, factor->row_scale));
  TSI_TRY(TSI_PUT(sink, "col_scale", n, factor->col_scale));
  return TSI_PUT(sink, "pivots", n, factor->pivots);
}

tristar_status tsi_factor_put(tsi_sink *sink, const tristar_factor_t *factor) {
  const tristar_analysis_t *an = factor->analysis;
  const tsi_index n = an->symbolic->n;
  const size_t scalar = factor->scalar_bytes;
  TSI_TRY(tsi_factor_put_shell(sink, factor));
  TSI_TRY(tsi_put(sink, "inverse", scalar, 2 * (tsi_count)n, factor->inverse));
  TSI_TRY(tsi_put(sink, "lower", scalar, stream_size(an, false), factor->lower));
  return tsi_put(sink, "upper", scalar, stream_size(an, true), factor->upper);
}

/* ---- Reading --------------------------------------------------------------------------------------------
 */

static tristar_status take_stream(tsi_source *source, tristar_factor_t *factor, bool upper, void **stream) {
  const char *name = upper ? "upper" : "lower";
  const tsi_count size = stream_size(factor->analysis, upper);
  if (!tsi_source_has(source, name)) return TRISTAR_OK;
  if ((uint64_t)size * factor->scalar_bytes > source->left)
    TSI_DAMAGED(source, "record \"%s\" is larger than the rest of the file", name);
  TSI_TRY(tsi_factor_allocate_stream(source->env, factor, size, stream));
  return tsi_get_to(source, name, factor->scalar_bytes, size, *stream);
}

static tristar_status take_scale(tsi_source *source, const char *name, tsi_index n, double **scale) {
  TSI_TRY(TSI_TAKE_IF(source, name, n, NULL, *scale));
  if (tsi_import_check_scale(source->env, n, *scale, name) == TRISTAR_OK) return TRISTAR_OK;
  TSI_DAMAGED(source, "an entry of \"%s\" is zero or not finite", name);
}

/* Is scalar `at` of this type zero? */
static bool is_zero(const void *scalars, char type, tsi_count at) {
  double part[2];
  tsi_scalar_read(type, scalars, (size_t)at, part);
  return part[0] == 0 && part[1] == 0;
}

/* Checks that both columns of a pivot of order 2 are in one panel. */
static tristar_status check_pairs(const tsi_source *source, const tsi_panels *panels, char type,
                                  const void *inverse) {
  for (tsi_index p = 0; inverse != NULL && p < panels->count; p++)
    for (tsi_index j = panels->start[p]; j < panels->start[p + 1]; j++) {
      if (is_zero(inverse, type, 2 * (tsi_count)j + 1)) continue;
      if (++j == panels->start[p + 1] || !is_zero(inverse, type, 2 * (tsi_count)j + 1))
        TSI_DAMAGED(source, "the pivot of order 2 in column %d has no second column", j - 1);
    }
  return TRISTAR_OK;
}

tristar_status tsi_pivots_check(const tsi_source *source, const tsi_panels *panels, char type,
                                const tsi_index *pivots, const void *inverse) {
  for (tsi_index p = 0; pivots != NULL && p < panels->count; p++)
    for (tsi_index j = panels->start[p]; j < panels->start[p + 1]; j++)
      if (pivots[j] < 0 || pivots[j] >= tsi_panel_width(panels, p))
        TSI_DAMAGED(source, "pivot %d is row %d of its panel", j, pivots[j]);
  return check_pairs(source, panels, type, inverse);
}

/* Sets pivot_order and position: from the pivots, or, for an import, the given order. */
static tristar_status order_pivots(tsi_source *source, tristar_factor_t *factor) {
  const tristar_analysis_t *an = factor->analysis;
  const tsi_index n = an->symbolic->n;
  TSI_TRY(tsi_pivots_check(source, an->panels, an->factor_scalar, factor->pivots, factor->inverse));
  if (factor->pivots == NULL && !an->imported) return TRISTAR_OK;
  TSI_TRY(TSI_ALLOC(source->env, factor->pivot_order, n));
  TSI_TRY(TSI_ALLOC(source->env, factor->position, n));
  for (tsi_index j = 0; an->imported && j < n; j++) {
    factor->pivot_order[j] = an->symbolic->inverse[j];
    factor->position[j] = an->symbolic->perm[j];
  }
  tsi_factor_order_pivots(factor);
  return TRISTAR_OK;
}

/* Does the factor have all parts that its method needs? */
static tristar_status check_parts(const tsi_source *source, const tristar_factor_t *factor) {
  const tristar_analysis_t *an = factor->analysis;
  const bool lu = tsi_analysis_is_lu(an), ldlt = an->stats.method == TRISTAR_METHOD_LDLT;
  const bool lower = factor->lower != NULL, upper = factor->upper != NULL;
  const bool streams = lu && an->imported ? lower || upper : lower && upper == lu;
  const bool pivots = an->imported ? factor->pivots == NULL
                                   : (factor->pivots != NULL) == (an->stats.method != TRISTAR_METHOD_LLT);
  if (!streams || !pivots || (factor->inverse != NULL) != ldlt || (an->other.symbolic && !(lower && upper)) ||
      (!an->imported && !factor->has_matrix) || factor->weakest_row < TSI_NONE ||
      factor->weakest_row >= an->symbolic->n)
    TSI_DAMAGED(source, "%s", "the factor has not the records that its method needs");
  return TRISTAR_OK;
}

static tristar_status take_shell(tsi_source *source, tristar_factor_t *factor) {
  TSI_TRY(tsi_analysis_take(factor->ts, source, &factor->analysis));
  const tristar_analysis_t *an = factor->analysis;
  const tsi_index n = an->symbolic->n;
  TSI_TRY(TSI_TAKE_FIELDS(source, "factor", factor_fields, factor));
  factor->user_bytes = tsi_sparse_kernels_select(an->pattern->scalar)->scalar_bytes;
  factor->scalar_bytes = tsi_sparse_kernels_select(an->factor_scalar)->scalar_bytes;
  if (factor->has_matrix && an->pattern->ptr != NULL) {
    TSI_TRY(tsi_get(source, "values", factor->user_bytes, an->pattern->ptr[n], NULL, &factor->values));
    if (tsi_pattern_check_values(source->env, an->pattern, factor->values) != TRISTAR_OK)
      TSI_DAMAGED(source, "%s", "the matrix has values that no matrix of its kind can have");
    if (an->imported) TSI_TRY(tsi_scaling_weigh(factor));
  }
  TSI_TRY(take_scale(source, "row_scale", n, &factor->row_scale));
  TSI_TRY(take_scale(source, "col_scale", n, &factor->col_scale));
  return TSI_TAKE_IF(source, "pivots", n, NULL, factor->pivots);
}

static tristar_status take_factor(tsi_source *source, tristar_factor_t *factor) {
  TSI_TRY(take_shell(source, factor));
  const tsi_index n = factor->analysis->symbolic->n;
  if (tsi_source_has(source, "inverse"))
    TSI_TRY(tsi_get(source, "inverse", factor->scalar_bytes, 2 * (tsi_count)n, NULL, &factor->inverse));
  TSI_TRY(take_stream(source, factor, false, &factor->lower));
  TSI_TRY(take_stream(source, factor, true, &factor->upper));
  TSI_TRY(check_parts(source, factor));
  TSI_TRY(order_pivots(source, factor));
  factor->valid = true;
  factor->generation = 1;
  return TRISTAR_OK;
}

tristar_status tsi_factor_take(tristar_t *ts, tsi_source *source, tristar_factor_t **out) {
  TSI_CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NULL;
  *out = NULL;
  TSI_TRY(tsi_factor_begin(ts, &factor));
  TSI_TRY(take_factor(source, factor));
  *out = tsi_take(&factor);
  return TRISTAR_OK;
}

tristar_status tsi_factor_take_shell(tristar_t *ts, tsi_source *source, tristar_factor_t **out) {
  TSI_CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NULL;
  *out = NULL;
  TSI_TRY(tsi_factor_begin(ts, &factor));
  TSI_TRY(take_shell(source, factor));
  const tristar_analysis_t *an = factor->analysis;
  if (an->imported || (factor->pivots != NULL) != (an->stats.method != TRISTAR_METHOD_LLT) ||
      !factor->has_matrix)
    TSI_DAMAGED(source, "%s", "the factor has not the records that its method needs");
  if (an->stats.method == TRISTAR_METHOD_LDLT)
    TSI_TRY(TSI_ALLOC_SIZED_ZERO(source->env, factor->inverse, 2 * (size_t)an->symbolic->n,
                                 factor->scalar_bytes));
  TSI_TRY(order_pivots(source, factor));
  *out = tsi_take(&factor);
  return TRISTAR_OK;
}
