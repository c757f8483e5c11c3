/* Rows with their diagonals (codelets/cpu/rows/incomplete.h): how they begin, what they must be, how they
 * end; incomplete factors by themselves.
 *
 * Reads   rows, a view.   Writes  their diagonal; factors, which are the caller's. */
#pragma once

#include "codelets/cpu/rows/incomplete.h"
#include "runtime/matrix/pattern.h"
#include "tristar_precond.h"

/* Fills in the diagonal of rows that ascend. Errors: SINGULAR (the message names a row without a diagonal
 * entry), MEMORY. */
TRISTAR_CHECKED tristar_status tsi_find_diagonal(tsi_env *env, tsi_factor_rows *rows);

/* Are the lines of a symmetric pattern the rows of the upper triangle, values included? */
bool tsi_lines_are_upper_rows(const tsi_pattern *pattern);
/* Rows of both triangles, without values, from lines that are the rows of the upper one. cross: see
 * tsi_incomplete_kernels; NULL: it is not needed. Errors: as above; then nothing is to be finished. */
TRISTAR_CHECKED tristar_status tsi_mirror_upper_rows(tsi_env *env, const tsi_pattern *pattern,
                                                     tsi_factor_rows *rows, tsi_index **cross);
/* The values of such lines into the upper triangle of rows; nothing is written left of it. */
void tsi_copy_upper_rows(const tsi_pattern *pattern, const void *values, size_t bytes, tsi_factor_rows *rows);

/* Nothing but the factors that tristar_precond makes of a matrix, of kind ILU, ILUT, IC or ICT; to be
 * finished with tsi_factor_rows_finish, also after a failure. Errors: as there. */
TRISTAR_CHECKED tristar_status tsi_incomplete_factors(tristar_t *ts, const tristar_view *view,
                                                      const tristar_precond_options *options,
                                                      tsi_factor_rows *factors);

/* Errors: INTERNAL (a broken invariant of incomplete.h). */
TRISTAR_CHECKED tristar_status tsi_factor_rows_check(tsi_env *env, const tsi_factor_rows *rows);
/* Frees all arrays. */
void tsi_factor_rows_finish(tsi_factor_rows *rows);
