/* Creates the pieces of rows from the entries that ranks list: see dmatrix.h.
 *
 * Each entry is sent to the owner of its row; of a symmetric kind also its mirror image. Each rank then
 * numbers its columns in ascending order, sorts its entries by rows, merges duplicates, and cuts the rows
 * into pieces. Rows whose columns already ascend are cut directly: in addition to the pieces this takes only
 * one number for each entry. */
#include <inttypes.h>
#include <stdlib.h>

#include "runtime/base/grow.h"
#include "runtime/base/sort.h"
#include "runtime/matrix/matrix.h"
#include "runtime/matrix/view.h"
#include "runtime/mpi/matrix/dmatrix.h"
#include "runtime/mpi/comm/mailbox.h"

/* ---- Numbers of columns -------------------------------------------------------------------------------- */

static int compare_columns(const void *a, const void *b) {
  const tsi_index x = *(const tsi_index *)a, y = *(const tsi_index *)b;
  return (x > y) - (x < y);
}

static tsi_index column_of(const tsi_dlist *list, tsi_count e) {
  const tsi_index col = list->place[e].col;
  return col < 0 ? ~col : col;
}

/* Source of the pieces: entries of a list, or rows in which columns ascend. Columns are numbered in the whole
 * matrix. */
typedef struct source {
  tsi_dlist *list;
  tsi_entries rows;   /* n rows; ptr NULL: use the list */
  const char *values; /* of the rows */
  char *converted;    /* NULL: the values have the scalar type of the matrix */
} source;

static tsi_count source_count(const source *from) {
  return from->rows.ptr != NULL ? from->rows.ptr[from->rows.n] : from->list->count;
}

static tsi_index source_column(const source *from, tsi_count e) {
  return from->rows.ptr != NULL ? from->rows.index[e] : column_of(from->list, e);
}

/* Local. Lists the columns of other ranks, ascending. */
static tristar_status list_ghosts(tristar_dmatrix_t *d, const source *from, tsi_index *ghosts) {
  tsi_env *env = &d->ts->env;
  const tsi_count entries = source_count(from);
  tsi_count count = 0;
  for (tsi_count e = 0; e < entries; e++) count += !tsi_dmatrix_has_row(d, source_column(from, e));
  TSI_TRY(TSI_ALLOC_IN(d, d->ghost_column, count));
  count = 0;
  for (tsi_count e = 0; e < entries; e++)
    if (!tsi_dmatrix_has_row(d, source_column(from, e))) d->ghost_column[count++] = source_column(from, e);
  const tsi_count kept = tsi_sort_unique(d->ghost_column, count);
  if (!tsi_to_index(kept + d->n, ghosts))
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "the rows of one rank meet more than %d columns", TSI_INDEX_MAX);
  *ghosts = (tsi_index)kept;
  return tsi_grow(env, (void **)&d->ghost_column, sizeof *d->ghost_column, kept, kept);
}

/* Local. Lists the ranks r that receive or send items first[r] .. first[r + 1] - 1. */
static tristar_status list_peers(void *owner, int ranks, const tsi_count *first, int *count,
                                 tsi_dpeer **peer) {
  for (int r = 0; r < ranks; r++) *count += first[r + 1] > first[r];
  TSI_TRY(TSI_ALLOC_IN(owner, *peer, *count));
  for (int r = 0, at = 0; r < ranks; r++)
    if (first[r + 1] > first[r])
      (*peer)[at++] = (tsi_dpeer){r, (tsi_index)first[r], (tsi_index)(first[r + 1] - first[r])};
  return TRISTAR_OK;
}

/* Collective. Finds the owners of the ghosts, and the requesters. */
static tristar_status connect(tristar_dmatrix_t *d, tsi_index ghosts) {
  TSI_TRY(tsi_dmatrix_connect(d, d->transport, ghosts, d->ghost_column, &d->halo));
  const tsi_route *route = &d->halo->route;
  tristar_status status = list_peers(d, route->ranks, route->goes, &d->owners, &d->owner);
  if (status == TRISTAR_OK) status = list_peers(d, route->ranks, route->comes, &d->requesters, &d->requester);
  return tsi_transport_agree(d->transport, status);
}

/* ---- Rows ---------------------------------------------------------------------------------------------- */

