/* Triplets to compressed columns in linear time: two counting sorts (by row, then by column; both stable, so
 * duplicates are summed in the order given), then one pass that merges. See triplets.h. */
#include "runtime/matrix/triplets.h"

#include "runtime/base/grow.h"

#include <math.h>

void tsi_triplets_init(tsi_triplets *triplets, tsi_env *env, tsi_index rows, tsi_index cols,
                       tristar_symmetry symmetry, int width, tsi_count limit) {
  memset(triplets, 0, sizeof *triplets);
  triplets->env = env;
  triplets->symmetry = symmetry;
  triplets->width = width;
  triplets->rows = rows;
  triplets->cols = cols;
  triplets->limit = limit;
  triplets->sorted = true;
}

void tsi_triplets_free(tsi_triplets *triplets) {
  TSI_FREE(triplets->env, triplets->row);
  TSI_FREE(triplets->env, triplets->col);
  TSI_FREE(triplets->env, triplets->value);
  triplets->count = triplets->capacity = 0;
}

static tristar_status grow_all(tsi_triplets *t) {
  tsi_count capacity = tsi_next_capacity(t->capacity, t->limit);
  TSI_TRY(tsi_grow(t->env, (void **)&t->row, sizeof *t->row, t->count, capacity));
  TSI_TRY(tsi_grow(t->env, (void **)&t->col, sizeof *t->col, t->count, capacity));
  if (t->width > 0)
    TSI_TRY(tsi_grow(t->env, (void **)&t->value, sizeof *t->value * (size_t)t->width, t->count, capacity));
  t->capacity = capacity;
  return TRISTAR_OK;
}

/* The row of entry k as stored: symmetric kinds store the lower triangle. */
static tsi_index row_of(const tsi_triplets *t, tsi_count k) {
  return t->row[k] < 0 ? ~t->row[k] : t->row[k];
}

tristar_status tsi_triplets_push(tsi_triplets *t, tsi_index i, tsi_index j, const double *value) {
  bool mirror = t->symmetry != TRISTAR_GENERAL && i < j;
  if (t->count == t->capacity) TSI_TRY(grow_all(t));
  t->lower = t->lower || i > j;
  t->upper = t->upper || i < j;
  tsi_index row = mirror ? j : i, col = mirror ? i : j;
  if (t->count > 0) {
    tsi_index last_row = row_of(t, t->count - 1), last_col = t->col[t->count - 1];
    t->sorted = t->sorted && (last_col < col || (last_col == col && last_row <= row));
  }
  t->row[t->count] = mirror ? ~row : row;
  t->col[t->count] = col;
  double sign_real = mirror && t->symmetry == TRISTAR_SKEW_SYMMETRIC ? -1 : 1;
  double sign_imaginary = mirror && t->symmetry == TRISTAR_HERMITIAN ? -1 : sign_real;
  if (t->width > 0) t->value[t->count * t->width] = sign_real * value[0];
  if (t->width > 1) t->value[t->count * t->width + 1] = sign_imaginary * value[1];
  t->count++;
  return TRISTAR_OK;
}

/* order: the entries column by column, in the given order inside each; ptr[j]: the first one of column j. */
static void order_by_column(const tsi_triplets *t, tsi_count *ptr, tsi_count *order) {
  for (tsi_count k = 0; k < t->count; k++) ptr[t->col[k] + 1]++;
  for (tsi_index j = 0; j < t->cols; j++) ptr[j + 1] += ptr[j];
  for (tsi_count k = 0; k < t->count; k++) order[ptr[t->col[k]]++] = k;
  for (tsi_index j = t->cols; j > 0; j--) ptr[j] = ptr[j - 1];
  ptr[0] = 0;
}

tristar_status tsi_triplets_find_pair(const tsi_triplets *t, tsi_entry_pair *pair) {
  TSI_OWNED tsi_count *order = NULL, *ptr = NULL;
  *pair = (tsi_entry_pair){.first = -1, .second = -1};
  if (t->symmetry == TRISTAR_GENERAL || !t->lower || !t->upper) return TRISTAR_OK;
  TSI_TRY(TSI_ALLOC_ZERO(t->env, ptr, (tsi_count)t->cols + 1));
  TSI_TRY(TSI_ALLOC(t->env, order, t->count));
  TSI_SCRATCH_ZERO(t->env, tsi_count, latest, t->rows); /* the last entry of each row, plus 1 */
  order_by_column(t, ptr, order);
  for (tsi_index j = 0; j < t->cols; j++)
    for (tsi_count at = ptr[j]; at < ptr[j + 1]; at++) {
      const tsi_count k = order[at];
      const tsi_index i = row_of(t, k);
      const tsi_count before = latest[i] - 1;
      latest[i] = k + 1;
      if (before < 0 || t->col[before] != j || (t->row[before] < 0) == (t->row[k] < 0)) continue;
      if (pair->first >= 0 && pair->second < k) continue;
      const bool mirrored = t->row[k] < 0;
      *pair =
          (tsi_entry_pair){.first = before, .second = k, .row = mirrored ? j : i, .col = mirrored ? i : j};
    }
  return TRISTAR_OK;
}

