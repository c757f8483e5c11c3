/* Life of a front: open, assemble, factor, pack, close. See numeric.h. */
#include "runtime/numeric.h"

/* Keeps the first failure only. */
static void fail(tsi_numeric *numeric, tristar_status status) {
  int expected = TRISTAR_OK;
  atomic_compare_exchange_strong(&numeric->status, &expected, (int)status);
}

static tsi_index first_column(const tsi_numeric *numeric, tsi_index s) {
  return numeric->analysis->symbolic->start[s];
}

/* Front rows of the parent that the rows of s fall on: both lists ascend. */
static void find_positions(const tsi_symbolic *symbolic, tsi_index s, tsi_index *position) {
  const tsi_index parent = symbolic->parent[s];
  const tsi_index first = symbolic->start[parent], end = symbolic->start[parent + 1];
  tsi_count q = symbolic->row_ptr[parent];
  for (tsi_count r = symbolic->row_ptr[s]; r < symbolic->row_ptr[s + 1]; r++) {
    const tsi_index row = symbolic->rows[r];
    if (row < end) {
      *position++ = row - first;
      continue;
    }
    while (symbolic->rows[q] < row) q++; /* it is there: containment */
    *position++ = end - first + (tsi_index)(q - symbolic->row_ptr[parent]);
  }
}

static tristar_status allocate_block(const tsi_numeric *numeric, tsi_count scalars, void **out) {
  return tsi_allocate(numeric->env, (size_t)scalars, numeric->kernels->scalar_bytes, __func__, __FILE__,
                      __LINE__, out);
}

void tsi_front_open(tsi_numeric *numeric, tsi_index s) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = numeric->env;
  const tsi_symbolic *symbolic = numeric->analysis->symbolic;
  tsi_front *front = &numeric->front[s];
  if (tsi_numeric_failed(numeric)) return;
  front->w = symbolic->start[s + 1] - symbolic->start[s];
  front->m = (tsi_index)(symbolic->row_ptr[s + 1] - symbolic->row_ptr[s]);
  front->f = front->w + front->m;
  TSI_TRY(allocate_block(numeric, (tsi_count)front->f * front->w, &front->p));
  front->full = numeric->upper != NULL;
  if (numeric->pivots) TSI_TRY(allocate_block(numeric, (tsi_count)front->w * front->m, &front->q));
  TSI_TRY(allocate_block(numeric, tsi_complement_size(front->m, front->full), &front->c));
  for (tsi_index k = numeric->child_ptr[s]; k < numeric->child_ptr[s + 1]; k++) {
    const tsi_index child = numeric->child[k];
    TSI_TRY(TSI_ALLOC(env, numeric->position[child], numeric->front[child].m));
    find_positions(symbolic, child, numeric->position[child]);
  }
out:
  if (status != TRISTAR_OK) fail(numeric, status);
}

/* Front row of final row `row`, which is in the front of s. */
static tsi_index front_row(const tsi_symbolic *symbolic, tsi_index s, tsi_index row) {
  if (row < symbolic->start[s + 1]) return row - symbolic->start[s];
  tsi_count lo = symbolic->row_ptr[s], hi = symbolic->row_ptr[s + 1] - 1;
  while (lo < hi) {
    const tsi_count middle = lo + (hi - lo) / 2;
    if (symbolic->rows[middle] < row)
      lo = middle + 1;
    else
      hi = middle;
  }
  return symbolic->start[s + 1] - symbolic->start[s] + (tsi_index)(lo - symbolic->row_ptr[s]);
}

/* Entries on their way into a front. */
typedef struct entry_batch {
  tsi_count count;
  tsi_front_entry entry[128];
} entry_batch;

static void flush(const tsi_numeric *numeric, const tsi_front *front, entry_batch *batch) {
  numeric->kernels->add_entries(front, batch->entry, batch->count, numeric->values);
  batch->count = 0;
}

/* Entry q of a list, at row i and column j of the front; row and column in final numbering decide the
 * scaling. */
