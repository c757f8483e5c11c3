/* What can be done with op(A) on many ranks: see system.h. */
#include "runtime/mpi/system.h"

#include "runtime/mpi/mailbox.h"

static char *ghosts_of(const tsi_rows_matrix *m, size_t bytes) {
  return (char *)m->vector + (size_t)m->n * bytes;
}

/* m->vector = x and its ghosts. */
static tristar_status take(void *context, size_t bytes, const void *x, const void **all) {
  const tristar_distributed_t *d = context;
  const tsi_rows_matrix *m = d->matrix;
  memcpy(m->vector, x, (size_t)m->n * bytes);
  *all = m->vector;
  return tsi_halo_fill(&d->ts->env, m->halo, bytes, x, ghosts_of(m, bytes));
}

static void *room(void *context, size_t bytes) {
  const tristar_distributed_t *d = context;
  const tsi_rows_matrix *m = d->matrix;
  memset(ghosts_of(m, bytes), 0, (size_t)m->halo->ghosts * bytes);
  return m->vector;
}

static tristar_status give(void *context, size_t bytes, void *y, tsi_add_at *add) {
  const tristar_distributed_t *d = context;
  const tsi_rows_matrix *m = d->matrix;
  memcpy(y, m->vector, (size_t)m->n * bytes);
  return tsi_halo_add(&d->ts->env, m->halo, bytes, ghosts_of(m, bytes), y, add);
}

static tristar_status solve(void *context, tristar_op op, int64_t nrhs, const void *b, int64_t ldb, void *x,
                            int64_t ldx) {
  tristar_status status = TRISTAR_OK;
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
    TSI_TRY(tsi_distributed_run(d, slot,
                                &(tsi_process_call){.op = op, .nrhs = count, .b = slot->b, .x = slot->x}));
    tsi_rows_matrix_move(d->matrix, bytes, count, (tsi_row_array){slot->x, 1, columns}, of_x, false);
  }
out:
  return status;
}

/* For messages only: looks through all rows. */
static int64_t user_row(const void *context, tristar_op op, bool of_x, tsi_index i) {
  const tristar_distributed_t *d = context;
  const tsi_index *place = (op == TRISTAR_N) != of_x ? d->in_place : d->out_place;
  int64_t row = 0;
  while (place[row] != d->matrix->column[i]) row++;
  return row;
}

/* ---- The team ----------------------------------------------------------------------------------------- */

static tristar_status gather(void *context, int count, const double *mine, double *all) {
  const tristar_distributed_t *d = context;
  return TSI_MPI(
      &d->ts->env, "MPI_Allgather",
      MPI_Allgather(mine, count, MPI_DOUBLE, all, count, MPI_DOUBLE, tsi_transport_comm(d->transport)));
}

static tristar_status agree(void *context, tristar_status mine) {
  const tristar_distributed_t *d = context;
  return tsi_transport_agree(d->transport, mine);
}

tristar_status tsi_distributed_system_create(tristar_distributed_t *d, tsi_distributed_system *s) {
  static const tsi_system_functions functions = {
      .solve = solve, .take = take, .room = room, .give = give, .user_row = user_row};
  tristar_status status = TRISTAR_OK;
  const tsi_rows_matrix *m = d->matrix;
  const int ranks = tsi_transport_size(d->transport);
  *s = (tsi_distributed_system){.distributed = d};
  s->team = (tsi_team){.members = ranks,
                       .own = tsi_transport_rank(d->transport),
                       .n = d->n,
                       .number = m->column,
                       .gather = gather,
                       .agree = agree,
                       .context = d};
  TSI_TRY(tsi_transport_agree(d->transport, TSI_ALLOC(&d->ts->env, s->team.all, ranks * TSI_TEAM_NUMBERS)));
  s->system = (tsi_system){.env = &d->ts->env,
                           .kernels = tsi_sparse_kernels_select(d->process->kind.user_scalar),
                           .n = m->n,
                           .a = {.n = m->n,
                                 .by_rows = true,
                                 .symmetry = TRISTAR_GENERAL,
                                 .ptr = m->ptr,
                                 .index = m->index,
                                 .values = m->values},
                           .row_scale = m->row_scale,
                           .col_scale = m->col_scale,
                           .wide = d->process->kind.user_scalar != d->process->kind.factor_scalar,
                           .perturbed = d->perturbed,
                           .team = &s->team,
                           .functions = &functions,
                           .context = d};
out:
  return status;
}

void tsi_distributed_system_finish(tsi_distributed_system *s) {
  TSI_FREE(&s->distributed->ts->env, s->team.all);
}
