/* Carries items: see route.h. */
#include "runtime/mpi/route.h"

#include "runtime/mpi/bytes.h"
#include "runtime/mpi/mailbox.h"

tristar_status tsi_route_begin(tsi_env *env, const tsi_transport *transport, tsi_route *route) {
  tristar_status status = TRISTAR_OK;
  const int ranks = tsi_transport_size(transport);
  TSI_TRY(TSI_ALLOC_ZERO(env, route->goes, ranks + 1));
  TSI_TRY(TSI_ALLOC_ZERO(env, route->comes, ranks + 1));
out:
  return status;
}

tristar_status tsi_route_connect(tsi_env *env, tsi_transport *transport, tristar_status mine,
                                 tsi_route *route) {
  tristar_status status = TRISTAR_OK;
  const int ranks = tsi_transport_size(transport);
  TSI_TRY(tsi_transport_agree(transport, mine));
  TSI_TRY(TSI_MPI(env, "MPI_Alltoall",
                  MPI_Alltoall(route->goes + 1, 1, MPI_INT64_T, route->comes + 1, 1, MPI_INT64_T,
                               tsi_transport_comm(transport))));
  for (int r = 0; r < ranks; r++) {
    route->goes[r + 1] += route->goes[r];
    route->comes[r + 1] += route->comes[r];
  }
out:
  return status;
}

static tsi_items_way way_of(const tsi_count *first, int rank, size_t bytes, const void *items) {
  return (tsi_items_way){(char *)(uintptr_t)items + (size_t)first[rank] * bytes,
                         first[rank + 1] - first[rank], rank};
}

tristar_status tsi_route_pass(tsi_env *env, const tsi_transport *transport, const tsi_route *route,
                              size_t bytes, const void *from, void *to) {
  tristar_status status = TRISTAR_OK;
  const int ranks = tsi_transport_size(transport), rank = tsi_transport_rank(transport);
  const tsi_items_way stays = way_of(route->goes, rank, bytes, from);
  if (stays.count > 0)
    memcpy((char *)to + (size_t)route->comes[rank] * bytes, stays.items, (size_t)stays.count * bytes);
  for (int k = 1; k < ranks; k++)
    TSI_TRY(tsi_swap_items(env, tsi_transport_comm(transport), bytes, TSI_MESSAGE_ITEMS,
                           way_of(route->goes, (rank + k) % ranks, bytes, from),
                           way_of(route->comes, (rank + ranks - k) % ranks, bytes, to)));
out:
  return status;
}

void tsi_route_finish(tsi_env *env, tsi_route *route) {
  TSI_FREE(env, route->goes);
  TSI_FREE(env, route->comes);
}
