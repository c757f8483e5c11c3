/* Bottom subtrees of the assembly tree for the processes of a grid.
 *
 * Job. For each leaf of the top separator tree find subtrees of supernodes. Assign each to a process of the
 * leaf's grid, so that all processes have about equally many entries. All processes work on the ancestors of
 * the subtrees.
 *
 * Method (Geist and Ng 1989): start from the roots and replace the heaviest subtree by its children,
 * repeatedly. At growing numbers of subtrees assign them, the heaviest first, each to the process with the
 * fewest entries so far. Of all stages choose the one with the smallest sum of two terms: the entries of the
 * heaviest process, and the share of a process in the ancestors. The second term is multiplied by 1.5, as
 * ancestors are solved with messages.
 *
 * Reads   tsi_symbolic, tsi_panels, the node of each supernode.
 * Writes  label[s] for supernodes of leaves. */
#pragma once

#include "partition/cut/panels.h"

/* leaves: nodes 0 .. leaves-1 of node[] are leaves; others are ignored. processes: number for each leaf's
 * grid. floor: subtrees with fewer entries are not cut. label[s] = leaf * processes + process for supernodes
 * of the subtrees; other labels stay unchanged. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_assign_subtrees(tsi_env *env, const tsi_symbolic *symbolic,
                                                   const tsi_panels *panels, tsi_index leaves,
                                                   const tsi_index *node, tsi_index processes, double floor,
                                                   tsi_index *label);
