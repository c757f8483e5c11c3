/* Ordering of a distributed matrix by all ranks: see dmatrix_factor.h.
 *
 * The few very dense vertices are ordered last, and the graph for PT-Scotch has neither them nor their edges,
 * as for METIS (partition/order/ordering.c). Each rank receives the positions of its vertices, and sends them
 * to rank 0. */
#include "partition/order/ordering.h"
#include "runtime/mpi/comm/bytes.h"
#include "runtime/mpi/factor/dmatrix_factor.h"
#include "runtime/mpi/comm/mailbox.h"
#include "runtime/mpi/matrix/ptscotch.h"

typedef struct ordered {
  const tristar_dmatrix_t *d;
  tsi_index *row_map; /* of this rank's rows; NULL: the same numbers */
  tsi_rows_graph graph;
  int dense_count;
  tsi_dense_vertex *dense; /* of all ranks */
  tsi_index *position;     /* of this rank's vertices */
  tsi_index *all_position; /* rank 0: of all vertices */
} ordered;

/* Local. */
static tristar_status allocate(ordered *o, bool mapped) {
  const tristar_dmatrix_t *d = o->d;
  tsi_env *env = &d->ts->env;
  TSI_TRY(tsi_ptscotch_need(env));
  if (mapped) TSI_TRY(TSI_ALLOC(env, o->row_map, d->n));
  return TSI_ALLOC(env, o->position, d->n);
}

/* Collective. Sends each rank the items of its rows from rank 0, or, `back`, gathers them on rank 0. */
static tristar_status move_rows(const tristar_dmatrix_t *d, tsi_index *all, tsi_index *own, bool back) {
  return tsi_move_blocks(&d->ts->env, tsi_transport_comm(d->transport), d->start, sizeof *own, back, all,
                         d->n, own);
}

/* ---- Dense vertices ------------------------------------------------------------------------------------ */

/* Whether a vertex is dense. Dense vertices ascend. */
static bool is_dense(const ordered *o, tsi_index vertex) {
  int low = 0, high = o->dense_count;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (o->dense[middle].vertex < vertex)
      low = middle + 1;
    else
      high = middle;
  }
  return low < o->dense_count && o->dense[low].vertex == vertex;
}

/* Local. Removes the edges of dense vertices. */
static void drop_dense(ordered *o) {
  tsi_rows_graph *graph = &o->graph;
  const tsi_index first = (tsi_index)tsi_dmatrix_first(o->d);
  tsi_count to = 0, begin = 0;
  for (tsi_index i = 0; i < graph->n; i++) {
    const bool dense = is_dense(o, first + i);
    const tsi_count end = graph->ptr[i + 1];
    for (tsi_count e = begin; e < end && !dense; e++)
      if (!is_dense(o, graph->adj[e])) graph->adj[to++] = graph->adj[e];
    begin = end;
    graph->ptr[i + 1] = to;
  }
}

/* Local. Counts this rank's dense vertices, and lists them unless list is NULL. */
static int list_dense(const ordered *o, tsi_dense_vertex *list) {
  const tsi_count *ptr = o->graph.ptr;
  const double limit = tsi_dense_limit((tsi_index)o->d->stats.n);
  int count = 0;
  for (tsi_index i = 0; i < o->d->n; i++) {
    if ((double)(ptr[i + 1] - ptr[i]) <= limit) continue;
    if (list) list[count] = (tsi_dense_vertex){ptr[i + 1] - ptr[i], (tsi_index)tsi_dmatrix_first(o->d) + i};
    count++;
  }
  return count;
}

/* Collective. Gathers the dense vertices of all ranks on all ranks. own: number of this rank's dense
 * vertices; count, first: by rank. */
