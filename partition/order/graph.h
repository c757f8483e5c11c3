/* The undirected graph of A + A^T, without loops.
 *
 * Reads   a column- or row-compressed pattern: n, ptr (n+1), index (32-bit, any order, duplicates allowed),
 * optionally with one triangle only.
 * Writes  a tsi_graph that owns its arrays.
 * Invariants (tsi_graph_check): adj of v ascending, without duplicates and without v; u in adj(v) iff v in
 * adj(u). */
#pragma once

#include "runtime/base/env.h"

typedef struct tsi_graph {
  tsi_index n;
  tsi_count *ptr; /* n + 1 */
  tsi_index *adj; /* ptr[n] */
} tsi_graph;

/* Lists the numbers below k of the neighbours of v; returns how many. inverse: the number of each vertex.
 * below: memory for as many numbers as v has neighbours. The loop has no branch, as processors could not
 * predict it. */
static inline tsi_index tsi_graph_list_below(const tsi_graph *graph, const tsi_index *inverse, tsi_index v,
                                             tsi_index k, tsi_index *below) {
  tsi_index count = 0;
  for (tsi_count p = graph->ptr[v]; p < graph->ptr[v + 1]; p++) {
    below[count] = inverse[graph->adj[p]];
    count += below[count] < k;
  }
  return count;
}

/* Builds the graph of A + A^T, where A has its entry (row_map[index[p]], j) for ptr[j] <= p < ptr[j+1];
 * row_map may be NULL (identity). triangle: each off-diagonal pair is stored once. index values must be in
 * 0..n-1 (checked by the caller). The graph is released with TSI_FREE. Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_graph_create(tsi_env *env, tsi_index n, const tsi_count *ptr,
                                                const tsi_index *index, const tsi_index *row_map,
                                                bool triangle, tsi_graph **out);
/* The graph of the vertices v with number[v] other than TSI_NONE; these numbers ascend from 0 with v. Errors:
 * MEMORY. */
TRISTAR_CHECKED tristar_status tsi_graph_part(tsi_env *env, const tsi_graph *graph, const tsi_index *number,
                                              tsi_index vertices, tsi_graph **out);
TRISTAR_CHECKED tristar_status tsi_graph_check(tsi_env *env, const tsi_graph *graph);
