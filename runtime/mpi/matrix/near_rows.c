/* Gathers rows, level by level, and makes one matrix of them: see near_rows.h. */
#include "runtime/mpi/matrix/near_rows.h"

#include <stdlib.h>

#include "runtime/base/grow.h"
#include "runtime/base/sort.h"
#include "runtime/mpi/comm/mailbox.h"

/* Rows gathered at one level. */
typedef struct batch {
  tsi_index rows;
  tsi_index *number; /* rows; ascending */
  tsi_count *ptr;    /* rows + 1 */
  tsi_index *column; /* in the whole matrix; ascending in a row */
  char *value;
} batch;

typedef struct gathering {
  tristar_dmatrix_t *d;
  bool only_before;
  int64_t first, end; /* own rows */
  tsi_index gathered; /* number of remote rows gathered so far */
  tsi_index *number;  /* gathered; ascending */
  int batches;
  tsi_count capacity;
  batch *batch;
} gathering;

static bool holds(const tsi_index *list, tsi_index count, tsi_index target, tsi_index *at) {
  *at = tsi_find_range(list, count, target);
  return count > 0 && list[*at] == target;
}

/* ---- Which rows ---------------------------------------------------------------------------------------- */

static bool is_missing(const gathering *g, tsi_index column) {
  tsi_index at;
  if (column >= g->first && (column < g->end || g->only_before)) return false;
  return !holds(g->number, g->gathered, column, &at);
}

/* Local. Finds the remote rows that the entries lead to and that were not gathered yet. */
static tristar_status find_missing(const gathering *g, tsi_count entries, const tsi_index *column, batch *b) {
  tsi_env *env = &g->d->ts->env;
  tsi_count count = 0;
  for (tsi_count e = 0; e < entries; e++) count += is_missing(g, column[e]);
  TSI_TRY(TSI_ALLOC(env, b->number, count));
  count = 0;
  for (tsi_count e = 0; e < entries; e++)
    if (is_missing(g, column[e])) b->number[count++] = column[e];
  count = tsi_sort_unique(b->number, count);
  if (count + g->gathered > TSI_INDEX_MAX - g->d->n)
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "more than %d rows are near those of one rank", TSI_INDEX_MAX);
  b->rows = (tsi_index)count;
  return tsi_grow(env, (void **)&b->number, sizeof *b->number, count, count);
}

/* Local. Adds the rows of a batch to the gathered rows. */
static tristar_status keep(gathering *g, const batch *b) {
  tsi_env *env = &g->d->ts->env;
  const tsi_index all = g->gathered + b->rows;
  TSI_TRY(tsi_grow(env, (void **)&g->number, sizeof *g->number, g->gathered, all));
  if (b->rows > 0) memcpy(g->number + g->gathered, b->number, (size_t)b->rows * sizeof *b->number);
  g->gathered = all;
  tsi_sort_indices(g->number, all);
  TSI_TRY(tsi_reserve(env, (void **)&g->batch, sizeof *g->batch, g->batches, &g->capacity));
  g->batch[g->batches] = (batch){.rows = 0};
  return TRISTAR_OK;
}

/* ---- Their entries ------------------------------------------------------------------------------------- */

/* Local. Counts the entries of the rows that other ranks requested. */
static tristar_status count_entries(const gathering *g, const tsi_halo *halo, tsi_route *route) {
  const tsi_count *ptr = g->d->whole->ptr, *requested = halo->route.comes;
  TSI_TRY(tsi_route_begin(&g->d->ts->env, g->d->transport, route));
  for (int r = 0; r < route->ranks; r++)
    for (tsi_count k = requested[r]; k < requested[r + 1]; k++)
      route->goes[r + 1] += ptr[halo->own[k] + 1] - ptr[halo->own[k]];
  return TRISTAR_OK;
}

/* Entries of rows. */
typedef struct freight {
  tsi_index *column;
  char *value;
} freight;

static void release_freight(freight *f) {
  tsi_release(f->column);
  tsi_release(f->value);
}

/* Local. */
static tristar_status make_freight(const gathering *g, tsi_count count, freight *f) {
  tsi_env *env = &g->d->ts->env;
  TSI_TRY(TSI_ALLOC(env, f->column, count));
  return TSI_ALLOC_SIZED(env, f->value, count, g->d->bytes);
}

/* Packs the rows that other ranks requested, in the order of the requests. */
static void pack(const gathering *g, const tsi_halo *halo, const freight *f) {
  const tristar_dmatrix_t *d = g->d;
  const tsi_count *ptr = d->whole->ptr;
  tsi_count at = 0;
  for (tsi_index k = 0; k < halo->requested; k++) {
    const tsi_count begin = ptr[halo->own[k]], count = ptr[halo->own[k] + 1] - begin;
    memcpy(f->column + at, d->column + begin, (size_t)count * sizeof *f->column);
    memcpy(f->value + (size_t)at * d->bytes, (const char *)d->whole->values + (size_t)begin * d->bytes,
           (size_t)count * d->bytes);
    at += count;
  }
}

