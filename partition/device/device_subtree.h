/* A subtree: a chunk of whole subtrees as a triangular structure of its own, to be cut into finer chunks, and
 * its border, the rows below it.
 *
 * Numbers. Columns of the chunk count from 0 in their order; the border follows: row i of the chunk's
 * off-rows is column columns + i. The subtree's supernodes and panels are those of the chunk. Border columns
 * belong to none: once the subtree is cut, chunks without panels hold them. What the subtree adds to a border
 * column comes together there in a forward sweep, and its x is found there in a backward one.
 *
 * Reads   the structure of a factor, its chunks.
 * Writes  a tsi_device_subtree that owns its arrays.
 * Invariants (tsi_device_subtree_check)
 *   - symbolic has the supernodes of the chunk, which are all there are of their subtrees, and no more than
 *     start, parent, row_ptr and rows of them; n is columns + border; a supernode whose first row is in the
 *     border is a root
 *   - rows and panels are those of the factor, in the subtree's numbers */
#pragma once

#include "partition/cut/chunks.h"

#define TSI_BORDER_COLUMNS 64 /* of a chunk of the border; a multiple of 8 */

typedef struct tsi_device_subtree {
  tsi_index chunk;
  tsi_index columns, border;
  tsi_index panel; /* of the factor: the subtree's first */
  tsi_symbolic *symbolic;
  tsi_panels *panels;
} tsi_device_subtree;

/* Is the chunk one of whole subtrees, in one piece? Then no other chunk adds to its columns. */
bool tsi_chunk_is_device_subtree(const tsi_chunks *chunks, const tsi_symbolic *symbolic,
                                 const tsi_panels *panels, tsi_index chunk);

/* Of such a chunk. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_subtree_create(tsi_env *env, const tsi_chunks *chunks,
                                                         const tsi_symbolic *symbolic,
                                                         const tsi_panels *panels, tsi_index chunk,
                                                         tsi_device_subtree **out);
/* Errors: INTERNAL. */
TRISTAR_CHECKED tristar_status tsi_device_subtree_check(tsi_env *env, const tsi_device_subtree *subtree,
                                                        const tsi_chunks *chunks,
                                                        const tsi_symbolic *symbolic,
                                                        const tsi_panels *panels);

/* The subtree in finer chunks, and behind them the border, TSI_BORDER_COLUMNS columns a chunk. Errors:
 * MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_device_subtree_cut(tsi_env *env, const tsi_device_subtree *subtree,
                                                      const tsi_chunk_options *options, tsi_chunks **out);
