/* Sends items along a route: see route.h. */
#include "runtime/mpi/comm/route.h"

#include <limits.h>

#include "runtime/mpi/comm/bytes.h"
#include "runtime/mpi/comm/mailbox.h"

tristar_status tsi_route_begin(tsi_env *env, const tsi_transport *transport, tsi_route *route) {
  const int ranks = tsi_transport_size(transport);
  *route = (tsi_route){
      .comm = tsi_transport_comm(transport), .ranks = ranks, .rank = tsi_transport_rank(transport)};
  TSI_TRY(TSI_ALLOC_ZERO(env, route->goes, ranks + 1));
  TSI_TRY(TSI_ALLOC_ZERO(env, route->comes, ranks + 1));
  TSI_TRY(TSI_ALLOC(env, route->next, ranks));
  return TSI_ALLOC(env, route->counted, 4 * ranks);
}

void tsi_route_finish(tsi_route *route) {
  tsi_release(tsi_take(&route->goes));
  tsi_release(tsi_take(&route->comes));
  tsi_release(tsi_take(&route->next));
  tsi_release(tsi_take(&route->counted));
}

/* Collective. Checks whether all ranks can count their items with int. */
static tristar_status count_with_int(tsi_env *env, tsi_route *route) {
  int fits = tsi_route_sent(route) <= INT_MAX && tsi_route_received(route) <= INT_MAX;
  TSI_TRY(
      TSI_MPI(env, "MPI_Allreduce", MPI_Allreduce(MPI_IN_PLACE, &fits, 1, MPI_INT, MPI_MIN, route->comm)));
  if (!fits) TSI_FREE(env, route->counted);
  for (int r = 0; r < route->ranks && fits; r++) {
    int *at = route->counted + r;
    at[0] = (int)(route->goes[r + 1] - route->goes[r]);
    at[route->ranks] = (int)route->goes[r];
    at[2 * route->ranks] = (int)(route->comes[r + 1] - route->comes[r]);
    at[3 * route->ranks] = (int)route->comes[r];
  }
  return TRISTAR_OK;
}

tristar_status tsi_route_connect(tsi_env *env, tsi_transport *transport, tristar_status mine,
                                 tsi_route *route) {
  TSI_TRY(tsi_transport_agree(transport, mine));
  TSI_TRY(
      TSI_MPI(env, "MPI_Alltoall",
              MPI_Alltoall(route->goes + 1, 1, MPI_INT64_T, route->comes + 1, 1, MPI_INT64_T, route->comm)));
  for (int r = 0; r < route->ranks; r++) {
    route->next[r] = route->goes[r];
    route->goes[r + 1] += route->goes[r];
    route->comes[r + 1] += route->comes[r];
  }
  return count_with_int(env, route);
}

static tsi_items_way way_of(const tsi_count *first, int rank, size_t bytes, const void *items) {
  return (tsi_items_way){(char *)(uintptr_t)items + (size_t)first[rank] * bytes,
                         first[rank + 1] - first[rank], rank};
}

tristar_status tsi_route_pass(tsi_env *env, const tsi_route *route, size_t bytes, bool back, const void *from,
                              void *to) {
  const int ranks = route->ranks, rank = route->rank, *counted = route->counted;
  const tsi_count *sent = back ? route->comes : route->goes, *received = back ? route->goes : route->comes;
  if (counted) {
    const tsi_items goes = {counted, counted + ranks}, comes = {counted + 2 * ranks, counted + 3 * ranks};
    return tsi_exchange_items(env, route->comm, bytes, from, back ? comes : goes, to, back ? goes : comes);
  }
  const tsi_items_way stays = way_of(sent, rank, bytes, from);
  if (stays.count > 0)
    memcpy(way_of(received, rank, bytes, to).items, stays.items, (size_t)stays.count * bytes);
  for (int k = 1; k < ranks; k++)
    TSI_TRY(tsi_swap_items(env, route->comm, TSI_TAG_BYTES, bytes, TSI_MESSAGE_ITEMS,
                           way_of(sent, (rank + k) % ranks, bytes, from),
                           way_of(received, (rank + ranks - k) % ranks, bytes, to)));
  return TRISTAR_OK;
}

/* The buffers of a flow: a piece of each direction. */
typedef struct pieces {
  const tsi_route *route;
  const tsi_flow *flow;
  tsi_count most; /* items of a piece */
  void *leaves, *arrives;
} pieces;

static tsi_count next_piece(const pieces *p, tsi_count all, tsi_count at) {
  return all > at ? tsi_count_min(p->most, all - at) : 0;
}

/* Sends the items for one rank and receives the items of another. */
static tristar_status flow_between(tsi_env *env, size_t bytes, const pieces *p, int to, int from) {
  const tsi_flow *flow = p->flow;
  const tsi_count gives = p->route->goes[to + 1] - p->route->goes[to];
  const tsi_count takes = p->route->comes[from + 1] - p->route->comes[from];
  for (tsi_count at = 0; at < tsi_count_max(gives, takes); at += p->most) {
    const tsi_count given = next_piece(p, gives, at), taken = next_piece(p, takes, at);
    if (given > 0) flow->give(flow->context, to, at, given, p->leaves);
    TSI_TRY(tsi_swap_items(env, p->route->comm, TSI_TAG_BYTES, bytes, TSI_MESSAGE_ITEMS,
                           (tsi_items_way){p->leaves, given, to}, (tsi_items_way){p->arrives, taken, from}));
    if (taken > 0) flow->take(flow->context, from, at, taken, p->arrives);
  }
  return TRISTAR_OK;
}

/* Items of this rank for itself. */
static void flow_here(const pieces *p, int rank) {
  const tsi_count all = p->route->goes[rank + 1] - p->route->goes[rank];
  for (tsi_count at = 0; at < all; at += p->most) {
    const tsi_count count = next_piece(p, all, at);
    p->flow->give(p->flow->context, rank, at, count, p->leaves);
    p->flow->take(p->flow->context, rank, at, count, p->leaves);
  }
}

tristar_status tsi_route_flow(tsi_env *env, tsi_transport *transport, tristar_status mine,
                              const tsi_route *route, size_t bytes, const tsi_flow *flow) {
  tristar_status status = mine;
  const int ranks = route->ranks, rank = route->rank;
  pieces p = {route, flow, tsi_count_max(1, (tsi_count)(TSI_FLOW_BYTES / bytes)), NULL, NULL};
  if (status == TRISTAR_OK) status = TSI_ALLOC_SIZED(env, p.leaves, p.most, bytes);
  if (status == TRISTAR_OK) status = TSI_ALLOC_SIZED(env, p.arrives, p.most, bytes);
  TSI_TRY_OUT(tsi_transport_agree(transport, status));
  flow_here(&p, rank);
  for (int k = 1; k < ranks; k++)
    TSI_TRY_OUT(flow_between(env, bytes, &p, (rank + k) % ranks, (rank + ranks - k) % ranks));
out:
  TSI_FREE(env, p.leaves);
  TSI_FREE(env, p.arrives);
  return status;
}
