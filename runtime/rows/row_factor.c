/* A triangular matrix by rows: see row_factor.h. */
#include "runtime/rows/row_factor.h"

#include "codelets/cpu/rows/sparse.h"
#include "runtime/base/threads.h"
#include "runtime/rows/row_streams.h"

tristar_status tsi_row_factor_create(tsi_env *env, tsi_row_cut *cut, const tsi_lines *lines,
                                     const void *values, size_t scalar_bytes, tsi_row_factor **out) {
  tristar_status status = TRISTAR_OK;
  tsi_row_factor *rows = NULL;
  *out = NULL;
  TSI_TRY_OUT(TSI_ALLOC_ZERO(env, rows, 1));
  TSI_TRY_OUT(tsi_mutex_init(env, &rows->lock));
  rows->cut = cut;
  rows->lines = *lines;
  rows->values = values;
  rows->scalar_bytes = scalar_bytes;
  for (int k = 0; k < 4; k++) atomic_init(&rows->there[k], false);
  *out = rows;
  return TRISTAR_OK;
out:
  TSI_FREE(env, rows);
  TSI_FREE(env, cut);
  return status;
}

static void release_matrix(tsi_env *env, tsi_row_matrix *matrix) {
  TSI_FREE(env, matrix->ptr);
  TSI_FREE(env, matrix->index);
  TSI_FREE(env, matrix->values);
  TSI_FREE(env, matrix->inverse);
  matrix->rows = (tsi_triangle_rows){NULL, NULL, NULL, NULL};
}

void tsi_row_factor_destroy(tsi_env *env, tsi_row_factor **rows) {
  if (*rows == NULL) return;
  for (int k = 0; k < 4; k++) tsi_row_stream_release(env, *rows, k);
  for (int k = 0; k < 2; k++) release_matrix(env, &(*rows)->matrix[k]);
  TSI_FREE(env, (*rows)->inverse);
  TSI_FREE(env, (*rows)->place);
  tsi_pattern_destroy(env, &(*rows)->own_pattern);
  TSI_FREE(env, (*rows)->own_values);
  TSI_FREE(env, (*rows)->cut);
  pthread_mutex_destroy(&(*rows)->lock);
  TSI_FREE(env, *rows);
}

/* ---- Values -------------------------------------------------------------------------------------------- */

/* Of each line; zero where there is none. Makes the array that is freed. */
static tristar_status take_diagonal(tsi_env *env, const tsi_row_factor *rows, void **diagonal) {
  const tsi_lines *lines = &rows->lines;
  const size_t bytes = rows->scalar_bytes;
  TSI_TRY(tsi_row_scalars(env, rows, lines->n, diagonal));
  for (tsi_index j = 0; j < lines->n; j++) {
    const tsi_count first = lines->ptr[j], end = lines->ptr[j + 1], at = lines->columns ? first : end - 1;
    if (first < end && lines->index[at] == j)
      tsi_copy_scalar(bytes, *diagonal, j, rows->values, at);
    else
      memset((char *)*diagonal + (size_t)j * bytes, 0, bytes);
  }
  return TRISTAR_OK;
}

tristar_status tsi_row_factor_fill(tsi_env *env, char scalar, const char *name,
                                   const tsi_triangle_values *known, tsi_row_factor *rows) {
  const tsi_lines *lines = &rows->lines;
  const tsi_index n = lines->n;
  const tsi_sparse_kernels *sparse = tsi_sparse_kernels_select(scalar);
  TSI_OWNED void *own = NULL;
  /* their arrays stay: the pattern does */
  for (int k = 0; k < 4; k++) {
    rows->sweep[k] = (tsi_row_sweep){.n = 0};
    atomic_store(&rows->there[k], false);
  }
  for (int k = 0; k < 2; k++) rows->matrix[k].rows = (tsi_triangle_rows){NULL, NULL, NULL, NULL};
  const tsi_count bad =
      known && known->finite ? lines->ptr[n] : sparse->first_not_finite(lines->ptr[n], rows->values);
  if (bad < lines->ptr[n]) {
    tsi_index line = 0;
    while (lines->ptr[line + 1] <= bad) line++;
    TSI_FAIL(env, TRISTAR_ERR_NOT_FINITE, "%s: NaN or infinity in entry (%d, %d)", name, line,
             lines->index[bad]);
  }
  const void *diagonal = known ? known->diagonal : NULL;
  if (diagonal == NULL) {
    TSI_TRY(take_diagonal(env, rows, &own));
    diagonal = own;
  }
  if (rows->inverse == NULL) TSI_TRY(tsi_row_scalars(env, rows, n, &rows->inverse));
  const tsi_count fails = sparse->invert(n, diagonal, rows->inverse);
  if (fails == n) return TRISTAR_OK;
  const char *at = (const char *)diagonal + (size_t)fails * rows->scalar_bytes;
  if (sparse->largest_size(1, at) <= 0)
    TSI_FAIL(env, TRISTAR_ERR_SINGULAR, "%s: diagonal entry %d (counted from 0) is zero or missing", name,
             (int)fails);
  TSI_FAIL(env, TRISTAR_ERR_NOT_FINITE,
           "%s: diagonal entry %d (counted from 0) is too close to zero: its inverse is out of range", name,
           (int)fails);
}

