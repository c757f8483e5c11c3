/* Chunks: the units that the solve schedules.
 *
 * Job. Partition the panels, in their order (a postorder of the assembly tree), into intervals: bottom
 * forests of subtrees, chains, single panels. Cut the rectangles of single heavy panels near the root into
 * row slices. Weights are bytes of factor streamed in one direction.
 *
 *   - A supernode is "top" if its subtree is heavier than the ceiling of groups. The subtrees below top
 *     supernodes are grouped with their siblings up to that ceiling. A group lighter than the floor joins the
 *     chunk of its parent.
 *   - A chain of top supernodes (each the only top child of the next), and the panels of one top supernode,
 *     share a chunk up to the ceiling.
 *   - A panel whose supernode s has the share f = subtree(s) / total of all the work is cut into about 16 f
 *     slices, none lighter than the slice floor: near the root the tree alone does not keep workers busy.
 *   - If all panels together are lighter than `whole_bytes`, there is one chunk.
 *
 * Any partition of a postorder into intervals is legal: the rows below an interval are columns of later ones.
 * L and U with different rows (sides) get the same intervals, but each has its own off-rows and slices.
 * Weights are then means over both sides, and a panel that is sliced on one side is a chunk of its own on
 * both.
 *
 * Labels, if given, keep chunks apart: supernodes with different labels share no chunk, and each panel of a
 * supernode labelled TSI_NONE is a chunk of its own, without slices. Supernodes with one label, other than
 * TSI_NONE, are whole subtrees. A subtree on a device is one chunk without slices, whatever its weight; its
 * ancestors are top. The choice depends on the structure and the options only, never on the number of
 * workers; so results do not depend on it either.
 *
 * Reads   tsi_symbolic, tsi_panels of each side.
 * Writes  a tsi_chunks for each side that owns its arrays.
 * Invariants (tsi_chunks_check)
 *   - chunk c has panels panel[c] .. panel[c+1]-1; every chunk has at least one
 *   - off[off_ptr[c] .. off_ptr[c+1]-1] are the rows of its panels that it does not own, ascending, each once
 *   - local_row[panel_row[p] + i], i < height(p): the chunk-local number of row i of panel p: own columns
 *     count from 0 in order, off-rows from first_off[c] in the order of off
 *   - first_off[c] is the number of columns; on side 1 it follows all local rows of side 0, as both sides may
 *     work on the same chunk at the same time
 *   - a sliced chunk is a single panel; its slices slice_ptr[c] .. slice_ptr[c+1]-1 cut rows 0 .. height-1 in
 *     order, each begins at slice_row[k], a multiple of 8, and none is empty; an unsliced chunk has no
 *     slice */
#pragma once

#include "partition/cut/panels.h"
#include "runtime/base/sort.h"

typedef struct tsi_chunk_options {
  double floor_bytes;   /* Minimum weight of a chunk, if the tree allows it. */
  double ceiling_bytes; /* Maximum weight of a chunk, except single panels. */
  double group_bytes;   /* Maximum weight of a chunk of bottom subtrees; 0: ceiling_bytes. */
  double panel_bytes;   /* Added to the weight of a subtree for each panel: the time of a panel besides its
                           bytes. */
  double slice_bytes;   /* Minimum weight of a slice. */
  double whole_bytes;   /* Below this total weight there is one chunk. */
  size_t scalar_bytes;
  bool single;            /* Each panel is a chunk without slices; the weights above are ignored. */
  const tsi_index *label; /* Label of each supernode. NULL: all have the same. */
  /* For each supernode the device of its subtree (device_split.h); TSI_NONE: the cores. NULL: all on the
   * cores. */
  const tsi_index *device;
} tsi_chunk_options;

#define TSI_CHUNK_FLOOR_BYTES 0.4e6 /* 30 us of streaming, 16 times a task, on a common machine */

/* Defaults for a factor with `entries` stored entries in one triangle; all follow from the floor and the size
 * of the factor. The ceiling aims at 128 chunks. Its upper limit of 8 MB serves the balance: half a
 * millisecond of streaming keeps 16 workers busy to within a few per cent on such a large factor. Caches do
 * not matter, as each sweep streams a chunk once, and all other chunks before it is needed again. */
