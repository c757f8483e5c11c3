/* Checks, copies and expands the user's matrix: see pattern.h. */
#include "runtime/pattern.h"

#include <inttypes.h>

#include "runtime/matrix/view.h"

/* What factorization needs beyond what every view has to satisfy. */
static tristar_status check_square(tsi_env *env, const tristar_view *view) {
  tristar_status status = TRISTAR_OK;
  if (view->rows != view->cols)
    TSI_FAIL(env, TRISTAR_ERR_RECTANGULAR, "the matrix is not square: %" PRId64 " rows, %" PRId64 " columns",
             view->rows, view->cols);
  TSI_TRY(tsi_view_check(env, view));
out:
  return status;
}

tristar_status tsi_pattern_create(tsi_env *env, const tristar_view *view, tsi_pattern **out) {
  tristar_status status = TRISTAR_OK;
  tsi_pattern *pattern = NULL;
  *out = NULL;
  TSI_TRY(check_square(env, view));
  TSI_TRY(TSI_ALLOC_ZERO(env, pattern, 1));
  pattern->n = (tsi_index)view->rows;
  pattern->by_rows = view->format == TRISTAR_CSR;
  pattern->scalar = (char)view->scalar;
  pattern->symmetry = view->symmetry;
  if (view->symmetry == TRISTAR_HERMITIAN && !tsi_sparse_kernels_select(pattern->scalar)->is_complex)
    pattern->symmetry = TRISTAR_SYMMETRIC;
  TSI_TRY(TSI_ALLOC(env, pattern->ptr, (tsi_count)pattern->n + 1));
  for (tsi_index j = 0; j <= pattern->n; j++) pattern->ptr[j] = tsi_view_begin(view, j);
  TSI_TRY(TSI_ALLOC(env, pattern->index, pattern->ptr[pattern->n]));
  for (tsi_count p = 0; p < pattern->ptr[pattern->n]; p++)
    pattern->index[p] = (tsi_index)tsi_view_index(view, p);
out:
  if (status != TRISTAR_OK) tsi_pattern_destroy(env, &pattern);
  *out = pattern;
  return status;
}

void tsi_pattern_destroy(tsi_env *env, tsi_pattern **pattern) {
  if (*pattern == NULL) return;
  TSI_FREE(env, (*pattern)->ptr);
  TSI_FREE(env, (*pattern)->index);
  TSI_FREE(env, *pattern);
}

tristar_status tsi_pattern_check_values(tsi_env *env, const tsi_pattern *pattern, const void *values) {
  tristar_status status = TRISTAR_OK;
  const tsi_count entries = pattern->ptr[pattern->n];
  const tsi_count p = tsi_sparse_kernels_select(pattern->scalar)->first_not_finite(entries, values);
  if (p == entries) return TRISTAR_OK;
  tsi_index j = 0;
  while (pattern->ptr[j + 1] <= p) j++;
  TSI_FAIL(env, TRISTAR_ERR_NOT_FINITE,
           "the matrix has NaN or infinity in row %d, column %d (counted from 0)",
           pattern->by_rows ? j : pattern->index[p], pattern->by_rows ? pattern->index[p] : j);
out:
  return status;
}

tristar_status tsi_pattern_part(tsi_env *env, const tsi_pattern *pattern, const void *values, tsi_part part,
                                double **out) {
  tristar_status status = TRISTAR_OK;
  const tsi_count entries = pattern->ptr[pattern->n];
  TSI_TRY(TSI_ALLOC(env, *out, entries));
  tsi_sparse_kernels_select(pattern->scalar)->part(entries, values, part, *out);
out:
  return status;
}

tsi_sparse tsi_pattern_sparse(const tsi_pattern *pattern, const void *values) {
  return (tsi_sparse){pattern->n, pattern->by_rows, pattern->symmetry, pattern->ptr, pattern->index, values};
}

tsi_count tsi_pattern_entries(const tsi_pattern *pattern) {
  tsi_count entries = pattern->ptr[pattern->n];
  if (pattern->symmetry == TRISTAR_GENERAL) return entries;
  for (tsi_index j = 0; j < pattern->n; j++)
    for (tsi_count p = pattern->ptr[j]; p < pattern->ptr[j + 1]; p++) entries += pattern->index[p] != j;
  return entries;
}

/* Triplets (row, column, value) in the order of columns `major`, then bucket-sorted by the other index: a
 * transpose. */
