/* tristar_distributed_solve, and the rows of b and x that each rank passes: see distributed.h. */
#include <inttypes.h>

#include "runtime/base/clock.h"
#include "runtime/mpi/inserted.h"
#include "runtime/mpi/mailbox.h"
#include "runtime/solve/request.h"

/* ---- Rows of the user --------------------------------------------------------------------------------- */

void tsi_distributed_release_rows(tristar_distributed_t *d) {
  tsi_env *env = &d->ts->env;
  if (d->out != d->in) tsi_rows_destroy(env, &d->out);
  d->out = NULL;
  tsi_rows_destroy(env, &d->in);
}

tristar_status tsi_distributed_list_rows(tristar_distributed_t *d) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  const int ranks = tsi_transport_size(d->transport);
  tsi_distributed_release_rows(d);
  TSI_TRY(tsi_rows_create(env, d->process, ranks, d->first, d->in_place, &d->in));
  if (memcmp(d->in_place, d->out_place, (size_t)d->n * sizeof *d->in_place) == 0)
    d->out = d->in;
  else
    TSI_TRY(tsi_rows_create(env, d->process, ranks, d->first, d->out_place, &d->out));
  for (int s = 0; s < TSI_SLOTS; s++) TSI_FREE(env, d->slot[s].buffer);
out:
  return status;
}

/* On all ranks or on none. */
tristar_status tsi_distributed_use_rows(tristar_distributed_t *d, const int64_t *first) {
  const size_t bytes = (size_t)(tsi_transport_size(d->transport) + 1) * sizeof *first;
  if (d->in && d->out && memcmp(d->first, first, bytes) == 0) return TRISTAR_OK;
  memcpy(d->first, first, bytes);
  const tristar_status status = tsi_transport_agree(d->transport, tsi_distributed_list_rows(d));
  if (status != TRISTAR_OK) tsi_distributed_release_rows(d);
  return status;
}

tristar_status tristar_distributed_set_rows(tristar_distributed_t *d, int64_t first, int64_t rows) {
  tristar_status status = TRISTAR_OK;
  if (d == NULL) return TSI_NULL(d);
  tsi_inserted_drain(d);
  tsi_env *env = &d->ts->env;
  const int ranks = tsi_transport_size(d->transport), me = tsi_transport_rank(d->transport);
  const int64_t own[2] = {first, rows};
  int64_t *all = NULL;
  TSI_TRY(tsi_transport_agree(d->transport, TSI_ALLOC(env, all, 2 * ranks)));
  TSI_TRY(TSI_MPI(env, "MPI_Allgather",
                  MPI_Allgather(own, 2, MPI_INT64_T, all, 2, MPI_INT64_T, tsi_transport_comm(d->transport))));
  int64_t next = 0;
  for (int r = 0; r < ranks; r++) {
    if (all[2 * r] != next || all[2 * r + 1] < 0)
      TSI_FAIL(env, TRISTAR_ERR_ARGUMENT,
               "rank %d passes %" PRId64 " rows from %" PRId64 " on, row %" PRId64 " comes next%s", r,
               all[2 * r + 1], all[2 * r], next, r == me ? " (this rank)" : "");
    next += all[2 * r + 1];
  }
  if (next != d->n)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "the ranks pass %" PRId64 " rows together, not %" PRId64, next, d->n);
  for (int r = 0; r < ranks; r++) all[r] = all[2 * r];
  all[ranks] = d->n;
  TSI_TRY(tsi_distributed_use_rows(d, all));
out:
  TSI_FREE(env, all);
  return tsi_answer(env, status);
}

/* ---- Solves ------------------------------------------------------------------------------------------- */

static tristar_status check_arguments(const tristar_distributed_t *d, tristar_op op, int64_t nrhs,
                                      const void *b, int64_t ldb, const void *x, int64_t ldx) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  const int rank = tsi_transport_rank(d->transport);
  const int64_t rows = d->first[rank + 1] - d->first[rank];
  if (op != TRISTAR_N && op != TRISTAR_T && op != TRISTAR_C)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "op is %d", (int)op);
  TSI_TRY(tsi_check_columns(env, rows, nrhs, b, ldb, x, ldx));
  if (!d->valid) TSI_FAIL(env, TRISTAR_ERR_STALE, "the distributed factor holds no values");
  if (d->in == NULL || d->out == NULL)
    TSI_FAIL(env, TRISTAR_ERR_STALE, "the latest tristar_distributed_set_rows failed");
out:
  return status;
}

/* Collective. All ranks' arguments must be right (mine: what this one found), and the same; the smallest and
 * the largest of each tell. */
static tristar_status agree_on_arguments(const tristar_distributed_t *d, tristar_status mine, tristar_op op,
                                         int64_t nrhs) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  const int64_t own[5] = {nrhs, -nrhs, op, -(int64_t)op, mine};
  int64_t most[5];
  TSI_TRY(TSI_MPI(env, "MPI_Allreduce",
                  MPI_Allreduce(own, most, 5, MPI_INT64_T, MPI_MAX, tsi_transport_comm(d->transport))));
  if (most[4] != TRISTAR_OK) return tsi_transport_agree(d->transport, mine); /* who, and why */
  if (most[0] != -most[1])
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "the ranks pass %" PRId64 " to %" PRId64 " right-hand sides",
             -most[1], most[0]);
  if (most[2] != -most[3]) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "the ranks pass different op");
out:
  return status;
}

