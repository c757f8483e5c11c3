/* Imports the factors of KLU: see tristar_klu.h. */
#include "runtime/adapters/adapter.h"
#include "runtime/adapters/klu_factors.h"

tristar_status tristar_import_klu(tristar_t *ts, tristar_klu family, const void *Symbolic,
                                  const void *Numeric, const tristar_view *matrix,
                                  tristar_factor_t **factor) {
  TSI_CLEANUP(tsi_klu_release) tsi_klu work = {0};
  tristar_factors factors;
  if (factor != NULL) *factor = NULL;
  if (ts == NULL) return TSI_NULL(ts);
  if (factor == NULL) TSI_FAIL(ts, TRISTAR_ERR_ARGUMENT, "factor is NULL");
  TSI_TRY(tsi_klu_factors(ts, family, Symbolic, Numeric, matrix, &work, &factors));
  return tristar_import_supernodal(ts, &factors, factor);
}

tristar_status tristar_reimport_klu(tristar_factor_t *factor, tristar_klu family, const void *Symbolic,
                                    const void *Numeric, const tristar_view *matrix) {
  TSI_CLEANUP(tsi_klu_release) tsi_klu work = {0};
  tristar_factors factors;
  if (factor == NULL) return TSI_NULL(factor);
  tristar_t *ts = tristar_adapter_context(factor);
  TSI_TRY(tsi_klu_factors(ts, family, Symbolic, Numeric, matrix, &work, &factors));
  return tristar_reimport(factor, &factors);
}
