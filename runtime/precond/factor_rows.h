/* Rows with their diagonals (codelets/cpu/incomplete.h): how they begin, what they must be, how they end.
 *
 * Reads   rows.   Writes  their diagonal. */
#ifndef TSI_RUNTIME_PRECOND_FACTOR_ROWS_H
#define TSI_RUNTIME_PRECOND_FACTOR_ROWS_H

#include "codelets/cpu/incomplete.h"
#include "runtime/base/env.h"

/* Fills in the diagonal of rows that ascend. Errors: SINGULAR (the message names a row without a diagonal
 * entry), MEMORY. */
TRISTAR_CHECKED tristar_status tsi_find_diagonal(tsi_env *env, tsi_factor_rows *rows);

/* Errors: INTERNAL (a broken invariant of incomplete.h). */
TRISTAR_CHECKED tristar_status tsi_factor_rows_check(tsi_env *env, const tsi_factor_rows *rows);
/* Frees all arrays. */
void tsi_factor_rows_finish(tsi_env *env, tsi_factor_rows *rows);

#endif
