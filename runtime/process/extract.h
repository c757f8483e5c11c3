/* Values of a share, taken out of a whole factor.
 *
 * Reads   a factor and its analysis, a share, where its panels begin (tsi_place_share).
 * Writes  arrays of the share, as tsi_process holds them. */
#pragma once

#include "runtime/process/process.h"

/* Panels first .. end-1 of a share, from the factor's lower or upper stream: writes scalars
 * begin[first] .. begin[end]-1 of the share's stream to `to`, the first of them to to[0]. */
void tsi_extract_panels(const tristar_factor_t *factor, bool upper, const tsi_share *share,
                        const tsi_count *begin, tsi_index first, tsi_index end, void *to);

/* Pivots, inverse and scalings by local column; NULL for what the factor's kind does not have. panel: by
 * panel of the share, its number in the factor. */
void tsi_extract_columns(const tristar_factor_t *factor, const tsi_share *share, const tsi_index *panel,
                         tsi_index *pivots, void *inverse, double *row_scale, double *col_scale);