/* Local numbers of columns ascend with the columns: ghosts before the own columns, own columns, ghosts after
 * them. */
typedef struct numbers {
  tsi_index ghosts, before;
} numbers;

static numbers number_columns(const tristar_dmatrix_t *d, tsi_index ghosts) {
  numbers m = {ghosts, 0};
  while (m.before < ghosts && d->ghost_column[m.before] < tsi_dmatrix_first(d)) m.before++;
  return m;
}

static tsi_index local_column(const tristar_dmatrix_t *d, tsi_index column, numbers m) {
  if (tsi_dmatrix_has_row(d, column)) return m.before + column - (tsi_index)tsi_dmatrix_first(d);
  const tsi_index *found =
      bsearch(&column, d->ghost_column, (size_t)m.ghosts, sizeof column, compare_columns);
  const tsi_index ghost = (tsi_index)(found - d->ghost_column);
  return ghost < m.before ? ghost : d->n + ghost;
}

/* Local. Items are positions in the list; columns have local numbers. */
static tristar_status sort_rows(const tristar_dmatrix_t *d, const tsi_dlist *list, numbers m,
                                tsi_entries *rows) {
  tsi_env *env = &d->ts->env;
  const tsi_index first = (tsi_index)tsi_dmatrix_first(d);
  TSI_TRY(tsi_entries_begin(env, d->n + m.ghosts, sizeof(tsi_count), rows)); /* square, for sorting */
  for (tsi_count e = 0; e < list->count; e++) rows->ptr[list->place[e].row - first + 1]++;
  TSI_TRY(tsi_entries_reserve(env, rows));
  for (tsi_count e = 0; e < list->count; e++) {
    const tsi_index column = local_column(d, column_of(list, e), m);
    ((tsi_count *)rows->item)[tsi_entries_put(rows, list->place[e].row - first, column)] = e;
  }
  tsi_entries_end(rows);
  return tsi_entries_sort(env, rows);
}

/* Local. Merges duplicates: place[e] is the position of entry e of the list. */
static tristar_status merge(const tristar_dmatrix_t *d, const tsi_dlist *list, tsi_entries *rows,
                            tsi_count *place) {
  const tsi_count *number = rows->item;
  tsi_count to = 0, end = 0, latest = 0;
  for (tsi_index i = 0; i < d->n; i++) {
    const tsi_count first = to;
    tsi_count e = end;
    for (end = rows->ptr[i + 1]; e < end; e++) {
      const tsi_dplace *now = &list->place[number[e]], *before = &list->place[latest];
      const bool again = to > first && rows->index[e] == rows->index[to - 1];
      if (again && (now->col < 0) != (before->col < 0))
        TSI_FAIL(&d->ts->env, TRISTAR_ERR_FORMAT,
                 "entries (%d,%d) and (%d,%d), counted from 0, are both stored, though the matrix is not "
                 "declared general: only one of them is to be",
                 now->row, column_of(list, number[e]), column_of(list, number[e]), now->row);
      latest = number[e];
      if (!again) rows->index[to++] = rows->index[e];
      place[number[e]] = to - 1;
    }
    rows->ptr[i + 1] = to;
  }
  return TRISTAR_OK;
}

/* Checks that values are finite, that the diagonal of a skew-symmetric matrix is zero, and that the diagonal
 * of a Hermitian matrix is real. */
static tristar_status check_values(const tristar_dmatrix_t *d, const tsi_entries *rows, const char *values,
                                   numbers m, tristar_symmetry symmetry) {
  tsi_env *env = &d->ts->env;
  const tsi_count entries = rows->ptr[d->n], bad = d->sparse->first_not_finite(entries, values);
  for (tsi_index i = 0; i < d->n; i++) {
    const int64_t row = tsi_dmatrix_first(d) + i;
    if (bad >= rows->ptr[i] && bad < rows->ptr[i + 1])
      TSI_FAIL(env, TRISTAR_ERR_NOT_FINITE, "the matrix has NaN or infinity in row %" PRId64, row);
    for (tsi_count e = rows->ptr[i]; e < rows->ptr[i + 1]; e++) {
      double re, im;
      if (rows->index[e] != m.before + i ||
          (symmetry != TRISTAR_SKEW_SYMMETRIC && symmetry != TRISTAR_HERMITIAN))
        continue;
      d->sparse->part(1, values + (size_t)e * d->bytes, TSI_PART_REAL, &re);
      d->sparse->part(1, values + (size_t)e * d->bytes, TSI_PART_IMAGINARY, &im);
      if (im != 0 || (re != 0 && symmetry == TRISTAR_SKEW_SYMMETRIC))
        TSI_FAIL(env, TRISTAR_ERR_FORMAT,
                 "diagonal entry %" PRId64 " (counted from 0) of a %s matrix is not %s", row,
                 tsi_symmetry_name(symmetry), symmetry == TRISTAR_HERMITIAN ? "real" : "zero");
    }
  }
  return TRISTAR_OK;
}

