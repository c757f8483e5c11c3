/* Which rows of a matrix are the unknowns of a node: see codelets/cpu/fsai/fsai_nodes.h.
 *
 * Job. Cut the rows into nodes, by number (rows N k to N k + N - 1) or where neighbouring rows stop having
 * the same columns; find what nodes a static pattern has.
 *
 * Reads   a pattern, what neighbouring rows have in common.   Writes  a tsi_fsai_nodes that owns its arrays.
 * Invariants (tsi_fsai_nodes_check)
 *   - nodes are 1 to TSI_FSAI_NODE_MOST consecutive rows each, and all rows are in one
 *   - nodes depend on the matrix, and on who owns which rows, alone: unknowns of a node have one owner */
#pragma once

#include "codelets/cpu/fsai/fsai_nodes.h"
#include "runtime/base/env.h"
#include "runtime/matrix/entries.h"
#include "tristar_precond.h"

/* What a row has in common with the one before it. */
typedef enum tsi_row_link {
  TSI_ROW_APART, /* there is none, or it has another owner, or rows between them are not here */
  TSI_ROW_NEXT,
  TSI_ROW_ALIKE /* next, with the same columns */
} tsi_row_link;

/* How many rows and nodes there are: nodes that were found are used where they have 3 rows for every 2 nodes
 * at least. Others would gain nothing by them. */
static inline bool tsi_fsai_nodes_pay(int64_t rows, int64_t nodes) {
  return 2 * rows >= 3 * nodes;
}

/* block: as in tristar_precond_options. number: of the rows in the whole matrix; NULL: these are all. link:
 * of each row; NULL: there are all, of one owner. out: to be finished, also after a failure; without nodes
 * where block asks for none. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_fsai_nodes_make(tsi_env *env, int block, const tsi_factor_rows *a,
                                                   const tsi_index *number, const uint8_t *link,
                                                   tsi_fsai_nodes *out);
void tsi_fsai_nodes_finish(tsi_fsai_nodes *nodes);

/* Errors: INTERNAL names the first invariant that is broken. */
TRISTAR_CHECKED tristar_status tsi_fsai_nodes_check(tsi_env *env, const tsi_fsai_nodes *nodes,
                                                    const tsi_factor_rows *a);

/* Lines of columns by node become lines by row: the first row of a node has its line, whose nodes become
 * their first columns, and other rows have none. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_fsai_nodes_spread(tsi_env *env, const tsi_fsai_nodes *nodes,
                                                     tsi_entries *lines);
