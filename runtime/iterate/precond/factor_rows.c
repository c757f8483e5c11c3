/* Rows with diagonal positions: see factor_rows.h. */
#include "runtime/iterate/precond/factor_rows.h"

tristar_status tsi_find_diagonal(tsi_env *env, tsi_factor_rows *rows) {
  tristar_status status = TRISTAR_OK;
  TSI_TRY_OUT(TSI_ALLOC(env, rows->diagonal, rows->n));
  for (tsi_index i = 0; i < rows->n; i++) {
    tsi_count q = rows->ptr[i];
    while (q < rows->ptr[i + 1] && rows->index[q] < i) q++;
    if (q == rows->ptr[i + 1] || rows->index[q] != i)
      TSI_FAIL_OUT(env, TRISTAR_ERR_SINGULAR, "row %d, counted from 0, has no entry on the diagonal", i);
    rows->diagonal[i] = q;
  }
out:
  if (status != TRISTAR_OK) TSI_FREE(env, rows->diagonal);
  return status;
}

/* ---- Rows of both triangles from one ------------------------------------------------------------------- */

bool tsi_lines_are_upper_rows(const tsi_pattern *pattern) {
  const bool conjugated = !pattern->by_rows && pattern->symmetry == TRISTAR_HERMITIAN;
  if (conjugated || (pattern->symmetry != TRISTAR_SYMMETRIC && pattern->symmetry != TRISTAR_HERMITIAN))
    return false;
  for (tsi_index j = 0; j < pattern->n; j++)
    if (pattern->ptr[j] < pattern->ptr[j + 1] && pattern->index[pattern->ptr[j]] < j) return false;
  return true;
}

/* Computes the starts of rows and their diagonal positions. Errors: SINGULAR. */
static tristar_status place_rows(tsi_env *env, const tsi_pattern *p, tsi_factor_rows *rows) {
  tsi_count *before = rows->diagonal; /* entries left of the diagonal */
  for (tsi_count e = 0; e < p->ptr[p->n]; e++) before[p->index[e]]++;
  rows->ptr[0] = 0;
  for (tsi_index i = 0; i < p->n; i++) {
    const tsi_count first = p->ptr[i], end = p->ptr[i + 1];
    if (first == end || p->index[first] != i)
      TSI_FAIL(env, TRISTAR_ERR_SINGULAR, "row %d, counted from 0, has no entry on the diagonal", i);
    rows->diagonal[i] = rows->ptr[i] + before[i] - 1; /* `before` also counts the diagonal */
    rows->ptr[i + 1] = rows->diagonal[i] + end - first;
  }
  return TRISTAR_OK;
}

/* Copies line by line, so that the mirror images in a row ascend. with_cross: a constant. */
static inline __attribute__((always_inline)) void put_rows(const tsi_pattern *p, tsi_count *next,
                                                           const tsi_factor_rows *rows, tsi_index *cross,
                                                           const bool with_cross) {
  tsi_index *index = rows->index;
  for (tsi_index k = 0; k < p->n; k++) {
    const tsi_count first = p->ptr[k];
    const tsi_index count = (tsi_index)(p->ptr[k + 1] - first);
    tsi_index *own = index + rows->diagonal[k];
    own[0] = k;
    for (tsi_index q = 1; q < count; q++) {
      const tsi_index i = p->index[first + q];
      const tsi_count at = next[i]++;
      own[q] = i;
      index[at] = k;
      if (with_cross) cross[at] = q;
    }
  }
}

tristar_status tsi_mirror_upper_rows(tsi_env *env, const tsi_pattern *pattern, tsi_factor_rows *rows,
                                     tsi_index **cross) {
  tristar_status status = TRISTAR_OK;
  const tsi_index n = pattern->n;
  TSI_OWNED tsi_count *next = NULL;
  *rows = (tsi_factor_rows){.n = n};
  TSI_TRY_OUT(TSI_ALLOC(env, rows->ptr, (tsi_count)n + 1));
  TSI_TRY_OUT(TSI_ALLOC_ZERO(env, rows->diagonal, n));
  TSI_TRY_OUT(place_rows(env, pattern, rows));
  TSI_TRY_OUT(TSI_ALLOC(env, rows->index, rows->ptr[n]));
  TSI_TRY_OUT(TSI_ALLOC(env, next, n));
  if (cross != NULL) TSI_TRY_OUT(TSI_ALLOC(env, *cross, rows->ptr[n]));
  memcpy(next, rows->ptr, (size_t)n * sizeof *next);
  if (cross != NULL)
    put_rows(pattern, next, rows, *cross, true);
  else
    put_rows(pattern, next, rows, NULL, false);
out:
  if (status != TRISTAR_OK) tsi_factor_rows_finish(rows);
  return status;
}

static inline __attribute__((always_inline)) void copy_rows(const tsi_pattern *p, const void *values,
                                                            tsi_factor_rows *rows, const size_t bytes) {
  for (tsi_index i = 0; i < p->n; i++) {
    const tsi_count from = p->ptr[i], to = rows->diagonal[i], count = p->ptr[i + 1] - from;
    for (tsi_count q = 0; q < count; q++) tsi_copy_scalar(bytes, rows->values, to + q, values, from + q);
  }
}

void tsi_copy_upper_rows(const tsi_pattern *pattern, const void *values, size_t bytes,
                         tsi_factor_rows *rows) {
  switch (bytes) {
  case 4:
    copy_rows(pattern, values, rows, 4);
    break;
  case 8:
    copy_rows(pattern, values, rows, 8);
    break;
  default:
    copy_rows(pattern, values, rows, 16);
  }
}

/* ---- Invariants ---------------------------------------------------------------------------------------- */

/* Columns of a row ascend, and the diagonal is one of them. */
tristar_status tsi_factor_rows_check(tsi_env *env, const tsi_factor_rows *rows) {
  if (rows->ptr[0] != 0) TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "rows begin at %lld", (long long)rows->ptr[0]);
  for (tsi_index i = 0; i < rows->n; i++) {
    const tsi_count begin = rows->ptr[i], end = rows->ptr[i + 1], diagonal = rows->diagonal[i];
    if (end < begin || diagonal < begin || diagonal >= end || rows->index[diagonal] != i)
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "row %d has its diagonal at %lld", i, (long long)diagonal);
    for (tsi_count q = begin; q < end; q++)
      if (rows->index[q] < 0 || rows->index[q] >= rows->n ||
          (q > begin && rows->index[q - 1] >= rows->index[q]))
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "row %d has column %d", i, rows->index[q]);
  }
  return TRISTAR_OK;
}

void tsi_factor_rows_finish(tsi_factor_rows *rows) {
  tsi_release(tsi_take(&rows->ptr));
  tsi_release(tsi_take(&rows->index));
  tsi_release(tsi_take(&rows->diagonal));
  tsi_release(tsi_take(&rows->values));
}
