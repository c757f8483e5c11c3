/* tristar_distributed_solve_refined and _condition: the code of runtime/iterate/refine on a system with
 * messages (system.h). Columns of b and x are sent once to their homes, and once back. */
#include <inttypes.h>

#include "runtime/iterate/refine/condition.h"
#include "runtime/iterate/refine/refinement.h"
#include "runtime/base/clock.h"
#include "runtime/base/options.h"
#include "runtime/mpi/solve/queue.h"
#include "runtime/mpi/comm/mailbox.h"
#include "runtime/mpi/solve/system.h"
#include "runtime/solve/request.h"

/* Local. */
static tristar_status check_matrix(const tristar_distributed_t *d) {
  TSI_TRY(tsi_distributed_check_ready(d));
  if (d->matrix == NULL)
    TSI_FAIL(&d->ts->env, TRISTAR_ERR_UNSUPPORTED, "the factor was imported without its matrix");
  return TRISTAR_OK;
}

/* Collective. Copies columns of the user's rows of b (of_x: of x) to vectors of the system, or back. */
static tristar_status move_columns(tristar_distributed_t *d, tristar_op op, bool of_x, int64_t nrhs,
                                   const void *user, int64_t ld, char *vectors, bool to_user) {
  tsi_env *env = &d->ts->env;
  const tsi_process *p = d->process;
  const tsi_rows_matrix *m = d->matrix;
  const tsi_index columns = p->share->panels->start[p->share->panels->count];
  const bool by_rows = op == TRISTAR_N;
  const tsi_rows *rows = by_rows != of_x ? d->in : d->out;
  const size_t bytes = p->user_bytes;
  for (int64_t first = 0; first < nrhs; first += TSI_NRHS_BLOCK) {
    const tsi_index count = (tsi_index)tsi_count_min(TSI_NRHS_BLOCK, nrhs - first);
    tsi_slot *slot;
    TSI_TRY(tsi_slot_need(d, count, &slot));
    TSI_TRY(tsi_slot_need_buffer(d, slot));
    const tsi_row_array of_user = {(char *)(uintptr_t)user + (size_t)(first * ld) * bytes, 1, ld};
    const tsi_row_array local = {slot->b, 1, columns};
    const tsi_row_array of_vectors = {vectors + (size_t)first * (size_t)m->n * bytes, 1, m->n};
    if (!to_user) TSI_TRY(tsi_rows_move(env, rows, bytes, count, of_user, local, false, slot->buffer));
    tsi_rows_matrix_move(m, bytes, count, local, of_vectors, to_user);
    if (to_user) TSI_TRY(tsi_rows_move(env, rows, bytes, count, of_user, local, true, slot->buffer));
  }
  return TRISTAR_OK;
}

/* Local. Allocates vectors for nrhs columns each of b and x. */
static tristar_status allocate_vectors(const tristar_distributed_t *d, int64_t nrhs, char **b, char **x) {
  tsi_env *env = &d->ts->env;
  const size_t column = (size_t)d->matrix->n * d->process->user_bytes;
  TSI_TRY(TSI_ALLOC_SIZED(env, *b, nrhs, column));
  return TSI_ALLOC_SIZED(env, *x, nrhs, column);
}

/* Collective. */
static tristar_status agree(tristar_distributed_t *d, tristar_status mine, tristar_op op, int64_t nrhs,
                            const tristar_refine_options *o) {
  static const char *const name[] = {
      "nrhs", "op", "max_steps", "max_iterations", "forward_error", "whether there is a tolerance"};
  const int64_t value[] = {nrhs,
                           op,
                           o ? o->max_steps : 0,
                           o ? o->max_iterations : 0,
                           o ? o->forward_error != 0 : 0,
                           o ? o->tolerance > 0 : 0};
  return tsi_transport_same(d->transport, mine, 6, name, value, 0, NULL);
}

