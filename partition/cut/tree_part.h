/* A part of an assembly tree as a tree of its own: some supernodes and all their ancestors.
 *
 * Job. Make the tree that a process of a distributed solve works with, to place subtrees of it on devices
 * (device_split.h): the supernodes of this process alone, and their ancestors, which it shares with other
 * processes.
 *
 * Numbers. Supernodes and columns keep their order and count from 0.
 *
 * Reads   the structure of one factor (symbolic.h), its panels.
 * Writes  a tsi_tree_part that owns its arrays.
 * Invariants
 *   - supernode s is supernode[s] of the factor, with the same columns, rows and parent; its panels are cut
 *     like the panels of the factor
 *   - symbolic has start, parent, row_ptr, rows, the number of stored entries, and no more */
#pragma once

#include "partition/cut/panels.h"

typedef struct tsi_tree_part {
  tsi_symbolic *symbolic;
  tsi_panels *panels;
  tsi_index *supernode;
} tsi_tree_part;

/* has: supernodes of the factor that the part has; with a supernode it must have its parent. Release the part
 * with TSI_FREE. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_tree_part_create(tsi_env *env, const tsi_symbolic *symbolic,
                                                    const tsi_panels *panels, const bool *has,
                                                    tsi_tree_part **out);
