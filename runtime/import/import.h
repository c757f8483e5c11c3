/* Factors from elsewhere, for other files than those that import them.
 *
 * Reads   what the caller hands over.   Writes  a factor. */
#pragma once

#include "runtime/factor/factor.h"

/* lower, upper: which triangles there are; with LLT and LDLT only lower. Errors: as of
 * tristar_import_supernodal. */
TRISTAR_CHECKED tristar_status tsi_import_structure(tristar_t *ts, const tristar_factors *factors, bool lower,
                                                    bool upper, tristar_factor_t **out);

/* tristar_reimport without the verdict on the factor (judge.h). Errors: theirs. */
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
/* Makes or fills the scalings of a factor. A missing one becomes ones if there is the other, as a factor has
 * both or none: of none both are freed. Errors: FORMAT as above, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_import_scales(tsi_env *env, tsi_index n, const double *row_scale,
                                                 const double *column_scale, tristar_factor_t *factor);

/* A triangle as a pattern (GENERAL) of ascending lines, all of whose entries lie in it, ones of a unit
 * diagonal written out; it is the matrix of the factor. Its streams are made by the first solve that needs
 * them. finite: all values are known to be. Takes over pattern and values, also on failure. Errors: as of
 * tristar_import_triangle. */
TRISTAR_CHECKED tristar_status tsi_import_lines(tristar_t *ts, tsi_pattern *pattern, void *values, bool lower,
                                                bool finite, tristar_partition partition,
                                                tristar_factor_t **out);
/* Its level sets. scratch: n. */
tsi_index tsi_import_levels(const tristar_factor_t *factor, tsi_index *scratch);
/* New values of such a factor, in the order of the pattern, or those that were written to its own array: its
 * plans solve with them from their next solve on. finite: as above. After a failure it holds none. Errors: as
 * above. */
TRISTAR_CHECKED tristar_status tsi_reimport_lines(tristar_factor_t *factor, const void *values, bool finite);
