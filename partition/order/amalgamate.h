/* From fundamental supernodes to the final ones: relaxed merging, final postorder.
 *
 * Reads   a tree of supernodes that hold consecutive columns, numbered in postorder.
 * Writes  count, start, parent, row_ptr, nnz_stored of a tsi_symbolic; the order of its columns.
 * row_ptr and nnz_stored follow from the numbers of rows in the tree and from those of merged supernodes as
 * tsi_supernodes_merge foresees them; they are exact where the structure is closed (symbolic.h). */
#ifndef TSI_PARTITION_ORDER_AMALGAMATE_H
#define TSI_PARTITION_ORDER_AMALGAMATE_H

#include "partition/order/supernodes.h"
#include "partition/order/symbolic.h"

/* column_order[k]: the column that becomes k; n entries. part (supernodes of tree, may be NULL): different
 * parts are never merged. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_amalgamate(tsi_env *env, const tsi_supernode_tree *tree,
                                              const tsi_index *part, double relax, tsi_symbolic *symbolic,
                                              tsi_index *column_order);

#endif
