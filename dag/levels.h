/* Level sets of a directed acyclic graph: the level of an item is the number of edges of the longest path
 * that leads to it. Items of one level do not wait for each other, so a barrier between levels replaces all
 * edges (Anderson and Saad 1989).
 *
 * Reads   a number of items and edges between them, in any order; an item waits for lower items only.
 * Writes  a tsi_levels that owns its arrays.
 * Invariants (tsi_levels_check)
 *   - item[ptr[l]] .. item[ptr[l+1]-1] are the items of level l, ascending; each item is listed once
 *   - an edge leads from a lower level to a higher one; an item of level l > 0 waits for an item of level l -
 *     1 */
#pragma once

#include "dag/adjacency.h"

typedef struct tsi_levels {
  tsi_index count;
  tsi_index *ptr;  /* count + 1 */
  tsi_index *item; /* ptr[count] */
} tsi_levels;

/* Errors: MEMORY, INTERNAL (an edge does not lead upwards). */
TRISTAR_CHECKED tristar_status tsi_levels_create(tsi_env *env, tsi_index items, tsi_count edges,
                                                 const tsi_edge *edge, tsi_levels **out);
TRISTAR_CHECKED tristar_status tsi_levels_check(tsi_env *env, const tsi_levels *levels, tsi_index items,
                                                tsi_count edges, const tsi_edge *edge);
