/* Rows out of lines: see rows.h. */
#include "runtime/krylov/rows.h"

/* What is done with an entry of the rows: counted first, placed then. */
typedef void visit(tsi_rows *rows, tsi_index row, tsi_index column, tsi_count from);

static void count(tsi_rows *rows, tsi_index row, tsi_index column, tsi_count from) {
  (void)column;
  (void)from;
  rows->ptr[row + 1]++;
}

/* ptr[row]: where its next entry goes. */
static void put(tsi_rows *rows, tsi_index row, tsi_index column, tsi_count from) {
  const tsi_count at = rows->ptr[row]++;
  rows->index[at] = column;
  rows->from[at] = from;
}

/* Line by line, so that those in a row come with ascending columns, unless a symmetric kind has entries in
 * both triangles. */
static void visit_all(tsi_rows *rows, visit *each) {
  const tsi_pattern *pattern = rows->pattern;
  const bool mirror = pattern->symmetry != TRISTAR_GENERAL;
  for (tsi_index j = 0; j < pattern->n; j++)
    for (tsi_count p = pattern->ptr[j]; p < pattern->ptr[j + 1]; p++) {
      const tsi_index i = pattern->index[p];
      const tsi_index row = pattern->by_rows ? j : i, column = pattern->by_rows ? i : j;
      each(rows, row, column, p);
      if (mirror && i != j) each(rows, column, row, ~p);
    }
}

tristar_status tsi_rows_begin(tsi_env *env, const tristar_view *view, tsi_rows *rows) {
  tristar_status status = TRISTAR_OK;
  *rows = (tsi_rows){.pattern = NULL};
  TSI_TRY(tsi_pattern_create(env, view, &rows->pattern));
  const tsi_pattern *pattern = rows->pattern;
  const size_t scalar = tsi_sparse_kernels_select(pattern->scalar)->scalar_bytes;
  const tsi_index n = pattern->n;
  const tsi_count entries = tsi_pattern_entries(pattern);
  TSI_TRY(TSI_ALLOC_ZERO(env, rows->ptr, (tsi_count)n + 1));
  TSI_TRY(TSI_ALLOC(env, rows->index, entries));
  TSI_TRY(TSI_ALLOC(env, rows->from, entries));
  TSI_TRY(tsi_pattern_allocate_values(env, pattern, &rows->taken));
  TSI_TRY(tsi_allocate(env, (size_t)entries, scalar, __func__, __FILE__, __LINE__, &rows->values));
  visit_all(rows, count);
  for (tsi_index i = 0; i < n; i++) rows->ptr[i + 1] += rows->ptr[i];
  visit_all(rows, put);
  for (tsi_index i = n; i > 0; i--) rows->ptr[i] = rows->ptr[i - 1];
  rows->ptr[0] = 0;
  rows->bytes = ((size_t)n + 1) * sizeof *rows->ptr +
                (size_t)entries * (sizeof *rows->index + sizeof *rows->from + scalar) +
                (size_t)pattern->ptr[n] * scalar;
out:
  return status;
}

void tsi_rows_finish(tsi_env *env, tsi_rows *rows) {
  tsi_pattern_destroy(env, &rows->pattern);
  TSI_FREE(env, rows->ptr);
  TSI_FREE(env, rows->index);
  TSI_FREE(env, rows->from);
  TSI_FREE(env, rows->taken);
  TSI_FREE(env, rows->values);
}

tristar_status tsi_rows_update(tsi_env *env, tsi_rows *rows, const tsi_krylov_kernels *kernels,
                               const void *values) {
  tristar_status status = TRISTAR_OK;
  const tsi_pattern *pattern = rows->pattern;
  tsi_pattern_take(pattern, values, rows->taken);
  TSI_TRY(tsi_pattern_check_values(env, pattern, rows->taken));
  kernels->gather(rows->ptr[pattern->n], rows->from, pattern->symmetry == TRISTAR_SKEW_SYMMETRIC,
                  pattern->symmetry == TRISTAR_HERMITIAN, rows->taken, rows->values);
out:
  return status;
}

tristar_status tsi_rows_check(tsi_env *env, const tsi_rows *rows) {
  tristar_status status = TRISTAR_OK;
  const tsi_pattern *pattern = rows->pattern;
  if (rows->ptr[0] != 0) TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "ptr[0] is not 0");
  for (tsi_index i = 0; i < pattern->n; i++) {
    if (rows->ptr[i + 1] < rows->ptr[i]) TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "ptr falls at row %d", i);
    for (tsi_count q = rows->ptr[i]; q < rows->ptr[i + 1]; q++) {
      const tsi_count p = rows->from[q] < 0 ? ~rows->from[q] : rows->from[q];
      if (rows->index[q] < 0 || rows->index[q] >= pattern->n)
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "row %d has column %d", i, rows->index[q]);
      if (p >= pattern->ptr[pattern->n])
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "row %d has entry %lld", i, (long long)p);
      const bool by_column = pattern->by_rows == (rows->from[q] < 0);
      if (pattern->index[p] != (by_column ? i : rows->index[q]))
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "row %d, column %d has an entry of another place", i,
                 rows->index[q]);
    }
  }
out:
  return status;
}
