/* Computes rows of G node by node, by all available threads: the function of fsai_rows.h for a job that has
 * nodes.
 *
 * Reads   rows of A, nodes, patterns.   Writes  rows of G, which the caller owns.
 * Invariant: the rows of a node depend only on A, the nodes, the given pattern and the limits, not on the
 * thread that computes them. */
#pragma once

#include "codelets/cpu/rows/sparse.h"
#include "runtime/iterate/precond/fsai_rows.h"
#include "runtime/iterate/precond/row_failure.h"

/* a, scalar: A in the precision of the computation. rows: each line has space for the most entries that the
 * row can get. entries: number of entries of each row. The caller frees both, also after a failure. Errors:
 * MEMORY, NO_WORKER, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_fsai_node_rows(const tsi_fsai_job *job, const tsi_matrix_rows *a,
                                                  char scalar, tsi_entries *rows, tsi_index **entries,
                                                  tsi_row_failure *failure);