/* Stable counting sort of the entries by key (t->row or t->col), which is below keys. */
static tristar_status sort_by(tsi_triplets *t, const tsi_index *key, tsi_index keys) {
  size_t width = (size_t)t->width;
  TSI_CLEANUP(tsi_triplets_free) tsi_triplets sorted = *t;
  sorted.row = sorted.col = NULL;
  sorted.value = NULL;
  TSI_SCRATCH_ZERO(t->env, tsi_count, next, (tsi_count)keys + 1);
  TSI_TRY(TSI_ALLOC(t->env, sorted.row, t->count));
  TSI_TRY(TSI_ALLOC(t->env, sorted.col, t->count));
  if (width > 0) TSI_TRY(TSI_ALLOC(t->env, sorted.value, (size_t)t->count * width));
  for (tsi_count k = 0; k < t->count; k++) next[key[k] + 1]++;
  for (tsi_index i = 0; i < keys; i++) next[i + 1] += next[i];
  for (tsi_count k = 0; k < t->count; k++) {
    tsi_count to = next[key[k]]++;
    sorted.row[to] = t->row[k];
    sorted.col[to] = t->col[k];
    if (width > 0)
      memcpy(sorted.value + (size_t)to * width, t->value + (size_t)k * width, width * sizeof(double));
  }
  sorted.capacity = t->count;
  tsi_triplets_free(t);
  *t = sorted;
  sorted.row = sorted.col = NULL;
  sorted.value = NULL;
  return TRISTAR_OK;
}

/* Sums duplicates, which are consecutive, and counts the entries of each column in ptr[j+1]. */
static tristar_status merge(tsi_triplets *t, tsi_count *ptr) {
  tsi_count kept = 0;
  int width = t->width;
  for (tsi_count k = 0; k < t->count; k++) {
    bool again = kept > 0 && t->row[k] == t->row[kept - 1] && t->col[k] == t->col[kept - 1];
    tsi_count to = again ? kept - 1 : kept;
    for (int c = 0; c < width; c++) {
      double value = t->value[k * width + c];
      double sum = again ? t->value[to * width + c] + value : value;
      if (again && !isfinite(sum))
        TSI_FAIL(t->env, TRISTAR_ERR_NOT_FINITE, "the duplicates of entry (%d,%d) (from 1) sum to %g",
                 (int)t->row[k] + 1, (int)t->col[k] + 1, sum);
      t->value[to * width + c] = sum;
    }
    if (again) continue;
    t->row[kept] = t->row[k];
    t->col[kept++] = t->col[k];
    ptr[t->col[k] + 1]++;
  }
  t->count = kept;
  for (tsi_index j = 0; j < t->cols; j++) ptr[j + 1] += ptr[j];
  return TRISTAR_OK;
}

/* Frees memory that is unused after growth by doubling and merging of duplicates. */
static tristar_status trim(tsi_triplets *t) {
  if (t->count > t->capacity - t->capacity / 8) return TRISTAR_OK;
  TSI_TRY(tsi_grow(t->env, (void **)&t->row, sizeof *t->row, t->count, t->count));
  if (t->width > 0)
    TSI_TRY(tsi_grow(t->env, (void **)&t->value, sizeof *t->value * (size_t)t->width, t->count, t->count));
  return TRISTAR_OK;
}

tristar_status tsi_triplets_finish(tsi_triplets *t, tristar_matrix_t **matrix) {
  TSI_CLEANUP(tristar_matrix_destroy) tristar_matrix_t *m = NULL;
  *matrix = NULL;
  if (t->capacity == 0) TSI_TRY(grow_all(t)); /* so that index and values are not NULL */
  for (tsi_count k = 0; t->upper && k < t->count; k++) t->row[k] = row_of(t, k);
  if (!t->sorted) {
    TSI_TRY(sort_by(t, t->row, t->rows));
    TSI_TRY(sort_by(t, t->col, t->cols));
  }
  TSI_TRY(tsi_matrix_create(t->env, t->rows, t->cols, t->symmetry,
                            t->width == 2 ? TRISTAR_COMPLEX_DOUBLE : TRISTAR_DOUBLE, &m));
  TSI_TRY(merge(t, m->ptr));
  TSI_FREE(t->env, t->col);
  TSI_TRY(trim(t));
  m->index = tsi_take(&t->row);
  m->values = tsi_take(&t->value);
  tsi_own(m, m->index);
  tsi_own(m, m->values);
  *matrix = tsi_take(&m);
  return TRISTAR_OK;
}
