/* From entries that ranks list to the pieces of their rows: see dmatrix.h.
 *
 * Entries travel to the ranks that have their rows, those of a symmetric kind also as mirror images. Each
 * rank then numbers the columns that it meets, its own first and the ghosts behind them, sorts its entries by
 * rows, merges those of one place, and cuts the rows into pieces. */
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>

#include "runtime/base/grow.h"
#include "runtime/base/sort.h"
#include "runtime/matrix/matrix.h"
#include "runtime/mpi/bytes.h"
#include "runtime/mpi/dmatrix.h"
#include "runtime/mpi/mailbox.h"

static void release_list(tsi_env *env, tsi_dlist *list) {
  TSI_FREE(env, list->place);
  TSI_FREE(env, list->value);
}

/* Local. */
static tristar_status make_list(const tristar_dmatrix_t *d, tsi_count count, tsi_dlist *list) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  list->count = count;
  TSI_TRY(TSI_ALLOC(env, list->place, count));
  status = tsi_allocate(env, (size_t)count, d->bytes, __func__, __FILE__, __LINE__, (void **)&list->value);
out:
  return status;
}

int tsi_dmatrix_owner(const tristar_dmatrix_t *d, int64_t row) {
  int low = 0, high = tsi_transport_size(d->transport);
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    if (d->start[middle] <= row)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/* ---- To the ranks that have the rows ------------------------------------------------------------------- */

typedef struct router {
  tristar_dmatrix_t *d;
  const tsi_dlist *list;
  tristar_symmetry symmetry;
  int ranks;
  int *count[2], *first[2]; /* by rank: that go, that come */
  tsi_dlist goes, comes;
} router;

static bool has_image(const router *r, tsi_count e) {
  return r->symmetry != TRISTAR_GENERAL && r->list->place[e].row != r->list->place[e].col;
}

/* Local. Where those of each rank begin. */
static tristar_status find_first(const router *r, int which, tsi_count *all) {
  tristar_status status = TRISTAR_OK;
  *all = 0;
  for (int q = 0; q < r->ranks; q++) {
    r->first[which][q] = (int)*all;
    *all += r->count[which][q];
    if (*all > INT_MAX)
      TSI_FAIL(&r->d->ts->env, TRISTAR_ERR_TOO_LARGE, "%s rank: more than %d entries",
               which == 0 ? "from one" : "to one", INT_MAX);
  }
out:
  return status;
}

/* Local. */
static tristar_status pack(router *r) {
  tristar_status status = TRISTAR_OK;
  tristar_dmatrix_t *d = r->d;
  const tsi_dlist *list = r->list;
  tsi_count all = 0;
  for (tsi_count e = 0; e < list->count; e++) {
    r->count[0][tsi_dmatrix_owner(d, list->place[e].row)]++;
    if (has_image(r, e)) r->count[0][tsi_dmatrix_owner(d, list->place[e].col)]++;
    all += 1 + has_image(r, e);
    if (all > INT_MAX)
      TSI_FAIL(&d->ts->env, TRISTAR_ERR_TOO_LARGE, "one rank lists more than %d entries", INT_MAX);
  }
  TSI_TRY(find_first(r, 0, &all));
  TSI_TRY(make_list(d, all, &r->goes));
  for (tsi_count e = 0; e < list->count; e++)
    for (int image = 0; image < 1 + has_image(r, e); image++) {
      const tsi_dplace place = list->place[e];
      const int at = r->first[0][tsi_dmatrix_owner(d, image ? place.col : place.row)]++;
      const tsi_count from = image ? ~e : e;
      r->goes.place[at] = image ? (tsi_dplace){place.col, ~place.row} : place;
      d->sparse->gather(1, &from, r->symmetry, list->value, r->goes.value + (size_t)at * d->bytes);
    }
  TSI_TRY(find_first(r, 0, &all));
out:
  return status;
}

/* Collective. The list becomes that of the entries of this rank's rows. */
static tristar_status route(tristar_dmatrix_t *d, tsi_dlist *list, tristar_symmetry symmetry) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  MPI_Comm comm = tsi_transport_comm(d->transport);
  router r = {.d = d, .list = list, .symmetry = symmetry, .ranks = tsi_transport_size(d->transport)};
  tsi_count all;
  for (int k = 0; k < 2; k++) {
    if (status == TRISTAR_OK) status = TSI_ALLOC_ZERO(env, r.count[k], r.ranks);
    if (status == TRISTAR_OK) status = TSI_ALLOC(env, r.first[k], r.ranks);
  }
  if (status == TRISTAR_OK) status = pack(&r);
  TSI_TRY(tsi_transport_agree(d->transport, status));
  release_list(env, list);
  TSI_TRY(TSI_MPI(env, "MPI_Alltoall", MPI_Alltoall(r.count[0], 1, MPI_INT, r.count[1], 1, MPI_INT, comm)));
  status = find_first(&r, 1, &all);
  if (status == TRISTAR_OK) status = make_list(d, all, &r.comes);
  TSI_TRY(tsi_transport_agree(d->transport, status));
  const tsi_items go = {r.count[0], r.first[0]}, come = {r.count[1], r.first[1]};
  TSI_TRY(tsi_exchange_items(env, comm, sizeof *list->place, r.goes.place, go, r.comes.place, come));
  TSI_TRY(tsi_exchange_items(env, comm, d->bytes, r.goes.value, go, r.comes.value, come));
  *list = r.comes;
  r.comes = (tsi_dlist){.count = 0};
out:
  release_list(env, &r.goes);
  release_list(env, &r.comes);
  for (int k = 0; k < 2; k++) {
    TSI_FREE(env, r.count[k]);
    TSI_FREE(env, r.first[k]);
  }
  return status;
}

