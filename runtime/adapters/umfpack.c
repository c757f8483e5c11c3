/* Imports the factors of UMFPACK: see tristar_umfpack.h. */
#include "runtime/adapters/adapter.h"
#include "runtime/adapters/umfpack_factors.h"

tristar_status tristar_import_umfpack(tristar_t *ts, tristar_umfpack family, const void *Numeric,
                                      const tristar_view *matrix, tristar_factor_t **factor) {
  TSI_CLEANUP(tsi_umfpack_release) tsi_umfpack work = {0};
  tristar_factors factors;
  if (factor != NULL) *factor = NULL;
  if (ts == NULL) return TSI_NULL(ts);
  if (factor == NULL) TSI_FAIL(ts, TRISTAR_ERR_ARGUMENT, "factor is NULL");
  TSI_TRY(tsi_umfpack_factors(ts, family, Numeric, matrix, &work, &factors));
  return tristar_import_supernodal(ts, &factors, factor);
}

tristar_status tristar_reimport_umfpack(tristar_factor_t *factor, tristar_umfpack family, const void *Numeric,
                                        const tristar_view *matrix) {
  TSI_CLEANUP(tsi_umfpack_release) tsi_umfpack work = {0};
  tristar_factors factors;
  if (factor == NULL) return TSI_NULL(factor);
  tristar_t *ts = tristar_adapter_context(factor);
  TSI_TRY(tsi_umfpack_factors(ts, family, Numeric, matrix, &work, &factors));
  return tristar_reimport(factor, &factors);
}
