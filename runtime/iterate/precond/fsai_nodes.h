/* The division of the rows of a matrix into nodes: see codelets/cpu/fsai/fsai_nodes.h.
 *
 * Job. Divide the rows into nodes: by number (rows N k to N k + N - 1), or by runs of rows with the same
 * columns. Convert patterns between nodes and rows.
 *
 * Reads   a pattern, links between neighbouring rows.   Writes  a tsi_fsai_nodes that owns its arrays.
 * Invariants (tsi_fsai_nodes_check)
 *   - each node consists of 1 to TSI_FSAI_NODE_MOST consecutive rows, and each row is in one node
 *   - nodes depend only on the matrix and on the owners of rows: the unknowns of a node have one owner */
#pragma once

#include "codelets/cpu/fsai/fsai_nodes.h"
#include "runtime/base/env.h"
#include "runtime/matrix/entries.h"
#include "tristar_precond.h"

/* The relation of a row to the row before it. */
typedef enum tsi_row_link {
  TSI_ROW_APART, /* There is no row before it, or that row has another owner, or rows between both are
                    missing. */
  TSI_ROW_NEXT,
  TSI_ROW_ALIKE /* the next row, with the same columns */
} tsi_row_link;

/* Do nodes that were found by their columns pay? They do from 3 rows per 2 nodes on. */
static inline bool tsi_fsai_nodes_pay(int64_t rows, int64_t nodes) {
  return 2 * rows >= 3 * nodes;
}

/* block: see tristar_precond_options. number: of each row in the whole matrix; NULL: all rows are here. link:
 * of each row; NULL: all rows are here, with one owner. out: to be finished, also after a failure; has no
 * nodes if `block` is 0 or 1. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_fsai_nodes_make(tsi_env *env, int block, const tsi_factor_rows *a,
                                                   const tsi_index *number, const uint8_t *link,
                                                   tsi_fsai_nodes *out);
void tsi_fsai_nodes_finish(tsi_fsai_nodes *nodes);

/* Errors: INTERNAL names the first invariant that is broken. */
TRISTAR_CHECKED tristar_status tsi_fsai_nodes_check(tsi_env *env, const tsi_fsai_nodes *nodes,
                                                    const tsi_factor_rows *a);

/* Converts a pattern of nodes to a pattern of rows. The first row of a node gets its line, with nodes
 * replaced by their first columns. Other rows get empty lines. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_fsai_nodes_spread(tsi_env *env, const tsi_fsai_nodes *nodes,
                                                     tsi_entries *lines);
