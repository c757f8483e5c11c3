/* Items that many ranks have on their way to those that need them.
 *
 * Job. Each rank says how many of its items go to each rank. They lie by rank, and arrive by rank, in the
 * order in which they lay: so that another array of the same items, values after places, follows the same
 * route. In round k each rank sends to the k-th one after it, and receives from the k-th one before it; a
 * message has at most 2^26 items.
 *
 * Items that are made as they leave, and used as they come, flow along a route: then there is room for a
 * piece of them alone, TSI_FLOW_BYTES each way.
 *
 * Reads   counts, the items of this rank.   Writes  a tsi_route that owns its arrays; items that came. */
#ifndef TSI_RUNTIME_MPI_COMM_ROUTE_H
#define TSI_RUNTIME_MPI_COMM_ROUTE_H

#include "runtime/mpi/comm/transport.h"

typedef struct tsi_route {
  tsi_count *goes, *comes; /* ranks + 1: where those to, and from, a rank begin */
} tsi_route;

/* Local. Room for the counts: goes[r + 1] is to become how many go to rank r. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_route_begin(tsi_env *env, const tsi_transport *transport,
                                               tsi_route *route);
/* Collective, the counts being there: goes and comes become sums. mine: what this rank has found before.
 * Errors: that; RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_route_connect(tsi_env *env, tsi_transport *transport, tristar_status mine,
                                                 tsi_route *route);
/* Collective. Items of `bytes` each. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_route_pass(tsi_env *env, const tsi_transport *transport,
                                              const tsi_route *route, size_t bytes, const void *from,
                                              void *to);

#define TSI_FLOW_BYTES (1 << 19) /* of a piece */

/* Both ends of a flow. Items first .. first + count - 1 of those that go to, or come from, a rank; those of a
 * rank in order, one rank after the other. */
typedef struct tsi_flow {
  void (*give)(void *context, int rank, tsi_count first, tsi_count count, void *items);
  void (*take)(void *context, int rank, tsi_count first, tsi_count count, const void *items);
  void *context;
} tsi_flow;
/* Collective. Items of `bytes` each, in pieces; those that stay go through both ends too. mine: what this
 * rank has found before. Errors: that; MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_route_flow(tsi_env *env, tsi_transport *transport, tristar_status mine,
                                              const tsi_route *route, size_t bytes, const tsi_flow *flow);
void tsi_route_finish(tsi_env *env, tsi_route *route);

#endif
