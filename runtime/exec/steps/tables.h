/* Tables: the structure of a triangular factor, as the kernels read it.
 *
 * Reads   chunks, sweep and panels of a whole factor or of a share of it.
 * Writes  a tsi_tables that is immutable afterwards.
 * Invariants: those of codelets/cpu/node.h; each chunk's rows of the workspace begin on a cache line. */
#pragma once

#include "codelets/cpu/node.h"
#include "dag/sweep.h"

typedef struct tsi_tables {
  tsi_solve_chunk *chunk;
  tsi_solve_slice *slice;
  tsi_panel *panel;
  tsi_solve_pair *pair;
  tsi_count workspace_rows;
} tsi_tables;

typedef struct tsi_tables_source {
  const tsi_chunks *chunks;
  const tsi_sweep *sweep;
  const tsi_panels *panels;
  const tsi_count *panel_values; /* position of each panel in the stream of values */
  const tsi_chunks *rows_of; /* chunks that determine the local rows of the workspace: chunks itself, or the
                                chunks of the last of several factors */
  bool by_column;            /* row j of the workspace is column j */
} tsi_tables_source;

/* owner: object that owns the arrays. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_tables_create(void *owner, const tsi_tables_source *source,
                                                 tsi_tables *tables);
