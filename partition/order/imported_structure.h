/* Supernodes of triangular factors that were computed elsewhere.
 *
 * Job. Given the structures of L and (where it is another one) of U^T, both by columns, find a numbering of
 * the columns and a common partition into supernodes, with the rows of each factor on its own.
 *
 * The tree is the elimination tree of L + U^T made symmetric. Every entry of either factor joins a column
 * with an ancestor of it, so a postorder of the tree keeps both triangular and puts independent parts into
 * subtrees, although nothing is filled in. In factors from a symmetric structure without dropped entries it
 * is the usual assembly tree.
 *
 * Reads   tsi_columns of one or two factors.
 * Writes  a tsi_symbolic for each: same perm (perm[k]: the given column that becomes k), supernodes and tree,
 * rows of its own. If both have the same rows only the first is made. Invariants: those of symbolic.h with
 * closed = false: rows of a supernode belong to ancestors, but these need not have each other's rows;
 * children need not be ordered by weight. */
#pragma once

#include "partition/order/symbolic.h"

/* The structure of a lower triangular matrix by columns: the rows below the diagonal of column j are
 * row[ptr[j]] .. row[ptr[j] + count[j] - 1], ascending, each once. Columns may share them: then ptr[j + 1] =
 * ptr[j] + 1 says that column j + 1 has the rows of column j but its first. */
typedef struct tsi_columns {
  tsi_index n;
  tsi_count *ptr;   /* n */
  tsi_index *count; /* n */
  tsi_index *row;
} tsi_columns;

/* sides: 1 or 2. out[1] is NULL if there is one side, or both have the same rows. Errors: MEMORY, TOO_LARGE.
 */
TRISTAR_CHECKED tristar_status tsi_symbolic_of_imported(tsi_env *env, int sides, const tsi_columns *columns,
                                                        double relax, tsi_symbolic *out[2]);
