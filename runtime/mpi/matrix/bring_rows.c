/* Sends the rows of the matrix of a factor from the ranks that have them to their homes: see refine_rows.h.
 *
 * First the numbers and lengths of rows are sent; then their columns and values, row after row. Rows that are
 * at home on the rank that has them use the same route. */
#include "runtime/mpi/matrix/refine_rows.h"

/* Header of a row in a message: its number in the final order, and its number of entries. */
typedef struct head {
  tsi_index row, length;
} head;

/* Position of a flow in the rows of one rank. */
typedef struct cursor {
  tsi_count row;  /* index among the rows sent to, or received from, all ranks */
  tsi_index item; /* entry of this row */
} cursor;

/* Rows, sorted by the rank that receives them; their entries have their own route. */
typedef struct convoy {
  tsi_env *env;
  const tsi_rows_source *source;
  tsi_rows_matrix *m;
  size_t bytes; /* of a value */
  tsi_route heads, entries;
  tsi_index *leaving; /* rows of this rank, by receiving rank */
  head *taken;
  tsi_index *place; /* final rows: position in the matrix if the row is at home here */
  bool values;      /* items are values; false: columns of the final order */
  char *to;         /* array of the matrix that receives the items */
  cursor gives, takes;
} convoy;

/* ---- Receivers of rows --------------------------------------------------------------------------------- */

static tsi_index row_of(const convoy *v, tsi_index i) {
  return v->source->row ? v->source->row[i] : i;
}

static tsi_index seek(const convoy *v, tsi_index i) {
  return v->source->seek(v->source->context, i);
}

/* Local. */
static tristar_status count_rows(convoy *v, const tsi_process *p, const tsi_transport *transport,
                                 int **home) {
  const int rank = tsi_transport_rank(transport);
  TSI_TRY(tsi_route_begin(v->env, transport, &v->heads));
  TSI_TRY(tsi_route_begin(v->env, transport, &v->entries));
  TSI_TRY(TSI_ALLOC(v->env, *home, v->source->n));
  TSI_TRY(TSI_ALLOC(v->env, v->place, p->kind.n));
  for (int64_t k = 0; k < p->kind.n; k++) v->place[k] = TSI_NONE;
  for (tsi_index k = 0; k < v->m->n; k++) v->place[v->m->column[k]] = k;
  for (tsi_index i = 0; i < v->source->n; i++) {
    const int to = v->place[row_of(v, i)] != TSI_NONE ? rank : tsi_home_of(p->layout, row_of(v, i));
    (*home)[i] = to;
    v->heads.goes[to + 1]++;
    v->entries.goes[to + 1] += seek(v, i);
  }
  return TRISTAR_OK;
}

/* Local. */
static tristar_status list_rows(convoy *v, const int *home) {
  TSI_TRY(TSI_ALLOC(v->env, v->leaving, v->source->n));
  TSI_TRY(TSI_ALLOC(v->env, v->taken, tsi_route_received(&v->heads)));
  for (tsi_index i = 0; i < v->source->n; i++) v->leaving[v->heads.next[home[i]]++] = i;
  return TRISTAR_OK;
}

static void give_heads(void *context, int rank, tsi_count first, tsi_count count, void *items) {
  const convoy *v = context;
  const tsi_index *leaving = v->leaving + v->heads.goes[rank] + first;
  for (tsi_count k = 0; k < count; k++)
    ((head *)items)[k] = (head){row_of(v, leaving[k]), seek(v, leaving[k])};
}

static void take_heads(void *context, int rank, tsi_count first, tsi_count count, const void *items) {
  const convoy *v = context;
  memcpy(v->taken + v->heads.comes[rank] + first, items, (size_t)count * sizeof *v->taken);
}

/* Local. Allocates the entries of the rows that are at home here. fresh: there is no pattern yet. */
static tristar_status place_rows(convoy *v, bool fresh) {
  tsi_rows_matrix *m = v->m;
  if (fresh) TSI_TRY(TSI_ALLOC_ZERO_IN(m, m->ptr, (size_t)m->n + 1));
  for (tsi_count k = 0; k < tsi_route_received(&v->heads); k++) {
    const tsi_index row = v->place[v->taken[k].row], length = v->taken[k].length;
    v->taken[k].row = row;
    if (fresh) m->ptr[row + 1] = length;
    if (!fresh && m->ptr[row + 1] - m->ptr[row] != length)
      TSI_FAIL(v->env, TRISTAR_ERR_FORMAT,
               "row %d of the final order has %d entries; in the file that the factor was loaded from, %lld",
               m->column[row], length, (long long)(m->ptr[row + 1] - m->ptr[row]));
  }
  TSI_FREE(v->env, v->place);
  for (tsi_index k = 0; fresh && k < m->n; k++) m->ptr[k + 1] += m->ptr[k];
  if (fresh) TSI_TRY(TSI_ALLOC_IN(m, m->index, m->ptr[m->n]));
  if (m->values == NULL) TSI_TRY(TSI_ALLOC_SIZED_IN(m, m->values, m->ptr[m->n], v->bytes));
  return TRISTAR_OK;
}

