/* Supernodes: columns of L with the same structure; relaxed merging of small ones, final postorder.
 *
 * Reads   the column elimination tree in postorder, with column counts.
 * Writes  a tsi_supernode_tree that owns its arrays; the supernodes of a tsi_symbolic, the order of its
 * columns. */
#pragma once

#include "partition/order/symbolic.h"

typedef struct tsi_supernode_tree {
  tsi_index count;
  tsi_index *columns; /* count: number of columns */
  tsi_index *rows;    /* count: number of rows below the diagonal block */
  tsi_index *parent;  /* count: TSI_NONE at a root; parent[s] > s */
} tsi_supernode_tree;

/* Fundamental supernodes: maximal runs of columns j, j+1, ..., in which j is the only child of j+1, and j+1
 * has the structure of j without j. Supernode 0 has the first columns, supernode 1 the next ones. part (n,
 * may be NULL): columns of different parts are never joined. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_supernodes_create(tsi_env *env, tsi_index n, const tsi_index *parent,
                                                     const tsi_index *count, const tsi_index *part,
                                                     tsi_supernode_tree **out);
/* Supernodes from runs of columns: if joins[j], column j belongs to the supernode of column j - 1. count:
 * entries of each column, with the diagonal. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_supernodes_of_runs(tsi_env *env, tsi_index n, const tsi_index *parent,
                                                      const tsi_index *count, const bool *joins,
                                                      tsi_supernode_tree **out);

/* Merges small supernodes and numbers the result in the final postorder. column_order[k]: the column that
 * becomes k; n entries. Writes count, start, parent, row_ptr, nnz_stored of a tsi_symbolic. row_ptr and
 * nnz_stored follow from the numbers of rows in the tree and of merged supernodes; they are exact if the
 * structure is closed (symbolic.h). part (supernodes of tree, may be NULL): supernodes of different parts are
 * never merged. relax: the largest share of zeros among the stored entries of a group; 0: nothing is merged.
 * Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_amalgamate(tsi_env *env, const tsi_supernode_tree *tree,
                                              const tsi_index *part, double relax, tsi_symbolic *symbolic,
                                              tsi_index *column_order);
