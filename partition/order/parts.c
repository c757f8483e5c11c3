/* See parts.h. */
#include "partition/order/parts.h"

#include "partition/order/metis_call.h"

#define VERTICES_LEAST 8 /* Minimum number of vertices of a part for METIS. */

typedef int metis_method(idx_t *, idx_t *, idx_t *, idx_t *, idx_t *, idx_t *, idx_t *, idx_t *, real_t *,
                         real_t *, idx_t *, idx_t *, idx_t *);

static tristar_status run_metis(tsi_env *env, const tsi_graph *graph, metis_method *method, tsi_index parts,
                                idx_t *xadj, idx_t *adj, idx_t *out) {
  idx_t options[METIS_NOPTIONS], n = graph->n, count = parts, constraints = 1, cut;
  tsi_metis_options(1, options);
  pthread_mutex_lock(&tsi_metis_lock);
  const int code =
      method(&n, &constraints, xadj, adj, NULL, NULL, NULL, &count, NULL, NULL, options, &cut, out);
  pthread_mutex_unlock(&tsi_metis_lock);
  return tsi_metis_status(env, code, graph->n, graph->ptr[graph->n]);
}

/* Counts the vertices of each part; returns the number of empty parts. */
static tsi_index count_vertices(tsi_index n, const idx_t *part, tsi_index parts, tsi_index *vertices) {
  tsi_index empty = 0;
  for (tsi_index p = 0; p < parts; p++) vertices[p] = 0;
  for (tsi_index v = 0; v < n; v++) vertices[part[v]]++;
  for (tsi_index p = 0; p < parts; p++) empty += vertices[p] == 0;
  return empty;
}

/* Each empty part gets the last half of the vertices of the largest part. Needs n >= parts: then the largest
 * part has two vertices or more while a part is empty. */
static void fill_empty(tsi_index n, idx_t *part, tsi_index parts, tsi_index *vertices) {
  for (tsi_index p = 0; p < parts; p++) {
    tsi_index largest = 0;
    if (vertices[p] > 0) continue;
    for (tsi_index q = 1; q < parts; q++)
      if (vertices[q] > vertices[largest]) largest = q;
    vertices[p] = vertices[largest] / 2;
    vertices[largest] -= vertices[p];
    for (tsi_index v = n, left = vertices[p]; left > 0;)
      if (part[--v] == largest) part[v] = p, left--;
  }
}

tristar_status tsi_graph_parts(tsi_env *env, const tsi_graph *graph, tsi_index parts, tsi_index *part) {
  const tsi_index n = graph->n;
  const tsi_count edges = graph->ptr[n];
  TSI_OWNED idx_t *out = NULL;
  for (tsi_index v = 0; v < n; v++) part[v] = (tsi_index)((int64_t)v * parts / n);
  if (parts < 2 || n / VERTICES_LEAST < parts || edges == 0) return TRISTAR_OK;
  TSI_TRY(tsi_metis_can_count(env, edges));
  TSI_SCRATCH(env, idx_t, xadj, (tsi_count)n + 1);
  TSI_SCRATCH(env, idx_t, adj, edges);
  TSI_TRY(TSI_ALLOC(env, out, n));
  TSI_SCRATCH(env, tsi_index, vertices, parts);
  for (tsi_index v = 0; v <= n; v++) xadj[v] = (idx_t)graph->ptr[v];
  for (tsi_count e = 0; e < edges; e++) adj[e] = graph->adj[e];
  TSI_TRY(run_metis(env, graph, METIS_PartGraphKway, parts, xadj, adj, out));
  if (count_vertices(n, out, parts, vertices) > 0) /* METIS returns success even then */
    TSI_TRY(run_metis(env, graph, METIS_PartGraphRecursive, parts, xadj, adj, out));
  if (count_vertices(n, out, parts, vertices) > 0) fill_empty(n, out, parts, vertices);
  for (tsi_index v = 0; v < n; v++) part[v] = (tsi_index)out[v];
  return TRISTAR_OK;
}
