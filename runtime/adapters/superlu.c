/* Imports the factors of SuperLU: see tristar_superlu.h. */
#include "runtime/adapters/adapter.h"
#include "runtime/adapters/superlu_factors.h"

tristar_status tristar_import_superlu(tristar_t *ts, const tristar_superlu *from, tristar_factor_t **factor) {
  tristar_status status = TRISTAR_OK;
  tsi_superlu work = {0};
  tristar_factors factors;
  if (factor != NULL) *factor = NULL;
  if (ts == NULL) return TSI_NULL(ts);
  if (from == NULL || factor == NULL)
    TSI_FAIL_OUT(ts, TRISTAR_ERR_ARGUMENT, "%s is NULL", from == NULL ? "from" : "factor");
  TSI_TRY_OUT(tsi_superlu_factors(ts, from, &work, &factors));
  TSI_TRY_OUT(tristar_import_supernodal(ts, &factors, factor));
out:
  tsi_superlu_release(ts, &work);
  return status;
}

tristar_status tristar_reimport_superlu(tristar_factor_t *factor, const tristar_superlu *from) {
  tristar_status status = TRISTAR_OK;
  tsi_superlu work = {0};
  tristar_factors factors;
  if (factor == NULL) return TSI_NULL(factor);
  tristar_t *ts = tristar_adapter_context(factor);
  if (from == NULL) TSI_FAIL_OUT(ts, TRISTAR_ERR_ARGUMENT, "from is NULL");
  TSI_TRY_OUT(tsi_superlu_factors(ts, from, &work, &factors));
  TSI_TRY_OUT(tristar_reimport(factor, &factors));
out:
  tsi_superlu_release(ts, &work);
  return status;
}
