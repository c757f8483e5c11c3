/* A subtree (partition/device/device_subtree.h) in the form that a device solves: cut into nodes, with device
 * tables, and its border.
 *
 * A device has b and x of the subtree's columns, `stride` scalars per row, column j in row j. In the same
 * packed form it has the data of the border: forward the updates of the subtree, backward x of their owners.
 * In a workspace of the tables the rows of the border are contiguous and begin at row border_row. The
 * launcher of a sweep copies them from there after a forward sweep, and to it before a backward sweep.
 *
 * Reads   chunks and structure of a factor that both sweeps use.
 * Writes  a tsi_subtree_tables that owns its arrays and is immutable afterwards.
 * Invariants: those of subtree, chunks, sweep and tables
 *   - panel p of the tables is panel subtree->panel + p of the factor. Its values count from first_value of
 *     the factor's stream, which has the alignment of the start of the stream, and end before end_value */
#pragma once

#include "partition/device/device_subtree.h"
#include "runtime/exec/device/device_build.h"

/* Alignment in scalars: a multiple of the scalars that any kernel loads together. */
#define TSI_SUBTREE_ALIGNMENT 64

typedef struct tsi_subtree_tables {
  tsi_device_subtree *subtree;
  tsi_chunks *chunks;
  tsi_sweep *sweep;
  tsi_device_tables tables;
  tsi_index border_row;
  tsi_count first_value, end_value; /* scalars */
} tsi_subtree_tables;

/* Source of subtrees. */
typedef struct tsi_subtree_source {
  const tsi_chunks *chunks;
  const tsi_symbolic *symbolic;
  const tsi_panels *panels;
  const tsi_count *panel_values; /* positions of panels first .. of the factor, and the end of the last one */
  tsi_inverse inverse;
  tsi_index first;
} tsi_subtree_source;

/* Addresses on the device of the data of a sweep. */
typedef struct tsi_subtree_memory {
  const void *values;    /* values of the sweep's factor, from first_value on */
  const tsi_index *from; /* interchanges of the subtree's columns (tsi_device_interchanges); NULL: none */
  const void *inverse;   /* D^-1 of these columns; NULL: none */
  void *x;               /* `columns` rows: right-hand side of the sweep, then its result */
  void *workspace;       /* workspace of the tables; need not be cleared, and is not needed afterwards */
} tsi_subtree_memory;

/* The subtree's part of a sweep, as a separate solve. Rows of b and x are permuted, scaled and conjugated
 * before the first sweep and after the last one. */
tsi_device_call tsi_subtree_tables_call(const tsi_solve_call *call, bool backward,
                                        const tsi_subtree_memory *memory);

/* chunk: a chunk with tsi_chunk_is_device_subtree. Errors: those of tsi_device_tables_create. */
TRISTAR_CHECKED tristar_status tsi_subtree_tables_create(tsi_env *env, const tsi_subtree_source *source,
                                                         tsi_index chunk, const tsi_device_options *options,
                                                         tsi_subtree_tables **out);
void tsi_subtree_tables_destroy(tsi_subtree_tables **subtree);