/* Collective. Gathers the lengths of the rows of a batch. */
static tristar_status begin_rows(const gathering *g, const tsi_halo *halo, batch *b) {
  const tristar_dmatrix_t *d = g->d;
  tsi_env *env = &d->ts->env;
  TSI_OWNED tsi_count *length = NULL;
  tristar_status status = TSI_ALLOC(env, length, d->n);
  if (status == TRISTAR_OK) status = TSI_ALLOC(env, b->ptr, (tsi_count)b->rows + 1);
  TSI_TRY(tsi_transport_agree(d->transport, status));
  for (tsi_index i = 0; i < d->n; i++) length[i] = d->whole->ptr[i + 1] - d->whole->ptr[i];
  TSI_TRY(tsi_halo_fill(env, halo, sizeof *length, length, b->ptr + 1));
  b->ptr[0] = 0;
  for (tsi_index k = 0; k < b->rows; k++) b->ptr[k + 1] += b->ptr[k];
  return TRISTAR_OK;
}

/* Collective. Gathers the entries of the rows of a batch, by the halo that connects the rows with their
 * owners. */
static tristar_status bring_entries(gathering *g, const tsi_halo *halo, batch *b) {
  tristar_dmatrix_t *d = g->d;
  tsi_env *env = &d->ts->env;
  TSI_CLEANUP(tsi_route_finish) tsi_route route = {.goes = NULL};
  TSI_CLEANUP(release_freight) freight go = {.column = NULL}, come = {.column = NULL};
  TSI_TRY(begin_rows(g, halo, b));
  TSI_TRY(tsi_route_connect(env, d->transport, count_entries(g, halo, &route), &route));
  tristar_status status = make_freight(g, tsi_route_sent(&route), &go);
  if (status == TRISTAR_OK) status = make_freight(g, tsi_route_received(&route), &come);
  TSI_TRY(tsi_transport_agree(d->transport, status));
  pack(g, halo, &go);
  TSI_TRY(tsi_route_pass(env, &route, sizeof *go.column, false, go.column, come.column));
  TSI_TRY(tsi_route_pass(env, &route, d->bytes, false, go.value, come.value));
  b->column = tsi_take(&come.column);
  b->value = tsi_take(&come.value);
  return TRISTAR_OK;
}

/* Collective. */
static tristar_status bring(gathering *g, batch *b) {
  tristar_dmatrix_t *d = g->d;
  TSI_CLEANUP(tsi_halo_destroy) tsi_halo *halo = NULL;
  TSI_TRY(tsi_dmatrix_connect(d, d->transport, b->rows, b->number, &halo));
  return bring_entries(g, halo, b);
}

static void release_batch(batch *b) {
  tsi_release(b->number);
  tsi_release(b->ptr);
  tsi_release(b->column);
  tsi_release(b->value);
}

/* Collective. Gathers one level; *more: some rank found rows. */
static tristar_status take_level(gathering *g, bool *more) {
  tristar_dmatrix_t *d = g->d;
  const batch *last = g->batches > 0 ? &g->batch[g->batches - 1] : NULL;
  const tsi_count entries = last != NULL ? last->ptr[last->rows] : d->whole->ptr[d->n];
  TSI_CLEANUP(release_batch) batch b = {.rows = 0};
  tristar_status status = find_missing(g, entries, last != NULL ? last->column : d->column, &b);
  if (status == TRISTAR_OK) status = keep(g, &b);
  TSI_TRY(tsi_transport_agree(d->transport, status));
  int found = b.rows > 0;
  TSI_TRY(tsi_transport_unite(d->transport, &found, 1, MPI_INT, MPI_MAX));
  *more = found != 0;
  if (!*more) return TRISTAR_OK;
  TSI_TRY(bring(g, &b));
  g->batch[g->batches++] = b;
  b = (batch){.rows = 0};
  return TRISTAR_OK;
}

/* ---- One matrix ---------------------------------------------------------------------------------------- */

/* Position of a remote row. */
typedef struct place {
  tsi_index number, batch, row;
} place;

static int compare_places(const void *a, const void *b) {
  const tsi_index x = ((const place *)a)->number, y = ((const place *)b)->number;
  return (x > y) - (x < y);
}

/* A row of this or another rank. */
typedef struct line {
  tsi_count entries;
  const tsi_index *column;
  const char *value;
} line;

static line own_line(const gathering *g, tsi_index i) {
  const tristar_dmatrix_t *d = g->d;
  const tsi_count begin = d->whole->ptr[i];
  return (line){d->whole->ptr[i + 1] - begin, d->column + begin,
                (const char *)d->whole->values + (size_t)begin * d->bytes};
}

static line brought_line(const gathering *g, const place *p) {
  const batch *b = &g->batch[p->batch];
  const tsi_count begin = b->ptr[p->row];
  return (line){b->ptr[p->row + 1] - begin, b->column + begin, b->value + (size_t)begin * g->d->bytes};
}

static line line_of(const gathering *g, const tsi_near_rows *out, const place *places, tsi_index i) {
  if (i < out->first) return brought_line(g, &places[i]);
  return i < out->first + out->rows ? own_line(g, i - out->first) : brought_line(g, &places[i - out->rows]);
}

