/* tristar_solve: one replay for every block of right-hand sides. */
#include <inttypes.h>

#include "runtime/clock.h"
#include "runtime/plan.h"

/* Factors, permutations and scalings of op(A).
 * LU: A^T swaps the roles of L and U, of rows and columns; A^H x = b is A^T conj(x) = conj(b).
 * L L^H, L D L^H (Hermitian): the backward sweep L^H x = y is L^T conj(x) = conj(y), and A^T = conj(A).
 * L D L^T (complex symmetric): A^T = A, A^H = conj(A). */
static void choose_factors(const tristar_factor_t *factor, tristar_op op, tsi_solve_call *call) {
  const tristar_analysis_t *an = factor->analysis;
  const bool lu = factor->upper != NULL,
             is_complex = tsi_sparse_kernels_select(an->pattern->scalar)->is_complex;
  const void *upper = lu ? factor->upper : factor->lower;
  const tsi_index *pivots = factor->pivoted ? factor->pivots : NULL;
  const bool plain = op == TRISTAR_N || !lu, hermitian = !lu && an->adjoint;
  call->forward_values = plain ? factor->lower : upper;
  call->backward_values = plain ? upper : factor->lower;
  call->forward_pivots = plain ? pivots : NULL;
  call->backward_pivots = plain && lu ? NULL : pivots;
  call->inverse = factor->inverse;
  call->adjoint = an->adjoint;
  call->wide = an->factor_scalar != an->pattern->scalar;
  call->in_row = plain ? an->in_row : an->out_row;
  call->out_row = plain ? an->out_row : an->in_row;
  call->in_scale = plain ? factor->row_scale : factor->col_scale;
  call->out_scale = plain ? factor->col_scale : factor->row_scale;
  call->conjugate_in = is_complex && op == (hermitian ? TRISTAR_T : TRISTAR_C);
  call->conjugate_backward = is_complex && hermitian;
  call->conjugate_out = call->conjugate_in != call->conjugate_backward;
}

static tristar_status check_arguments(tristar_plan_t *plan, tristar_op op, int64_t nrhs, const void *b,
                                      int64_t ldb, const void *x, int64_t ldx) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &plan->ts->env;
  const tsi_index n = plan->factor->analysis->pattern->n;
  if (op != TRISTAR_N && op != TRISTAR_T && op != TRISTAR_C)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "op is %d", (int)op);
  if (nrhs < 0) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "nrhs is %" PRId64, nrhs);
  if (ldb < n || ldx < n) /* also for one column: a wrong value is a mistake */
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "ldb = %" PRId64 ", ldx = %" PRId64 ", but n = %d", ldb, ldx, n);
  if (n > 0 && nrhs > 0 && (b == NULL || x == NULL)) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "b or x is NULL");
  if (b == x && ldb != ldx)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "x is b, but ldb = %" PRId64 " and ldx = %" PRId64, ldb, ldx);
  if (!plan->factor->valid)
    TSI_FAIL(env, TRISTAR_ERR_STALE, "the factor holds no values: its last refactorization failed");
out:
  return status;
}

/* At most TSI_NRHS_BLOCK right-hand sides. */
static tristar_status solve_block(tristar_plan_t *plan, tristar_op op, tsi_index nrhs, const void *b,
                                  int64_t ldb, void *x, int64_t ldx) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &plan->ts->env;
  const tristar_analysis_t *an = plan->factor->analysis;
  const size_t n = (size_t)an->pattern->n;
  tsi_replay *replay = NULL;
  const size_t column = n * plan->factor->user_bytes;
  char *copy = NULL;
  TSI_TRY(tsi_replay_take(plan, nrhs == 1 ? 1 : (nrhs + 7) / 8 * 8, &replay));
  choose_factors(plan->factor, op, &replay->call);
  if (b == x && plan->factor->upper &&
      an->stats.matched) { /* rows and columns are permuted differently: x(j) may come before b(j) is read */
    TSI_TRY(TSI_ALLOC(env, copy, column * (size_t)nrhs));
    for (tsi_index c = 0; c < nrhs; c++)
      memcpy(copy + column * (size_t)c, (const char *)b + (size_t)(c * ldb) * plan->factor->user_bytes,
             column);
    b = copy;
    ldb = (int64_t)n;
  }
  replay->call.nrhs = nrhs;
  replay->call.b = b;
  replay->call.ldb = ldb;
  replay->call.x = x;
  replay->call.ldx = ldx;
  TSI_TRY(tsi_tasks_run(replay->tasks));
out:
  if (replay) tsi_replay_give_back(replay);
  TSI_FREE(env, copy);
  return status;
}

tristar_status tristar_solve(tristar_plan_t *plan, tristar_op op, int64_t nrhs, const void *b, int64_t ldb,
                             void *x, int64_t ldx) {
  tristar_status status = TRISTAR_OK;
  if (plan == NULL) return TRISTAR_ERR_ARGUMENT;
  const double begin = tsi_clock();
  TSI_TRY(check_arguments(plan, op, nrhs, b, ldb, x, ldx));
  for (int64_t c = 0; c < nrhs; c += TSI_NRHS_BLOCK)
    TSI_TRY(solve_block(plan, op, (tsi_index)tsi_count_min(TSI_NRHS_BLOCK, nrhs - c),
                        (const char *)b + (size_t)(c * ldb) * plan->factor->user_bytes, ldb,
                        (char *)x + (size_t)(c * ldx) * plan->factor->user_bytes, ldx));
  pthread_mutex_lock(&plan->lock);
  plan->stats.last_solve_seconds = tsi_clock() - begin;
  plan->stats.solves++;
  pthread_mutex_unlock(&plan->lock);
out:
  return status;
}
