/* Static patterns of sparse approximate inverses: the lower triangle of a power of A, of which small entries
 * may not count (Chow 2001).
 *
 * Reads   the rows of a matrix, magnitudes of entries.   Writes  a pattern.
 * Invariant: row i has the columns j < i that are at most `power` entries away from i, ascending. Of nodes:
 * node i has the nodes j < i likewise; nodes have an entry where any of their rows and columns has one. */
#pragma once

#include "codelets/cpu/rows/incomplete.h"
#include "runtime/matrix/entries.h"
#include "runtime/iterate/precond/fsai_nodes.h"

/* nodes: without any, rows are taken one by one. Entries count that are larger than `least` times the square
 * root of the product of both diagonal entries. out: without items; to be finished, also after a failure.
 * Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_power_pattern(tsi_env *env, const tsi_factor_rows *a,
                                                 const double *magnitude, double least, tsi_index power,
                                                 const tsi_fsai_nodes *nodes, tsi_entries *out);
