/* A top separator tree for an ordering that comes without one, cut from its elimination tree.
 *
 * Job. Columns of disjoint subtrees of an elimination tree do not meet. So the root of the separator tree
 * takes columns from the top, until subtrees are left that go into two halves of about the same work; each
 * half is cut likewise. Of the cuts that it passes, a node takes the one with the least work of its own and
 * of the larger half together, the first of several: where nothing branches it takes no columns.
 *
 * Reads   a column elimination tree in postorder, column counts.
 * Writes  the node of each column, as ordering.h numbers them.
 * Invariant: the parent of a column is in its own node or in an ancestor of that. */
#ifndef TSI_PARTITION_ORDER_SEPARATORS_H
#define TSI_PARTITION_ORDER_SEPARATORS_H

#include "runtime/base/env.h"

/* count: entries of each column of L; leaf_parts: a power of two. part: n; part_columns: 2*leaf_parts - 1,
 * columns of each node, of which leaves may have none. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_separators_of_tree(tsi_env *env, tsi_index n, const tsi_index *parent,
                                                      const tsi_index *count, tsi_index leaf_parts,
                                                      tsi_index *part, tsi_index *part_columns);

#endif
