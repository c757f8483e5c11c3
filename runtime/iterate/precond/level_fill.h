/* The pattern of incomplete factors by level of fill (Saad, Iterative Methods for Sparse Linear Systems,
 * 10.3.3).
 *
 * Reads   the rows of a matrix, without values.   Writes  rows of L and U together.
 * Invariant: the pattern has the entries (i, j) with level(i, j) <= level. An entry of A has level 0, fill
 * the least level(i, k) + level(k, j) + 1. The result of a symmetric pattern is symmetric. */
#pragma once

#include "runtime/iterate/precond/factor_rows.h"

/* out: without values. Release it with tsi_factor_rows_finish. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_level_fill(tsi_env *env, const tsi_factor_rows *a, tsi_index level,
                                              tsi_factor_rows *out);

/* depth[i], n: the level set of row i in L (lower) or U, counted from 1. Set 1 has the rows that depend on no
 * other row, set 2 the rows that depend only on set 1, and so on. Returns the number of sets. */
tsi_index tsi_find_levels(const tsi_factor_rows *rows, bool lower, tsi_index *depth);
