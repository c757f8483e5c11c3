/* The graph of A + A^T: see graph.h.
 *
 * A bucket transposition computes T = A^T. The neighbours of v are the list of v in T and the additional rows
 * of column v of A. v is entered into the lists of its neighbours, for ascending v; so lists ascend. Time is
 * O(n + nnz). */
#include "partition/order/graph.h"

#include "runtime/base/grow.h"

/* A pattern as lists: list v is index[ptr[v] .. ptr[v+1]-1]. */
typedef struct lists {
  tsi_count *ptr;
  tsi_index *index;
} lists;

/* Closes the gaps of skipped duplicates: list v now ends at end[v]. */
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
  for (tsi_index j = 0; j < n; j++)
    for (tsi_count p = ptr[j]; p < ptr[j + 1]; p++) {
      const tsi_index i = row_map ? row_map[index[p]] : index[p];
      out->ptr[i] += i != j;
    }
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
      if (i == j) continue;
      if (next[i] > out->ptr[i] && out->index[next[i] - 1] == j)
        gaps = true;
      else
        out->index[next[i]++] = j;
    }
  if (gaps) close_gaps(n, out, next);
  return TRISTAR_OK;
}

/* A and the transpose t, without loops: the input for the graph. */
typedef struct halves {
  tsi_index n;
  const tsi_count *ptr;
  const tsi_index *index, *row_map;
  const lists *t;
  tsi_index *seen;    /* For each vertex the latest vertex that was found to be its neighbour. */
  tsi_index *further; /* The neighbours of all vertices that t does not list, vertex by vertex. */
  tsi_count found, capacity;
} halves;

/* Appends the neighbours of v that t does not list. */
static tristar_status add_further(tsi_env *env, halves *h, tsi_index v) {
  const tsi_count entries = h->ptr[v + 1] - h->ptr[v];
  if (h->found + entries > h->capacity) {
    const tsi_count capacity = tsi_count_max(2 * h->capacity, h->found + entries);
    TSI_TRY(tsi_grow(env, (void **)&h->further, sizeof *h->further, h->found, capacity));
    h->capacity = capacity;
  }
  h->seen[v] = v;
  for (tsi_count p = h->t->ptr[v]; p < h->t->ptr[v + 1]; p++) h->seen[h->t->index[p]] = v;
  for (tsi_count p = h->ptr[v]; p < h->ptr[v + 1]; p++) {
    const tsi_index i = h->index[p], u = h->row_map ? h->row_map[i] : i;
    h->further[h->found] = u; /* without a branch, which processors could not predict */
    h->found += h->seen[u] != v;
    h->seen[u] = v;
  }
  return TRISTAR_OK;
}

/* Computes ptr for the lists of all neighbours, and the neighbours that t does not list. */
static tristar_status find_neighbours(tsi_env *env, halves *h, tsi_count *ptr) {
  TSI_SCRATCH(env, tsi_index, seen, h->n);
  h->seen = seen;
  h->capacity = h->n;
  TSI_TRY(TSI_ALLOC_IN(h, h->further, h->capacity));
  for (tsi_index v = 0; v < h->n; v++) seen[v] = TSI_NONE;
  ptr[0] = 0;
  for (tsi_index v = 0; v < h->n; v++) {
    TSI_TRY(add_further(env, h, v));
    ptr[v + 1] = h->t->ptr[v + 1] + h->found;
  }
  return TRISTAR_OK;
}

/* Fills ptr and adj of the graph. v is entered into the list of each neighbour for ascending v, so lists
 * ascend. */
static tristar_status unite(tsi_env *env, halves *h, lists *t, tsi_graph *graph) {
  TSI_TRY(TSI_ALLOC_IN(graph, graph->ptr, h->n + 1));
  TSI_TRY(find_neighbours(env, h, graph->ptr));
  if (h->found == 0) { /* A is symmetric */
    graph->adj = t->index;
    tsi_own(graph, t->index);
    return TRISTAR_OK;
  }
  TSI_TRY(TSI_ALLOC_IN(graph, graph->adj, graph->ptr[h->n]));
  TSI_SCRATCH(env, tsi_count, next, h->n);
  memcpy(next, graph->ptr, (size_t)h->n * sizeof *next);
  const tsi_index *further = h->further;
  for (tsi_index v = 0; v < h->n; v++) {
    for (tsi_count q = t->ptr[v]; q < t->ptr[v + 1]; q++) graph->adj[next[t->index[q]]++] = v;
    const tsi_index *end = h->further + (graph->ptr[v + 1] - t->ptr[v + 1]);
    for (; further < end; further++) graph->adj[next[*further]++] = v;
  }
  return TRISTAR_OK;
}

tristar_status tsi_graph_create(tsi_env *env, tsi_index n, const tsi_count *ptr, const tsi_index *index,
                                const tsi_index *row_map, bool triangle, tsi_graph **out) {
  *out = NULL;
  if (triangle && row_map)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "a row map needs both triangles of the matrix");
  TSI_SCRATCH_ZERO(env, tsi_graph, graph, 1);
  TSI_SCRATCH_ZERO(env, lists, t, 1);
  graph->n = n;
  TSI_TRY(transpose(env, n, ptr, index, row_map, t));
  TSI_SCRATCH_ZERO(env, halves, h, 1);
  *h = (halves){.n = n, .ptr = ptr, .index = index, .row_map = row_map, .t = t};
  TSI_TRY(unite(env, h, t, graph));
  if (env->check) TSI_TRY(tsi_graph_check(env, graph));
  *out = tsi_take(&graph);
  return TRISTAR_OK;
}

tristar_status tsi_graph_part(tsi_env *env, const tsi_graph *graph, const tsi_index *number,
                              tsi_index vertices, tsi_graph **out) {
  *out = NULL;
  TSI_SCRATCH_ZERO(env, tsi_graph, part, 1);
  part->n = vertices;
  TSI_TRY(TSI_ALLOC_IN(part, part->ptr, (tsi_count)vertices + 1));
  TSI_TRY(TSI_ALLOC_IN(part, part->adj, graph->ptr[graph->n]));
  tsi_count at = 0;
  for (tsi_index v = 0; v < graph->n; v++) {
    if (number[v] == TSI_NONE) continue;
    part->ptr[number[v]] = at;
    for (tsi_count p = graph->ptr[v]; p < graph->ptr[v + 1]; p++)
      if (number[graph->adj[p]] != TSI_NONE) part->adj[at++] = number[graph->adj[p]];
  }
  part->ptr[vertices] = at;
  *out = tsi_take(&part);
  return TRISTAR_OK;
}

/* Verifies that lists ascend, in range, without loops. */
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
  /* For ascending vertices each list must be met in its order: then each edge exists in both directions. */
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