/* Collective. The buffer of a slot for rows.h: on all ranks or on none. */
static tristar_status need_buffer(tristar_distributed_t *d, tsi_slot *slot, tsi_index stride) {
  if (slot->buffer) return TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  const tsi_count rows = tsi_count_max(d->in->users + d->in->homes, d->out->users + d->out->homes);
  const tristar_status status =
      tsi_transport_agree(d->transport, tsi_allocate(env, (size_t)(rows * stride), d->process->user_bytes,
                                                     __func__, __FILE__, __LINE__, &slot->buffer));
  if (status != TRISTAR_OK) TSI_FREE(env, slot->buffer);
  return status;
}

static void add_times(tristar_distributed_stats *stats, const tsi_process_times *times) {
  stats->sweep_seconds += times->wall;
  stats->compute_seconds += times->compute;
  stats->xy_seconds += times->xy;
  stats->z_seconds += times->z;
  stats->idle_seconds += times->idle;
}

static void count_messages(tristar_distributed_t *d, tsi_index stride) {
  const tsi_program *program = d->process->program;
  for (tsi_index m = 0; m < program->sends; m++) {
    const tsi_message *message = &program->send[m];
    tristar_message_count *count =
        message->kind >= TSI_MESSAGE_EXCHANGE ? &d->stats.grids
        : message->kind == TSI_MESSAGE_FORWARD_X || message->kind == TSI_MESSAGE_BACKWARD_X
            ? &d->stats.broadcast
            : &d->stats.reduction;
    count->messages++;
    count->bytes += message->rows * stride * (int64_t)d->process->scalar_bytes;
  }
}

/* nrhs <= TSI_NRHS_BLOCK columns. */
static tristar_status solve_block(tristar_distributed_t *d, tristar_op op, tsi_index nrhs, const void *b,
                                  int64_t ldb, void *x, int64_t ldx) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  MPI_Comm comm = tsi_transport_comm(d->transport);
  const tsi_process *p = d->process;
  const bool plain = op == TRISTAR_N || !p->kind.lu;
  const tsi_index columns = p->share->panels->start[p->share->panels->count];
  const tsi_index stride = tsi_workspace_stride(nrhs);
  tsi_process_times times;
  tsi_slot *slot;
  TSI_TRY(tsi_slot_need(d, nrhs, &slot));
  TSI_TRY(need_buffer(d, slot, stride));
  const double begin = tsi_clock();
  TSI_TRY(tsi_rows_to_homes(env, plain ? d->in : d->out, comm, p->user_bytes, nrhs, b, ldb, slot->b, columns,
                            slot->buffer));
  const double there = tsi_clock();
  /* whoever fails goes on with the others, and tells it afterwards */
  const tristar_status mine = tsi_process_solve(slot->run, op, nrhs, slot->b, slot->x, &times);
  const double solved = tsi_clock();
  TSI_TRY(tsi_rows_to_users(env, plain ? d->out : d->in, comm, p->user_bytes, nrhs, slot->x, columns, x, ldx,
                            slot->buffer));
  d->stats.redistribute_seconds += there - begin + tsi_clock() - solved;
  TSI_TRY(tsi_transport_agree(d->transport, mine));
  add_times(&d->stats, &times);
  count_messages(d, stride);
out:
  return status;
}

static void reset_stats(tristar_distributed_stats *stats) {
  stats->solve_seconds = stats->redistribute_seconds = stats->sweep_seconds = 0;
  stats->compute_seconds = stats->xy_seconds = stats->z_seconds = stats->idle_seconds = 0;
  stats->broadcast = stats->reduction = stats->grids = (tristar_message_count){0, 0};
}

tristar_status tsi_distributed_solve(tristar_distributed_t *d, tristar_op op, int64_t nrhs, const void *b,
                                     int64_t ldb, void *x, int64_t ldx) {
  tristar_status status = TRISTAR_OK;
  const double begin = tsi_clock();
  const size_t bytes = d->process->user_bytes;
  TSI_TRY(agree_on_arguments(d, check_arguments(d, op, nrhs, b, ldb, x, ldx), op, nrhs));
  reset_stats(&d->stats);
  for (int64_t first = 0; first < nrhs; first += TSI_NRHS_BLOCK)
    TSI_TRY(solve_block(d, op, (tsi_index)tsi_count_min(TSI_NRHS_BLOCK, nrhs - first),
                        (const char *)b + (size_t)(first * ldb) * bytes, ldb,
                        (char *)x + (size_t)(first * ldx) * bytes, ldx));
  d->stats.solve_seconds = tsi_clock() - begin;
out:
  return status;
}

tristar_status tristar_distributed_solve(tristar_distributed_t *d, tristar_op op, int64_t nrhs, const void *b,
                                         int64_t ldb, void *x, int64_t ldx) {
  if (d == NULL) return TSI_NULL(d);
  tsi_inserted_drain(d);
  return tsi_answer(&d->ts->env, tsi_distributed_solve(d, op, nrhs, b, ldb, x, ldx));
}

/* ---- Statistics --------------------------------------------------------------------------------------- */

tristar_status tristar_distributed_get_stats(const tristar_distributed_t *d,
                                             tristar_distributed_stats *stats) {
  TSI_GET(d, stats, (tsi_inserted_drain(d), d->stats));
}

tristar_status tristar_distributed_gather_stats(const tristar_distributed_t *d,
                                                tristar_distributed_stats *all) {
  tristar_status status = TRISTAR_OK;
  if (d == NULL) return TSI_NULL(d);
  tsi_inserted_drain(d);
  TSI_TRY(TSI_MPI(&d->ts->env, "MPI_Gather",
                  MPI_Gather(&d->stats, (int)sizeof d->stats, MPI_BYTE, all, (int)sizeof d->stats, MPI_BYTE,
                             0, tsi_transport_comm(d->transport))));
out:
  return tsi_answer(&d->ts->env, status);
}
