/* What can be done with op(A) on many ranks: see system.h.
 *
 * The rows of A are here. For op N a rank needs the entries of x that its rows meet; for T and C it makes
 * parts of what others add to theirs. */
#include "runtime/mpi/system.h"

#include "runtime/mpi/mailbox.h"

static tsi_sparse matrix_of(const tristar_distributed_t *d) {
  const tsi_rows_matrix *m = d->matrix;
  return (tsi_sparse){.n = m->n,
                      .by_rows = true,
                      .symmetry = TRISTAR_GENERAL,
                      .ptr = m->ptr,
                      .index = m->index,
                      .values = m->values};
}

static const tsi_sparse_kernels *kernels_of(const tristar_distributed_t *d) {
  return tsi_sparse_kernels_select(d->process->kind.user_scalar);
}

static char *ghosts_of(const tsi_rows_matrix *m, size_t bytes) {
  return (char *)m->vector + (size_t)m->n * bytes;
}

static void add_doubles(tsi_count count, const tsi_count *place, const void *from, void *to) {
  for (tsi_count i = 0; i < count; i++) ((double *)to)[place[i]] += ((const double *)from)[i];
}

/* m->vector = x and its ghosts. */
static tristar_status take_with_ghosts(const tristar_distributed_t *d, size_t bytes, const void *x) {
  const tsi_rows_matrix *m = d->matrix;
  memcpy(m->vector, x, (size_t)m->n * bytes);
  return tsi_halo_fill(&d->ts->env, m->halo, bytes, x, ghosts_of(m, bytes));
}

/* y = m->vector, and what other ranks have made of it. */
static tristar_status give_with_ghosts(const tristar_distributed_t *d, size_t bytes, void *y,
                                       void (*add)(tsi_count count, const tsi_count *place, const void *from,
                                                   void *to)) {
  const tsi_rows_matrix *m = d->matrix;
  memcpy(y, m->vector, (size_t)m->n * bytes);
  return tsi_halo_add(&d->ts->env, m->halo, bytes, ghosts_of(m, bytes), y, add);
}

static void clear_ghosts(const tristar_distributed_t *d, size_t bytes) {
  memset(ghosts_of(d->matrix, bytes), 0, (size_t)d->matrix->halo->ghosts * bytes);
}

static tristar_status residual(void *context, tristar_op op, const void *b, const void *x, void *r) {
  tristar_status status = TRISTAR_OK;
  const tristar_distributed_t *d = context;
  const tsi_sparse_kernels *kernels = kernels_of(d);
  const tsi_sparse a = matrix_of(d);
  if (op == TRISTAR_N) {
    TSI_TRY(take_with_ghosts(d, kernels->scalar_bytes, x));
    kernels->residual(&a, op, b, d->matrix->vector, r);
  } else {
    clear_ghosts(d, kernels->scalar_bytes);
    kernels->residual(&a, op, b, x, d->matrix->vector);
    TSI_TRY(give_with_ghosts(d, kernels->scalar_bytes, r, kernels->add_at));
  }
out:
  return status;
}

static tristar_status bound(void *context, tristar_op op, const void *x, double *y) {
  tristar_status status = TRISTAR_OK;
  const tristar_distributed_t *d = context;
  const tsi_sparse_kernels *kernels = kernels_of(d);
  const tsi_sparse a = matrix_of(d);
  if (op == TRISTAR_N) {
    TSI_TRY(take_with_ghosts(d, kernels->scalar_bytes, x));
    kernels->bound(&a, op, d->matrix->vector, y);
  } else {
    clear_ghosts(d, sizeof *y);
    kernels->bound(&a, op, x, d->matrix->vector);
    TSI_TRY(give_with_ghosts(d, sizeof *y, y, add_doubles));
  }
out:
  return status;
}

static tristar_status weigh(void *context, tristar_op op, const double *g, double *y) {
  tristar_status status = TRISTAR_OK;
  const tristar_distributed_t *d = context;
  const tsi_sparse_kernels *kernels = kernels_of(d);
  const tsi_sparse a = matrix_of(d);
  if (op == TRISTAR_N) {
    if (g) TSI_TRY(take_with_ghosts(d, sizeof *g, g));
    kernels->weigh(&a, op, g ? d->matrix->vector : NULL, y);
  } else {
    clear_ghosts(d, sizeof *y);
    kernels->weigh(&a, op, g, d->matrix->vector);
    TSI_TRY(give_with_ghosts(d, sizeof *y, y, add_doubles));
  }
out:
  return status;
}

static tristar_status count_terms(void *context, tristar_op op, tsi_index *terms) {
  tristar_status status = TRISTAR_OK;
  const tristar_distributed_t *d = context;
  const tsi_rows_matrix *m = d->matrix;
  double *count = m->vector;
  if (op == TRISTAR_N) {
    for (tsi_index i = 0; i < m->n; i++) terms[i] = (tsi_index)(m->ptr[i + 1] - m->ptr[i]) + 1;
    return TRISTAR_OK;
  }
  for (tsi_index i = 0; i < m->n + m->halo->ghosts; i++) count[i] = i < m->n;
  for (tsi_count q = 0; q < m->ptr[m->n]; q++) count[m->index[q]]++;
  TSI_TRY(tsi_halo_add(&d->ts->env, m->halo, sizeof *count, ghosts_of(m, sizeof *count), count, add_doubles));
  for (tsi_index i = 0; i < m->n; i++) terms[i] = (tsi_index)count[i];
out:
  return status;
}

/* Columns between vectors and the local rows of a slot. */
static void move_columns(const tsi_rows_matrix *m, size_t bytes, tsi_index nrhs, tsi_index columns,
                         char *local, char *vectors, int64_t ld, bool to_local) {
  for (size_t c = 0; c < (size_t)nrhs; c++)
    for (size_t i = 0; i < (size_t)m->n; i++) {
      char *a = local + (c * (size_t)columns + (size_t)m->local[i]) * bytes;
      char *b = vectors + (c * (size_t)ld + i) * bytes;
      if (to_local)
        memcpy(a, b, bytes);
      else
        memcpy(b, a, bytes);
    }
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
    char *of_b = (char *)(uintptr_t)b + (size_t)(first * ldb) * bytes,
         *of_x = (char *)x + (size_t)(first * ldx) * bytes;
    tsi_slot *slot;
    TSI_TRY(tsi_slot_need(d, count, &slot));
    move_columns(d->matrix, bytes, count, columns, slot->b, of_b, ldb, true);
    TSI_TRY(tsi_distributed_run(d, slot,
                                &(tsi_process_call){.op = op, .nrhs = count, .b = slot->b, .x = slot->x}));
    move_columns(d->matrix, bytes, count, columns, slot->x, of_x, ldx, false);
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
  static const tsi_system_functions functions = {.solve = solve,
                                                 .residual = residual,
                                                 .bound = bound,
                                                 .weigh = weigh,
                                                 .count_terms = count_terms,
                                                 .user_row = user_row};
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
                           .kernels = kernels_of(d),
                           .n = m->n,
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
