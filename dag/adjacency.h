/* Edges of a directed graph, listed by the item at one of their ends.
 *
 * Reads   a number of items and the edges between them, in any order; an edge may occur more than once.
 * Writes  a tsi_adjacency that owns its arrays and is immutable afterwards.
 * Invariants (tsi_adjacency_check)
 *   - list[ptr[i]] .. list[ptr[i+1]-1] are the other ends of the edges of item i, in the order of the edges
 *   - each edge is listed once
 * Not checked by tsi_adjacency_create: the ends of an edge are items. */
#pragma once

#include "runtime/base/env.h"

/* `item` waits for `before`. */
typedef struct tsi_edge {
  tsi_index item, before;
} tsi_edge;

typedef struct tsi_adjacency {
  tsi_count *ptr;  /* items + 1 */
  tsi_index *list; /* ptr[items] */
} tsi_adjacency;

typedef enum tsi_adjacency_side {
  TSI_BEFORE, /* For each item, the items that it waits for. */
  TSI_AFTER   /* For each item, the items that wait for it. */
} tsi_adjacency_side;

/* Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_adjacency_create(tsi_env *env, tsi_index items, tsi_count edges,
                                                    const tsi_edge *edge, tsi_adjacency_side side,
                                                    tsi_adjacency **out);
TRISTAR_CHECKED tristar_status tsi_adjacency_check(tsi_env *env, const tsi_adjacency *adjacency,
                                                   tsi_index items, tsi_count edges, const tsi_edge *edge,
                                                   tsi_adjacency_side side);

/* Bytes of a tsi_adjacency. */
static inline size_t tsi_adjacency_bytes(tsi_index items, tsi_count edges) {
  const tsi_adjacency *a;
  return sizeof *a + ((size_t)items + 1) * sizeof *a->ptr + (size_t)edges * sizeof *a->list;
}
static inline tsi_count tsi_degree(const tsi_adjacency *adjacency, tsi_index i) {
  return adjacency->ptr[i + 1] - adjacency->ptr[i];
}
