/* A subtree for a device: a chunk of whole subtrees as a triangular structure of its own, which is cut into
 * finer chunks, and its border, the rows below it.
 *
 * Numbers. Columns of the chunk count from 0 in their order; the border follows: row i of the chunk's
 * off-rows is column columns + i. The subtree has the supernodes and panels of the chunk. Border columns
 * belong to no supernode: after the cut, chunks without panels contain them. A forward sweep accumulates the
 * updates of a border column there, and a backward sweep reads its x there.
 *
 * Reads   the structure of a factor, its chunks.
 * Writes  a tsi_device_subtree that owns its arrays.
 * Invariants (tsi_device_subtree_check)
 *   - symbolic has the supernodes of the chunk, which are whole subtrees, and only their start, parent,
 *     row_ptr and rows; n is columns + border; a supernode whose first row is in the border is a root
 *   - rows and panels are the same as in the factor, in the subtree's numbers */
#pragma once

#include "partition/cut/chunks.h"

#define TSI_BORDER_COLUMNS 64 /* Columns of a chunk of the border; a multiple of 8. */

typedef struct tsi_device_subtree {
  tsi_index chunk;
  tsi_index columns, border;
  tsi_index panel; /* First panel of the subtree in the factor. */
  tsi_symbolic *symbolic;
  tsi_panels *panels;
} tsi_device_subtree;

/* Does the chunk consist of whole subtrees, without slices? Then no other chunk updates its columns. */
bool tsi_chunk_is_device_subtree(const tsi_chunks *chunks, const tsi_symbolic *symbolic,
                                 const tsi_panels *panels, tsi_index chunk);

/* For such a chunk. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_subtree_create(tsi_env *env, const tsi_chunks *chunks,
                                                         const tsi_symbolic *symbolic,
                                                         const tsi_panels *panels, tsi_index chunk,
                                                         tsi_device_subtree **out);
/* Errors: INTERNAL. */
TRISTAR_CHECKED tristar_status tsi_device_subtree_check(tsi_env *env, const tsi_device_subtree *subtree,
                                                        const tsi_chunks *chunks,
                                                        const tsi_symbolic *symbolic,
                                                        const tsi_panels *panels);

/* Cuts the subtree into finer chunks, followed by the border, TSI_BORDER_COLUMNS columns per chunk. Errors:
 * MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_device_subtree_cut(tsi_env *env, const tsi_device_subtree *subtree,
                                                      const tsi_chunk_options *options, tsi_chunks **out);
