/* Updates scalings, sizes of columns and the threshold of tiny pivots after changes: see update.h.
 *
 * A scaling depends only on the exponents of all entries (scaling.h). If no exponent changes, the scaling
 * stays. L L^T without a scaling still needs none if the exponents stay within limits. For LU and L D L^T see
 * scaling_facts.h. Otherwise everything is measured again. */
#include <math.h>

#include "runtime/factor/scaling_work.h"
#include "runtime/factor/update.h"

static double magnitude_of(const tsi_pattern *pattern, const void *values, tsi_count p) {
  const tsi_sparse_kernels *kernels = tsi_sparse_kernels_select(pattern->scalar);
  double magnitude;
  kernels->part(1, (const char *)values + (size_t)p * kernels->scalar_bytes, TSI_PART_MAGNITUDE, &magnitude);
  return magnitude;
}

/* ---- Changes ------------------------------------------------------------------------------------------ */

static void widen(tsi_exponents *range, int exponent, bool diagonal) {
  if (exponent == TSI_NO_ENTRY) return;
  if (exponent > range->most) range->most = exponent;
  if (diagonal && exponent < range->low) range->low = exponent;
  if (diagonal && exponent > range->high) range->high = exponent;
}

void tsi_update_begin_exponents(const tristar_factor_t *factor) {
  const tsi_pattern *pattern = factor->analysis->pattern;
  tsi_exponents range = {.low = INT32_MAX, .high = INT32_MIN, .most = INT32_MIN};
  if (factor->analysis->stats.method == TRISTAR_METHOD_LLT && factor->row_scale == NULL)
    for (tsi_index j = 0; j < pattern->n; j++)
      for (tsi_count p = pattern->ptr[j]; p < pattern->ptr[j + 1]; p++)
        widen(&range, tsi_scaling_exponent(magnitude_of(pattern, factor->values, p)), pattern->index[p] == j);
  factor->update->exponents = range;
}

/* For LU and L D L^T: before the first change of an exponent, computes the facts from the old values. */
static tristar_status note_exponents(const tristar_factor_t *factor, tsi_index row, tsi_index column,
                                     int before, int now) {
  tsi_update *update = factor->update;
  const tristar_analysis_t *an = factor->analysis;
  if (update->numeric == NULL || an->stats.method == TRISTAR_METHOD_LLT || an->schur_count > 0)
    return TRISTAR_OK; /* With a Schur complement, everything is measured again. */
  if (update->facts == NULL) TSI_TRY(tsi_scaling_facts_create(factor, &update->facts));
  update->same_scaling =
      tsi_scaling_facts_allow(update->facts, row, column, before, now) && update->same_scaling;
  return TRISTAR_OK;
}

tristar_status tsi_update_note(const tristar_factor_t *factor, tsi_index line, tsi_count p,
                               const char *value) {
  tsi_update *update = factor->update;
  const tristar_analysis_t *an = factor->analysis;
  const tsi_index other = an->pattern->index[p];
  const int before = tsi_scaling_exponent(magnitude_of(an->pattern, factor->values, p)),
            now = tsi_scaling_exponent(magnitude_of(an->pattern, value, 0));
  widen(&update->exponents, now, line == other);
  update->resized[an->out_place[an->pattern->by_rows ? other : line]] = true;
  if (an->pattern->symmetry != TRISTAR_GENERAL)
    update->resized[an->out_place[an->pattern->by_rows ? line : other]] = true;
  if (before == now) return TRISTAR_OK;
  update->same_exponents = false;
  return note_exponents(factor, an->pattern->by_rows ? line : other, an->pattern->by_rows ? other : line,
                        before, now);
}

/* ---- All values --------------------------------------------------------------------------------------- */

