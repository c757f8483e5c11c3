/* Imports the factors of SuperLU: see tristar_superlu.h. */
#include "runtime/adapters/adapter.h"
#include "runtime/adapters/superlu_factors.h"

tristar_status tristar_import_superlu(tristar_t *ts, const tristar_superlu *from, tristar_factor_t **factor) {
  TSI_CLEANUP(tsi_superlu_release) tsi_superlu work = {0};
  tristar_factors factors;
  if (factor != NULL) *factor = NULL;
  if (ts == NULL) return TSI_NULL(ts);
  if (from == NULL || factor == NULL)
    TSI_FAIL(ts, TRISTAR_ERR_ARGUMENT, "%s is NULL", from == NULL ? "from" : "factor");
  TSI_TRY(tsi_superlu_factors(ts, from, &work, &factors));
  return tristar_import_supernodal(ts, &factors, factor);
}

tristar_status tristar_reimport_superlu(tristar_factor_t *factor, const tristar_superlu *from) {
  TSI_CLEANUP(tsi_superlu_release) tsi_superlu work = {0};
  tristar_factors factors;
  if (factor == NULL) return TSI_NULL(factor);
  tristar_t *ts = tristar_adapter_context(factor);
  if (from == NULL) TSI_FAIL(ts, TRISTAR_ERR_ARGUMENT, "from is NULL");
  TSI_TRY(tsi_superlu_factors(ts, from, &work, &factors));
  return tristar_reimport(factor, &factors);
}
