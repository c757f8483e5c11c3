/* The structure of the factors of a batch: see batch.h.
 *
 * The rows of column j of L and U are all rows that can be reached from the rows of column j of A through
 * columns of L before j (Gilbert and Peierls 1988). Pivots are on the diagonal, so the structure is computed
 * once. */
#include "runtime/iterate/batch/batch.h"

#include <float.h>
#include <math.h>

#include "runtime/base/scalars.h"
#include "runtime/base/sort.h"
#include "runtime/matrix/full.h"

/* ---- The matrix ---------------------------------------------------------------------------------------- */

/* Adds entry p of a line of the pattern, and its mirror image, to the columns. count: only counts them. The
 * item of an entry is p, of a mirror image ~p. */
static void put_entry(const tristar_batch_t *batch, tsi_index line, tsi_count p, bool count,
                      tsi_entries *columns) {
  const tsi_pattern *pattern = batch->pattern;
  const tsi_count *row_place = batch->row_place, *column_place = batch->column_place;
  const tsi_index other = pattern->index[p];
  const tsi_index i = pattern->by_rows ? line : other, j = pattern->by_rows ? other : line;
  tsi_count *item = columns->item;
  const bool mirrors = pattern->symmetry != TRISTAR_GENERAL && i != j;
  if (count) {
    columns->ptr[column_place[j] + 1]++;
    if (mirrors) columns->ptr[column_place[i] + 1]++;
    return;
  }
  item[tsi_entries_put(columns, (tsi_index)column_place[j], (tsi_index)row_place[i])] = p;
  if (mirrors) item[tsi_entries_put(columns, (tsi_index)column_place[i], (tsi_index)row_place[j])] = ~p;
}

static tristar_status permute(const tristar_batch_t *batch, tsi_entries *columns) {
  tsi_env *env = &batch->ts->env;
  const tsi_pattern *pattern = batch->pattern;
  TSI_TRY(tsi_entries_begin(env, pattern->n, sizeof(tsi_count), columns));
  for (int pass = 0; pass < 2; pass++) {
    if (pass == 1) TSI_TRY(tsi_entries_reserve(env, columns));
    for (tsi_index line = 0; line < pattern->n; line++)
      for (tsi_count p = pattern->ptr[line]; p < pattern->ptr[line + 1]; p++)
        put_entry(batch, line, p, pass == 0, columns);
  }
  tsi_entries_end(columns);
  return tsi_entries_sort(env, columns);
}

/* Finds the positions of the pattern's entries and of their mirror images. */
static tristar_status find_places(tristar_batch_t *batch, const tsi_entries *columns) {
  const tsi_pattern *pattern = batch->pattern;
  const tsi_count entries = pattern->ptr[pattern->n], *item = columns->item;
  TSI_TRY(TSI_ALLOC_IN(batch, batch->place, entries));
  if (pattern->symmetry != TRISTAR_GENERAL) TSI_TRY(TSI_ALLOC_IN(batch, batch->image, entries));
  for (tsi_count p = 0; batch->image != NULL && p < entries; p++) batch->image[p] = TSI_NONE;
  for (tsi_count e = 0; e < columns->ptr[columns->n]; e++)
    if (item[e] >= 0)
      batch->place[item[e]] = e;
    else
      batch->image[~item[e]] = e;
  return TRISTAR_OK;
}

/* Finds the rows of A for the residuals. L D L^T uses the columns instead. */
static tristar_status find_rows(tristar_batch_t *batch) {
  tsi_batch_structure *s = &batch->structure;
  const tsi_count entries = s->a.ptr[s->n];
  TSI_SCRATCH(&batch->ts->env, tsi_count, next, s->n);
  TSI_TRY(TSI_ALLOC_ZERO_IN(batch, s->rows.ptr, (tsi_count)s->n + 1));
  TSI_TRY(TSI_ALLOC_IN(batch, s->rows.index, entries));
  TSI_TRY(TSI_ALLOC_IN(batch, s->position, entries));
  for (tsi_count e = 0; e < entries; e++) s->rows.ptr[s->a.index[e] + 1]++;
  for (tsi_index i = 0; i < s->n; i++) {
    next[i] = s->rows.ptr[i];
    s->rows.ptr[i + 1] += s->rows.ptr[i];
  }
  for (tsi_index j = 0; j < s->n; j++)
    for (tsi_count e = s->a.ptr[j]; e < s->a.ptr[j + 1]; e++) {
      const tsi_count at = next[s->a.index[e]]++;
      s->rows.index[at] = j;
      s->position[at] = e;
    }
  return TRISTAR_OK;
}

static void widen(tsi_count count, const double *scale, double *least, double *most) {
  for (tsi_count e = 0; scale != NULL && e < count; e++) {
    *least = fmin(*least, scale[e]);
    *most = fmax(*most, scale[e]);
  }
}

