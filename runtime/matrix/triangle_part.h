/* One triangle of a view as a matrix of its own.
 *
 * Job. Take the entries on and below (above) the diagonal, or, of a unit triangle, those off it and ones. Of
 * a symmetric kind entries of the other triangle stand at their mirror places. Arrays that hold nothing but
 * the triangle, by lines that ascend, are copied and looked at while they are; other lines that ascend are
 * looked at and copied; all others go through tsi_pattern_create, which also tells what is wrong.
 *
 * Reads   a view with values.   Writes  a pattern (GENERAL) and its values, both the caller's.
 * Invariants: those of pattern.h; by rows as the view, or, where a symmetric one stores the other triangle,
 * by the other lines; the diagonal entry of a line, if there is one, is its first or its last. */
#pragma once

#include "runtime/matrix/pattern.h"
#include "runtime/matrix/triangle_turn.h"
#include "tristar_triangle.h"

/* Errors: those of tsi_pattern_create; NOT_FINITE. */
TRISTAR_CHECKED tristar_status tsi_triangle_part(tsi_env *env, const tristar_view *view, tristar_uplo uplo,
                                                 tristar_diag diag, tsi_pattern **pattern, void **values,
                                                 tsi_triangle_values *known);

/* Can the columns of the triangle be read where they lie, by 32-bit indices from 0 on, if the arrays hold
 * nothing else? Reads next to nothing of them. */
bool tsi_triangle_has_columns(const tristar_view *view, tristar_uplo uplo, tristar_diag diag);
/* Then: these columns. *ptr: the caller's, NULL where the arrays hold something else. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_triangle_columns(tsi_env *env, const tristar_view *view, tristar_uplo uplo,
                                                    tsi_count **ptr, tsi_column_arrays *columns);
/* The triangle by these columns, which takes over *ptr, also on failure. *pattern: NULL where they do not
 * ascend. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_triangle_take_columns(tsi_env *env, const tristar_view *view,
                                                         const tsi_column_arrays *columns, tsi_count **ptr,
                                                         tsi_pattern **pattern, void **values,
                                                         tsi_triangle_values *known);
