/* Static patterns of sparse approximate inverses: the lower triangle of a power of A, optionally without
 * small entries (Chow 2001).
 *
 * Reads   the rows of a matrix, magnitudes of entries.   Writes  a pattern.
 * Invariant: row i has, in ascending order, the columns j < i at a distance of at most `power` entries from
 * i. The same holds for nodes. Two nodes have an entry if any row of one and column of the other have one. */
#pragma once

#include "codelets/cpu/rows/incomplete.h"
#include "runtime/matrix/entries.h"
#include "runtime/iterate/precond/fsai_nodes.h"

/* nodes: if there are none, the pattern is by rows. Entries count if they exceed `least` times the square
 * root of the product of both diagonal entries. out: without items; to be finished, also after a failure.
 * Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_power_pattern(tsi_env *env, const tsi_factor_rows *a,
                                                 const double *magnitude, double least, tsi_index power,
                                                 const tsi_fsai_nodes *nodes, tsi_entries *out);
