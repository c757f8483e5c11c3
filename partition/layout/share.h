/* A share: what one process holds of a factor, as a triangular structure of its own.
 *
 * Job. Of all chunks of a layout list those that a process has to do with, number their columns anew, and
 * describe the panels and rows that it holds in the same words as a whole factor (tsi_panels, tsi_chunks), so
 * that all that works on chunks works on a share. A chunk of a share has one or more of these roles:
 *
 *   TSI_ROLE_ANCHOR       the process is its anchor in the grid
 *   TSI_ROLE_DIAGONAL     ... and has its triangles: it solves
 *   TSI_ROLE_HOLDER       it holds rows of a spread chunk
 *   TSI_ROLE_CONTRIBUTOR  it has rows in the chunk, and is not its anchor
 *
 * A chunk without rows or triangles here has a panel of height 0. All columns of every chunk listed have
 * local numbers, in ascending order. The rows of a chunk's panel that this process holds keep their order.
 *
 * Reads   tsi_layout, tsi_panels of the factor.
 * Writes  a tsi_share that owns its arrays and is immutable afterwards.
 * Invariants (tsi_share_check)
 *   - chunk[k] ascends; local chunk k has as many columns as chunk chunk[k] of the layout
 *   - panels->supernode and panels->first are NULL: a share has panels only
 *   - local panel j is panel panel[j] of the factor; of its rows it has row[row_ptr[j] .. row_ptr[j+1]-1],
 *     numbers of rows of that panel's rectangle, ascending. All of them if the chunk is whole
 *   - spread chunks with rows here have at least one slice, so that x can be sent before they are at work.
 * The first slice has the rows in the first chunk that they go to: the next one on the way to the root, which
 *     waits for them, forward, and whose x comes last, backward */
#pragma once

#include "partition/layout/layout.h"

enum { TSI_ROLE_ANCHOR = 1, TSI_ROLE_DIAGONAL = 2, TSI_ROLE_HOLDER = 4, TSI_ROLE_CONTRIBUTOR = 8 };

typedef struct tsi_share {
  tsi_index rank, z, process; /* process: p + Px q of grid z */
  tsi_index *chunk;           /* local chunks: their number in the layout */
  unsigned char *role;        /* local chunks */
  tsi_index *local;           /* chunks of the layout: the local one; TSI_NONE */
  tsi_chunks *chunks;
  tsi_panels *panels;
  tsi_index *panel;   /* local panels: their number in the factor */
  tsi_count *row_ptr; /* local panels + 1 */
  tsi_index *row;
} tsi_share;

/* slice_bytes: no slice lighter than this; pieces: slices that a spread
 * chunk is cut into at most. Errors: MEMORY, TOO_LARGE. */
typedef struct tsi_share_options {
  double slice_bytes;
  tsi_index pieces;
  size_t scalar_bytes;
} tsi_share_options;

/* layout: the whole one or, for the spread chunks that it knows, a part, in whose numbers panels are. */
TRISTAR_CHECKED tristar_status tsi_share_create(tsi_env *env, const tsi_layout *layout,
                                                const tsi_panels *panels, tsi_index rank,
                                                const tsi_share_options *options, tsi_share **out);
TRISTAR_CHECKED tristar_status tsi_share_check(tsi_env *env, const tsi_share *share, const tsi_layout *layout,
                                               const tsi_panels *panels);
