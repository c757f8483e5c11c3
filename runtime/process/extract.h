/* Copies the values of a share from a whole factor.
 *
 * Reads   a factor and its analysis, a share, the positions of its panels (tsi_place_share).
 * Writes  arrays of the share, as tsi_process stores them. */
#pragma once

#include "runtime/process/process.h"

/* Copies panels first .. end-1 of a share from the factor's lower or upper stream: scalars begin[first] ..
 * begin[end]-1 of the share's stream, to to[0] and the following entries. */
void tsi_extract_panels(const tristar_factor_t *factor, bool upper, const tsi_share *share,
                        const tsi_count *begin, tsi_index first, tsi_index end, void *to);

/* Copies pivots, inverse and scalings, by local column. An array is NULL if the factor's kind has no such
 * data. panel: by panel of the share, its number in the factor. */
void tsi_extract_columns(const tristar_factor_t *factor, const tsi_share *share, const tsi_index *panel,
                         tsi_index *pivots, void *inverse, double *row_scale, double *col_scale);
