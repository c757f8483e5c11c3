/* tristar_krylov_residual: the residual of given columns, computed with the system of the user's matrix. */
#include "runtime/iterate/refine/residual.h"

#include <inttypes.h>
#include <math.h>

#include "runtime/iterate/krylov/krylov.h"
#include "runtime/solve/request.h"

static tristar_status check(const tristar_krylov_t *k, int64_t nrhs, const void *b, int64_t ldb,
                            const void *x, int64_t ldx, const void *r, int64_t ldr) {
  tsi_env *env = &k->ts->env;
  if (!tsi_krylov_has_entries(k))
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "the matrix is a function: its entries are not known");
  TSI_TRY(tsi_krylov_need_values(k));
  TSI_TRY(tsi_check_columns(env, k->n, nrhs, b, ldb, x, ldx));
  if (r != NULL && ldr < k->n)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "ldr = %" PRId64 ", but there are %" PRId64 " rows", ldr,
             (int64_t)k->n);
  return TRISTAR_OK;
}

static tristar_status find(const tristar_krylov_t *k, int64_t nrhs, const char *b, int64_t ldb, const char *x,
                           int64_t ldx, char *r, int64_t ldr, double *worst) {
  tsi_team team;
  tsi_system alone;
  const tsi_system *system;
  TSI_CLEANUP(tsi_residual_finish) tsi_residual residual = {.system = NULL};
  *worst = 0;
  TSI_TRY(tsi_krylov_system(k, &alone, &team, &system));
  TSI_TRY(tsi_residual_begin(system, TRISTAR_N, &residual));
  residual.precise = true;
  for (int64_t c = 0; c < nrhs; c++) {
    double error;
    TSI_TRY(tsi_residual_find(&residual, b + (size_t)(c * ldb) * k->bytes, x + (size_t)(c * ldx) * k->bytes,
                              &error));
    *worst = tsi_larger(*worst, error);
    if (r != NULL) memcpy(r + (size_t)(c * ldr) * k->bytes, residual.vector, (size_t)k->n * k->bytes);
  }
  return TRISTAR_OK;
}

tristar_status tristar_krylov_residual(tristar_krylov_t *krylov, int64_t nrhs, const void *b, int64_t ldb,
                                       const void *x, int64_t ldx, void *r, int64_t ldr,
                                       double *backward_error) {
  tristar_status status = TRISTAR_OK;
  bool taken = false;
  double worst;
  TSI_ENTER(krylov, krylov->ts);
  TSI_TRY_OUT(tsi_krylov_take(krylov));
  taken = true;
  TSI_TRY_OUT(tsi_krylov_agree(krylov, check(krylov, nrhs, b, ldb, x, ldx, r, ldr)));
  TSI_TRY_OUT(tsi_krylov_alike(krylov, "nrhs", (double)nrhs));
  TSI_TRY_OUT(find(krylov, nrhs, b, ldb, x, ldx, r, ldr, &worst));
  if (backward_error != NULL) *backward_error = worst;
out:
  if (taken) tsi_krylov_give(krylov);
  return tsi_answer(&krylov->ts->env, status);
}
