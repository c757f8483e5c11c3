/* Lists edges by item, by a counting sort: see adjacency.h. */
#include "dag/adjacency.h"

/* The item whose list contains the edge, and the entry of the list. */
static tsi_index owner(const tsi_edge *edge, tsi_adjacency_side side) {
  return side == TSI_BEFORE ? edge->item : edge->before;
}
static tsi_index other(const tsi_edge *edge, tsi_adjacency_side side) {
  return side == TSI_BEFORE ? edge->before : edge->item;
}

tristar_status tsi_adjacency_create(tsi_env *env, tsi_index items, tsi_count edges, const tsi_edge *edge,
                                    tsi_adjacency_side side, tsi_adjacency **out) {
  *out = NULL;
  TSI_SCRATCH_ZERO(env, tsi_adjacency, a, 1);
  TSI_TRY(TSI_ALLOC_ZERO_IN(a, a->ptr, (tsi_count)items + 2));
  TSI_TRY(TSI_ALLOC_IN(a, a->list, edges));
  for (tsi_count e = 0; e < edges; e++) a->ptr[owner(&edge[e], side) + 2]++;
  for (tsi_index i = 0; i < items; i++) a->ptr[i + 2] += a->ptr[i + 1];
  for (tsi_count e = 0; e < edges; e++) /* ptr[i + 1] moves from the start of i's list to its end */
    a->list[a->ptr[owner(&edge[e], side) + 1]++] = other(&edge[e], side);
  if (env->check) TSI_TRY(tsi_adjacency_check(env, a, items, edges, edge, side));
  *out = tsi_take(&a);
  return TRISTAR_OK;
}

tristar_status tsi_adjacency_check(tsi_env *env, const tsi_adjacency *adjacency, tsi_index items,
                                   tsi_count edges, const tsi_edge *edge, tsi_adjacency_side side) {
  const tsi_count *ptr = adjacency->ptr;
  TSI_SCRATCH(env, tsi_count, next, items); /* Position of the next edge of each item. */
  if (ptr[0] != 0 || ptr[items] != edges)
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "lists hold %lld of %lld edges", (long long)ptr[items],
             (long long)edges);
  for (tsi_index i = 0; i < items; i++) {
    if (ptr[i + 1] < ptr[i])
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "the list of item %d ends before it starts", i);
    next[i] = ptr[i];
  }
  for (tsi_count e = 0; e < edges; e++) { /* as many edges as positions, so all are verified */
    const tsi_index i = owner(&edge[e], side);
    if (next[i] == ptr[i + 1] || adjacency->list[next[i]++] != other(&edge[e], side))
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "item %d does not list item %d where edge %lld is", i,
               other(&edge[e], side), (long long)e);
  }
  return TRISTAR_OK;
}
