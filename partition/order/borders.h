/* Borders: how many rows there are below the subtree of each supernode.
 *
 * Job. The rows of a subtree that are no columns of it, each counted once. In a closed structure
 * (symbolic.h) they are the rows of its root; else those of any of its supernodes, which go up the tree
 * to the supernode that has them as columns.
 *
 * Reads   a tsi_symbolic.   Writes  its result. */
#pragma once

#include "partition/order/symbolic.h"

/* border: supernodes. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_borders_count(tsi_env *env, const tsi_symbolic *symbolic,
                                                 tsi_index *border);
