/* One triangle of a view as a matrix of its own.
 *
 * Job. Copy the entries on and below (above) the diagonal; for a unit triangle, the entries off the diagonal,
 * and ones on it. In a symmetric kind, entries of the other triangle are replaced by their mirror images.
 * Arrays with ascending lines that contain only the triangle are copied and verified at the same time. Other
 * ascending lines are first verified, then copied. All others are converted by tsi_pattern_create, which also
 * reports errors.
 *
 * Reads   a view with values.   Writes  a pattern (GENERAL) and its values, both the caller's.
 * Invariants: as in pattern.h. The pattern is by rows if the view is; if a symmetric view stores the other
 * triangle, it is by the other lines. The diagonal entry of a line, if it exists, is the first or the last
 * one. */
#pragma once

#include "runtime/matrix/pattern.h"
#include "runtime/matrix/triangle_turn.h"
#include "tristar_triangle.h"

/* Errors: those of tsi_pattern_create; NOT_FINITE. */
TRISTAR_CHECKED tristar_status tsi_triangle_part(tsi_env *env, const tristar_view *view, tristar_uplo uplo,
                                                 tristar_diag diag, tsi_pattern **pattern, void **values,
                                                 tsi_triangle_values *properties);

/* Can the columns of the triangle be read in place, by 32-bit indices from 0 on, if the arrays contain
 * nothing else? Reads almost nothing of the arrays. */
bool tsi_triangle_has_columns(const tristar_view *view, tristar_uplo uplo, tristar_diag diag);
/* Called if so: returns these columns. *ptr: owned by the caller; NULL if the arrays contain something else.
 * Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_triangle_columns(tsi_env *env, const tristar_view *view, tristar_uplo uplo,
                                                    tsi_count **ptr, tsi_column_arrays *columns);
/* Makes the triangle by these columns. Takes ownership of *ptr, also on failure. *pattern: NULL if the
 * columns do not ascend. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_triangle_take_columns(tsi_env *env, const tristar_view *view,
                                                         const tsi_column_arrays *columns, tsi_count **ptr,
                                                         tsi_pattern **pattern, void **values,
                                                         tsi_triangle_values *properties);
