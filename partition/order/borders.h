/* Borders: the number of rows below the subtree of each supernode.
 *
 * Job. Count the rows of a subtree that are not its columns, each once. In a closed structure (symbolic.h)
 * they are the rows of its root. Otherwise they are the rows of any of its supernodes: a row counts in all
 * subtrees on the path from such a supernode up to the supernode that has it as a column.
 *
 * Reads   a tsi_symbolic.   Writes  its result. */
#pragma once

#include "partition/order/symbolic.h"

/* border: supernodes. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_borders_count(tsi_env *env, const tsi_symbolic *symbolic,
                                                 tsi_index *border);
