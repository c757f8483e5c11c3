/* Owners of fronts: which process of a layout factors which supernode.
 *
 * Job. A front is one process's. Those of subtrees that the layout has whole on a process are that process's:
 * no message is sent inside them. The others, spread in the solve, are shared out among the processes of all
 * grids that have their node, by a list schedule (Topcuoglu, Hariri and Wu, "Performance-effective and
 * low-complexity task scheduling for heterogeneous computing", 2002) in which messages take no time: a
 * subtree, or a front above them, whose path to the root has the most arithmetic comes first; a front goes to
 * a process that is through with it first. Of several it is the one that has the largest child, unless that
 * has got its share of the arithmetic, else the one that has least.
 *
 * Reads   tsi_layout, tsi_symbolic.
 * Writes  owner[s], and the arithmetic until the last front is factored. They depend on the arguments alone,
 * so that all processes find the same ones. */
#ifndef TSI_DAG_FRONT_OWNERS_H
#define TSI_DAG_FRONT_OWNERS_H

#include "dag/factorization.h"
#include "partition/layout.h"

/* chunk: of each column of the factor (tsi_chunk_owners); owner: supernodes. path: in flops; may be NULL.
 * Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_front_owners_choose(tsi_env *env, const tsi_layout *layout,
                                                       const tsi_symbolic *symbolic, tristar_method method,
                                                       const tsi_index *chunk, tsi_index *owner,
                                                       double *path);

#endif
