/* Supernodes of triangular factors that another library computed.
 *
 * Job. The input is the structure of L and (if it differs) the structure of U^T, both by columns. Compute a
 * numbering of the columns and a common partition into supernodes, with separate rows for each factor.
 *
 * The tree is the elimination tree of the symmetrized L + U^T. Every entry of either factor joins a column
 * with one of its ancestors. So a postorder of the tree keeps both factors triangular and makes independent
 * parts subtrees, without fill. For factors with a symmetric structure and without dropped entries it is the
 * usual assembly tree.
 *
 * Reads   tsi_columns of one or two factors.
 * Writes  a tsi_symbolic for each: the same perm (perm[k]: the given column that becomes k), supernodes and
 * tree, but separate rows. If both have the same rows only the first is made.
 * Invariants: as in symbolic.h with closed = false: rows of a supernode belong to ancestors, but these need
 * not have each other's rows; children need not be ordered by weight. */
#pragma once

#include "partition/order/symbolic.h"

/* The structure of a lower triangular matrix by columns: the rows below the diagonal of column j are
 * row[ptr[j]] .. row[ptr[j] + count[j] - 1], ascending, each once. Columns may share them: ptr[j + 1] =
 * ptr[j] + 1 means that column j + 1 has the rows of column j without the first. */
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
