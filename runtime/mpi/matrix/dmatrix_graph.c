/* Builds graphs: see dmatrix_graph.h. */
#include "runtime/mpi/matrix/dmatrix_graph.h"

#include "runtime/base/sort.h"
#include "runtime/mpi/comm/mailbox.h"
#include "runtime/mpi/comm/route.h"

typedef struct builder {
  const tristar_dmatrix_t *d;
  const tsi_index *row_map;
  tsi_rows_graph *graph; /* ptr[i + 1]: number of neighbours of vertex i; then position of its next one */
  tsi_route route;
  tsi_dplace *goes, *comes; /* edges: from a vertex of the receiver to its neighbour */
} builder;

/* Handles an edge of a vertex, of this or another rank. */
typedef void edge_function(builder *b, tsi_index vertex, tsi_index neighbour);

/* Local. Visits the edges of the entries of this rank's rows. */
static void each_edge(builder *b, edge_function *here, edge_function *there) {
  const tristar_dmatrix_t *d = b->d;
  const tsi_index first = (tsi_index)tsi_dmatrix_first(d);
  const bool both = b->row_map != NULL || d->stats.symmetry == TRISTAR_GENERAL;
  for (tsi_index i = 0; i < d->n; i++)
    for (tsi_count e = d->whole->ptr[i]; e < d->whole->ptr[i + 1]; e++) {
      const tsi_index u = b->row_map ? b->row_map[i] : first + i, v = d->column[e];
      if (u == v) continue;
      (tsi_dmatrix_has_row(d, u) ? here : there)(b, u, v);
      if (both) (tsi_dmatrix_has_row(d, v) ? here : there)(b, v, u);
    }
}

static void count_here(builder *b, tsi_index vertex, tsi_index neighbour) {
  (void)neighbour;
  b->graph->ptr[vertex - tsi_dmatrix_first(b->d) + 1]++;
}

static void count_there(builder *b, tsi_index vertex, tsi_index neighbour) {
  (void)neighbour;
  b->route.goes[tsi_dmatrix_owner(b->d, vertex) + 1]++;
}

static void skip(builder *b, tsi_index vertex, tsi_index neighbour) {
  (void)b, (void)vertex, (void)neighbour;
}

static void put_here(builder *b, tsi_index vertex, tsi_index neighbour) {
  b->graph->adj[b->graph->ptr[vertex - tsi_dmatrix_first(b->d)]++] = neighbour;
}

static void put_there(builder *b, tsi_index vertex, tsi_index neighbour) {
  b->goes[b->route.next[tsi_dmatrix_owner(b->d, vertex)]++] = (tsi_dplace){vertex, neighbour};
}

/* Local. */
static tristar_status count(builder *b) {
  tsi_env *env = &b->d->ts->env;
  TSI_TRY(TSI_ALLOC_ZERO(env, b->graph->ptr, (tsi_count)b->d->n + 1));
  TSI_TRY(tsi_route_begin(env, b->d->transport, &b->route));
  each_edge(b, count_here, count_there);
  return TRISTAR_OK;
}

/* Local. Lists the edges to send, and allocates those to receive. */
static tristar_status pack(builder *b) {
  tsi_env *env = &b->d->ts->env;
  TSI_TRY(TSI_ALLOC(env, b->goes, tsi_route_sent(&b->route)));
  TSI_TRY(TSI_ALLOC(env, b->comes, tsi_route_received(&b->route)));
  each_edge(b, skip, put_there);
  return TRISTAR_OK;
}

/* Local. Fills the graph when all edges have arrived. */
static tristar_status fill(builder *b) {
  tsi_rows_graph *graph = b->graph;
  const tsi_count comes = tsi_route_received(&b->route);
  tsi_count begin = 0, to = 0;
  for (tsi_count k = 0; k < comes; k++) count_here(b, b->comes[k].row, b->comes[k].col);
  for (tsi_index i = 0; i < graph->n; i++) graph->ptr[i + 1] += graph->ptr[i];
  TSI_TRY(TSI_ALLOC(&b->d->ts->env, graph->adj, graph->ptr[graph->n]));
  each_edge(b, put_here, skip);
  for (tsi_count k = 0; k < comes; k++) put_here(b, b->comes[k].row, b->comes[k].col);
  for (tsi_index i = 0; i < graph->n; i++) { /* ptr[i]: the end of vertex i */
    const tsi_count end = graph->ptr[i], each = tsi_sort_unique(graph->adj + begin, end - begin);
    memmove(graph->adj + to, graph->adj + begin, (size_t)each * sizeof *graph->adj);
    graph->ptr[i] = to;
    to += each;
    begin = end;
  }
  graph->ptr[graph->n] = to;
  return TRISTAR_OK;
}

tristar_status tsi_rows_graph_create(const tristar_dmatrix_t *d, const tsi_index *row_map,
                                     tsi_rows_graph *out) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  builder b = {.d = d, .row_map = row_map, .graph = out};
  *out = (tsi_rows_graph){.n = d->n};
  TSI_TRY_OUT(tsi_route_connect(env, d->transport, count(&b), &b.route));
  TSI_TRY_OUT(tsi_transport_agree(d->transport, pack(&b)));
  TSI_TRY_OUT(tsi_route_pass(env, &b.route, sizeof *b.goes, false, b.goes, b.comes));
  TSI_FREE(env, b.goes);
  TSI_TRY_OUT(tsi_transport_agree(d->transport, fill(&b)));
out:
  tsi_route_finish(&b.route);
  TSI_FREE(env, b.goes);
  TSI_FREE(env, b.comes);
  return status;
}

void tsi_rows_graph_finish(tsi_rows_graph *graph) {
  tsi_release(tsi_take(&graph->ptr));
  tsi_release(tsi_take(&graph->adj));
}
