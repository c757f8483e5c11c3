/* Bottom subtrees of the assembly tree for the processes of a grid.
 *
 * Job. For each leaf of the top separator tree find subtrees of supernodes, and a process of the leaf's grid
 * for each, so that all processes have about the same number of entries. What lies above the subtrees is left
 * to all of them.
 *
 * Method (Geist and Ng 1989): start from the roots and replace the heaviest subtree by its children, again
 * and again; at growing numbers of subtrees deal them out, the heaviest first, each to the process that has
 * least so far. Of all stages the one is taken that has the smallest sum of the heaviest process's entries
 * and its share of what is above, which counts half as much again because it is solved with messages.
 *
 * Reads   tsi_symbolic, tsi_panels, the node of each supernode.
 * Writes  label[s] for supernodes of leaves. */
#pragma once

#include "partition/cut/panels.h"

/* leaves: nodes 0 .. leaves-1 of node[] are leaves, others are left alone. processes: of each leaf's grid.
 * floor: subtrees of fewer entries are not cut. label[s] = leaf * processes + process for supernodes of the
 * subtrees; others keep what they have. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_assign_subtrees(tsi_env *env, const tsi_symbolic *symbolic,
                                                   const tsi_panels *panels, tsi_index leaves,
                                                   const tsi_index *node, tsi_index processes, double floor,
                                                   tsi_index *label);
