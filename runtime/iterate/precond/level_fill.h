/* The pattern of incomplete factors by level of fill (Saad, Iterative Methods for Sparse Linear Systems,
 * 10.3.3).
 *
 * Reads   the rows of a matrix, without values.   Writes  rows of L and U together.
 * Invariant: entries (i, j) are those with level(i, j) <= level, where an entry of A has level 0 and fill the
 * least of level(i, k) + level(k, j) + 1. Of a symmetric pattern it is symmetric. */
#pragma once

#include "runtime/iterate/precond/factor_rows.h"

/* out: without values; to be finished with tsi_factor_rows_finish. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_level_fill(tsi_env *env, const tsi_factor_rows *a, tsi_index level,
                                              tsi_factor_rows *out);

/* depth[i], n: the level set of row i in L (lower) or U, from 1 on: of rows that wait for none, of rows that
 * wait for these, and so on. Returns how many there are. */
tsi_index tsi_find_levels(const tsi_factor_rows *rows, bool lower, tsi_index *depth);