/* Finds the range of values that the scales keep in the range of the scalars. */
static void find_range(tristar_batch_t *batch) {
  const bool is_single = tsi_scalar_is_single(batch->pattern->scalar);
  const double smallest = is_single ? FLT_MIN : DBL_MIN, largest = is_single ? FLT_MAX : DBL_MAX;
  const tsi_batch_structure *s = &batch->structure;
  double least = 1, most = 1;
  widen(s->a.ptr[s->n], batch->entry_scale, &least, &most);
  batch->least_value = smallest / least;
  batch->most_value = largest / most;
  widen(s->n, batch->row_scale, &least, &most);
  widen(s->n, batch->scale, &least, &most);
  batch->out_of_range = !(least >= smallest && most <= largest);
}

/* Takes ownership of the index arrays of the matrix by columns. */
static tristar_status take_matrix(tristar_batch_t *batch, tsi_entries *columns) {
  const tsi_index n = batch->structure.n;
  TSI_TRY(find_places(batch, columns));
  if (batch->row_scale != NULL) TSI_TRY(TSI_ALLOC_IN(batch, batch->entry_scale, columns->ptr[n]));
  for (tsi_index j = 0; batch->row_scale != NULL && j < n; j++)
    for (tsi_count e = columns->ptr[j]; e < columns->ptr[j + 1]; e++)
      batch->entry_scale[e] = batch->row_scale[columns->index[e]] * batch->scale[j];
  batch->structure.a = (tsi_batch_columns){columns->ptr, columns->index};
  find_range(batch);
  tsi_own(batch, columns->ptr);
  tsi_own(batch, columns->index);
  columns->ptr = NULL;
  columns->index = NULL;
  return batch->symmetric ? TRISTAR_OK : find_rows(batch);
}

/* ---- The factors --------------------------------------------------------------------------------------- */

/* Rows of the columns that were computed so far. */
typedef struct growing {
  tsi_count *ptr;
  tsi_index *index;
  tsi_count capacity;
} growing;

static tristar_status grow(tsi_env *env, growing *columns, tsi_count most) {
  if (most <= columns->capacity) return TRISTAR_OK;
  TSI_OWNED tsi_index *larger = NULL;
  const tsi_count used = columns->capacity, capacity = most + most / 2;
  TSI_TRY(TSI_ALLOC(env, larger, capacity));
  if (used > 0) memcpy(larger, columns->index, (size_t)used * sizeof *larger);
  TSI_FREE(env, columns->index);
  columns->index = tsi_take(&larger);
  columns->capacity = capacity;
  return TRISTAR_OK;
}

/* Marks the rows that can be reached from row `from`, which is not marked, for column j. stack, at: n,
 * scratch. */
static void reach(tsi_index from, tsi_index j, const growing *l, tsi_index *mark, tsi_index *stack,
                  tsi_count *at, tsi_index *found, tsi_index *count) {
  tsi_index depth = 0;
  stack[0] = from;
  mark[from] = j;
  found[(*count)++] = from;
  if (from < j) at[0] = l->ptr[from];
  while (depth >= 0) {
    const tsi_index k = stack[depth];
    if (k >= j || at[depth] == l->ptr[k + 1]) {
      depth--;
      continue;
    }
    const tsi_index next = l->index[at[depth]++];
    if (mark[next] == j) continue;
    mark[next] = j;
    found[(*count)++] = next;
    stack[++depth] = next;
    if (next < j) at[depth] = l->ptr[next];
  }
}

/* Adds column j to both factors. */
static tristar_status add_column(tsi_env *env, tsi_index j, const tsi_index *found, tsi_index count,
                                 growing *l, growing *u) {
  TSI_TRY(grow(env, l, l->ptr[j] + count));
  TSI_TRY(grow(env, u, u->ptr[j] + count));
  tsi_count lower = l->ptr[j], upper = u->ptr[j];
  for (tsi_index k = 0; k < count; k++) {
    if (found[k] > j) l->index[lower++] = found[k];
    if (found[k] < j) u->index[upper++] = found[k];
  }
  l->ptr[j + 1] = lower;
  u->ptr[j + 1] = upper;
  return TRISTAR_OK;
}

static tristar_status find_columns(tsi_env *env, const tsi_batch_structure *s, growing *l, growing *u) {
  TSI_SCRATCH(env, tsi_index, mark, s->n);
  TSI_SCRATCH(env, tsi_index, stack, s->n);
  TSI_SCRATCH(env, tsi_index, found, s->n);
  TSI_SCRATCH(env, tsi_count, at, s->n);
  l->ptr[0] = u->ptr[0] = 0;
  for (tsi_index i = 0; i < s->n; i++) mark[i] = TSI_NONE;
  for (tsi_index j = 0; j < s->n; j++) {
    tsi_index count = 0;
    for (tsi_count e = s->a.ptr[j]; e < s->a.ptr[j + 1]; e++)
      if (mark[s->a.index[e]] != j) reach(s->a.index[e], j, l, mark, stack, at, found, &count);
    tsi_sort_indices(found, count);
    TSI_TRY(add_column(env, j, found, count, l, u));
  }
  return TRISTAR_OK;
}

