/* A share: the part of a factor on one process, as a triangular structure of its own.
 *
 * Job. List the chunks of a layout that concern a process, and number their columns anew. Describe the panels
 * and rows on this process like a whole factor (tsi_panels, tsi_chunks). So all functions for chunks work for
 * a share. A chunk of a share has one or more of these roles:
 *
 *   TSI_ROLE_ANCHOR       the process is its anchor in the grid
 *   TSI_ROLE_DIAGONAL     the process is its anchor and has its triangles: it solves
 *   TSI_ROLE_HOLDER       the process stores rows of this spread chunk
 *   TSI_ROLE_CONTRIBUTOR  the process stores rows of other chunks in this chunk, and is not its anchor
 *
 * A chunk without rows or triangles here has a panel of height 0. All columns of every listed chunk have
 * local numbers, in ascending order. The rows of a chunk's panel on this process keep their order.
 *
 * Reads   tsi_layout, tsi_panels of the factor.
 * Writes  a tsi_share that owns its arrays and is immutable afterwards.
 * Invariants (tsi_share_check)
 *   - chunk[k] ascends; local chunk k has as many columns as chunk chunk[k] of the layout
 *   - panels->supernode and panels->first are NULL: a share has panels only
 *   - local panel j is panel panel[j] of the factor; of its rows it has row[row_ptr[j] .. row_ptr[j+1]-1],
 *     numbers of rows of that panel's rectangle, ascending. All of them if the chunk is whole
 *   - spread chunks with rows here have at least one slice, so x can be sent before the slices run. The first
 *     slice has the rows in the chunk's first target, the next chunk on the path to the root: this target
 *     waits for them, forward, and its x is computed last, backward */
#pragma once

#include "partition/layout/layout.h"

enum { TSI_ROLE_ANCHOR = 1, TSI_ROLE_DIAGONAL = 2, TSI_ROLE_HOLDER = 4, TSI_ROLE_CONTRIBUTOR = 8 };

typedef struct tsi_share {
  tsi_index rank, z, process; /* Process p + Px q of grid z. */
  tsi_index *chunk;           /* Local chunks: their numbers in the layout. */
  unsigned char *role;        /* local chunks */
  tsi_index *local;           /* Chunks of the layout: the number of the local chunk; TSI_NONE. */
  tsi_chunks *chunks;
  tsi_panels *panels;
  tsi_index *panel;   /* Local panels: their numbers in the factor. */
  tsi_count *row_ptr; /* local panels + 1 */
  tsi_index *row;
} tsi_share;

/* slice_bytes: minimum weight of a slice. pieces: maximum number of slices of a spread chunk. */
typedef struct tsi_share_options {
  double slice_bytes;
  tsi_index pieces;
  size_t scalar_bytes;
} tsi_share_options;

/* layout: the whole layout, or a part of it with the spread chunks of the share; then panels have the numbers
 * of the part. Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_share_create(tsi_env *env, const tsi_layout *layout,
                                                const tsi_panels *panels, tsi_index rank,
                                                const tsi_share_options *options, tsi_share **out);
TRISTAR_CHECKED tristar_status tsi_share_check(tsi_env *env, const tsi_share *share, const tsi_layout *layout,
                                               const tsi_panels *panels);