static tristar_status gather_dense(ordered *o, int own, int *count, int *first) {
  tristar_status status = TRISTAR_OK;
  const tristar_dmatrix_t *d = o->d;
  tsi_env *env = &d->ts->env;
  MPI_Comm comm = tsi_transport_comm(d->transport);
  const int ranks = tsi_transport_size(d->transport), bytes = (int)sizeof *o->dense;
  tsi_dense_vertex *here = NULL;
  TSI_TRY_OUT(TSI_MPI(env, "MPI_Allgather", MPI_Allgather(&own, 1, MPI_INT, count, 1, MPI_INT, comm)));
  tsi_count all = 0;
  for (int r = 0; r < ranks; r++) all += count[r];
  /* if there are many, the graph is dense rather than arrow-like */
  if (all == 0 || (double)all > tsi_dense_limit((tsi_index)d->stats.n)) goto out;
  o->dense_count = (int)all;
  for (int r = 0; r < ranks; r++) count[r] *= bytes;
  for (int r = 0; r < ranks; r++) first[r] = r > 0 ? first[r - 1] + count[r - 1] : 0;
  status = TSI_ALLOC(env, o->dense, all);
  if (status == TRISTAR_OK) status = TSI_ALLOC_ZERO(env, here, own);
  TSI_TRY_OUT(tsi_transport_agree(d->transport, status));
  list_dense(o, here);
  TSI_TRY_OUT(TSI_MPI(env, "MPI_Allgatherv",
                      MPI_Allgatherv(here, own * bytes, MPI_BYTE, o->dense, count, first, MPI_BYTE, comm)));
out:
  TSI_FREE(env, here);
  return status;
}

/* Collective. */
static tristar_status take_dense(ordered *o) {
  tsi_env *env = &o->d->ts->env;
  const int ranks = tsi_transport_size(o->d->transport);
  TSI_OWNED int *first = NULL, *count = NULL;
  tristar_status status = TSI_ALLOC(env, count, ranks);
  if (status == TRISTAR_OK) status = TSI_ALLOC(env, first, ranks);
  TSI_TRY(tsi_transport_agree(o->d->transport, status));
  TSI_TRY(gather_dense(o, list_dense(o, NULL), count, first));
  drop_dense(o);
  return TRISTAR_OK;
}

/* ---- The order ----------------------------------------------------------------------------------------- */

/* Rank 0. Allocates the positions and the order. */
static tristar_status make_space(ordered *o, tsi_index **order) {
  tsi_env *env = &o->d->ts->env;
  TSI_TRY(TSI_ALLOC(env, o->all_position, o->d->stats.n));
  return TSI_ALLOC(env, *order, o->d->stats.n);
}

/* Rank 0. Inverts the positions; dense vertices come last. */
static tristar_status put_in_order(const ordered *o, tsi_index *order) {
  const tsi_index n = (tsi_index)o->d->stats.n;
  tsi_index at = 0;
  TSI_TRY(tsi_invert_permutation(&o->d->ts->env, n, o->all_position, order));
  for (tsi_index k = 0; k < n && o->dense_count > 0; k++)
    if (!is_dense(o, order[k])) order[at++] = order[k];
  tsi_sort_dense(o->dense_count, o->dense);
  for (int k = 0; k < o->dense_count; k++) order[at + k] = o->dense[k].vertex;
  return TRISTAR_OK;
}

/* Collective. Creates the graph and orders it; position: of this rank's vertices. */
static tristar_status find_positions(ordered *o, int seed) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &o->d->ts->env;
  TSI_TRY_OUT(tsi_rows_graph_create(o->d, o->row_map, &o->graph));
  TSI_TRY_OUT(take_dense(o));
  TSI_TRY_OUT(tsi_ptscotch_order(env, o->d->transport, &o->graph, seed, o->position));
out:
  tsi_rows_graph_finish(&o->graph);
  return status;
}

tristar_status tsi_rows_order(const tristar_dmatrix_t *d, int seed, bool mapped, const tsi_index *row_map,
                              tsi_index **order) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  const bool root = tsi_transport_rank(d->transport) == 0;
  ordered o = {.d = d};
  *order = NULL;
  TSI_TRY_OUT(tsi_transport_agree(d->transport, allocate(&o, mapped)));
  if (mapped) TSI_TRY_OUT(move_rows(d, (tsi_index *)(uintptr_t)row_map, o.row_map, false));
  TSI_TRY_OUT(find_positions(&o, seed));
  TSI_TRY_OUT(tsi_transport_agree(d->transport, root ? make_space(&o, order) : TRISTAR_OK));
  TSI_TRY_OUT(move_rows(d, o.all_position, o.position, true));
  TSI_TRY_OUT(tsi_transport_agree(d->transport, root ? put_in_order(&o, *order) : TRISTAR_OK));
out:
  TSI_FREE(env, o.row_map);
  TSI_FREE(env, o.position);
  TSI_FREE(env, o.all_position);
  TSI_FREE(env, o.dense);
  if (status != TRISTAR_OK) TSI_FREE(env, *order);
  return status;
}