/* ---- Numbers of columns -------------------------------------------------------------------------------- */

static int compare_columns(const void *a, const void *b) {
  const tsi_index x = *(const tsi_index *)a, y = *(const tsi_index *)b;
  return (x > y) - (x < y);
}

static tsi_index column_of(const tsi_dlist *list, tsi_count e) {
  const tsi_index col = list->place[e].col;
  return col < 0 ? ~col : col;
}

static bool is_own(const tristar_dmatrix_t *d, tsi_index column) {
  const int64_t first = tsi_dmatrix_first(d);
  return column >= first && column < first + d->n;
}

/* Local. Columns of others, ascending. */
static tristar_status list_ghosts(tristar_dmatrix_t *d, const tsi_dlist *list, tsi_index *ghosts) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  tsi_count count = 0;
  for (tsi_count e = 0; e < list->count; e++) count += !is_own(d, column_of(list, e));
  TSI_TRY(TSI_ALLOC(env, d->ghost_column, count));
  count = 0;
  for (tsi_count e = 0; e < list->count; e++)
    if (!is_own(d, column_of(list, e))) d->ghost_column[count++] = column_of(list, e);
  const tsi_count kept = tsi_sort_unique(d->ghost_column, count);
  if (!tsi_to_index(kept + d->n, ghosts))
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "the rows of one rank meet more than %d columns", TSI_INDEX_MAX);
  *ghosts = (tsi_index)kept;
  TSI_TRY(tsi_grow(env, (void **)&d->ghost_column, sizeof *d->ghost_column, kept, kept));
out:
  return status;
}

/* Collective. Who has the ghosts, and who needs entries of this rank. */
static tristar_status connect(tristar_dmatrix_t *d, tsi_index ghosts) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  const int ranks = tsi_transport_size(d->transport);
  tsi_index *column = NULL;
  int *owner = NULL;
  status = TSI_ALLOC(env, column, d->n);
  if (status == TRISTAR_OK) status = TSI_ALLOC(env, owner, ghosts);
  TSI_TRY(tsi_transport_agree(d->transport, status));
  for (tsi_index i = 0; i < d->n; i++) column[i] = (tsi_index)tsi_dmatrix_first(d) + i;
  for (tsi_index g = 0; g < ghosts; g++) owner[g] = tsi_dmatrix_owner(d, d->ghost_column[g]);
  TSI_TRY(tsi_halo_create(env, d->transport, d->n, column, ghosts, d->ghost_column, owner, &d->halo));
  for (int r = 0; r < ranks; r++) {
    d->owners += d->halo->ghost_count[r] > 0;
    d->askers += d->halo->asked_count[r] > 0;
  }
  status = TSI_ALLOC(env, d->owner, d->owners);
  if (status == TRISTAR_OK) status = TSI_ALLOC(env, d->asker, d->askers);
  TSI_TRY(tsi_transport_agree(d->transport, status));
  for (int r = 0, o = 0, a = 0; r < ranks; r++) {
    if (d->halo->ghost_count[r] > 0)
      d->owner[o++] = (tsi_dpeer){r, d->halo->ghost_first[r], d->halo->ghost_count[r]};
    if (d->halo->asked_count[r] > 0)
      d->asker[a++] = (tsi_dpeer){r, d->halo->asked_first[r], d->halo->asked_count[r]};
  }