static void put_entry(const tsi_numeric *numeric, const tsi_front *front, entry_batch *batch,
                      const tsi_assembly *list, tsi_count q, tsi_index row, tsi_index column, tsi_index i,
                      tsi_index j) {
  const tristar_symmetry symmetry = numeric->analysis->pattern->symmetry;
  const bool image = list->source[q] < 0;
  double factor = image && symmetry == TRISTAR_SKEW_SYMMETRIC ? -1 : 1;
  if (numeric->row_scale) factor *= numeric->row_scale[row] * numeric->col_scale[column];
  batch->entry[batch->count++] = (tsi_front_entry){image ? ~list->source[q] : list->source[q], factor, i, j,
                                                   image && symmetry == TRISTAR_HERMITIAN};
  if (batch->count == (tsi_count)(sizeof batch->entry / sizeof *batch->entry)) flush(numeric, front, batch);
}

static void add_entries(const tsi_numeric *numeric, tsi_index s, tsi_index c0, tsi_index c1) {
  const tristar_analysis_t *an = numeric->analysis;
  const tsi_front *front = &numeric->front[s];
  const tsi_index first = first_column(numeric, s);
  entry_batch batch = {.count = 0};
  for (tsi_index k = c0; k < tsi_index_min(c1, front->w); k++)
    for (tsi_count q = an->lower.ptr[first + k]; q < an->lower.ptr[first + k + 1]; q++) {
      const tsi_index row = an->lower.other[q];
      put_entry(numeric, front, &batch, &an->lower, q, row, first + k, front_row(an->symbolic, s, row), k);
    }
  for (tsi_index i = 0; i < front->w && front->full; i++)
    for (tsi_count q = an->upper.ptr[first + i]; q < an->upper.ptr[first + i + 1]; q++) {
      const tsi_index column = an->upper.other[q], k = front_row(an->symbolic, s, column);
      if (k >= c0 && k < c1) put_entry(numeric, front, &batch, &an->upper, q, first + i, column, i, k);
    }
  flush(numeric, front, &batch);
}

void tsi_front_assemble(tsi_numeric *numeric, tsi_index s, tsi_index c0, tsi_index c1) {
  if (tsi_numeric_failed(numeric)) return;
  const tsi_front *front = &numeric->front[s];
  numeric->kernels->zero(front, c0, c1);
  add_entries(numeric, s, c0, c1);
  for (tsi_index k = numeric->child_ptr[s]; k < numeric->child_ptr[s + 1]; k++) {
    const tsi_index child = numeric->child[k];
    numeric->kernels->extend_add(front, numeric->front[child].c, numeric->front[child].m,
                                 numeric->position[child], c0, c1);
  }
}

void tsi_front_assembled(tsi_numeric *numeric, tsi_index s) {
  for (tsi_index k = numeric->child_ptr[s]; k < numeric->child_ptr[s + 1]; k++) {
    TSI_FREE(numeric->env, numeric->front[numeric->child[k]].c);
    TSI_FREE(numeric->env, numeric->position[numeric->child[k]]);
  }
}

void tsi_front_diagonal(tsi_numeric *numeric, tsi_index panel) {
  if (tsi_numeric_failed(numeric)) return;
  const tsi_panels *panels = numeric->analysis->panels;
  const tsi_index s = panels->supernode[panel], column = panels->start[panel];
  const tsi_index o = column - first_column(numeric, s), b = tsi_panel_width(panels, panel);
  /* in the last block of a root all remaining rows are candidates: partial pivoting proper */
  tsi_pivoting result = {.tiny = o + b == numeric->front[s].f ? numeric->tiny_last : numeric->tiny};
  tsi_index *pivot = numeric->pivots ? numeric->pivots + column : NULL;
  result.adjoint = numeric->analysis->adjoint;
  result.inverse = tsi_numeric_inverse(numeric, column);
  if (numeric->inverse)
    numeric->kernels->diagonal_ldl(&numeric->front[s], o, b, pivot, &result);
  else
    numeric->kernels->diagonal(&numeric->front[s], o, b, pivot, &result);
  if (result.perturbed > 0) atomic_fetch_add(&numeric->perturbed, result.perturbed);
  if (result.failed == TSI_NONE) return;
  const tsi_index row = numeric->analysis->out_row[column + result.failed];
  if (numeric->pivots)
    fail(numeric, tsi_fail(numeric->env, TRISTAR_ERR_NOT_FINITE, "tristar_factor", __FILE__, __LINE__,
                           "the factors overflow at column %d of the matrix (counted from 0)", row));
  else
    fail(numeric,
         tsi_fail(numeric->env, TRISTAR_ERR_NOT_POSITIVE_DEFINITE, "tristar_factor", __FILE__, __LINE__,
                  "the matrix is not positive definite: the pivot of row %d (counted from 0) is not positive",
                  row));
}