/* ---- Pieces -------------------------------------------------------------------------------------------- */

/* Cuts columns first .. end - 1 of the rows as a piece. row: NULL: a line for each row, else receives the row
 * of each line. Columns ascend in rows: next[i] is where the entries of the piece begin in row i, afterwards
 * where they end. */
static tristar_status cut(const tristar_dmatrix_t *d, const tsi_entries *rows, const char *values,
                          tsi_index first, tsi_index end, tsi_count *next, tsi_entries *piece,
                          tsi_count **row) {
  tsi_env *env = &d->ts->env;
  tsi_index lines = 0;
  for (tsi_index i = 0; i < d->n; i++)
    lines += row == NULL || (next[i] < rows->ptr[i + 1] && rows->index[next[i]] < end);
  if (row != NULL) TSI_TRY(TSI_ALLOC(env, *row, lines));
  TSI_TRY(tsi_entries_begin(env, lines, d->bytes, piece));
  tsi_index line = 0;
  for (tsi_index i = 0; i < d->n; i++) {
    tsi_count e = next[i];
    while (e < rows->ptr[i + 1] && rows->index[e] < end) e++;
    if (row != NULL && e == next[i]) continue;
    if (row != NULL) (*row)[line] = i;
    piece->ptr[++line] = e - next[i];
  }
  TSI_TRY(tsi_entries_reserve(env, piece));
  tsi_count to = 0;
  for (tsi_index i = 0; i < d->n; i++) {
    const tsi_count begin = next[i];
    for (; next[i] < rows->ptr[i + 1] && rows->index[next[i]] < end; next[i]++)
      piece->index[to + next[i] - begin] = rows->index[next[i]] - first;
    const tsi_count count = next[i] - begin;
    memcpy((char *)piece->item + (size_t)to * d->bytes, values + (size_t)begin * d->bytes,
           (size_t)count * d->bytes);
    to += count;
  }
  return TRISTAR_OK;
}

/* Local. Cuts the pieces in the order of their columns. */
static tristar_status cut_all(tristar_dmatrix_t *d, const tsi_entries *rows, const char *values, numbers m) {
  tsi_env *env = &d->ts->env;
  tsi_dform *form = &d->form[TSI_DPLAIN];
  TSI_SCRATCH(env, tsi_count, next, d->n);
  for (tsi_index i = 0; i < d->n; i++) next[i] = rows->ptr[i];
  TSI_TRY(TSI_ALLOC_ZERO(env, form->block, d->owners));
  TSI_TRY(TSI_ALLOC_ZERO(env, form->row, d->owners));
  for (int o = 0; o <= d->owners; o++) {
    const bool is_before = o < d->owners && d->owner[o].first < m.before;
    if (!is_before && form->diagonal.ptr == NULL)
      TSI_TRY(cut(d, rows, values, m.before, m.before + d->n, next, &form->diagonal, NULL));
    if (o == d->owners) break;
    const tsi_index first = is_before ? d->owner[o].first : d->n + d->owner[o].first;
    TSI_TRY(cut(d, rows, values, first, first + d->owner[o].count, next, &form->block[o], &form->row[o]));
  }
  form->there = true;
  return TRISTAR_OK;
}

/* Local. Cuts the rows of a list, sorted and merged. */
static tristar_status cut_list(tristar_dmatrix_t *d, const tsi_dlist *list, numbers m,
                               tristar_symmetry symmetry) {
  tsi_env *env = &d->ts->env;
  TSI_CLEANUP(tsi_entries_finish) tsi_entries rows = {.ptr = NULL};
  TSI_OWNED char *values = NULL;
  TSI_TRY(sort_rows(d, list, m, &rows));
  TSI_SCRATCH(env, tsi_count, place, list->count);
  TSI_TRY(merge(d, list, &rows, place));
  TSI_TRY(TSI_ALLOC_SIZED_ZERO(env, values, rows.ptr[d->n], d->bytes));
  d->sparse->add_at(list->count, place, list->value, values);
  TSI_FREE(env, place);
  TSI_TRY(check_values(d, &rows, values, m, symmetry));
  return cut_all(d, &rows, values, m);
}