out:
  TSI_FREE(env, column);
  TSI_FREE(env, owner);
  return status;
}

/* ---- Rows ---------------------------------------------------------------------------------------------- */

/* The own columns come first, the ghosts behind them. */
static tsi_index local_column(const tristar_dmatrix_t *d, tsi_index column, tsi_index ghosts) {
  if (is_own(d, column)) return column - (tsi_index)tsi_dmatrix_first(d);
  const tsi_index *found = bsearch(&column, d->ghost_column, (size_t)ghosts, sizeof column, compare_columns);
  return d->n + (tsi_index)(found - d->ghost_column);
}

/* Local. Items are numbers of entries of the list; columns are local ones. */
static tristar_status sort_rows(const tristar_dmatrix_t *d, const tsi_dlist *list, tsi_index ghosts,
                                tsi_entries *rows) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  const tsi_index first = (tsi_index)tsi_dmatrix_first(d);
  TSI_TRY(tsi_entries_begin(env, d->n + ghosts, sizeof(tsi_count), rows)); /* square, as sorting wants it */
  for (tsi_count e = 0; e < list->count; e++) rows->ptr[list->place[e].row - first + 1]++;
  TSI_TRY(tsi_entries_reserve(env, rows));
  for (tsi_count e = 0; e < list->count; e++) {
    const tsi_index column = local_column(d, column_of(list, e), ghosts);
    ((tsi_count *)rows->item)[tsi_entries_put(rows, list->place[e].row - first, column)] = e;
  }
  tsi_entries_end(rows);
  status = tsi_entries_sort(env, rows);
out:
  return status;
}

/* Local. Merges what is at one place: place[e] is where entry e of the list goes. */
static tristar_status merge(const tristar_dmatrix_t *d, const tsi_dlist *list, tsi_entries *rows,
                            tsi_count *place) {
  tristar_status status = TRISTAR_OK;
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
out:
  return status;
}

/* A skew-symmetric matrix has zeros on its diagonal, a Hermitian one real numbers; all are finite. */
static tristar_status check_values(const tristar_dmatrix_t *d, const tsi_entries *rows, const char *values,
                                   tristar_symmetry symmetry) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  const tsi_count entries = rows->ptr[d->n], bad = d->sparse->first_not_finite(entries, values);
  for (tsi_index i = 0; i < d->n; i++) {
    const int64_t row = tsi_dmatrix_first(d) + i;
    if (bad >= rows->ptr[i] && bad < rows->ptr[i + 1])
      TSI_FAIL(env, TRISTAR_ERR_NOT_FINITE, "the matrix has NaN or infinity in row %" PRId64, row);
    for (tsi_count e = rows->ptr[i]; e < rows->ptr[i + 1]; e++) {
      double re, im;
      if (rows->index[e] != i || (symmetry != TRISTAR_SKEW_SYMMETRIC && symmetry != TRISTAR_HERMITIAN))
        continue;
      d->sparse->part(1, values + (size_t)e * d->bytes, TSI_PART_REAL, &re);
      d->sparse->part(1, values + (size_t)e * d->bytes, TSI_PART_IMAGINARY, &im);
      if (im != 0 || (re != 0 && symmetry == TRISTAR_SKEW_SYMMETRIC))
        TSI_FAIL(env, TRISTAR_ERR_FORMAT,
                 "diagonal entry %" PRId64 " (counted from 0) of a %s matrix is not %s", row,
                 tsi_symmetry_name(symmetry), symmetry == TRISTAR_HERMITIAN ? "real" : "zero");
    }
  }
out:
  return status;
}

/* ---- Pieces -------------------------------------------------------------------------------------------- */

/* Columns first .. end - 1 of the rows as a piece. lines: of them; row: NULL: all rows, or which one each
 * line is. Rows ascend in their columns: `next` is where the piece's entries of a row begin, then where they
 * end. */
static tristar_status cut(const tristar_dmatrix_t *d, const tsi_entries *rows, const char *values,
                          tsi_index first, tsi_index end, tsi_count *next, tsi_entries *piece,
                          tsi_count **row) {
  tristar_status status = TRISTAR_OK;
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
out:
  return status;
}

