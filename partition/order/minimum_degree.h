/* Minimum degree ordering of small graphs (Tinney and Walker 1967).
 *
 * Job. Eliminate a vertex of least degree, join its neighbours, and so on. With sets of vertices as the bits
 * of a word the degrees are exact and a step takes a few instructions for each vertex: for graphs of so many
 * vertices nested dissection has nothing to gain, and costs 50 times as much.
 *
 * Reads   the neighbours of each vertex.   Writes  order; what is left of the neighbours.
 * Among vertices of one degree the first is taken: the result depends on the graph only. */
#ifndef TSI_PARTITION_ORDER_MINIMUM_DEGREE_H
#define TSI_PARTITION_ORDER_MINIMUM_DEGREE_H

#include "runtime/base/env.h"

#define TSI_MINIMUM_DEGREE_VERTICES 64

/* n <= TSI_MINIMUM_DEGREE_VERTICES. near[v]: bit u is set if u is a neighbour of v, not v itself; symmetric.
 * order[k]: the vertex eliminated as k-th. */
void tsi_minimum_degree(tsi_index n, uint64_t *near, tsi_index *order);

#endif
