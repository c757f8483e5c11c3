/* Imports the factors of KLU: see tristar_klu.h. */
#include "runtime/adapters/adapter.h"
#include "runtime/adapters/klu_factors.h"

tristar_status tristar_import_klu(tristar_t *ts, tristar_klu family, const void *Symbolic,
                                  const void *Numeric, const tristar_view *matrix,
                                  tristar_factor_t **factor) {
  tristar_status status = TRISTAR_OK;
  tsi_klu work = {0};
  tristar_factors factors;
  if (factor != NULL) *factor = NULL;
  if (ts == NULL) return TSI_NULL(ts);
  if (factor == NULL) TSI_FAIL_OUT(ts, TRISTAR_ERR_ARGUMENT, "factor is NULL");
  TSI_TRY_OUT(tsi_klu_factors(ts, family, Symbolic, Numeric, matrix, &work, &factors));
  TSI_TRY_OUT(tristar_import_supernodal(ts, &factors, factor));
out:
  tsi_klu_release(ts, &work);
  return status;
}

tristar_status tristar_reimport_klu(tristar_factor_t *factor, tristar_klu family, const void *Symbolic,
                                    const void *Numeric, const tristar_view *matrix) {
  tristar_status status = TRISTAR_OK;
  tsi_klu work = {0};
  tristar_factors factors;
  if (factor == NULL) return TSI_NULL(factor);
  tristar_t *ts = tristar_adapter_context(factor);
  TSI_TRY_OUT(tsi_klu_factors(ts, family, Symbolic, Numeric, matrix, &work, &factors));
  TSI_TRY_OUT(tristar_reimport(factor, &factors));
out:
  tsi_klu_release(ts, &work);
  return status;
}