/* tristar_distributed_solve_refined. one_stride: if x is b, ldx must be ldb. */
static tristar_status solve_refined(tristar_distributed_t *d, bool one_stride, tristar_op op, int64_t nrhs,
                                    const void *b, int64_t ldb, void *x, int64_t ldx,
                                    const tristar_refine_options *options, tristar_refine_result *result) {
  tristar_status status = TRISTAR_OK;
  tristar_refine_options o;
  tristar_refine_result total = {0};
  tsi_distributed_system s = {.distributed = d};
  char *of_b = NULL, *of_x = NULL;
  tsi_env *env = &d->ts->env;
  const double begin = tsi_clock();
  tsi_queue_drain(d);
  tristar_status mine = TSI_OPTIONS(env, tristar_refine_options, options, &o);
  if (mine == TRISTAR_OK) mine = check_matrix(d);
  if (mine == TRISTAR_OK) mine = tsi_check_op(env, op);
  if (mine == TRISTAR_OK) mine = tsi_refine_options_check(env, &o);
  if (mine == TRISTAR_OK)
    mine = (one_stride ? tsi_check_solve_columns : tsi_check_columns)(env, tsi_distributed_own_rows(d), nrhs,
                                                                      b, ldb, x, ldx);
  TSI_TRY_OUT(agree(d, mine, op, nrhs, &o));
  /* decisions must be the same on all ranks */
  TSI_TRY_OUT(
      TSI_MPI(env, "MPI_Bcast", MPI_Bcast(&o.tolerance, 1, MPI_DOUBLE, 0, tsi_transport_comm(d->transport))));
  TSI_TRY_OUT(tsi_transport_agree(d->transport, allocate_vectors(d, nrhs, &of_b, &of_x)));
  tsi_distributed_reset_times(d);
  TSI_TRY_OUT(tsi_distributed_system_create(d, &s));
  TSI_TRY_OUT(move_columns(d, op, false, nrhs, b, ldb, of_b, false));
  const size_t column = (size_t)d->matrix->n * d->process->user_bytes;
  const tristar_status refined =
      tsi_solve_refined(&s.system, op, nrhs, of_b, column, of_x, column, &o, &total);
  if (refined != TRISTAR_ERR_NOT_FINITE) TSI_TRY_OUT(refined);
  TSI_TRY_OUT(move_columns(d, op, true, nrhs, x, ldx, of_x, true));
  d->stats.solve_seconds = tsi_clock() - begin;
  if (result != NULL) *result = total;
  status = refined;
out:
  tsi_distributed_system_finish(&s);
  TSI_FREE(env, of_b);
  TSI_FREE(env, of_x);
  return status;
}

tristar_status tristar_distributed_solve_refined(tristar_distributed_t *d, tristar_op op, int64_t nrhs,
                                                 const void *b, int64_t ldb, void *x, int64_t ldx,
                                                 const tristar_refine_options *options,
                                                 tristar_refine_result *result) {
  TSI_ENTER(d, d->ts);
  return tsi_answer(&d->ts->env, solve_refined(d, false, op, nrhs, b, ldb, x, ldx, options, result));
}

tristar_status tristar_distributed_solve(tristar_distributed_t *d, tristar_op op, int64_t nrhs, const void *b,
                                         int64_t ldb, void *x, int64_t ldx) {
  TSI_ENTER(d, d->ts);
  tsi_env *env = &d->ts->env;
  tristar_refine_result result;
  tristar_status status;
  if ((d->stats.perturbed_pivots > 0 || d->singular || d->loses_digits) && d->has_matrix &&
      d->options.refine != TRISTAR_REFINE_NEVER) {
    status = solve_refined(d, true, op, nrhs, b, ldb, x, ldx, NULL, &result);
    if (status == TRISTAR_OK)
      status = tsi_refined_judge(env, tsi_sparse_kernels_select(d->process->kind.user_scalar), d->singular, 0,
                                 &result);
  } else {
    status = tsi_distributed_solve_plain(d, op, nrhs, b, ldb, x, ldx);
  }
  return tsi_answer(env, status);
}

tristar_status tristar_distributed_condition(tristar_distributed_t *d, double *reciprocal) {
  tristar_status status = TRISTAR_OK;
  tsi_distributed_system s = {.distributed = d};
  TSI_ENTER(d, d->ts);
  tsi_env *env = &d->ts->env;
  tsi_queue_drain(d);
  tristar_status mine = check_matrix(d);
  if (mine == TRISTAR_OK && reciprocal == NULL)
    mine = tsi_fail(env, TRISTAR_ERR_ARGUMENT, __func__, __FILE__, __LINE__, "reciprocal is NULL");
  TSI_TRY_OUT(tsi_transport_agree(d->transport, mine));
  TSI_TRY_OUT(tsi_distributed_system_create(d, &s));
  TSI_TRY_OUT(tsi_system_condition(&s.system, reciprocal));
out:
  tsi_distributed_system_finish(&s);
  return tsi_answer(env, status);
}
