/* Pairs of rows and columns that are eliminated together, as pivots of order 2 of a symmetric matrix.
 *
 * Job. A maximum-product matching of a symmetric matrix finds large entries a_ij that a pivot of order 1
 * cannot use because a_ii is small. Its cycles are cut into pairs (i, j). The matrix is ordered with each
 * pair as one vertex, and both columns of a pair get the union of their structures. So they stay together in
 * one supernode, in which the factorization can use them as a pivot (I. S. Duff and S. Pralet, Strategies for
 * scaling and pivoting for sparse symmetric indefinite problems, SIAM J. Matrix Anal. Appl. 27 (2005)).
 *
 * Reads   a matching, a tsi_graph.   Writes  partner, an ordering, a tsi_graph.
 * Invariants: partner[partner[v]] = v; partner[v] = v: v is not in a pair. */
#pragma once

#include "partition/order/symbolic.h"

/* Cuts the cycles of the permutation row_of_column into pairs of neighbours. A cycle of odd length leaves one
 * vertex alone: the one with the largest diagonal[v]. visited: n entries of scratch. Returns the number of
 * pairs. */
tsi_index tsi_pairs_from_matching(tsi_index n, const tsi_index *row_of_column, const double *diagonal,
                                  tsi_index *partner, bool *visited);

/* The graph in which both vertices of a pair have the neighbours of both, and each other. Errors: MEMORY,
 * TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_pairs_graph(tsi_env *env, const tsi_graph *graph, const tsi_index *partner,
                                               tsi_graph **out);

/* Orders the graph with each pair as one vertex; the vertices of a pair are consecutive. In a given order
 * each pair has the position of its first vertex. perm: n entries. options->leaf_parts is not used. Errors:
 * as tsi_order. */
TRISTAR_CHECKED tristar_status tsi_pairs_order(tsi_env *env, const tsi_graph *graph, const tsi_index *partner,
                                               const tsi_symbolic_options *options, tsi_index *perm);