void tsi_chunk_options_init(tsi_chunk_options *options, double floor_bytes, tsi_count entries,
                            size_t scalar_bytes);

typedef struct tsi_chunks {
  tsi_index count;
  tsi_index *panel;     /* count + 1 */
  tsi_count *entries;   /* count: entries of a chunk without panels (row_chunks.h), with the diagonal; NULL:
                           there are panels */
  tsi_index *column;    /* count + 1: first column */
  tsi_count *off_ptr;   /* count + 1 */
  tsi_index *off;       /* off_ptr[count]: columns of the final ordering */
  tsi_index *first_off; /* count: chunk-local number of the first off-row */
  tsi_count *panel_row; /* panels */
  tsi_index *local_row; /* Shared by the panels of a supernode inside a chunk. */
  tsi_count local_rows; /* Length of local_row. */
  tsi_index *slice_ptr; /* count + 1 */
  tsi_index *slice_row; /* slices: first row */
  tsi_index slices;
} tsi_chunks;

/* One triangular factor, or one of the two of a solve: these have the same supernodes and panels, but their
 * own rows. */
typedef struct tsi_side {
  const tsi_symbolic *symbolic;
  const tsi_panels *panels;
} tsi_side;

/* out[i] is made for side[i], sides = 1 or 2. If n = 0, there is no chunk. Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_chunks_create(tsi_env *env, int sides, const tsi_side *side,
                                                 const tsi_chunk_options *options, tsi_chunks **out);
/* The choice alone, for one side: sets count, panel, slice_ptr, slice_row and slices, and nothing else of
 * *out. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_chunks_choose(tsi_env *env, const tsi_side *side,
                                                 const tsi_chunk_options *options, tsi_chunks **out);
TRISTAR_CHECKED tristar_status tsi_chunks_check(tsi_env *env, const tsi_chunks *chunks,
                                                const tsi_symbolic *symbolic, const tsi_panels *panels);

/* owner[j] = the chunk of column j; all columns. */
static inline void tsi_chunk_owners(const tsi_chunks *chunks, tsi_index *owner) {
  for (tsi_index c = 0; c < chunks->count; c++)
    for (tsi_index j = chunks->column[c]; j < chunks->column[c + 1]; j++) owner[j] = c;
}
/* The chunk of column j. */
static inline tsi_index tsi_chunk_of(const tsi_chunks *chunks, tsi_index j) {
  return tsi_find_range(chunks->column, chunks->count, j);
}
static inline tsi_index tsi_chunk_columns(const tsi_chunks *chunks, tsi_index c) {
  return chunks->column[c + 1] - chunks->column[c];
}
static inline tsi_index tsi_chunk_off_rows(const tsi_chunks *chunks, tsi_index c) {
  return (tsi_index)(chunks->off_ptr[c + 1] - chunks->off_ptr[c]);
}
/* Chunk-local rows up to the end of this side: columns, off-rows, a block of columns for each slice. */
static inline tsi_index tsi_chunk_local_rows(const tsi_chunks *chunks, tsi_index c) {
  return chunks->first_off[c] + tsi_chunk_off_rows(chunks, c) +
         (chunks->slice_ptr[c + 1] - chunks->slice_ptr[c]) * tsi_chunk_columns(chunks, c);
}
static inline tsi_index tsi_chunk_slices(const tsi_chunks *chunks, tsi_index c) {
  return chunks->slice_ptr[c + 1] - chunks->slice_ptr[c];
}
/* Rows of slice k of chunk c (k counts over all chunks). */
static inline tsi_index tsi_slice_rows(const tsi_chunks *chunks, const tsi_panels *panels, tsi_index c,
                                       tsi_index k) {
  const tsi_index end =
      k + 1 < chunks->slice_ptr[c + 1] ? chunks->slice_row[k + 1] : panels->height[chunks->panel[c]];
  return end - chunks->slice_row[k];
}