/* Touches entries of rows and columns whose scaling has changed. */
static tristar_status touch_scales(tristar_factor_t *factor) {
  const tristar_analysis_t *an = factor->analysis;
  const tsi_pattern *pattern = an->pattern;
  const tsi_numeric *numeric = factor->update->numeric;
  bool any = false;
  if (numeric->row_scale == NULL) return TRISTAR_OK;
  for (tsi_index j = 0; j < pattern->n && !any; j++)
    any = numeric->row_scale[j] != factor->row_scale[an->in_row[j]] ||
          numeric->col_scale[j] != factor->col_scale[an->out_row[j]];
  if (!any) return TRISTAR_OK;
  TSI_SCRATCH(&factor->ts->env, bool, row, pattern->n);
  TSI_SCRATCH(&factor->ts->env, bool, column, pattern->n);
  for (tsi_index j = 0; j < pattern->n; j++) {
    row[an->in_row[j]] = numeric->row_scale[j] != factor->row_scale[an->in_row[j]];
    column[an->out_row[j]] = numeric->col_scale[j] != factor->col_scale[an->out_row[j]];
  }
  const bool *own = pattern->by_rows ? row : column, *crossing = pattern->by_rows ? column : row;
  const bool mirror = pattern->symmetry != TRISTAR_GENERAL;
  for (tsi_index line = 0; line < pattern->n; line++)
    for (tsi_count p = pattern->ptr[line]; p < pattern->ptr[line + 1]; p++) {
      const tsi_index other = pattern->index[p];
      if (!own[line] && !crossing[other] && !(mirror && (own[other] || crossing[line]))) continue;
      tsi_update_touch_entry(factor, pattern->by_rows ? line : other, pattern->by_rows ? other : line);
    }
  return TRISTAR_OK;
}

/* Touches pivots that another threshold may change. */
static void touch_tiny(tristar_factor_t *factor, double tiny) {
  const tsi_update *update = factor->update;
  const tsi_panels *panels = factor->analysis->panels;
  if (tiny == update->sizes.tiny || update->numeric->pivots == NULL) return;
  for (tsi_index p = 0; p < panels->count; p++)
    if (tsi_numeric_depends_on(update->numeric, p, tiny)) tsi_update_touch(factor, panels->supernode[p]);
}

/* Touches columns whose largest entry has changed, too. */
static void touch_sizes(tristar_factor_t *factor, const tsi_pivot_sizes *sizes) {
  const tsi_update *update = factor->update;
  for (tsi_index j = 0; j < factor->analysis->pattern->n; j++)
    if (sizes->column[j] != update->sizes.column[j]) tsi_update_touch(factor, update->supernode[j]);
  touch_tiny(factor, sizes->tiny);
}

static tristar_status measure_all(tristar_factor_t *factor, bool *whole) {
  tsi_update *update = factor->update;
  tsi_pivot_sizes sizes;
  tristar_status status = TRISTAR_OK;
  tsi_release(tsi_take(&update->facts));
  TSI_TRY_OUT(tsi_pivot_sizes_measure(factor, &sizes));
  *whole = (factor->row_scale == NULL) != (update->numeric->row_scale == NULL);
  if (*whole) goto out;
  TSI_TRY_OUT(touch_scales(factor));
  touch_sizes(factor, &sizes);
  tsi_pivot_sizes_release(&update->sizes);
  update->sizes = sizes;
  return tsi_numeric_place_scales(update->numeric);
out:
  tsi_pivot_sizes_release(&sizes);
  return status;
}

/* ---- Few values with the same scaling ------------------------------------------------------------------ */

static bool keeps_scaling(const tristar_factor_t *factor) {
  const tristar_analysis_t *an = factor->analysis;
  const tsi_exponents *e = &factor->update->exponents;
  if (an->schur_count > 0) return false;
  if (an->stats.method != TRISTAR_METHOD_LU && an->pattern->symmetry == TRISTAR_GENERAL) return false;
  if (factor->update->same_exponents) return true;
  if (an->stats.method != TRISTAR_METHOD_LLT) return factor->update->same_scaling;
  return factor->row_scale == NULL && tsi_scaling_llt_is_free(an->factor_scalar, e->low, e->high, e->most);
}

