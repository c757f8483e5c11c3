/* Rows of G node by node, by whoever works: what fsai_rows.h does for a job that has nodes.
 *
 * Reads   rows of A, nodes, patterns.   Writes  rows of G, which are the caller's.
 * Invariant: a node's rows depend on A, the nodes, its pattern's beginning and the limits alone, not on who
 * computes them. */
#pragma once

#include "codelets/cpu/rows/sparse.h"
#include "runtime/iterate/precond/fsai_rows.h"
#include "runtime/iterate/precond/row_failure.h"

/* a, scalar: A in the precision that G is computed in. rows: a line for each row that is wanted, where it has
 * room; entries: how much of that each takes. Both are to be freed, also after a failure. Errors: MEMORY,
 * NO_WORKER, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_fsai_node_rows(const tsi_fsai_job *job, const tsi_matrix_rows *a,
                                                  char scalar, tsi_entries *rows, tsi_index **entries,
                                                  tsi_row_failure *failure);
