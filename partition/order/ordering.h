/* Fill-reducing orderings of a graph.
 *
 * Reads   a tsi_graph and the ordering options of symbolic.h.
 * Writes  perm (perm[k] is the vertex eliminated as number k) and, for the top separator tree of
 * METIS_NodeNDP, the tree node of each vertex. Other orderings get a tree later (symbolic.c).
 *
 * The top separator tree with p leaves (p a power of two) has 2p - 1 nodes: the leaves 0 .. p-1 from left to
 * right, then the separators level by level up to the root 2p - 2. A vertex has neighbours only in its own
 * node, in the ancestors of its node and in their descendants. */
#pragma once

#include <math.h>

#include "partition/order/symbolic.h"

/* More leaves than any machine has grids, and few enough that node numbers cannot overflow. */
#define TSI_MAX_LEAF_PARTS 65536

/* A vertex with very many neighbours. */
typedef struct tsi_dense_vertex {
  tsi_count degree;
  tsi_index vertex;
} tsi_dense_vertex;
/* A vertex of a graph of n vertices is dense if it has more neighbours, unless there are more dense vertices
 * than this number. */
static inline double tsi_dense_limit(tsi_index n) {
  return fmax(16.0, 10.0 * sqrt((double)n));
}
/* Sorts dense vertices into the order of elimination: by degree. */
void tsi_sort_dense(tsi_index count, tsi_dense_vertex *dense);

/* The parent of a node of the top separator tree; TSI_NONE for the root. */
static inline tsi_index tsi_separator_parent(tsi_index leaf_parts, tsi_index node) {
  tsi_index root = 2 * leaf_parts - 2;
  return node == root ? TSI_NONE : root - (root - node - 1) / 2;
}

/* perm: n entries, written. part (n) and part_columns (2*leaf_parts - 1): the node of each vertex and the
 * number of vertices of each node; both are read and written only if tsi_order_makes_tree. Errors: ARGUMENT,
 * RUNTIME (METIS, Scotch), TOO_LARGE (for them), MEMORY, UNSUPPORTED (SCOTCH), CANCELLED. */
TRISTAR_CHECKED tristar_status tsi_order(tsi_env *env, const tsi_graph *graph,
                                         const tsi_symbolic_options *options, tsi_index *perm,
                                         tsi_index *part, tsi_index *part_columns);

/* inverse[perm[k]] = k. Errors: ARGUMENT if perm is no permutation (the message has the entry). */
TRISTAR_CHECKED tristar_status tsi_invert_permutation(tsi_env *env, tsi_index n, const tsi_index *perm,
                                                      tsi_index *inverse);