/* ---- Entries of rows ----------------------------------------------------------------------------------- */

static size_t item_bytes(const convoy *v) {
  return v->values ? v->bytes : sizeof(tsi_index);
}

/* Writes items of the selected row, beginning with item `from`. */
static void write_items(const convoy *v, tsi_index from, tsi_index count, char *to) {
  const tsi_rows_source *source = v->source;
  if (v->values)
    source->values(source->context, from, count, to);
  else
    source->columns(source->context, from, count, (tsi_index *)(void *)to);
}

/* Advances the cursor within its row of `length` items, by at most `left` items. Returns their number. */
static tsi_index advance(cursor *at, tsi_index length, tsi_count left) {
  const tsi_index count = (tsi_index)tsi_count_min(length - at->item, left);
  at->item += count;
  if (at->item == length) *at = (cursor){at->row + 1, 0};
  return count;
}

static void give_items(void *context, int rank, tsi_count first, tsi_count count, void *items) {
  convoy *v = context;
  char *to = items;
  if (first == 0) v->gives = (cursor){v->heads.goes[rank], 0};
  while (count > 0) {
    const tsi_index row = v->leaving[v->gives.row], from = v->gives.item;
    const tsi_index some = advance(&v->gives, seek(v, row), count);
    write_items(v, from, some, to);
    to += (size_t)some * item_bytes(v);
    count -= some;
  }
}

static void take_items(void *context, int rank, tsi_count first, tsi_count count, const void *items) {
  convoy *v = context;
  const char *from = items;
  const size_t bytes = item_bytes(v);
  if (first == 0) v->takes = (cursor){v->heads.comes[rank], 0};
  while (count > 0) {
    const head *row = &v->taken[v->takes.row];
    const tsi_count at = v->m->ptr[row->row] + v->takes.item;
    const tsi_index some = advance(&v->takes, row->length, count);
    if (some > 0) memcpy(v->to + (size_t)at * bytes, from, (size_t)some * bytes);
    from += (size_t)some * bytes;
    count -= some;
  }
}

/* Collective. Sends one array of the entries to its final position. */
static tristar_status bring_items(convoy *v, tsi_transport *transport, bool values, void *to) {
  v->values = values;
  v->to = to;
  return tsi_route_flow(v->env, transport, TRISTAR_OK, &v->entries, item_bytes(v),
                        &(tsi_flow){give_items, take_items, v});
}

tristar_status tsi_rows_bring(tsi_env *env, tsi_transport *transport, const tsi_process *p,
                              tristar_status mine, const tsi_rows_source *source, tsi_rows_matrix *m) {
  tristar_status status = mine;
  int *home = NULL;
  const bool fresh = m->ptr == NULL;
  convoy v = {.env = env, .source = source, .m = m, .bytes = p->user_bytes};
  if (status == TRISTAR_OK) status = count_rows(&v, p, transport, &home);
  TSI_TRY_OUT(tsi_route_connect(env, transport, status, &v.heads));
  TSI_TRY_OUT(tsi_route_connect(env, transport, TRISTAR_OK, &v.entries));
  status = list_rows(&v, home);
  TSI_FREE(env, home);
  TSI_TRY_OUT(tsi_route_flow(env, transport, status, &v.heads, sizeof(head),
                             &(tsi_flow){give_heads, take_heads, &v}));
  TSI_TRY_OUT(tsi_transport_agree(transport, place_rows(&v, fresh)));
  if (fresh) TSI_TRY_OUT(bring_items(&v, transport, false, m->index));
  TSI_TRY_OUT(bring_items(&v, transport, true, m->values));
out:
  tsi_route_finish(&v.heads);
  tsi_route_finish(&v.entries);
  TSI_FREE(env, home);
  TSI_FREE(env, v.leaving);
  TSI_FREE(env, v.taken);
  TSI_FREE(env, v.place);
  return status;
}