/* Local. Cuts rows directly. */
static tristar_status cut_rows(tristar_dmatrix_t *d, source *from, numbers m) {
  const tsi_count entries = source_count(from);
  for (tsi_count e = 0; e < entries; e++) from->rows.index[e] = local_column(d, from->rows.index[e], m);
  TSI_TRY(check_values(d, &from->rows, from->values, m, TRISTAR_GENERAL));
  return cut_all(d, &from->rows, from->values, m);
}

/* Collective. mine: an earlier failure of this rank. */
static tristar_status make_pieces(tristar_dmatrix_t *d, source *from, tristar_symmetry symmetry,
                                  tristar_status mine) {
  tsi_index ghosts = 0;
  if (mine == TRISTAR_OK) mine = list_ghosts(d, from, &ghosts);
  TSI_TRY(tsi_transport_agree(d->transport, mine));
  TSI_TRY(connect(d, ghosts));
  const numbers m = number_columns(d, ghosts);
  mine = from->rows.ptr != NULL ? cut_rows(d, from, m) : cut_list(d, from->list, m, symmetry);
  return tsi_transport_agree(d->transport, mine);
}

static void count_rows(tristar_dmatrix_t *d) {
  d->n = (tsi_index)(d->start[tsi_transport_rank(d->transport) + 1] - tsi_dmatrix_first(d));
}

tristar_status tsi_dmatrix_assemble(tristar_dmatrix_t *d, tsi_dlist *list, tristar_symmetry symmetry) {
  tristar_status status = TRISTAR_OK;
  source from = {.list = list};
  count_rows(d);
  TSI_TRY_OUT(tsi_dmatrix_route(d, list, symmetry));
  TSI_TRY_OUT(make_pieces(d, &from, symmetry, TRISTAR_OK));
out:
  tsi_dlist_release(list);
  return status;
}

/* ---- Rows of a view ------------------------------------------------------------------------------------ */

/* Local. Lists the entries in the order of the view. */
static tristar_status list_view(const tristar_dmatrix_t *d, const tristar_view *view, tsi_dlist *list) {
  const tsi_index first = (tsi_index)tsi_dmatrix_first(d);
  const int64_t lines = tsi_view_major(view);
  TSI_TRY(tsi_dlist_make(d, tsi_view_begin(view, lines), list));
  for (int64_t j = 0; j < lines; j++)
    for (tsi_count e = tsi_view_begin(view, j); e < tsi_view_begin(view, j + 1); e++) {
      const tsi_index line = (tsi_index)j, index = (tsi_index)tsi_view_index(view, e);
      double value[2];
      tsi_view_value(view, e, value);
      list->place[e] =
          view->format == TRISTAR_CSR ? (tsi_dplace){first + line, index} : (tsi_dplace){first + index, line};
      tsi_dvalue_put(d->scalar, value, list->value, e);
    }
  return TRISTAR_OK;
}

static bool do_columns_ascend(const tristar_view *view) {
  for (int64_t i = 0; i < view->rows; i++)
    for (tsi_count e = tsi_view_begin(view, i) + 1; e < tsi_view_begin(view, i + 1); e++)
      if (tsi_view_index(view, e - 1) >= tsi_view_index(view, e)) return false;
  return true;
}

/* Local. */
static tristar_status copy_rows(const tristar_dmatrix_t *d, const tristar_view *view, source *from) {
  tsi_env *env = &d->ts->env;
  tsi_entries *rows = &from->rows;
  TSI_TRY(tsi_entries_begin(env, d->n, 0, rows));
  for (tsi_index i = 0; i < d->n; i++) rows->ptr[i + 1] = tsi_view_begin(view, i + 1);
  const tsi_count entries = rows->ptr[d->n];
  TSI_TRY(tsi_entries_allocate(env, rows));
  for (tsi_count e = 0; e < entries; e++) rows->index[e] = (tsi_index)tsi_view_index(view, e);
  from->values = view->values;
  if (view->scalar == d->scalar) return TRISTAR_OK;
  TSI_TRY(TSI_ALLOC_SIZED(env, from->converted, entries, d->bytes));
  from->values = from->converted;
  for (tsi_count e = 0; e < entries; e++) {
    double value[2];
    tsi_view_value(view, e, value);
    tsi_dvalue_put(d->scalar, value, from->converted, e);
  }
  return TRISTAR_OK;
}

