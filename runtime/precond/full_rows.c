/* The rows of the user's matrix in full: see full_rows.h. */
#include "runtime/precond/full_rows.h"

/* Entries on their way: rows, or, after an exchange, columns. */
typedef struct lines {
  tsi_count *ptr;
  tsi_index *index;
  tsi_count *place;
} lines;

static void finish(tsi_env *env, lines *l) {
  TSI_FREE(env, l->ptr);
  TSI_FREE(env, l->index);
  TSI_FREE(env, l->place);
}

static tristar_status allocate(tsi_env *env, tsi_index n, tsi_count entries, lines *l) {
  tristar_status status = TRISTAR_OK;
  TSI_TRY(TSI_ALLOC_ZERO(env, l->ptr, (tsi_count)n + 1));
  TSI_TRY(TSI_ALLOC(env, l->index, entries));
  TSI_TRY(TSI_ALLOC(env, l->place, entries));
out:
  return status;
}

/* Where an entry of the pattern stands, and whether it stands for its mirror image too. */
typedef struct entry_of {
  tsi_index row, column;
  bool counts, both;
} entry_of;

static entry_of find_entry(const tsi_pattern *p, bool symmetric, tsi_index line, tsi_count e) {
  const tsi_index i = p->index[e];
  entry_of entry = {.row = p->by_rows ? line : i, .column = p->by_rows ? i : line};
  const bool from_above = symmetric && p->symmetry == TRISTAR_GENERAL;
  entry.counts = !from_above || entry.row <= entry.column;
  entry.both = entry.row != entry.column && (from_above || p->symmetry != TRISTAR_GENERAL);
  return entry;
}

static void count_rows(const tsi_pattern *p, bool symmetric, tsi_count *ptr) {
  for (tsi_index line = 0; line < p->n; line++)
    for (tsi_count e = p->ptr[line]; e < p->ptr[line + 1]; e++) {
      const entry_of entry = find_entry(p, symmetric, line, e);
      if (!entry.counts) continue;
      ptr[entry.row + 1]++;
      if (entry.both) ptr[entry.column + 1]++;
    }
  for (tsi_index i = 0; i < p->n; i++) ptr[i + 1] += ptr[i];
}

static void put(lines *rows, tsi_count *next, tsi_index row, tsi_index column, tsi_count place) {
  rows->index[next[row]] = column;
  rows->place[next[row]++] = place;
}

static void fill_rows(const tsi_pattern *p, bool symmetric, tsi_count *next, lines *rows) {
  memcpy(next, rows->ptr, (size_t)p->n * sizeof *next);
  for (tsi_index line = 0; line < p->n; line++)
    for (tsi_count e = p->ptr[line]; e < p->ptr[line + 1]; e++) {
      const entry_of entry = find_entry(p, symmetric, line, e);
      if (!entry.counts) continue;
      put(rows, next, entry.row, entry.column, e);
      if (entry.both) put(rows, next, entry.column, entry.row, ~e);
    }
}

/* Rows become columns: the entries of each in the order of the rows. to->ptr is zero. */
static void exchange(tsi_index n, const lines *from, tsi_count *next, lines *to) {
  for (tsi_count q = 0; q < from->ptr[n]; q++) to->ptr[from->index[q] + 1]++;
  for (tsi_index j = 0; j < n; j++) to->ptr[j + 1] += to->ptr[j];
  memcpy(next, to->ptr, (size_t)n * sizeof *next);
  for (tsi_index i = 0; i < n; i++)
    for (tsi_count q = from->ptr[i]; q < from->ptr[i + 1]; q++)
      put(to, next, from->index[q], i, from->place[q]);
}

static bool ascends(tsi_index n, const lines *rows) {
  for (tsi_index i = 0; i < n; i++)
    for (tsi_count q = rows->ptr[i] + 1; q < rows->ptr[i + 1]; q++)
      if (rows->index[q - 1] >= rows->index[q]) return false;
  return true;
}

/* Where the user has some pairs in one triangle and some in the other, images come out of order. */
static tristar_status sort_rows(tsi_env *env, tsi_index n, tsi_count *next, lines *rows) {
  tristar_status status = TRISTAR_OK;
  lines columns = {NULL, NULL, NULL};
  if (ascends(n, rows)) return TRISTAR_OK;
  TSI_TRY(allocate(env, n, rows->ptr[n], &columns));
  exchange(n, rows, next, &columns);
  memset(rows->ptr, 0, ((size_t)n + 1) * sizeof *rows->ptr);
  exchange(n, &columns, next, rows);
out:
  finish(env, &columns);
  return status;
}

static tristar_status find_diagonal(tsi_env *env, tsi_index n, const lines *rows, tsi_count *diagonal) {
  tristar_status status = TRISTAR_OK;
  for (tsi_index i = 0; i < n; i++) {
    tsi_count q = rows->ptr[i];
    while (q < rows->ptr[i + 1] && rows->index[q] < i) q++;
    if (q == rows->ptr[i + 1] || rows->index[q] != i)
      TSI_FAIL(env, TRISTAR_ERR_SINGULAR, "row %d, counted from 0, has no entry on the diagonal", i);
    diagonal[i] = q;
  }
out:
  return status;
}

tristar_status tsi_full_rows_create(tsi_env *env, const tsi_pattern *pattern, bool symmetric,
                                    tsi_full_rows *out) {
  tristar_status status = TRISTAR_OK;
  const tsi_index n = pattern->n;
  lines rows = {NULL, NULL, NULL};
  tsi_count *next = NULL, *diagonal = NULL;
  memset(out, 0, sizeof *out);
  TSI_TRY(TSI_ALLOC_ZERO(env, rows.ptr, (tsi_count)n + 1));
  count_rows(pattern, symmetric, rows.ptr);
  TSI_TRY(TSI_ALLOC(env, rows.index, rows.ptr[n]));
  TSI_TRY(TSI_ALLOC(env, rows.place, rows.ptr[n]));
  TSI_TRY(TSI_ALLOC(env, next, n));
  TSI_TRY(TSI_ALLOC(env, diagonal, n));
  fill_rows(pattern, symmetric, next, &rows);
  TSI_TRY(sort_rows(env, n, next, &rows));
  TSI_TRY(find_diagonal(env, n, &rows, diagonal));
  *out = (tsi_full_rows){{.n = n, .ptr = rows.ptr, .index = rows.index, .diagonal = diagonal}, rows.place};
  rows = (lines){NULL, NULL, NULL};
  diagonal = NULL;
  if (env->check) TSI_TRY(tsi_factor_rows_check(env, &out->a));
out:
  finish(env, &rows);
  TSI_FREE(env, next);
  TSI_FREE(env, diagonal);
  return status;
}

/* Columns of a row ascend, and the diagonal is one of them. */
tristar_status tsi_factor_rows_check(tsi_env *env, const tsi_factor_rows *rows) {
  tristar_status status = TRISTAR_OK;
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
out:
  return status;
}

void tsi_factor_rows_finish(tsi_env *env, tsi_factor_rows *rows) {
  TSI_FREE(env, rows->ptr);
  TSI_FREE(env, rows->index);
  TSI_FREE(env, rows->diagonal);
  TSI_FREE(env, rows->values);
}

void tsi_full_rows_finish(tsi_env *env, tsi_full_rows *rows) {
  tsi_factor_rows_finish(env, &rows->a);
  TSI_FREE(env, rows->place);
}
