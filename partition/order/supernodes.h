/* Supernodes: columns of L that share their structure, and the merging of small ones.
 *
 * Reads   the column elimination tree in postorder, with column counts.
 * Writes  a tsi_supernode_tree that owns its arrays, and the groups into which relaxed merging joins them. */
#ifndef TSI_PARTITION_ORDER_SUPERNODES_H
#define TSI_PARTITION_ORDER_SUPERNODES_H

#include "runtime/base/env.h"

typedef struct tsi_supernode_tree {
  tsi_index count;
  tsi_index *columns; /* count: how many columns */
  tsi_index *rows;    /* count: how many rows below the diagonal block */
  tsi_index *parent;  /* count: TSI_NONE at a root; parent[s] > s */
} tsi_supernode_tree;

/* Fundamental supernodes: maximal runs of columns j, j+1, ... where j+1 has the only child j and the
 * structure of j without j. Supernode 0 holds the first columns, supernode 1 the next ones. part (n, may be
 * NULL): columns of different parts are never joined. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_supernodes_create(tsi_env *env, tsi_index n, const tsi_index *parent,
                                                     const tsi_index *count, const tsi_index *part,
                                                     tsi_supernode_tree **out);
/* Runs of columns: joins[j] says that column j belongs to the supernode of column j - 1. count: entries of
 * each column, diagonal included. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_supernodes_of_runs(tsi_env *env, tsi_index n, const tsi_index *parent,
                                                      const tsi_index *count, const bool *joins,
                                                      tsi_supernode_tree **out);

/* Relaxed merging of children into parents, as long as it makes a solve cheaper.
 * group[s] becomes the topmost member of the group of s. A group holds a node and descendants of it such that
 * each member's parent is a member too, except the topmost one's. part (count, may be NULL) as above.
 * relax: the largest share of zeros among the stored entries of a group; 0: nothing is merged.
 * rows[s]: the rows of the group whose topmost member s is. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_supernodes_merge(tsi_env *env, const tsi_supernode_tree *tree,
                                                    const tsi_index *part, double relax, tsi_index *group,
                                                    tsi_index *rows);

#endif
