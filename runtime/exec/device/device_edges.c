/* See device_edges.h. */
#include "runtime/exec/device/device_edges.h"

/* Edges as they are found; list NULL: they are counted only. */
typedef struct finder {
  const tsi_device_tables *t;
  const tsi_sweep *sweep;
  const tsi_index *writer; /* rows of the workspace that are gathered: the node that writes them */
  tsi_index *mark;         /* nodes: the last one that has an edge from it */
  tsi_index *list;
  tsi_count count;
} finder;

static void put_edge(finder *f, tsi_index v, tsi_index before) {
  if (f->mark[before] == v) return;
  f->mark[before] = v;
  if (f->list) f->list[f->count] = before;
  f->count++;
}

/* From all nodes of a chunk that solve its columns. */
static void put_chunk(finder *f, tsi_index v, tsi_index chunk) {
  const tsi_device_node *node = &f->t->node[chunk];
  if (node->pieces == 0) put_edge(f, v, chunk);
  for (tsi_index k = node->piece; k < node->piece + node->pieces; k++) put_edge(f, v, k);
}

/* From those that write what lists first .. first+count-1 gather. */
static void put_lists(finder *f, tsi_index v, tsi_index first, tsi_index count) {
  for (tsi_index e = f->t->gather_ptr[first]; e < f->t->gather_ptr[first + count]; e++)
    put_edge(f, v, f->writer[f->t->gather[e]]);
}

/* chunk: of the node. */
static void find_forward(finder *f, tsi_index v, tsi_index chunk) {
  const tsi_device_node *node = &f->t->node[v];
  if (node->kind == TSI_DEVICE_SLICED) return;
  if (chunk != v) put_edge(f, v, chunk);
  if (node->kind == TSI_DEVICE_SLICE && f->t->inverse != TSI_INVERSE_PARTITIONED)
    put_chunk(f, v, chunk);
  else
    put_lists(f, v, node->column, node->columns);
  if (node->kind != TSI_DEVICE_TRIANGLE) put_lists(f, v, f->t->n + node->off + node->first, node->count);
}

static void find_backward(finder *f, tsi_index v, tsi_index chunk) {
  const tsi_device_node *node = &f->t->node[v];
  if (node->kind == TSI_DEVICE_SLICED) return;
  const tsi_index slice = f->t->node[chunk].slice,
                  next = node->kind == TSI_DEVICE_SLICE ? v + TSI_SUM_SLICES : slice;
  for (tsi_index k = next; k < next + node->adds; k++) put_edge(f, v, k);
  if (node->kind == TSI_DEVICE_TRIANGLE) {
    put_edge(f, v, chunk);
    return;
  }
  for (tsi_count e = f->sweep->next_ptr[v]; e < f->sweep->next_ptr[v + 1]; e++)
    put_chunk(f, v, f->sweep->next[e]);
}

/* The nodes of a chunk, in an order that the edges allow: slices follow the triangle, or backward precede it.
 */
static void list_chunk(const tsi_device_tables *t, tsi_index chunk, bool backward, tsi_index *order) {
  const tsi_device_node *node = &t->node[chunk];
  *order++ = chunk;
  for (tsi_index k = 0; k < node->pieces + node->slices; k++)
    if (backward)
      *order++ = k < node->slices ? node->slice + node->slices - 1 - k : node->piece + k - node->slices;
    else
      *order++ = k < node->pieces ? node->piece + k : node->slice + k - node->pieces;
}

/* chunk_of: nodes. */
static void list_nodes(const tsi_device_tables *t, bool backward, tsi_index *order, tsi_index *chunk_of) {
  tsi_index at = 0;
  for (tsi_index q = 0; q < t->chunks; q++) {
    const tsi_index chunk = backward ? t->chunks - 1 - q : q, begin = at;
    list_chunk(t, chunk, backward, order + at);
    at += 1 + t->node[chunk].pieces + t->node[chunk].slices;
    for (tsi_index k = begin; k < at; k++) chunk_of[order[k]] = chunk;
  }
}

static void list_writers(const tsi_device_tables *t, tsi_index *writer) {
  for (tsi_index v = 0; v < t->nodes; v++) {
    const tsi_device_node *node = &t->node[v];
    if (node->kind == TSI_DEVICE_TRIANGLE || node->kind == TSI_DEVICE_SLICED) continue;
    for (tsi_index i = node->first; i < node->first + node->count; i++) writer[node->update + i] = v;
  }
}

static void find_all(finder *f, bool backward, const tsi_index *chunk_of, tsi_count *ptr) {
  f->count = 0;
  for (tsi_index v = 0; v < f->t->nodes; v++) f->mark[v] = TSI_NONE;
  for (tsi_index v = 0; v < f->t->nodes; v++) {
    ptr[v] = f->count;
    (backward ? find_backward : find_forward)(f, v, chunk_of[v]);
  }
  ptr[f->t->nodes] = f->count;
}

tristar_status tsi_device_edges_create(tsi_env *env, const tsi_device_tables *tables, const tsi_sweep *sweep,
                                       bool backward, tsi_device_edges *edges) {
  tristar_status status = TRISTAR_OK;
  tsi_index *writer = NULL, *chunk_of = NULL;
  finder f = {.t = tables, .sweep = sweep};
  *edges = (tsi_device_edges){0};
  TSI_TRY_OUT(TSI_ALLOC(env, writer, tables->workspace_rows));
  TSI_TRY_OUT(TSI_ALLOC(env, chunk_of, tables->nodes));
  TSI_TRY_OUT(TSI_ALLOC(env, f.mark, tables->nodes));
  TSI_TRY_OUT(TSI_ALLOC(env, edges->order, tables->nodes));
  TSI_TRY_OUT(TSI_ALLOC(env, edges->ptr, (tsi_count)tables->nodes + 1));
  list_nodes(tables, backward, edges->order, chunk_of);
  list_writers(tables, writer);
  f.writer = writer;
  find_all(&f, backward, chunk_of, edges->ptr);
  TSI_TRY_OUT(TSI_ALLOC(env, edges->list, f.count));
  f.list = edges->list;
  find_all(&f, backward, chunk_of, edges->ptr);
out:
  TSI_FREE(env, writer);
  TSI_FREE(env, chunk_of);
  TSI_FREE(env, f.mark);
  if (status != TRISTAR_OK) tsi_device_edges_destroy(env, edges);
  return status;
}

void tsi_device_edges_destroy(tsi_env *env, tsi_device_edges *edges) {
  TSI_FREE(env, edges->order);
  TSI_FREE(env, edges->ptr);
  TSI_FREE(env, edges->list);
  *edges = (tsi_device_edges){0};
}