static tristar_status need_crossing(const tristar_factor_t *factor) {
  tsi_update *update = factor->update;
  tsi_crossing *c = &update->crossing;
  const tsi_pattern *pattern = factor->analysis->pattern;
  if (c->line != NULL || tsi_pattern_is_columns(pattern)) return TRISTAR_OK;
  if (c->ptr == NULL) TSI_TRY(TSI_ALLOC_IN(update, c->ptr, (tsi_count)pattern->n + 1));
  if (c->entry == NULL) TSI_TRY(TSI_ALLOC_IN(update, c->entry, pattern->ptr[pattern->n]));
  TSI_TRY(TSI_ALLOC_IN(update, c->line, pattern->ptr[pattern->n]));
  for (tsi_index j = 0; j <= pattern->n; j++) c->ptr[j] = 0;
  for (tsi_count p = 0; p < pattern->ptr[pattern->n]; p++) c->ptr[pattern->index[p] + 1]++;
  for (tsi_index j = 0; j < pattern->n; j++) c->ptr[j + 1] += c->ptr[j];
  for (tsi_index j = 0; j < pattern->n; j++)
    for (tsi_count p = pattern->ptr[j]; p < pattern->ptr[j + 1]; p++) {
      const tsi_count q = c->ptr[pattern->index[p]]++;
      c->entry[q] = p;
      c->line[q] = j;
    }
  for (tsi_index j = pattern->n; j > 0; j--) c->ptr[j] = c->ptr[j - 1];
  c->ptr[0] = 0;
  return TRISTAR_OK;
}

static void raise_most(const tristar_factor_t *factor, tsi_count p, tsi_index row, tsi_index column,
                       double *largest) {
  const double a = magnitude_of(factor->analysis->pattern, factor->values, p);
  const double scaled =
      factor->row_scale ? tsi_scaled(a, factor->row_scale[row], factor->col_scale[column]) : a;
  if (scaled > *largest) *largest = scaled;
}

/* Size of a column of the user: its largest scaled entry; L L^T: the diagonal one. */
static double size_of(const tristar_factor_t *factor, tsi_index column) {
  const tristar_analysis_t *an = factor->analysis;
  const tsi_pattern *pattern = an->pattern;
  const tsi_crossing *c = &factor->update->crossing;
  const bool llt = an->stats.method == TRISTAR_METHOD_LLT, mirror = pattern->symmetry != TRISTAR_GENERAL;
  double largest = 0;
  for (tsi_count p = pattern->ptr[column]; p < pattern->ptr[column + 1] && (mirror || !pattern->by_rows); p++)
    if (!llt || pattern->index[p] == column) raise_most(factor, p, pattern->index[p], column, &largest);
  for (tsi_count q = c->ptr ? c->ptr[column] : 0; !llt && c->ptr && q < c->ptr[column + 1]; q++)
    raise_most(factor, c->entry[q], c->line[q], column, &largest);
  return largest;
}

static tristar_status measure_few(tristar_factor_t *factor) {
  const tristar_analysis_t *an = factor->analysis;
  tsi_update *update = factor->update;
  double *size = update->sizes.column, largest = 0;
  if (an->stats.method != TRISTAR_METHOD_LLT) TSI_TRY(need_crossing(factor));
  for (tsi_index j = 0; j < an->symbolic->n; j++) {
    if (update->resized[j]) {
      const double now = size_of(factor, an->out_row[j]);
      if (now != size[j]) tsi_update_touch(factor, update->supernode[j]);
      size[j] = now;
    }
    largest = size[j] > largest ? size[j] : largest;
  }
  const double tiny = tsi_tiny_pivot(an, largest);
  touch_tiny(factor, tiny);
  update->sizes.tiny = tiny;
  return TRISTAR_OK;
}

tristar_status tsi_update_measure(tristar_factor_t *factor, bool *whole) {
  *whole = false;
  return keeps_scaling(factor) ? measure_few(factor) : measure_all(factor, whole);
}
