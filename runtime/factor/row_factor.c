/* A triangular matrix by rows: see row_factor.h. */
#include "runtime/factor/row_factor.h"

#include "codelets/cpu/front.h"
#include "codelets/cpu/sparse.h"
#include "runtime/base/threads.h"

tristar_status tsi_row_factor_create(tsi_env *env, tsi_row_cut *cut, size_t scalar_bytes,
                                     tsi_row_factor **out) {
  tristar_status status = TRISTAR_OK;
  tsi_row_factor *rows = NULL;
  *out = NULL;
  TSI_TRY(TSI_ALLOC_ZERO(env, rows, 1));
  TSI_TRY(tsi_mutex_init(env, &rows->lock));
  rows->cut = cut;
  rows->scalar_bytes = scalar_bytes;
  *out = rows;
  return TRISTAR_OK;
out:
  TSI_FREE(env, rows);
  tsi_row_cut_destroy(env, &cut);
  return status;
}

static void release_matrix(tsi_env *env, tsi_row_matrix *matrix) {
  TSI_FREE(env, matrix->ptr);
  TSI_FREE(env, matrix->index);
  TSI_FREE(env, matrix->values);
  matrix->rows = (tsi_triangle_rows){NULL, NULL, NULL, NULL};
}

void tsi_row_factor_destroy(tsi_env *env, tsi_row_factor **rows) {
  if (*rows == NULL) return;
  for (int k = 0; k < 2; k++) release_matrix(env, &(*rows)->matrix[k]);
  TSI_FREE(env, (*rows)->inverse);
  tsi_row_cut_destroy(env, &(*rows)->cut);
  pthread_mutex_destroy(&(*rows)->lock);
  TSI_FREE(env, *rows);
}

static tristar_status allocate_matrix(tsi_env *env, const tsi_row_factor *rows, tsi_count entries,
                                      tsi_row_matrix *matrix) {
  tristar_status status = TRISTAR_OK;
  TSI_TRY(TSI_ALLOC_ZERO(env, matrix->ptr, (tsi_count)rows->cut->n + 1));
  TSI_TRY(TSI_ALLOC(env, matrix->index, entries));
  TSI_TRY(
      tsi_allocate(env, (size_t)entries, rows->scalar_bytes, __func__, __FILE__, __LINE__, &matrix->values));
out:
  return status;
}

/* ---- Values
 * --------------------------------------------------------------------------------------------------- */

/* One scalar: of a size that the compiler knows, so that no function is called for it. */
static inline void copy_scalar(char *to, const char *from, size_t bytes) {
  if (bytes == 8)
    memcpy(to, from, 8);
  else if (bytes == 4)
    memcpy(to, from, 4);
  else
    memcpy(to, from, 16);
}

/* Line k is the given line order[k] without its diagonal entry, which goes to diagonal[k]. */
static void take_lines(const tsi_lines *lines, const char *values, const tsi_row_factor *rows,
                       const tsi_index *place, tsi_row_matrix *matrix, char *diagonal) {
  const tsi_index n = rows->cut->n;
  const size_t bytes = rows->scalar_bytes;
  tsi_count to = 0;
  for (tsi_index k = 0; k < n; k++) {
    const tsi_index line = rows->cut->order[k];
    matrix->ptr[k] = to;
    for (tsi_count e = lines->ptr[line]; e < lines->ptr[line + 1]; e++) {
      const char *value = values + (size_t)e * bytes;
      if (lines->index[e] == line) {
        copy_scalar(diagonal + (size_t)k * bytes, value, bytes);
        continue;
      }
      matrix->index[to] = place[lines->index[e]];
      copy_scalar((char *)matrix->values + (size_t)to++ * bytes, value, bytes);
    }
  }
  matrix->ptr[n] = to;
}

static tristar_status invert(tsi_env *env, const char *diagonal, const tsi_index *identity, char scalar,
                             const char *name, tsi_row_factor *rows) {
  tristar_status status = TRISTAR_OK;
  const tsi_index n = rows->cut->n;
  const size_t bytes = rows->scalar_bytes;
  const tsi_sparse_kernels *sparse = tsi_sparse_kernels_select(scalar);
  char *pairs = NULL; /* an inverse and a zero each */
  TSI_TRY(TSI_ALLOC(env, pairs, 2 * (size_t)n * bytes));
  const tsi_index zero = tsi_front_kernels_select(scalar)->invert_diagonal(n, identity, diagonal, pairs);
  if (zero != TSI_NONE)
    TSI_FAIL(env, TRISTAR_ERR_SINGULAR, "%s: diagonal entry %d is zero or missing", name,
             rows->cut->order[zero]);
  for (tsi_index k = 0; k < n; k++)
    copy_scalar((char *)rows->inverse + (size_t)k * bytes, pairs + 2 * (size_t)k * bytes, bytes);
  const tsi_count bad = sparse->first_not_finite(n, rows->inverse);
  if (bad < n)
    TSI_FAIL(env, TRISTAR_ERR_NOT_FINITE,
             "%s: diagonal entry %d is too close to zero: its inverse is out of range", name,
             rows->cut->order[bad]);
out:
  TSI_FREE(env, pairs);
  return status;
}