/* ---- Streams ------------------------------------------------------------------------------------------- */

static tristar_status need_sweep(tsi_env *env, tsi_row_factor *rows, bool backward, bool plain) {
  return rows->sweep[backward + 2 * plain].stream.row ? TRISTAR_OK
                                                      : tsi_row_stream_make(env, rows, backward, plain);
}

static tristar_status take_sweep(tsi_env *env, tsi_row_factor *rows, bool backward, bool plain,
                                 const tsi_row_sweep **out) {
  const int number = backward + 2 * plain;
  *out = &rows->sweep[number];
  if (atomic_load_explicit(&rows->there[number], memory_order_acquire)) return TRISTAR_OK;
  pthread_mutex_lock(&rows->lock);
  const tristar_status status = need_sweep(env, rows, backward, plain);
  if (status == TRISTAR_OK) atomic_store_explicit(&rows->there[number], true, memory_order_release);
  pthread_mutex_unlock(&rows->lock);
  return status;
}

tristar_status tsi_row_factor_sweep(tsi_env *env, tsi_row_factor *rows, bool backward,
                                    const tsi_row_sweep **out) {
  return take_sweep(env, rows, backward, false, out);
}

tristar_status tsi_row_factor_plain(tsi_env *env, tsi_row_factor *rows, bool backward,
                                    const tsi_row_sweep **out) {
  return take_sweep(env, rows, backward, tsi_row_factor_pieces(rows) > 0, out);
}

/* ---- Rows for a workspace ------------------------------------------------------------------------------ */

static tristar_status make_matrix(tsi_env *env, tsi_row_factor *rows, bool backward) {
  tristar_status status = TRISTAR_OK;
  const tsi_index n = rows->cut->n;
  const size_t bytes = rows->scalar_bytes;
  tsi_row_matrix *matrix = &rows->matrix[backward];
  tsi_index *place = NULL;
  tsi_count to = 0;
  TSI_TRY_OUT(need_sweep(env, rows, backward, false));
  const bool moved = rows->place != NULL;
  const tsi_row_stream *s = &rows->sweep[backward].stream;
  if (!moved) {
    TSI_TRY_OUT(TSI_ALLOC(env, place, n));
    tsi_row_places(rows->cut, place);
  }
  if (matrix->ptr == NULL) {
    TSI_TRY_OUT(TSI_ALLOC(env, matrix->ptr, (tsi_count)n + 1));
    TSI_TRY_OUT(TSI_ALLOC(env, matrix->index, s->ptr[n]));
    TSI_TRY_OUT(tsi_row_scalars(env, rows, s->ptr[n], &matrix->values));
    TSI_TRY_OUT(tsi_row_scalars(env, rows, n, &matrix->inverse));
  }
  for (tsi_index r = 0; r < n; r++) {
    const tsi_index k = backward ? n - 1 - r : r, i = s->row[k];
    matrix->ptr[r] = to;
    tsi_copy_scalar(bytes, matrix->inverse, r, s->inverse, k);
    for (tsi_count e = s->ptr[k]; e < s->ptr[k + 1]; e++, to++) {
      const tsi_index column = s->index ? s->index[e] : i + s->offset[e] - s->base;
      matrix->index[to] = moved ? column : place[column];
      tsi_copy_scalar(bytes, matrix->values, to, s->values, e);
    }
  }
  matrix->ptr[n] = to;
  matrix->rows = (tsi_triangle_rows){matrix->ptr, matrix->index, matrix->values, matrix->inverse};
out:
  TSI_FREE(env, place);
  if (status != TRISTAR_OK) release_matrix(env, matrix);
  return status;
}

tristar_status tsi_row_factor_rows(tsi_env *env, tsi_row_factor *rows, bool backward,
                                   const tsi_triangle_rows **out) {
  tristar_status status = TRISTAR_OK;
  pthread_mutex_lock(&rows->lock);
  if (rows->matrix[backward].rows.ptr == NULL) status = make_matrix(env, rows, backward);
  pthread_mutex_unlock(&rows->lock);
  *out = &rows->matrix[backward].rows;
  return status;
}
