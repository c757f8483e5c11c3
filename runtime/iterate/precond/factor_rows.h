/* Rows with their diagonals (codelets/cpu/rows/incomplete.h): how they begin, what they must be, how they
 * end; incomplete factors by themselves.
 *
 * Reads   rows, a view.   Writes  their diagonal; factors, which are the caller's. */
#ifndef TSI_RUNTIME_ITERATE_PRECOND_FACTOR_ROWS_H
#define TSI_RUNTIME_ITERATE_PRECOND_FACTOR_ROWS_H

#include "codelets/cpu/rows/incomplete.h"
#include "runtime/base/env.h"
#include "tristar_precond.h"

/* Fills in the diagonal of rows that ascend. Errors: SINGULAR (the message names a row without a diagonal
 * entry), MEMORY. */
TRISTAR_CHECKED tristar_status tsi_find_diagonal(tsi_env *env, tsi_factor_rows *rows);

/* Nothing but the factors that tristar_precond makes of a matrix, of kind ILU, ILUT, IC or ICT; to be
 * finished with tsi_factor_rows_finish, also after a failure. Errors: as there. */
TRISTAR_CHECKED tristar_status tsi_incomplete_factors(tristar_t *ts, const tristar_view *view,
                                                      const tristar_precond_options *options,
                                                      tsi_factor_rows *factors);

/* Errors: INTERNAL (a broken invariant of incomplete.h). */
TRISTAR_CHECKED tristar_status tsi_factor_rows_check(tsi_env *env, const tsi_factor_rows *rows);
/* Frees all arrays. */
void tsi_factor_rows_finish(tsi_factor_rows *rows);

#endif