/* Copies the entries of a line whose columns are among the rows, and counts them; index and values may be
 * NULL. */
static tsi_count copy_line(const gathering *g, const tsi_near_rows *out, line l, tsi_index *index,
                           char *values) {
  const size_t bytes = g->d->bytes;
  tsi_count count = 0;
  for (tsi_count e = 0; e < l.entries; e++) {
    const bool own = l.column[e] >= g->first && l.column[e] < g->end;
    tsi_index at = (tsi_index)(l.column[e] - g->first) + out->first;
    if (!own && !holds(out->number, out->a.n, l.column[e], &at)) continue;
    if (index != NULL) {
      index[count] = at;
      memcpy(values + (size_t)count * bytes, l.value + (size_t)e * bytes, bytes);
    }
    count++;
  }
  return count;
}

/* Link of row i > 0 with the row before it. */
static tsi_row_link link_of(const gathering *g, const tsi_near_rows *out, const place *places, tsi_index i) {
  const int64_t number = out->number[i];
  const line l = line_of(g, out, places, i), before = line_of(g, out, places, i - 1);
  if (out->number[i - 1] != number - 1 || g->d->start[tsi_dmatrix_owner(g->d, number)] == number)
    return TSI_ROW_APART;
  const bool alike = l.entries == before.entries &&
                     memcmp(l.column, before.column, (size_t)l.entries * sizeof *l.column) == 0;
  return alike ? TSI_ROW_ALIKE : TSI_ROW_NEXT;
}

/* Local. */
static tristar_status list_places(const gathering *g, place **out) {
  tsi_index count = 0;
  TSI_TRY(TSI_ALLOC(&g->d->ts->env, *out, g->gathered));
  for (int b = 0; b < g->batches; b++)
    for (tsi_index k = 0; k < g->batch[b].rows; k++)
      (*out)[count++] = (place){g->batch[b].number[k], (tsi_index)b, k};
  if (count > 0) qsort(*out, (size_t)count, sizeof **out, compare_places);
  return TRISTAR_OK;
}

/* Local. */
static tristar_status put_together(const gathering *g, tsi_near_rows *out) {
  tsi_env *env = &g->d->ts->env;
  tsi_factor_rows *a = &out->a;
  TSI_OWNED place *places = NULL;
  TSI_TRY(list_places(g, &places));
  out->rows = g->d->n;
  a->n = g->gathered + out->rows;
  while (out->first < g->gathered && g->number[out->first] < g->first) out->first++;
  TSI_TRY(TSI_ALLOC(env, out->number, a->n));
  TSI_TRY(TSI_ALLOC(env, out->link, a->n));
  TSI_TRY(TSI_ALLOC(env, a->ptr, (tsi_count)a->n + 1));
  for (tsi_index k = 0; k < g->gathered; k++) out->number[k < out->first ? k : k + out->rows] = g->number[k];
  for (tsi_index i = 0; i < out->rows; i++) out->number[out->first + i] = (tsi_index)g->first + i;
  for (tsi_index i = 0; i < a->n; i++)
    out->link[i] = (uint8_t)(i > 0 ? link_of(g, out, places, i) : TSI_ROW_APART);
  a->ptr[0] = 0;
  for (tsi_index i = 0; i < a->n; i++)
    a->ptr[i + 1] = a->ptr[i] + copy_line(g, out, line_of(g, out, places, i), NULL, NULL);
  TSI_TRY(TSI_ALLOC(env, a->index, a->ptr[a->n]));
  TSI_TRY(TSI_ALLOC_SIZED(env, a->values, a->ptr[a->n], g->d->bytes));
  for (tsi_index i = 0; i < a->n; i++)
    copy_line(g, out, line_of(g, out, places, i), a->index + a->ptr[i],
              (char *)a->values + (size_t)a->ptr[i] * g->d->bytes);
  return TRISTAR_OK;
}

tristar_status tsi_near_rows_gather(tristar_dmatrix_t *d, int levels, bool only_before, tsi_near_rows *out) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  const int64_t first = tsi_dmatrix_first(d);
  gathering g = {.d = d, .only_before = only_before, .first = first, .end = first + d->n};
  bool more = true;
  *out = (tsi_near_rows){.rows = 0};
  while (out->levels < levels && more) {
    TSI_TRY_OUT(take_level(&g, &more));
    out->levels += more;
  }
  TSI_TRY_OUT(tsi_transport_agree(d->transport, put_together(&g, out)));
out:
  for (int b = 0; b < g.batches; b++) release_batch(&g.batch[b]);
  TSI_FREE(env, g.batch);
  TSI_FREE(env, g.number);
  return status;
}

void tsi_near_rows_finish(tsi_near_rows *near) {
  tsi_release(tsi_take(&near->number));
  tsi_release(tsi_take(&near->link));
  tsi_release(tsi_take(&near->a.ptr));
  tsi_release(tsi_take(&near->a.index));
  tsi_release(tsi_take(&near->a.diagonal));
  tsi_release(tsi_take(&near->a.values));
}
