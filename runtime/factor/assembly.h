/* Assembly lists: where every entry of A goes in the factored matrix. See analysis.h for their meaning. */
#pragma once

#include "runtime/factor/analysis.h"

/* Fills analysis->lower and, for LU, ->upper from pattern, in_row and out_row. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_assembly_create(tsi_env *env, tristar_analysis_t *analysis);
void tsi_assembly_finish(tsi_env *env, tristar_analysis_t *analysis);
