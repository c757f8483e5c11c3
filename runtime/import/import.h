/* Factors of other libraries: functions that several files share.
 *
 * Reads   the caller's arrays.   Writes  a factor. */
#pragma once

#include "runtime/factor/factor.h"

/* lower, upper: the triangles that `factors` contains; with LLT and LDLT only lower. Errors: those of
 * tristar_import_supernodal. */
TRISTAR_CHECKED tristar_status tsi_import_structure(tristar_t *ts, const tristar_factors *factors, bool lower,
                                                    bool upper, tristar_factor_t **out);

/* tristar_reimport without the verdict on the factor (judge.h). Errors: those of tristar_reimport. */
TRISTAR_CHECKED tristar_status tsi_reimport_structure(tristar_factor_t *factor,
                                                      const tristar_factors *factors);
/* Errors: NOT_FINITE (the inverse of a diagonal block exceeds the range of the type). */
TRISTAR_CHECKED tristar_status tsi_import_check_inverses(const tristar_factor_t *factor);

/* *row: n, row[j] = order[perm[j]]; order NULL, or 0, 1, 2, ...: perm itself. Errors: FORMAT, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_import_order(tsi_env *env, const tsi_symbolic *symbolic,
                                                const int64_t *order, const char *name, tsi_index **row);
/* Errors: FORMAT (NaN, infinity, 0). */
TRISTAR_CHECKED tristar_status tsi_import_check_scale(tsi_env *env, tsi_index n, const double *scale,
                                                      const char *name);
/* Sets the scalings of a factor. A factor has both or none: if only one is given, the other becomes ones; if
 * none is given, both are freed. Errors: FORMAT as above, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_import_scales(tsi_env *env, tsi_index n, const double *row_scale,
                                                 const double *column_scale, tristar_factor_t *factor);

/* Imports a triangle, a GENERAL pattern with ascending lines. All entries are in the triangle, including ones
 * of a unit diagonal. It becomes the matrix of the factor. The first solve that needs the streams makes them.
 * finite: all values are known to be finite. Takes ownership of pattern and values, also on failure. Errors:
 * those of tristar_import_triangle. */
TRISTAR_CHECKED tristar_status tsi_import_lines(tristar_t *ts, tsi_pattern *pattern, void *values, bool lower,
                                                bool finite, tristar_partition partition,
                                                tristar_factor_t **out);
/* Number of level sets of such a factor. scratch: n. */
tsi_index tsi_import_levels(const tristar_factor_t *factor, tsi_index *scratch);
/* Sets new values of such a factor, in the order of the pattern; `values` may be the factor's own array.
 * Later solves of its plans use them. finite: as above. After a failure the factor has no values. Errors: as
 * above. */
TRISTAR_CHECKED tristar_status tsi_reimport_lines(tristar_factor_t *factor, const void *values, bool finite);
