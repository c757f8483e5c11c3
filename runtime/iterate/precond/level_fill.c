/* Patterns of incomplete factors by level of fill: see level_fill.h. */
#include "runtime/iterate/precond/level_fill.h"

#include "runtime/base/grow.h"

/* The current row: its columns as an ascending linked list that begins and ends with n. */
typedef struct row_list {
  tsi_index *next;  /* n + 1 */
  tsi_index *level; /* n; TSI_NONE: not in the row */
  tsi_count count;
} row_list;

/* The rows that were computed so far. */
typedef struct filled {
  tsi_factor_rows *rows;
  tsi_index *level; /* level of each entry */
  tsi_count capacity;
} filled;

static void begin_row(const tsi_factor_rows *a, tsi_index i, row_list *row) {
  tsi_index last = a->n;
  row->count = a->ptr[i + 1] - a->ptr[i];
  for (tsi_count e = a->ptr[i]; e < a->ptr[i + 1]; e++) {
    row->next[last] = a->index[e];
    row->level[a->index[e]] = 0;
    last = a->index[e];
  }
  row->next[last] = a->n;
}

/* Adds the fill of row k of U to the row, which contains column k. */
static void merge_row(const filled *f, tsi_index k, tsi_index most, row_list *row) {
  tsi_index at = k;
  for (tsi_count p = f->rows->diagonal[k] + 1; p < f->rows->ptr[k + 1]; p++) {
    const tsi_index j = f->rows->index[p];
    const int64_t level = (int64_t)row->level[k] + f->level[p] + 1;
    if (level > most) continue;
    if (row->level[j] != TSI_NONE) {
      row->level[j] = tsi_index_min(row->level[j], (tsi_index)level);
      continue;
    }
    while (row->next[at] < j) at = row->next[at];
    row->next[j] = row->next[at];
    row->next[at] = j;
    row->level[j] = (tsi_index)level;
    row->count++;
    at = j;
  }
}

static tristar_status end_row(tsi_env *env, tsi_index i, row_list *row, filled *f) {
  tsi_factor_rows *rows = f->rows;
  tsi_count at = rows->ptr[i];
  if (f->capacity - at < row->count) {
    const tsi_count capacity = f->capacity + tsi_count_max(f->capacity / 2, row->count);
    TSI_TRY(tsi_grow(env, (void **)&rows->index, sizeof *rows->index, at, capacity));
    TSI_TRY(tsi_grow(env, (void **)&f->level, sizeof *f->level, at, capacity));
    f->capacity = capacity;
  }
  for (tsi_index j = row->next[rows->n]; j < rows->n; j = row->next[j]) {
    if (j == i) rows->diagonal[i] = at;
    rows->index[at] = j;
    f->level[at++] = row->level[j];
    row->level[j] = TSI_NONE;
  }
  rows->ptr[i + 1] = at;
  return TRISTAR_OK;
}

tristar_status tsi_level_fill(tsi_env *env, const tsi_factor_rows *a, tsi_index level, tsi_factor_rows *out) {
  tristar_status status = TRISTAR_OK;
  const tsi_index n = a->n;
  row_list row = {NULL, NULL, 0};
  filled f = {out, NULL, a->ptr[n]};
  memset(out, 0, sizeof *out);
  out->n = n;
  TSI_TRY_OUT(TSI_ALLOC(env, out->ptr, (tsi_count)n + 1));
  TSI_TRY_OUT(TSI_ALLOC(env, out->diagonal, n));
  TSI_TRY_OUT(TSI_ALLOC(env, out->index, f.capacity));
  TSI_TRY_OUT(TSI_ALLOC(env, f.level, f.capacity));
  TSI_TRY_OUT(TSI_ALLOC(env, row.next, (tsi_count)n + 1));
  TSI_TRY_OUT(TSI_ALLOC(env, row.level, n));
  for (tsi_index j = 0; j < n; j++) row.level[j] = TSI_NONE;
  out->ptr[0] = 0;
  for (tsi_index i = 0; i < n; i++) {
    begin_row(a, i, &row);
    for (tsi_index k = row.next[n]; k < i; k = row.next[k])
      if (row.level[k] < level) merge_row(&f, k, level, &row);
    TSI_TRY_OUT(end_row(env, i, &row, &f));
  }
  if (env->check) TSI_TRY_OUT(tsi_factor_rows_check(env, out));
out:
  TSI_FREE(env, f.level);
  TSI_FREE(env, row.next);
  TSI_FREE(env, row.level);
  if (status != TRISTAR_OK) tsi_factor_rows_finish(out);
  return status;
}

tsi_index tsi_find_levels(const tsi_factor_rows *rows, bool lower, tsi_index *depth) {
  const tsi_index *index = rows->index;
  tsi_index count = 0;
  for (tsi_index k = 0; k < rows->n; k++) {
    const tsi_index i = lower ? k : rows->n - 1 - k;
    const tsi_count begin = lower ? rows->ptr[i] : rows->diagonal[i] + 1,
                    end = lower ? rows->diagonal[i] : rows->ptr[i + 1];
    tsi_index own = 1; /* at most one set for each previous row */
    for (tsi_count q = begin; q < end && own <= k; q++) own = tsi_index_max(own, 1 + depth[index[q]]);
    depth[i] = own;
    count = tsi_index_max(count, own);
  }
  return count;
}
