/* Imports the factors of CHOLMOD: see tristar_cholmod.h. */
#include "runtime/adapters/adapter.h"
#include "runtime/adapters/cholmod_factors.h"

tristar_status tristar_import_cholmod(tristar_t *ts, const cholmod_factor *L, const tristar_view *matrix,
                                      tristar_factor_t **factor) {
  tristar_status status = TRISTAR_OK;
  tsi_cholmod work = {0};
  tristar_factors factors;
  if (factor != NULL) *factor = NULL;
  if (ts == NULL) return TSI_NULL(ts);
  if (factor == NULL) TSI_FAIL_OUT(ts, TRISTAR_ERR_ARGUMENT, "factor is NULL");
  TSI_TRY_OUT(tsi_cholmod_factors(ts, L, matrix, &work, &factors));
  TSI_TRY_OUT(tristar_import_supernodal(ts, &factors, factor));
out:
  tsi_cholmod_release(ts, &work);
  return status;
}

tristar_status tristar_reimport_cholmod(tristar_factor_t *factor, const cholmod_factor *L,
                                        const tristar_view *matrix) {
  tristar_status status = TRISTAR_OK;
  tsi_cholmod work = {0};
  tristar_factors factors;
  if (factor == NULL) return TSI_NULL(factor);
  tristar_t *ts = tristar_adapter_context(factor);
  TSI_TRY_OUT(tsi_cholmod_factors(ts, L, matrix, &work, &factors));
  TSI_TRY_OUT(tristar_reimport(factor, &factors));
out:
  tsi_cholmod_release(ts, &work);
  return status;
}
