/* Imports the factors of SuperLU_DIST: see tristar_superlu_dist.h. Compiled for each of its types. */
#include "tristar_superlu_dist.h"

#include "runtime/adapters/adapter.h"
#include "runtime/adapters/superlu_dist_gather.h"

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
                                 const SCALE_PERM_STRUCT *scale_perm, tsi_superlu_dist_parts *parts) {
  if (lu == NULL || lu->Glu_persist == NULL || lu->Llu == NULL)
    TSI_FAIL(ts, TRISTAR_ERR_ARGUMENT, "LUstruct%s is NULL",
             lu == NULL                ? ""
             : lu->Glu_persist == NULL ? "->Glu_persist"
                                       : "->Llu");
  if (scale_perm == NULL) TSI_FAIL(ts, TRISTAR_ERR_ARGUMENT, "ScalePermstruct is NULL");
  *parts = (tsi_superlu_dist_parts){
      .n = n,
      .scalar = SCALAR,
      .bytes = BYTES,
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
  return TRISTAR_OK;
}

/* Collective over the grid. On process 0 exactly one of factor and again is set: creates a factor, or renews
 * one. */
static tristar_status bring(tristar_t *ts, const gridinfo_t *grid, tristar_status mine,
                            tsi_superlu_dist_parts *parts, const tristar_view *matrix,
                            tristar_factor_t **factor, tristar_factor_t *again) {
  TSI_CLEANUP(tsi_superlu_dist_release) tsi_superlu_dist work = {0};
  TSI_CLEANUP(tsi_superlu_dist_gathered_release) tsi_superlu_dist_gathered all = {0};
  tristar_factors factors;
  tristar_status status = TRISTAR_OK;
  TSI_TRY(tsi_superlu_dist_gather(ts, grid, mine, parts, &all));
  if (tsi_superlu_dist_here(grid)) {
    status = tsi_superlu_dist_factors(ts, parts, &work, &factors);
    factors.matrix = matrix;
    if (status == TRISTAR_OK)
      status = again ? tristar_reimport(again, &factors) : tristar_import_supernodal(ts, &factors, factor);
  }
  mine = status;
  status = tsi_superlu_dist_agree(ts, grid, mine);
  if (status != TRISTAR_OK && mine == TRISTAR_OK && factor != NULL) tristar_factor_destroy(factor);
  return status;
}

tristar_status IMPORT(tristar_t *ts, int64_t n, const LU_STRUCT *LUstruct,
                      const SCALE_PERM_STRUCT *ScalePermstruct, const gridinfo_t *grid,
                      const tristar_view *matrix, tristar_factor_t **factor) {
  tsi_superlu_dist_parts parts = {.n = n, .scalar = SCALAR, .bytes = BYTES};
  if (factor != NULL) *factor = NULL;
  if (ts == NULL) return TSI_NULL(ts);
  TSI_TRY(tristar_adapter_check(ts));
  if (grid == NULL) TSI_FAIL(ts, TRISTAR_ERR_ARGUMENT, "grid is NULL");
  tristar_status status = take_apart(ts, n, LUstruct, ScalePermstruct, &parts);
  if (factor == NULL)
    status = tristar_adapter_fail(ts, TRISTAR_ERR_ARGUMENT, __func__, __FILE__, __LINE__, "factor is NULL");
  return bring(ts, grid, status, &parts, matrix, factor, NULL);
}

tristar_status REIMPORT(tristar_factor_t *factor, int64_t n, const LU_STRUCT *LUstruct,
                        const SCALE_PERM_STRUCT *ScalePermstruct, const gridinfo_t *grid,
                        const tristar_view *matrix) {
  tsi_superlu_dist_parts parts = {.n = n, .scalar = SCALAR, .bytes = BYTES};
  tristar_t *ts = tristar_adapter_context(factor);
  if (ts != NULL) TSI_TRY(tristar_adapter_check(ts));
  if (grid == NULL) TSI_FAIL(ts, TRISTAR_ERR_ARGUMENT, "grid is NULL");
  tristar_status status = take_apart(ts, n, LUstruct, ScalePermstruct, &parts);
  if (factor == NULL && tsi_superlu_dist_here(grid)) status = TSI_NULL(factor);
  return bring(ts, grid, status, &parts, matrix, NULL, factor);
}
