/* Elimination trees: parents, postorder, column counts.
 *
 * The elimination tree of a graph under an ordering has parent(j) = the first row below the diagonal of
 * column j of the filled matrix. A parent is always numbered higher than its children.
 *
 * Reads   a graph, or trees as arrays parent[] with TSI_NONE at the roots.
 * Writes  arrays of the caller.
 * Nothing is recursive: trees may be as deep as they have nodes. */
#pragma once

#include "partition/order/graph.h"

/* parent[k] for the ordering perm/inverse (J. W. H. Liu, ACM TOMS 12 (1986): row by row, with path
 * compression). Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_etree(tsi_env *env, const tsi_graph *graph, const tsi_index *perm,
                                         const tsi_index *inverse, tsi_index *parent);

/* order[k] = the node that a depth-first postorder of the forest visits as number k. Children and roots are
 * visited heaviest first (ties: lowest number first), or by number if weight is NULL. Requires parent[j] > j.
 * Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_postorder(tsi_env *env, tsi_index n, const tsi_index *parent,
                                             const tsi_count *weight, tsi_index *order);

/* count[j] = entries of column j of L, diagonal included, in nearly O(nnz(A)) (Gilbert, Ng, Peyton, SIAM J.
 * Matrix Anal. Appl. 15 (1994)). The nodes must be numbered in postorder; the entries of A below the diagonal
 * of column j are row[ptr[j] .. ptr[j+1]-1], any order. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_column_counts(tsi_env *env, tsi_index n, const tsi_index *parent,
                                                 const tsi_count *ptr, const tsi_index *row,
                                                 tsi_index *count);

/* *height = nodes on the longest path from a node to a root. Requires parent[j] > j. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_tree_height(tsi_env *env, tsi_index n, const tsi_index *parent,
                                               tsi_index *height);
