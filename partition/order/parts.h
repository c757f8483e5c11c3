/* A graph cut into parts with about equally many vertices and few edges between them.
 *
 * Reads   a tsi_graph.
 * Writes  the part of each vertex.
 * Invariant: the same graph and number of parts give the same parts. */
#pragma once

#include "partition/order/graph.h"

/* part: n entries, 0 .. parts - 1. No part is empty if n >= parts. The method is METIS's multilevel k-way
 * partitioning (Karypis and Kumar 1998); METIS's recursive bisection if that leaves parts empty. Graphs with
 * less than 8 vertices per part get blocks of consecutive vertices. Errors: RUNTIME (METIS), TOO_LARGE (for
 * METIS), MEMORY. */
TRISTAR_CHECKED tristar_status tsi_graph_parts(tsi_env *env, const tsi_graph *graph, tsi_index parts,
                                               tsi_index *part);
