/* Rows with diagonal positions (codelets/cpu/rows/incomplete.h): creation, checks, release; incomplete
 * factors without a preconditioner.
 *
 * Reads   rows, a view.   Writes  the positions of diagonals; factors, which the caller owns. */
#pragma once

#include "codelets/cpu/rows/incomplete.h"
#include "runtime/matrix/pattern.h"
#include "tristar_precond.h"

/* Sets `diagonal` of rows whose columns ascend. Errors: SINGULAR (the message names a row without a diagonal
 * entry), MEMORY. */
TRISTAR_CHECKED tristar_status tsi_find_diagonal(tsi_env *env, tsi_factor_rows *rows);

/* Are the lines of a symmetric pattern the rows of the upper triangle, values included? */
bool tsi_lines_are_upper_rows(const tsi_pattern *pattern);
/* Makes rows of both triangles, without values, from lines that are the rows of the upper triangle. cross:
 * see tsi_incomplete_kernels; NULL: not needed. Errors: as above. After an error the caller has nothing to
 * release. */
TRISTAR_CHECKED tristar_status tsi_mirror_upper_rows(tsi_env *env, const tsi_pattern *pattern,
                                                     tsi_factor_rows *rows, tsi_index **cross);
/* Copies the values of such lines to the upper triangle of rows. Entries left of the diagonal are not
 * written. */
void tsi_copy_upper_rows(const tsi_pattern *pattern, const void *values, size_t bytes, tsi_factor_rows *rows);

/* Computes only the factors that tristar_precond computes for kind ILU, ILUT, IC or ICT. Release them with
 * tsi_factor_rows_finish, also after a failure. Errors: as tristar_precond. */
TRISTAR_CHECKED tristar_status tsi_incomplete_factors(tristar_t *ts, const tristar_view *view,
                                                      const tristar_precond_options *options,
                                                      tsi_factor_rows *factors);

/* Errors: INTERNAL (a broken invariant of incomplete.h). */
TRISTAR_CHECKED tristar_status tsi_factor_rows_check(tsi_env *env, const tsi_factor_rows *rows);
/* Frees all arrays. */
void tsi_factor_rows_finish(tsi_factor_rows *rows);