static void transpose(tsi_index n, const tsi_csc *from, tsi_csc *to) {
  for (tsi_index j = 0; j <= n; j++) to->ptr[j] = 0;
  for (tsi_count p = 0; p < from->ptr[n]; p++) to->ptr[from->index[p] + 1]++;
  for (tsi_index j = 0; j < n; j++) to->ptr[j + 1] += to->ptr[j];
  for (tsi_index j = 0; j < n; j++)
    for (tsi_count p = from->ptr[j]; p < from->ptr[j + 1]; p++) {
      const tsi_count q = to->ptr[from->index[p]]++;
      to->index[q] = j;
      if (to->values) to->values[q] = from->values[p];
    }
  for (tsi_index j = n; j > 0; j--) to->ptr[j] = to->ptr[j - 1];
  to->ptr[0] = 0;
}

/* Every stored entry, and its mirror image for symmetric kinds, into lines of `raw`; unsorted. */
static void scatter_lines(const tsi_pattern *pattern, const double *values, tsi_csc *raw) {
  const tsi_index n = pattern->n;
  const bool mirror = pattern->symmetry != TRISTAR_GENERAL;
  for (tsi_index j = 0; j <= n; j++) raw->ptr[j] = 0;
  for (tsi_index j = 0; j < n; j++)
    for (tsi_count p = pattern->ptr[j]; p < pattern->ptr[j + 1]; p++) {
      raw->ptr[j + 1]++;
      if (mirror && pattern->index[p] != j) raw->ptr[pattern->index[p] + 1]++;
    }
  for (tsi_index j = 0; j < n; j++) raw->ptr[j + 1] += raw->ptr[j];
  for (tsi_index j = 0; j < n; j++)
    for (tsi_count p = pattern->ptr[j]; p < pattern->ptr[j + 1]; p++) {
      const tsi_index i = pattern->index[p];
      tsi_count q = raw->ptr[j]++;
      raw->index[q] = i;
      if (raw->values) raw->values[q] = values[p];
      if (!mirror || i == j) continue;
      q = raw->ptr[i]++;
      raw->index[q] = j;
      if (raw->values) raw->values[q] = values[p];
    }
  for (tsi_index j = n; j > 0; j--) raw->ptr[j] = raw->ptr[j - 1];
  raw->ptr[0] = 0;
}

static void sum_duplicates(tsi_csc *csc) {
  tsi_count to = 0, begin = 0;
  for (tsi_index j = 0; j < csc->n; j++) {
    const tsi_count end = csc->ptr[j + 1], first = to;
    for (tsi_count p = begin; p < end; p++) {
      if (to > first && csc->index[to - 1] == csc->index[p]) {
        if (csc->values) csc->values[to - 1] += csc->values[p];
        continue;
      }
      csc->index[to] = csc->index[p];
      if (csc->values) csc->values[to] = csc->values[p];
      to++;
    }
    begin = end;
    csc->ptr[j + 1] = to;
  }
}

static tristar_status allocate_csc(tsi_env *env, tsi_index n, tsi_count entries, bool values, tsi_csc *csc) {
  tristar_status status = TRISTAR_OK;
  csc->n = n;
  TSI_TRY(TSI_ALLOC(env, csc->ptr, (tsi_count)n + 1));
  TSI_TRY(TSI_ALLOC(env, csc->index, entries));
  if (values) TSI_TRY(TSI_ALLOC(env, csc->values, entries));
out:
  return status;
}

tristar_status tsi_expand(tsi_env *env, const tsi_pattern *pattern, const double *values, bool transposed,
                          tsi_csc *out) {
  tristar_status status = TRISTAR_OK;
  const tsi_count entries = tsi_pattern_entries(pattern);
  tsi_csc raw = {0};
  tsi_csc sorted = {0};
  TSI_TRY(allocate_csc(env, pattern->n, entries, values != NULL, &raw));
  TSI_TRY(allocate_csc(env, pattern->n, entries, values != NULL, &sorted));
  scatter_lines(pattern, values, &raw);
  transpose(pattern->n, &raw, &sorted); /* lines of the other direction, sorted */
  if (pattern->by_rows == transposed) { /* by columns and A, or by rows and A^T: the lines as given */
    transpose(pattern->n, &sorted, &raw);
    sum_duplicates(&raw);
    *out = raw;
    raw = (tsi_csc){0};
  } else {
    sum_duplicates(&sorted);
    *out = sorted;
    sorted = (tsi_csc){0};
  }
out:
  tsi_csc_finish(env, &raw);
  tsi_csc_finish(env, &sorted);
  if (status != TRISTAR_OK) *out = (tsi_csc){0};
  return status;
}

void tsi_csc_finish(tsi_env *env, tsi_csc *csc) {
  TSI_FREE(env, csc->ptr);
  TSI_FREE(env, csc->index);
  TSI_FREE(env, csc->values);
}