void tsi_front_tile(tsi_numeric *numeric, tsi_index panel, bool right, tsi_index begin, tsi_index end) {
  const tsi_panels *panels = numeric->analysis->panels;
  const tsi_index s = panels->supernode[panel], column = panels->start[panel];
  const tsi_index o = column - first_column(numeric, s), b = tsi_panel_width(panels, panel);
  if (begin == end || tsi_numeric_failed(numeric)) return;
  if (right)
    numeric->kernels->right(&numeric->front[s], o, b, begin, end, numeric->pivots + column);
  else if (numeric->inverse)
    numeric->kernels->below_ldl(&numeric->front[s], o, b, begin, end, numeric->pivots + column,
                                tsi_numeric_inverse(numeric, column), numeric->analysis->adjoint);
  else
    numeric->kernels->below(&numeric->front[s], o, b, begin, end);
}

void tsi_front_pack(tsi_numeric *numeric, tsi_index panel) {
  tristar_status status = TRISTAR_OK;
  if (tsi_numeric_failed(numeric)) return;
  const tristar_analysis_t *an = numeric->analysis;
  const tsi_index s = an->panels->supernode[panel], b = tsi_panel_width(an->panels, panel);
  const size_t offset = (size_t)an->panel_values[panel] * numeric->kernels->scalar_bytes;
  char *work = NULL;
  TSI_TRY(allocate_block(numeric, (tsi_count)b * TSI_PANEL_WIDTH_MAX, (void **)&work));
  numeric->kernels->pack(&numeric->front[s], an->panels->start[panel] - first_column(numeric, s), b,
                         tsi_analysis_inverse(an), numeric->lower + offset,
                         numeric->upper ? numeric->upper + offset : NULL, work);
out:
  TSI_FREE(numeric->env, work);
  if (status != TRISTAR_OK) fail(numeric, status);
}

static void report(tsi_numeric *numeric) {
  const long long done = atomic_fetch_add(&numeric->done, 1) + 1;
  const int percent = (int)(100 * done / numeric->analysis->symbolic->count);
  int before = atomic_load_explicit(&numeric->percent, memory_order_relaxed);
  if (percent > before && atomic_compare_exchange_strong(&numeric->percent, &before, percent))
    tsi_log(numeric->env, TRISTAR_LOG_PROGRESS, "factor %d%% of supernodes", percent);
}

void tsi_front_close(tsi_numeric *numeric, tsi_index s) {
  TSI_FREE(numeric->env, numeric->front[s].p);
  TSI_FREE(numeric->env, numeric->front[s].q);
  report(numeric);
}

void tsi_front_whole(tsi_numeric *numeric, tsi_index s) {
  const tsi_panels *panels = numeric->analysis->panels;
  const tsi_front *front = &numeric->front[s];
  tsi_front_open(numeric, s);
  tsi_front_assemble(numeric, s, 0, numeric->front[s].f);
  tsi_front_assembled(numeric, s);
  for (tsi_index p = panels->first[s]; p < panels->first[s + 1]; p++) {
    const tsi_index o = panels->start[p] - first_column(numeric, s), b = tsi_panel_width(panels, p),
                    end = o + b;
    tsi_front_diagonal(numeric, p);
    if (tsi_numeric_failed(numeric)) break;
    tsi_front_tile(numeric, p, false, end, front->f);
    if (!front->full) continue;
    tsi_front_tile(numeric, p, true, end, front->w);
    tsi_front_tile(numeric, p, true, front->w, front->f);
  }
  if (!tsi_numeric_failed(numeric)) numeric->kernels->schur_all(front);
  for (tsi_index p = panels->first[s]; p < panels->first[s + 1]; p++) tsi_front_pack(numeric, p);
  tsi_front_close(numeric, s);
}
