/* The exchange plan: the number of items that each rank sends to each rank.
 *
 * Job. Each rank counts the items that it has for each rank. Items are stored by the rank that receives them,
 * and arrive by the rank that sends them, in the order of the sender. So other arrays of the same items can
 * follow the same route, for example values after indices. Answers can return to the ranks that sent the
 * requests. Halos (halo.h), rows of vectors (rows.h), directories (directory.h) and entries of matrices all
 * use routes.
 *
 * A pass sends a whole array: with one MPI_Alltoallv if all ranks can count their items with int, else in
 * rounds of messages of at most 2^26 items. In round k each rank sends to the k-th rank after it, and
 * receives from the k-th one before it. A flow sends items that are created when they are sent and used when
 * they arrive: it allocates TSI_FLOW_BYTES in each direction.
 *
 * Reads   counts, the items of this rank.   Writes  a tsi_route that owns its arrays; items that arrive. */
#pragma once

#include "runtime/mpi/comm/transport.h"

typedef struct tsi_route {
  MPI_Comm comm;
  int ranks, rank;
  tsi_count *goes, *comes; /* ranks + 1: the first item to, and from, each rank; then the number of items */
  tsi_count *next; /* ranks: position of the next item for each rank, while the caller lists its items */
  int *counted; /* 4 * ranks: counts and first items of both directions, for MPI. NULL: some rank cannot count
                   its items with int */
} tsi_route;

/* Local. Sets all counts to zero. The caller then adds the items for rank r to goes[r + 1]. Errors: MEMORY.
 */
TRISTAR_CHECKED tristar_status tsi_route_begin(tsi_env *env, const tsi_transport *transport,
                                               tsi_route *route);
/* Collective. Turns counts into sums, fills comes, and copies goes to next. mine: an earlier failure of this
 * rank. Errors: mine; RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_route_connect(tsi_env *env, tsi_transport *transport, tristar_status mine,
                                                 tsi_route *route);
void tsi_route_finish(tsi_route *route);

/* Numbers of items that this rank sends and receives. */
static inline tsi_count tsi_route_sent(const tsi_route *route) {
  return route->goes[route->ranks];
}
static inline tsi_count tsi_route_received(const tsi_route *route) {
  return route->comes[route->ranks];
}

/* Collective. Sends items of `bytes` each; back: from the receivers of the route to its senders. The arrays
 * do not overlap. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_route_pass(tsi_env *env, const tsi_route *route, size_t bytes, bool back,
                                              const void *from, void *to);

#define TSI_FLOW_BYTES (1 << 19) /* bytes of a piece */

/* Both ends of a flow: items first .. first + count - 1 of the items to a rank, or from it. The items of a
 * rank are passed in order, one rank after the other. */
typedef struct tsi_flow {
  void (*give)(void *context, int rank, tsi_count first, tsi_count count, void *items);
  void (*take)(void *context, int rank, tsi_count first, tsi_count count, const void *items);
  void *context;
} tsi_flow;
/* Collective. Items of `bytes` each, in pieces. Items of a rank for itself also pass both ends. mine: an
 * earlier failure of this rank. Errors: mine; MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_route_flow(tsi_env *env, tsi_transport *transport, tristar_status mine,
                                              const tsi_route *route, size_t bytes, const tsi_flow *flow);