/* Is column k + 1 of L column k without its first row, k + 1? */
static bool continues(const tsi_batch_columns *l, tsi_index k) {
  const tsi_count first = l->ptr[k], count = l->ptr[k + 1] - first;
  return count > 0 && l->index[first] == k + 1 && l->ptr[k + 2] - l->ptr[k + 1] == count - 1 &&
         memcmp(l->index + first + 1, l->index + l->ptr[k + 1], (size_t)(count - 1) * sizeof *l->index) == 0;
}

static tristar_status find_chains(tristar_batch_t *batch) {
  tsi_batch_structure *s = &batch->structure;
  TSI_TRY(TSI_ALLOC_IN(batch, s->chain, s->n));
  for (tsi_index k = s->n - 1; k >= 0; k--) {
    const int next = k + 1 < s->n && continues(&s->l, k) ? s->chain[k + 1] : 0;
    s->chain[k] = (uint8_t)(next < TSI_BATCH_CHAIN ? next + 1 : TSI_BATCH_CHAIN);
  }
  return TRISTAR_OK;
}

/* L D L^T: finds the entries of row j of L, which are the entries of column j of U. */
static tristar_status find_mirrors(tristar_batch_t *batch) {
  tsi_batch_structure *s = &batch->structure;
  TSI_SCRATCH_ZERO(&batch->ts->env, tsi_count, next, s->n); /* for each column of L: entries found so far */
  TSI_TRY(TSI_ALLOC_IN(batch, s->mirror, s->u.ptr[s->n]));
  for (tsi_index j = 0; j < s->n; j++)
    for (tsi_count e = s->u.ptr[j]; e < s->u.ptr[j + 1]; e++) {
      const tsi_index k = s->u.index[e];
      s->mirror[e] = s->l.ptr[k] + next[k]++; /* valid because rows of a column of L ascend, and so does j */
    }
  return TRISTAR_OK;
}

static double flops_of(const tsi_batch_structure *s) {
  double flops = 0;
  for (tsi_index j = 0; j < s->n; j++) {
    flops += 1 + (double)(s->l.ptr[j + 1] - s->l.ptr[j]);
    for (tsi_count e = s->u.ptr[j]; e < s->u.ptr[j + 1]; e++) {
      const tsi_index k = s->u.index[e];
      flops += s->mirror ? 1 + 2 * (double)(s->l.ptr[k + 1] - s->mirror[e])
                         : 2 * (double)(s->l.ptr[k + 1] - s->l.ptr[k]);
    }
  }
  return flops;
}

static tristar_status find_factors(tristar_batch_t *batch) {
  tsi_env *env = &batch->ts->env;
  tsi_batch_structure *s = &batch->structure;
  growing l = {NULL, NULL, 0}, u = {NULL, NULL, 0};
  tristar_status status = TRISTAR_OK;
  TSI_TRY_OUT(TSI_ALLOC(env, l.ptr, (tsi_count)s->n + 1));
  TSI_TRY_OUT(TSI_ALLOC(env, u.ptr, (tsi_count)s->n + 1));
  TSI_TRY_OUT(grow(env, &l, s->a.ptr[s->n] + 1));
  TSI_TRY_OUT(grow(env, &u, s->a.ptr[s->n] + 1));
  TSI_TRY_OUT(find_columns(env, s, &l, &u));
out:
  s->l = (tsi_batch_columns){l.ptr, l.index};
  s->u = (tsi_batch_columns){u.ptr, u.index};
  tsi_own(batch, l.ptr);
  tsi_own(batch, l.index);
  tsi_own(batch, u.ptr);
  tsi_own(batch, u.index);
  return status;
}

tristar_status tsi_batch_find_structure(tristar_batch_t *batch) {
  TSI_CLEANUP(tsi_entries_finish) tsi_entries columns = {.n = 0};
  tsi_batch_structure *s = &batch->structure;
  s->n = batch->pattern->n;
  TSI_TRY(permute(batch, &columns));
  TSI_TRY(take_matrix(batch, &columns));
  TSI_TRY(find_factors(batch));
  TSI_TRY(find_chains(batch));
  if (batch->symmetric) TSI_TRY(find_mirrors(batch));
  batch->stats.n = s->n;
  batch->stats.nnz = s->a.ptr[s->n];
  batch->stats.nnz_factor = s->n + s->l.ptr[s->n] + (batch->symmetric ? 0 : s->u.ptr[s->n]);
  batch->stats.flops = flops_of(s);
  return TRISTAR_OK;
}