/* Local. */
static tristar_status cut_all(tristar_dmatrix_t *d, const tsi_entries *rows, const char *values) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  tsi_dform *form = &d->form[TSI_DPLAIN];
  tsi_count *next = NULL;
  TSI_TRY(TSI_ALLOC(env, next, d->n));
  for (tsi_index i = 0; i < d->n; i++) next[i] = rows->ptr[i];
  TSI_TRY(TSI_ALLOC_ZERO(env, form->block, d->owners));
  TSI_TRY(TSI_ALLOC_ZERO(env, form->row, d->owners));
  TSI_TRY(cut(d, rows, values, 0, d->n, next, &form->diagonal, NULL));
  for (int o = 0; o < d->owners; o++) {
    const tsi_index first = d->n + d->owner[o].first;
    TSI_TRY(cut(d, rows, values, first, first + d->owner[o].count, next, &form->block[o], &form->row[o]));
  }
  form->there = true;
out:
  TSI_FREE(env, next);
  return status;
}

/* Local: pieces of sorted rows, merged. */
static tristar_status make_pieces(tristar_dmatrix_t *d, const tsi_dlist *list, tsi_index ghosts,
                                  tristar_symmetry symmetry) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  tsi_entries rows = {.ptr = NULL};
  tsi_count *place = NULL;
  char *values = NULL;
  TSI_TRY(sort_rows(d, list, ghosts, &rows));
  TSI_TRY(TSI_ALLOC(env, place, list->count));
  TSI_TRY(merge(d, list, &rows, place));
  TSI_TRY(tsi_allocate_zero(env, (size_t)rows.ptr[d->n], d->bytes, __func__, __FILE__, __LINE__,
                            (void **)&values));
  d->sparse->add_at(list->count, place, list->value, values);
  TSI_FREE(env, place);
  TSI_TRY(check_values(d, &rows, values, symmetry));
  TSI_TRY(cut_all(d, &rows, values));
out:
  tsi_entries_finish(env, &rows);
  TSI_FREE(env, place);
  TSI_FREE(env, values);
  return status;
}

tristar_status tsi_dmatrix_assemble(tristar_dmatrix_t *d, tsi_dlist *list, tristar_symmetry symmetry,
                                    bool scattered) {
  tristar_status status = TRISTAR_OK;
  tsi_index ghosts = 0;
  d->n = (tsi_index)(d->start[tsi_transport_rank(d->transport) + 1] - tsi_dmatrix_first(d));
  if (scattered || symmetry != TRISTAR_GENERAL) TSI_TRY(route(d, list, symmetry));
  TSI_TRY(tsi_transport_agree(d->transport, list_ghosts(d, list, &ghosts)));
  TSI_TRY(connect(d, ghosts));
  TSI_TRY(tsi_transport_agree(d->transport, make_pieces(d, list, ghosts, symmetry)));
out:
  release_list(&d->ts->env, list);
  return status;
}

/* ---- Check --------------------------------------------------------------------------------------------- */

static tristar_status check_peers(const tristar_dmatrix_t *d, int count, const tsi_dpeer *peer,
                                  tsi_index all) {
  tristar_status status = TRISTAR_OK;
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
out:
  return status;
}

static tristar_status check_piece(const tristar_dmatrix_t *d, const tsi_entries *piece, tsi_index columns) {
  tristar_status status = TRISTAR_OK;
  if (!tsi_entries_ascend(piece)) TSI_FAIL(&d->ts->env, TRISTAR_ERR_INTERNAL, "columns do not ascend");
  for (tsi_count e = 0; e < piece->ptr[piece->n]; e++)
    if (piece->index[e] < 0 || piece->index[e] >= columns)
      TSI_FAIL(&d->ts->env, TRISTAR_ERR_INTERNAL, "column %d of %d", piece->index[e], columns);
out:
  return status;
}

tristar_status tsi_dmatrix_check(const tristar_dmatrix_t *d) {
  tristar_status status = TRISTAR_OK;
  const tsi_dform *form = &d->form[TSI_DPLAIN];
  TSI_TRY(check_peers(d, d->owners, d->owner, d->halo->ghosts));
  TSI_TRY(check_peers(d, d->askers, d->asker, d->halo->asked));
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
out:
  return status;
}
