/* The exchange plan: which rank sends how many items to which.
 *
 * Job. Each rank counts the items that it has for each rank. Items are stored by the rank that receives them,
 * and arrive by the rank that sends them, in the order of the sender. So other arrays of the same items can
 * follow the same route, values after indices, and answers can go back to the ranks that sent the questions.
 * Halos (halo.h), rows of vectors (rows.h), directories (directory.h) and entries of matrices all use routes.
 *
 * A pass moves a whole array: with one MPI_Alltoallv where all ranks can count their items with int, else in
 * rounds of messages of at most 2^26 items. In round k each rank sends to the k-th rank after it, and
 * receives from the k-th one before it. A flow moves items that are made when they are sent and used when
 * they arrive: it allocates TSI_FLOW_BYTES each way.
 *
 * Reads   counts, the items of this rank.   Writes  a tsi_route that owns its arrays; items that arrive. */
#pragma once

#include "runtime/mpi/comm/transport.h"

typedef struct tsi_route {
  MPI_Comm comm;
  int ranks, rank;
  tsi_count *goes, *comes; /* ranks + 1: the first item to, and from, each rank; then the number of items */
  tsi_count *next;         /* ranks: where a caller that lists its items puts the next one to each rank */
  int *
      counted; /* 4 * ranks: counts and first items of both directions, for MPI. NULL: beyond int on a rank */
} tsi_route;

/* Local. Counts of zero: the caller adds the items for rank r to goes[r + 1]. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_route_begin(tsi_env *env, const tsi_transport *transport,
                                               tsi_route *route);
/* Collective. Counts become sums, comes is filled, next is goes. mine: an earlier failure of this rank.
 * Errors: that one; RUNTIME. */
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

/* Collective. Moves items of `bytes` each; back: from those who receive to those who send. The arrays do not
 * overlap. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_route_pass(tsi_env *env, const tsi_route *route, size_t bytes, bool back,
                                              const void *from, void *to);

#define TSI_FLOW_BYTES (1 << 19) /* of a piece */

/* Both ends of a flow: items first .. first + count - 1 of those to, or from, a rank. The items of a rank are
 * in order, one rank after the other. */
typedef struct tsi_flow {
  void (*give)(void *context, int rank, tsi_count first, tsi_count count, void *items);
  void (*take)(void *context, int rank, tsi_count first, tsi_count count, const void *items);
  void *context;
} tsi_flow;
/* Collective. Items of `bytes` each, in pieces; items of a rank for itself pass both ends too. mine: an
 * earlier failure of this rank. Errors: that one; MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_route_flow(tsi_env *env, tsi_transport *transport, tristar_status mine,
                                              const tsi_route *route, size_t bytes, const tsi_flow *flow);
