/* Functions of a system on many ranks: see system.h. */
#include "runtime/mpi/solve/system.h"

#include "runtime/mpi/comm/team.h"

static tristar_status take(void *context, size_t bytes, const void *x, const void **all) {
  const tristar_distributed_t *d = context;
  return tsi_rows_matrix_take(&d->ts->env, d->matrix, bytes, x, all);
}

static void *space(void *context, size_t bytes) {
  return tsi_rows_matrix_space(((const tristar_distributed_t *)context)->matrix, bytes);
}

static tristar_status give(void *context, size_t bytes, void *y, tsi_add_at *add) {
  const tristar_distributed_t *d = context;
  return tsi_rows_matrix_give(&d->ts->env, d->matrix, bytes, y, add);
}

static tristar_status solve(void *context, tristar_op op, int64_t nrhs, const void *b, int64_t ldb, void *x,
                            int64_t ldx) {
  tristar_distributed_t *d = context;
  const tsi_process *p = d->process;
  const tsi_index columns = p->share->panels->start[p->share->panels->count];
  const size_t bytes = p->user_bytes;
  for (int64_t first = 0; first < nrhs; first += TSI_NRHS_BLOCK) {
    const tsi_index count = (tsi_index)tsi_count_min(TSI_NRHS_BLOCK, nrhs - first);
    const tsi_row_array of_b = {(char *)(uintptr_t)b + (size_t)(first * ldb) * bytes, 1, ldb},
                        of_x = {(char *)x + (size_t)(first * ldx) * bytes, 1, ldx};
    tsi_slot *slot;
    TSI_TRY(tsi_slot_need(d, count, &slot));
    tsi_rows_matrix_move(d->matrix, bytes, count, (tsi_row_array){slot->b, 1, columns}, of_b, true);
    TSI_TRY(tsi_distributed_run(
        d, slot, &(tsi_process_call){.op = op, .nrhs = count, .b = slot->b, .x = slot->x}, false));
    tsi_rows_matrix_move(d->matrix, bytes, count, (tsi_row_array){slot->x, 1, columns}, of_x, false);
  }
  return TRISTAR_OK;
}

static int64_t user_row(const void *context, tristar_op op, bool of_x, tsi_index i) {
  const tristar_distributed_t *d = context;
  return d->matrix->user[(op == TRISTAR_N) != of_x ? 0 : 1][i];
}

tristar_status tsi_distributed_system_create(tristar_distributed_t *d, tsi_distributed_system *s) {
  static const tsi_system_functions functions = {
      .solve = solve, .take = take, .space = space, .give = give, .user_row = user_row};
  const tsi_rows_matrix *m = d->matrix;
  *s = (tsi_distributed_system){.distributed = d};
  TSI_TRY(tsi_transport_team(&d->ts->env, d->transport, d->n, m->user[0], &s->team));
  s->system = (tsi_system){.env = &d->ts->env,
                           .kernels = tsi_sparse_kernels_select(d->process->kind.user_scalar),
                           .n = m->n,
                           .a = tsi_rows_matrix_sparse(m),
                           .row_scale = m->weight[0] ? m->weight[0] : m->row_scale,
                           .col_scale = m->weight[1] ? m->weight[1] : m->col_scale,
                           .range = {m->row_scale, m->col_scale},
                           .wide = d->process->kind.user_scalar != d->process->kind.factor_scalar,
                           .strict = d->misfit,
                           .condition = d->misfit ? d->condition : 0,
                           .perturbed = d->perturbed,
                           .singular = d->singular,
                           .team = &s->team,
                           .functions = &functions,
                           .context = d};
  return TRISTAR_OK;
}

void tsi_distributed_system_finish(tsi_distributed_system *s) {
  TSI_FREE(&s->distributed->ts->env, s->team.all);
}
