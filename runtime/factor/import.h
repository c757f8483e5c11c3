/* Factors from elsewhere, for the files that import them.
 *
 * Reads   what the caller hands over, during the call.   Writes  a factor. */
#ifndef TSI_RUNTIME_FACTOR_IMPORT_H
#define TSI_RUNTIME_FACTOR_IMPORT_H

#include "runtime/factor/factor.h"

/* lower, upper: which triangles there are; with LLT and LDLT only lower. Errors: as of
 * tristar_import_supernodal. */
TRISTAR_CHECKED tristar_status tsi_import_given(tristar_t *ts, const tristar_factors *factors, bool lower,
                                                bool upper, tristar_factor_t **out);

#endif
