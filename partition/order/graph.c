/* The graph of A + A^T: see graph.h.
 *
 * Two bucket transpositions sort the columns of A in O(n + nnz): T = A^T has ascending lists because it is
 * filled column by column, and so has B = T^T = A. The neighbours of v are the merged lists T_v and B_v. */
#include "partition/order/graph.h"

/* A pattern as lists: list v is index[ptr[v] .. ptr[v+1]-1]. */
typedef struct lists {
  tsi_count *ptr;
  tsi_index *index;
} lists;

/* Closes the gaps that skipped duplicates left: list v now ends at end[v]. */
static void close_gaps(tsi_index n, lists *l, const tsi_count *end) {
  tsi_count to = 0;
  for (tsi_index v = 0; v < n; v++) {
    tsi_count from = l->ptr[v];
    l->ptr[v] = to;
    while (from < end[v]) l->index[to++] = l->index[from++];
  }
  l->ptr[n] = to;
}

/* The transpose without loops and duplicates; its lists are ascending. */
static tristar_status transpose(tsi_env *env, tsi_index n, const tsi_count *ptr, const tsi_index *index,
                                const tsi_index *row_map, lists *out) {
  TSI_TRY(TSI_ALLOC_ZERO_IN(out, out->ptr, n + 1));
  TSI_SCRATCH(env, tsi_count, next, n);
  for (tsi_count p = 0; p < ptr[n]; p++) out->ptr[row_map ? row_map[index[p]] : index[p]]++;
  tsi_count total = 0;
  for (tsi_index v = 0; v < n; v++) {
    next[v] = total;
    total += out->ptr[v];
    out->ptr[v] = next[v];
  }
  out->ptr[n] = total;
  TSI_TRY(TSI_ALLOC_IN(out, out->index, total));
  bool gaps = false;
  for (tsi_index j = 0; j < n; j++)
    for (tsi_count p = ptr[j]; p < ptr[j + 1]; p++) {
      tsi_index i = row_map ? row_map[index[p]] : index[p];
      if (i == j || (next[i] > out->ptr[i] && out->index[next[i] - 1] == j))
        gaps = true;
      else
        out->index[next[i]++] = j;
    }
  if (gaps) close_gaps(n, out, next);
  return TRISTAR_OK;
}

/* Merges two ascending lists without repetition; returns the length. out may be NULL: the length only. */
static tsi_count merge(const tsi_index *a, tsi_count na, const tsi_index *b, tsi_count nb, tsi_index *out) {
  tsi_count i = 0, j = 0, k = 0;
  while (i < na || j < nb) {
    tsi_index x = i < na ? a[i] : INT32_MAX;
    tsi_index y = j < nb ? b[j] : INT32_MAX;
    if (out) out[k] = tsi_index_min(x, y);
    k++;
    i += x <= y;
    j += y <= x;
  }
  return k;
}

static tsi_count merge_lists(const lists *a, const lists *b, tsi_index v, tsi_index *out) {
  return merge(a->index + a->ptr[v], a->ptr[v + 1] - a->ptr[v], b->index + b->ptr[v],
               b->ptr[v + 1] - b->ptr[v], out);
}

/* Fills ptr and adj of the graph from the lists of A and A^T. */
static tristar_status unite(const lists *a, const lists *t, tsi_graph *graph) {
  tsi_index n = graph->n;
  size_t rows = (size_t)n + 1;
  if (memcmp(a->ptr, t->ptr, rows * sizeof *a->ptr) == 0 &&
      memcmp(a->index, t->index, (size_t)a->ptr[n] * sizeof *a->index) == 0) { /* A is symmetric */
    graph->ptr = t->ptr;
    graph->adj = t->index;
    tsi_own(graph, t->ptr);
    tsi_own(graph, t->index);
    return TRISTAR_OK;
  }
  TSI_TRY(TSI_ALLOC_IN(graph, graph->ptr, n + 1));
  graph->ptr[0] = 0;
  for (tsi_index v = 0; v < n; v++) graph->ptr[v + 1] = graph->ptr[v] + merge_lists(a, t, v, NULL);
  TSI_TRY(TSI_ALLOC_IN(graph, graph->adj, graph->ptr[n]));
  for (tsi_index v = 0; v < n; v++) merge_lists(a, t, v, graph->adj + graph->ptr[v]);
  return TRISTAR_OK;
}

tristar_status tsi_graph_create(tsi_env *env, tsi_index n, const tsi_count *ptr, const tsi_index *index,
                                const tsi_index *row_map, bool triangle, tsi_graph **out) {
  *out = NULL;
  if (triangle && row_map)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "a row map needs both triangles of the matrix");
  TSI_SCRATCH_ZERO(env, tsi_graph, graph, 1);
  TSI_SCRATCH_ZERO(env, lists, t, 1);
  TSI_SCRATCH_ZERO(env, lists, a, 1);
  graph->n = n;
  TSI_TRY(transpose(env, n, ptr, index, row_map, t));
  TSI_TRY(transpose(env, n, t->ptr, t->index, NULL, a));
  TSI_TRY(unite(a, t, graph));
  if (env->check) TSI_TRY(tsi_graph_check(env, graph));
  *out = tsi_take(&graph);
  return TRISTAR_OK;
}

/* Lists ascending, in range, without loops. */
static tristar_status check_lists(tsi_env *env, const tsi_graph *graph) {
  if (graph->n < 0 || graph->ptr[0] != 0)
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "graph: n = %d, ptr[0] = %lld", graph->n, (long long)graph->ptr[0]);
  for (tsi_index v = 0; v < graph->n; v++)
    if (graph->ptr[v + 1] < graph->ptr[v])
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "graph: ptr of vertex %d descends from %lld to %lld", v,
               (long long)graph->ptr[v], (long long)graph->ptr[v + 1]);
  for (tsi_index v = 0; v < graph->n; v++)
    for (tsi_count p = graph->ptr[v]; p < graph->ptr[v + 1]; p++) {
      tsi_index u = graph->adj[p];
      if (u < 0 || u >= graph->n)
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "graph: neighbour %d of vertex %d is no vertex", u, v);
      if (u == v) TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "graph: vertex %d has a loop", v);
      if (p > graph->ptr[v] && graph->adj[p - 1] >= u)
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "graph: neighbours %d, %d of vertex %d do not ascend",
                 graph->adj[p - 1], u, v);
    }
  return TRISTAR_OK;
}

tristar_status tsi_graph_check(tsi_env *env, const tsi_graph *graph) {
  TSI_TRY(check_lists(env, graph));
  /* Vertices that ascend must meet each list in its order: then each edge is there in both directions. */
  TSI_SCRATCH(env, tsi_count, next, graph->n);
  for (tsi_index v = 0; v < graph->n; v++) next[v] = graph->ptr[v];
  for (tsi_index v = 0; v < graph->n; v++)
    for (tsi_count p = graph->ptr[v]; p < graph->ptr[v + 1]; p++) {
      tsi_index u = graph->adj[p];
      if (next[u] == graph->ptr[u + 1] || graph->adj[next[u]] != v)
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL,
                 "graph: %d is a neighbour of %d, but the reverse edges of %d differ", u, v, u);
      next[u]++;
    }
  return TRISTAR_OK;
}
