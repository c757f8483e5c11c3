/* Imports the factors of SuperLU_DIST: see tristar_superlu_dist.h. Compiled for each of its types. */
#include "tristar_superlu_dist.h"

#include "runtime/adapters/adapter.h"
#include "runtime/adapters/superlu_dist_factors.h"

#if defined TSI_SCALAR_S
#define LETTER s
#define SCALAR TRISTAR_SINGLE
#define BYTES sizeof(float)
#elif defined TSI_SCALAR_D
#define LETTER d
#define SCALAR TRISTAR_DOUBLE
#define BYTES sizeof(double)
#elif defined TSI_SCALAR_Z
#define LETTER z
#define SCALAR TRISTAR_COMPLEX_DOUBLE
#define BYTES sizeof(doublecomplex)
#else
#error "one of TSI_SCALAR_S, TSI_SCALAR_D, TSI_SCALAR_Z must be defined"
#endif

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define LU_STRUCT PASTE(LETTER, LUstruct_t)
#define SCALE_PERM_STRUCT PASTE(LETTER, ScalePermstruct_t)
#define IMPORT PASTE(tristar_import_superlu_dist_, LETTER)
#define REIMPORT PASTE(tristar_reimport_superlu_dist_, LETTER)

static tristar_status take_apart(tristar_t *ts, int64_t n, const LU_STRUCT *lu,
                                 const SCALE_PERM_STRUCT *scale_perm, const gridinfo_t *grid,
                                 tsi_superlu_dist_parts *parts) {
  tristar_status status = TRISTAR_OK;
  if (lu == NULL || lu->Glu_persist == NULL || lu->Llu == NULL)
    TSI_FAIL(ts, TRISTAR_ERR_ARGUMENT, "LUstruct%s is NULL",
             lu == NULL                ? ""
             : lu->Glu_persist == NULL ? "->Glu_persist"
                                       : "->Llu");
  if (scale_perm == NULL || grid == NULL)
    TSI_FAIL(ts, TRISTAR_ERR_ARGUMENT, "%s is NULL", scale_perm == NULL ? "ScalePermstruct" : "grid");
  *parts = (tsi_superlu_dist_parts){
      .n = n,
      .scalar = SCALAR,
      .bytes = BYTES,
      .grid = grid,
      .xsup = lu->Glu_persist->xsup,
      .supno = lu->Glu_persist->supno,
      .lower_index = lu->Llu->Lrowind_bc_ptr,
      .lower_values = lu->Llu->Lnzval_bc_ptr,
      .upper_index = lu->Llu->Ufstnz_br_ptr,
      .upper_values = lu->Llu->Unzval_br_ptr,
      .scaled = scale_perm->DiagScale,
      .R = scale_perm->R,
      .C = scale_perm->C,
      .perm_r = scale_perm->perm_r,
      .perm_c = scale_perm->perm_c,
  };
out:
  return status;
}

tristar_status IMPORT(tristar_t *ts, int64_t n, const LU_STRUCT *LUstruct,
                      const SCALE_PERM_STRUCT *ScalePermstruct, const gridinfo_t *grid,
                      const tristar_view *matrix, tristar_factor_t **factor) {
  tristar_status status = TRISTAR_OK;
  tsi_superlu_dist_parts parts;
  tsi_superlu_dist work = {0};
  tristar_factors factors;
  if (factor != NULL) *factor = NULL;
  if (ts == NULL) return TSI_NULL(ts);
  if (factor == NULL) TSI_FAIL(ts, TRISTAR_ERR_ARGUMENT, "factor is NULL");
  TSI_TRY(take_apart(ts, n, LUstruct, ScalePermstruct, grid, &parts));
  TSI_TRY(tsi_superlu_dist_factors(ts, &parts, &work, &factors));
  factors.matrix = matrix;
  TSI_TRY(tristar_import_supernodal(ts, &factors, factor));
out:
  tsi_superlu_dist_release(ts, &work);
  return status;
}

tristar_status REIMPORT(tristar_factor_t *factor, int64_t n, const LU_STRUCT *LUstruct,
                        const SCALE_PERM_STRUCT *ScalePermstruct, const gridinfo_t *grid,
                        const tristar_view *matrix) {
  tristar_status status = TRISTAR_OK;
  tsi_superlu_dist_parts parts;
  tsi_superlu_dist work = {0};
  tristar_factors factors;
  if (factor == NULL) return TSI_NULL(factor);
  tristar_t *ts = tristar_adapter_context(factor);
  TSI_TRY(take_apart(ts, n, LUstruct, ScalePermstruct, grid, &parts));
  TSI_TRY(tsi_superlu_dist_factors(ts, &parts, &work, &factors));
  factors.matrix = matrix;
  TSI_TRY(tristar_reimport(factor, &factors));
out:
  tsi_superlu_dist_release(ts, &work);
  return status;
}
