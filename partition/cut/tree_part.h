/* A part of an assembly tree as a tree of its own: some supernodes and all that is above them.
 *
 * Job. Give a process of a distributed solve the tree that it works with, to place subtrees of it on devices
 * (device_split.h): what it has alone, and the ancestors, which it shares with others.
 *
 * Numbers. Supernodes and columns keep their order and count from 0.
 *
 * Reads   the structure of one factor (symbolic.h), its panels.
 * Writes  a tsi_tree_part that owns its arrays.
 * Invariants
 *   - supernode s is supernode[s] of the factor, with the same columns, rows and parent; its panels are cut
 *     like those of the factor
 *   - symbolic has start, parent, row_ptr, rows, the number of stored entries, and no more */
#pragma once

#include "partition/cut/panels.h"

typedef struct tsi_tree_part {
  tsi_symbolic *symbolic;
  tsi_panels *panels;
  tsi_index *supernode;
} tsi_tree_part;

/* has: supernodes of the factor; with a supernode its parent. The part is released with TSI_FREE. Errors:
 * MEMORY. */
TRISTAR_CHECKED tristar_status tsi_tree_part_create(tsi_env *env, const tsi_symbolic *symbolic,
                                                    const tsi_panels *panels, const bool *has,
                                                    tsi_tree_part **out);