tristar_status tsi_dmatrix_take_rows(tristar_dmatrix_t *d, const tristar_view *view) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  tsi_dlist list = {.count = 0};
  source from = {.list = &list};
  count_rows(d);
  const bool is_ready =
      view->format == TRISTAR_CSR && view->symmetry == TRISTAR_GENERAL && do_columns_ascend(view);
  const tristar_status mine = is_ready ? copy_rows(d, view, &from) : list_view(d, view, &list);
  if (view->symmetry == TRISTAR_GENERAL) {
    TSI_TRY_OUT(make_pieces(d, &from, view->symmetry, mine));
  } else {
    TSI_TRY_OUT(tsi_transport_agree(d->transport, mine));
    TSI_TRY_OUT(tsi_dmatrix_route(d, &list, view->symmetry));
    TSI_TRY_OUT(make_pieces(d, &from, view->symmetry, TRISTAR_OK));
  }
out:
  tsi_entries_finish(&from.rows);
  TSI_FREE(env, from.converted);
  tsi_dlist_release(&list);
  return status;
}

/* ---- Check --------------------------------------------------------------------------------------------- */

static tristar_status check_peers(const tristar_dmatrix_t *d, int count, const tsi_dpeer *peer,
                                  tsi_index all) {
  tsi_index at = 0;
  for (int k = 0; k < count; k++) {
    if (peer[k].rank == tsi_transport_rank(d->transport) || (k > 0 && peer[k].rank <= peer[k - 1].rank))
      TSI_FAIL(&d->ts->env, TRISTAR_ERR_INTERNAL, "rank %d is no other rank, or out of order", peer[k].rank);
    if (peer[k].first != at || peer[k].count < 1)
      TSI_FAIL(&d->ts->env, TRISTAR_ERR_INTERNAL, "entries of rank %d: %d from %d on", peer[k].rank,
               peer[k].count, peer[k].first);
    at += peer[k].count;
  }
  if (at != all) TSI_FAIL(&d->ts->env, TRISTAR_ERR_INTERNAL, "%d entries of all peers, not %d", at, all);
  return TRISTAR_OK;
}

static tristar_status check_piece(const tristar_dmatrix_t *d, const tsi_entries *piece, tsi_index columns) {
  if (!tsi_entries_ascend(piece)) TSI_FAIL(&d->ts->env, TRISTAR_ERR_INTERNAL, "columns do not ascend");
  for (tsi_count e = 0; e < piece->ptr[piece->n]; e++)
    if (piece->index[e] < 0 || piece->index[e] >= columns)
      TSI_FAIL(&d->ts->env, TRISTAR_ERR_INTERNAL, "column %d of %d", piece->index[e], columns);
  return TRISTAR_OK;
}

tristar_status tsi_dmatrix_check(const tristar_dmatrix_t *d) {
  const tsi_dform *form = &d->form[TSI_DPLAIN];
  TSI_TRY(check_peers(d, d->owners, d->owner, d->halo->ghosts));
  TSI_TRY(check_peers(d, d->requesters, d->requester, d->halo->requested));
  TSI_TRY(check_piece(d, &form->diagonal, d->n));
  for (int o = 0; o < d->owners; o++) {
    const tsi_entries *block = &form->block[o];
    TSI_TRY(check_piece(d, block, d->owner[o].count));
    for (tsi_index l = 0; l < block->n; l++)
      if (block->ptr[l] == block->ptr[l + 1] || form->row[o][l] >= d->n ||
          (l > 0 && form->row[o][l] <= form->row[o][l - 1]))
        TSI_FAIL(&d->ts->env, TRISTAR_ERR_INTERNAL, "block of rank %d, line %d: empty, or out of order",
                 d->owner[o].rank, l);
  }
  return TRISTAR_OK;
}
