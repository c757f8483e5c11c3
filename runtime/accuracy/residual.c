/* tristar_residual: what is left of B, and how well X solves.
 *
 * Reads   the matrix of a factor, b, x.   Writes  r. */
#include <inttypes.h>
#include <math.h>

#include "runtime/accuracy/system_plan.h"
#include "runtime/solve/request.h"

/* Scratch for one right-hand side. */
typedef struct column {
  const tsi_sparse_kernels *kernels;
  tsi_sparse a;
  const double *weight;
  double *row_sum, *bound;
  char *residual;
} column;

static tristar_status allocate(tsi_env *env, const tristar_factor_t *factor, tristar_op op, column *c) {
  tristar_status status = TRISTAR_OK;
  const tsi_pattern *pattern = factor->analysis->pattern;
  c->kernels = tsi_sparse_kernels_select(pattern->scalar);
  c->a = tsi_pattern_sparse(pattern, factor->values);
  TSI_TRY(TSI_ALLOC(env, c->row_sum, 2 * (size_t)pattern->n));
  TSI_TRY(TSI_ALLOC(env, c->bound, pattern->n));
  TSI_TRY(TSI_ALLOC(env, c->residual, (size_t)pattern->n * factor->user_bytes));
  c->weight = op == TRISTAR_N ? factor->col_scale : factor->row_scale;
  c->kernels->weigh(&c->a, op, c->weight, c->row_sum);
  if (c->weight != NULL) c->kernels->weigh(&c->a, op, NULL, c->row_sum + pattern->n);
out:
  return status;
}

static tristar_status check_arguments(const tristar_factor_t *factor, tristar_op op, int64_t nrhs,
                                      const void *b, int64_t ldb, const void *x, int64_t ldx, const void *r,
                                      int64_t ldr) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &factor->ts->env;
  const int64_t n = factor->analysis->pattern->n;
  if (op != TRISTAR_N && op != TRISTAR_T && op != TRISTAR_C)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "op is %d", (int)op);
  TSI_TRY(tsi_check_columns(env, n, nrhs, b, ldb, x, ldx));
  if (r != NULL && ldr < n)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "ldr = %" PRId64 ", but there are %" PRId64 " rows", ldr, n);
  TSI_TRY(tsi_need_matrix(factor));
out:
  return status;
}

tristar_status tristar_residual(const tristar_factor_t *factor, tristar_op op, int64_t nrhs, const void *b,
                                int64_t ldb, const void *x, int64_t ldx, void *r, int64_t ldr,
                                double *backward_error) {
  tristar_status status = TRISTAR_OK;
  column c = {.kernels = NULL};
  double worst = 0;
  if (factor == NULL) return TSI_NULL(factor);
  tsi_env *env = &factor->ts->env;
  const size_t bytes = factor->user_bytes;
  TSI_TRY(check_arguments(factor, op, nrhs, b, ldb, x, ldx, r, ldr));
  TSI_TRY(allocate(env, factor, op, &c));
  for (int64_t k = 0; k < nrhs; k++) {
    const char *bk = (const char *)b + (size_t)(k * ldb) * bytes,
               *xk = (const char *)x + (size_t)(k * ldx) * bytes;
    c.kernels->residual(&c.a, op, bk, xk, c.residual);
    c.kernels->bound(&c.a, op, xk, c.bound);
    tsi_sizes sizes = {.n = c.a.n, .with_weights = c.weight != NULL};
    c.kernels->sizes(c.a.n, xk, c.weight, &sizes.weighted, &sizes.plain);
    const double error = c.kernels->backward_error(c.a.n, bk, c.residual, c.bound, c.row_sum, &sizes);
    if (!(error <= worst) && !isnan(worst)) worst = error;
    if (r != NULL) memcpy((char *)r + (size_t)(k * ldr) * bytes, c.residual, (size_t)c.a.n * bytes);
  }
  if (backward_error) *backward_error = worst;
out:
  TSI_FREE(env, c.row_sum);
  TSI_FREE(env, c.bound);
  TSI_FREE(env, c.residual);
  return tsi_answer(env, status);
}
