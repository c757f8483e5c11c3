/* Owners of fronts: which process of a layout factors which supernode.
 *
 * Job. A front is one process's. Those of subtrees that the layout has whole on a process are that process's:
 * no message is sent inside them. The others, spread in the solve, are shared out among the processes of the
 * home of their node: from the root down each goes to the process that has its parent, if that has not got
 * its share of the arithmetic yet, else to the one of the grid that has least.
 *
 * Reads   tsi_layout, tsi_symbolic.
 * Writes  owner[s]. It depends on the arguments alone, so that all processes find the same one. */
#ifndef TSI_DAG_FRONT_OWNERS_H
#define TSI_DAG_FRONT_OWNERS_H

#include "dag/factorization.h"
#include "partition/layout.h"

/* chunk: of each column of the factor (tsi_chunk_owners); owner: supernodes. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_front_owners_choose(tsi_env *env, const tsi_layout *layout,
                                                       const tsi_symbolic *symbolic, tristar_method method,
                                                       const tsi_index *chunk, tsi_index *owner);

#endif