/* place: of each given row in the order of the cut; n zeros first, where a diagonal entry may be missing. */
tristar_status tsi_row_factor_fill(tsi_env *env, const tsi_lines *lines, const void *values, char scalar,
                                   const char *name, tsi_row_factor *rows) {
  tristar_status status = TRISTAR_OK;
  const tsi_index n = rows->cut->n;
  const tsi_sparse_kernels *sparse = tsi_sparse_kernels_select(scalar);
  tsi_row_matrix *matrix = &rows->matrix[lines->columns];
  tsi_index *place = NULL;
  char *diagonal = NULL;
  const tsi_count bad = sparse->first_not_finite(lines->ptr[n], values);
  for (int k = 0; k < 2; k++) release_matrix(env, &rows->matrix[k]);
  TSI_TRY(TSI_ALLOC(env, place, n));
  TSI_TRY(TSI_ALLOC_ZERO(env, diagonal, (size_t)n * rows->scalar_bytes));
  if (bad < lines->ptr[n]) {
    tsi_index line = 0;
    while (lines->ptr[line + 1] <= bad) line++;
    TSI_FAIL(env, TRISTAR_ERR_NOT_FINITE, "%s: NaN or infinity in entry (%d, %d)", name, line,
             lines->index[bad]);
  }
  for (tsi_index k = 0; k < n; k++) place[rows->cut->order[k]] = k;
  TSI_TRY(allocate_matrix(env, rows, lines->ptr[n], matrix));
  take_lines(lines, values, rows, place, matrix, diagonal);
  if (rows->inverse == NULL)
    TSI_TRY(tsi_allocate(env, (size_t)n, rows->scalar_bytes, __func__, __FILE__, __LINE__, &rows->inverse));
  for (tsi_index k = 0; k < n; k++) place[k] = k;
  TSI_TRY(invert(env, diagonal, place, scalar, name, rows));
  matrix->rows = (tsi_triangle_rows){matrix->ptr, matrix->index, matrix->values, rows->inverse};
out:
  TSI_FREE(env, place);
  TSI_FREE(env, diagonal);
  return status;
}

/* ---- Both ways
 * ------------------------------------------------------------------------------------------------ */

/* Given lines ascending, so that the entries of each new line come in that order. */
static tristar_status transpose(tsi_env *env, const tsi_row_factor *rows, const tsi_row_matrix *from,
                                tsi_row_matrix *to) {
  tristar_status status = TRISTAR_OK;
  const tsi_index n = rows->cut->n;
  const size_t bytes = rows->scalar_bytes;
  tsi_count *next = NULL;
  tsi_index *place = NULL;
  TSI_TRY(TSI_ALLOC(env, next, n));
  TSI_TRY(TSI_ALLOC(env, place, n));
  TSI_TRY(allocate_matrix(env, rows, from->ptr[n], to));
  for (tsi_count e = 0; e < from->ptr[n]; e++) to->ptr[from->index[e] + 1]++;
  for (tsi_index k = 0; k < n; k++) to->ptr[k + 1] += to->ptr[k];
  memcpy(next, to->ptr, (size_t)n * sizeof *next);
  for (tsi_index k = 0; k < n; k++) place[rows->cut->order[k]] = k;
  for (tsi_index given = 0; given < n; given++) {
    const tsi_index k = place[given];
    for (tsi_count e = from->ptr[k]; e < from->ptr[k + 1]; e++) {
      const tsi_count at = next[from->index[e]]++;
      to->index[at] = k;
      copy_scalar((char *)to->values + (size_t)at * bytes, (const char *)from->values + (size_t)e * bytes,
                  bytes);
    }
  }
  to->rows = (tsi_triangle_rows){to->ptr, to->index, to->values, rows->inverse};
out:
  TSI_FREE(env, next);
  TSI_FREE(env, place);
  if (status != TRISTAR_OK) release_matrix(env, to);
  return status;
}

tristar_status tsi_row_factor_rows(tsi_env *env, tsi_row_factor *rows, bool backward,
                                   const tsi_triangle_rows **out) {
  tristar_status status = TRISTAR_OK;
  pthread_mutex_lock(&rows->lock);
  if (rows->matrix[backward].rows.ptr == NULL)
    status = transpose(env, rows, &rows->matrix[!backward], &rows->matrix[backward]);
  pthread_mutex_unlock(&rows->lock);
  *out = &rows->matrix[backward].rows;
  return status;
}

tsi_lines tsi_row_factor_lines(const tsi_row_factor *rows) {
  const bool columns = rows->matrix[0].rows.ptr == NULL;
  const tsi_row_matrix *matrix = &rows->matrix[columns];
  return (tsi_lines){rows->cut->n, matrix->ptr, matrix->index, columns};
}
