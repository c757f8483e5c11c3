/* See core_graph.h. */
#include "partition/order/core_graph.h"

#include <stdlib.h>

#include "partition/order/metis_call.h"
#include "partition/order/ordering.h"

static tsi_count degree(const tsi_graph *graph, tsi_index v) {
  return graph->ptr[v + 1] - graph->ptr[v];
}

/* Marks the dense vertices. If there are many, the graph is dense rather than arrow-like, and none is
 * marked. */
static void mark_dense(const tsi_graph *graph, tsi_index *core_of) {
  const double limit = tsi_dense_limit(graph->n);
  tsi_index dense = 0;
  for (tsi_index v = 0; v < graph->n; v++) {
    core_of[v] = (double)degree(graph, v) > limit ? TSI_DENSE : TSI_ISOLATED;
    dense += core_of[v] == TSI_DENSE;
  }
  if ((double)dense <= limit) return;
  for (tsi_index v = 0; v < graph->n; v++) core_of[v] = TSI_ISOLATED;
}

/* Appends the vertices that can be reached from v without dense ones to the queue, and gives them the number
 * of their component. */
static void reach(const tsi_graph *graph, tsi_index v, tsi_index component, tsi_core_graph *core) {
  tsi_index *queue = core->vertex, head = core->n;
  queue[core->n++] = v;
  core->core_of[v] = component;
  for (; head < core->n; head++)
    for (tsi_count p = graph->ptr[queue[head]]; p < graph->ptr[queue[head] + 1]; p++) {
      const tsi_index u = graph->adj[p];
      if (core->core_of[u] != TSI_ISOLATED) continue;
      core->core_of[u] = component;
      queue[core->n++] = u;
    }
}

static bool has_neighbour(const tsi_graph *graph, const tsi_index *core_of, tsi_index v) {
  for (tsi_count p = graph->ptr[v]; p < graph->ptr[v + 1]; p++)
    if (core_of[graph->adj[p]] != TSI_DENSE) return true;
  return false;
}

/* Numbers the vertices that have a neighbour which is not dense. together: as one component. */
static void number_core(const tsi_graph *graph, bool together, tsi_core_graph *core) {
  tsi_index *first = core->first;
  for (tsi_index v = 0; v < graph->n; v++) {
    if (core->core_of[v] != TSI_ISOLATED || !has_neighbour(graph, core->core_of, v)) continue;
    if (core->components == 0 || !together) first[core->components++] = core->n;
    reach(graph, v, core->components - 1, core);
  }
  for (tsi_index v = 0; v < graph->n; v++) {
    if (core->core_of[v] < 0) continue;
    const tsi_index number = first[core->core_of[v]]++;
    core->vertex[number] = v;
    core->core_of[v] = number;
  }
  for (tsi_index c = core->components; c > 0; c--) first[c] = first[c - 1];
  first[0] = 0;
}

/* Fills xadj and adj. */
static void list_neighbours(const tsi_graph *graph, tsi_core_graph *core) {
  idx_t *xadj = core->xadj, *adj = core->adj;
  for (tsi_index c = 0; c < core->components; c++) {
    idx_t at = 0;
    for (tsi_index k = core->first[c]; k < core->first[c + 1]; k++) {
      const tsi_index v = core->vertex[k];
      *xadj++ = at;
      for (tsi_count p = graph->ptr[v]; p < graph->ptr[v + 1]; p++) {
        const tsi_index other = core->core_of[graph->adj[p]];
        if (other != TSI_DENSE) adj[at++] = other - core->first[c];
      }
    }
    *xadj++ = at;
    adj += at;
  }
}

tristar_status tsi_core_create(tsi_env *env, const tsi_graph *graph, bool together, tsi_core_graph **out) {
  *out = NULL;
  TSI_SCRATCH_ZERO(env, tsi_core_graph, core, 1);
  TSI_TRY(TSI_ALLOC_IN(core, core->core_of, graph->n));
  TSI_TRY(TSI_ALLOC_IN(core, core->vertex, graph->n));
  TSI_TRY(TSI_ALLOC_IN(core, core->first, graph->n / 2 + 1)); /* a component has at least two vertices */
  mark_dense(graph, core->core_of);
  number_core(graph, together, core);
  tsi_count edges = 0;
  for (tsi_index c = 0; c < core->n; c++) edges += degree(graph, core->vertex[c]);
  TSI_TRY(tsi_metis_can_count(env, edges));
  TSI_TRY(TSI_ALLOC_IN(core, core->xadj, (tsi_count)core->n + core->components));
  TSI_TRY(TSI_ALLOC_IN(core, core->adj, edges));
  TSI_TRY(TSI_ALLOC_IN(core, core->perm, core->n));
  list_neighbours(graph, core);
  *out = core;
  core = NULL;
  return TRISTAR_OK;
}

bool tsi_core_next(const tsi_core_graph *core, tsi_index *c, tsi_component *at) {
  if (*c == core->components) return false;
  const tsi_index first = core->first[*c];
  *at = (tsi_component){.n = core->first[*c + 1] - first,
                        .xadj = core->xadj + first + *c,
                        .adj = *c == 0 ? core->adj : at->adj + at->xadj[at->n],
                        .perm = core->perm + first};
  ++*c;
  return true;
}

static int compare_dense(const void *pa, const void *pb) {
  const tsi_dense_vertex *a = pa, *b = pb;
  if (a->degree != b->degree) return a->degree < b->degree ? -1 : 1;
  return a->vertex < b->vertex ? -1 : 1;
}

void tsi_sort_dense(tsi_index count, tsi_dense_vertex *dense) {
  if (count > 0) qsort(dense, (size_t)count, sizeof *dense, compare_dense);
}

tristar_status tsi_core_place_dense(tsi_env *env, const tsi_graph *graph, const tsi_core_graph *core,
                                    tsi_index at, tsi_index *perm) {
  tsi_index count = 0;
  TSI_SCRATCH(env, tsi_dense_vertex, dense, graph->n - at);
  for (tsi_index v = 0; v < graph->n; v++)
    if (core->core_of[v] == TSI_DENSE) dense[count++] = (tsi_dense_vertex){degree(graph, v), v};
  tsi_sort_dense(count, dense);
  for (tsi_index i = 0; i < count; i++) perm[at + i] = dense[i].vertex;
  return TRISTAR_OK;
}
