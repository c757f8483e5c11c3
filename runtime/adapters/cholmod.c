/* Imports the factors of CHOLMOD: see tristar_cholmod.h. */
#include "runtime/adapters/adapter.h"
#include "runtime/adapters/cholmod_factors.h"

tristar_status tristar_import_cholmod(tristar_t *ts, const cholmod_factor *L, const tristar_view *matrix,
                                      tristar_factor_t **factor) {
  TSI_CLEANUP(tsi_cholmod_release) tsi_cholmod work = {0};
  tristar_factors factors;
  if (factor != NULL) *factor = NULL;
  if (ts == NULL) return TSI_NULL(ts);
  if (factor == NULL) TSI_FAIL(ts, TRISTAR_ERR_ARGUMENT, "factor is NULL");
  TSI_TRY(tsi_cholmod_factors(ts, L, matrix, &work, &factors));
  return tristar_import_supernodal(ts, &factors, factor);
}

tristar_status tristar_reimport_cholmod(tristar_factor_t *factor, const cholmod_factor *L,
                                        const tristar_view *matrix) {
  TSI_CLEANUP(tsi_cholmod_release) tsi_cholmod work = {0};
  tristar_factors factors;
  if (factor == NULL) return TSI_NULL(factor);
  tristar_t *ts = tristar_adapter_context(factor);
  TSI_TRY(tsi_cholmod_factors(ts, L, matrix, &work, &factors));
  return tristar_reimport(factor, &factors);
}
