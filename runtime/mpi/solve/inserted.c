/* Inserted distributed solves: see inserted.h. */
#include "runtime/mpi/solve/inserted.h"

#include <inttypes.h>
#include <starpu_mpi.h>

#include "runtime/mpi/comm/mailbox.h"
#include "runtime/solve/request.h"
#include "runtime/exec/starpu/service.h"
#include "runtime/exec/starpu/tasks.h"
#include "tristar_starpu_mpi.h"

static tsi_env *env_of(const tristar_distributed_t *d) {
  return &d->ts->env;
}

/* ---- Carrying out -------------------------------------------------------------------------------------- */

/* Local. Chooses the arrays of b and x. */
static tristar_status choose_arrays(tsi_env *env, tsi_distributed_insertion *i) {
  if (i->b.rows == 0 || i->b.columns == 0) return TRISTAR_OK;
  if (!tsi_operand_locate(&i->b)) {
    TSI_TRY(tsi_operand_use_buffer(env, &i->b));
    tsi_operand_gather(&i->b);
  }
  if (!tsi_operand_locate(&i->x)) TSI_TRY(tsi_operand_use_buffer(env, &i->x));
  return TRISTAR_OK;
}

static tristar_status carry_out(tsi_queued *item, tristar_status mine) {
  tsi_distributed_insertion *i = (tsi_distributed_insertion *)item;
  tristar_distributed_t *d = item->distributed;
  if (mine == TRISTAR_OK) mine = choose_arrays(env_of(d), i);
  TSI_TRY(tsi_transport_agree(d->transport, mine));
  TSI_TRY(tsi_distributed_use_rows(d, i->first));
  const tristar_solve_options options = tsi_solve_options_columns(i->op, i->b.stride, i->x.stride);
  TSI_TRY(tsi_distributed_solve(d, &options, i->b.columns, i->b.data, i->x.data, NULL));
  if (i->x.rows > 0) tsi_operand_scatter(&i->x);
  return TRISTAR_OK;
}

/* Releases everything except the insertion itself. */
static void release_insertion(tsi_env *env, tsi_distributed_insertion *i) {
  tsi_acquisition_release(&i->holds);
  tsi_acquisition_finish(env, &i->holds);
  tsi_operand_finish(env, &i->b);
  tsi_operand_finish(env, &i->x);
  TSI_FREE(env, i->first);
}

/* Keeps the first failure until tristar_distributed_wait returns it. */
static void keep_failure(tristar_distributed_t *d, tristar_status status) {
  pthread_mutex_lock(&d->queue->lock);
  tsi_failure_keep(env_of(d), &d->inserted->failure, status);
  pthread_mutex_unlock(&d->queue->lock);
}

static void end(tsi_queued *item, tristar_status status) {
  tsi_env *env = env_of(item->distributed);
  tsi_distributed_insertion *i = (tsi_distributed_insertion *)item;
  keep_failure(item->distributed, status);
  release_insertion(env, i);
  TSI_FREE(env, i);
}

static void granted(void *arg, tristar_status status) {
  tsi_queue_ready(arg, status);
}

/* Local. */
static tristar_status prepare_queue(tristar_distributed_t *d) {
  if (!tsi_starpu_runs())
    TSI_FAIL(env_of(d), TRISTAR_ERR_UNSUPPORTED, "inserted solves need StarPU, which does not run");
  TSI_TRY(TSI_ALLOC_ZERO(env_of(d), d->inserted, 1));
  if (d->queue == NULL) TSI_TRY(tsi_queue_create(d));
#if STARPU_MAJOR_VERSION > 1 || STARPU_MINOR_VERSION >= 4
  /* for starpu_mpi_cache_flush; StarPU-MPI removes the entry only at its shutdown */
  starpu_mpi_comm_register(tsi_transport_comm(d->transport));
#endif
  return TRISTAR_OK;
}

void tsi_inserted_destroy(tristar_distributed_t *d) {
  TSI_FREE(env_of(d), d->inserted);
}

/* ---- Handles ------------------------------------------------------------------------------------------- */

/* Fills first (ranks + 1) from the owners of the pieces of a whole matrix. */
static tristar_status find_blocks(const tristar_distributed_t *d, const tsi_operand *whole, int64_t *first) {
  tsi_env *env = env_of(d);
  const int ranks = tsi_transport_size(d->transport);
  int last = 0;
  first[0] = 0;
  for (int64_t k = 0; k < whole->count; k++) {
    const tsi_piece *piece = &whole->piece[k];
    const int owner = starpu_mpi_data_get_rank(piece->handle);
    if (owner < 0 || owner >= ranks)
      TSI_FAIL(env, TRISTAR_ERR_ARGUMENT,
               "piece %" PRId64 " of %s is owned by rank %d (see starpu_mpi_data_register)", k, whole->name,
               owner);
    if (piece->columns != whole->columns)
      TSI_FAIL(env, TRISTAR_ERR_ARGUMENT,
               "piece %" PRId64 " of %s has %" PRId64 " of %" PRId64 " right-hand sides", k, whole->name,
               piece->columns, whole->columns);
    if (owner < last)
      TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "piece %" PRId64 " of %s is owned by rank %d, after one of rank %d",
               k, whole->name, owner, last);
    while (last < owner) first[++last] = piece->row;
  }
  while (last < ranks) first[++last] = whole->rows;
  return TRISTAR_OK;
}

/* Selects the pieces of this rank from all pieces. */
static tristar_status take_own(const tristar_distributed_t *d, const tsi_operand *whole, const int64_t *first,
                               tsi_operand *own) {
  const int rank = tsi_transport_rank(d->transport);
  *own = (tsi_operand){.name = whole->name,
                       .rows = first[rank + 1] - first[rank],
                       .columns = whole->columns,
                       .scalar = whole->scalar,
                       .stride = 1};
  TSI_TRY(TSI_ALLOC(env_of(d), own->piece, whole->count));
  for (int64_t k = 0; k < whole->count; k++) {
    if (starpu_mpi_data_get_rank(whole->piece[k].handle) != rank) continue;
    own->piece[own->count] = whole->piece[k];
    own->piece[own->count++].row -= first[rank];
  }
  return TRISTAR_OK;
}

/* Local. Fills the parts of the insertion that depend on the handles. */
static tristar_status fill_insertion(const tristar_distributed_t *d, int64_t b_pieces,
                                     const starpu_data_handle_t *b, int64_t x_pieces,
                                     const starpu_data_handle_t *x, tsi_distributed_insertion *i) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = env_of(d);
  const int64_t ranks = tsi_transport_size(d->transport);
  tsi_operand whole[2] = {{.count = 0}, {.count = 0}};
  int64_t *other = NULL;
  TSI_TRY_OUT(TSI_ALLOC(env, i->first, ranks + 1));
  TSI_TRY_OUT(TSI_ALLOC(env, other, ranks + 1));
  TSI_TRY_OUT(
      tsi_operands_create(env, d->n, d->process->user_bytes, b_pieces, b, x_pieces, x, &whole[0], &whole[1]));
  TSI_TRY_OUT(find_blocks(d, &whole[0], i->first));
  TSI_TRY_OUT(find_blocks(d, &whole[1], other));
  if (memcmp(i->first, other, (size_t)(ranks + 1) * sizeof *other) != 0)
    TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "x is spread over the ranks in other rows than b");
  TSI_TRY_OUT(take_own(d, &whole[0], i->first, &i->b));
  TSI_TRY_OUT(take_own(d, &whole[1], i->first, &i->x));
  TSI_TRY_OUT(tsi_acquisition_create(env, &i->b, &i->x, &i->holds));
  for (int64_t k = 0; k < whole[1].count; k++)
    starpu_mpi_cache_flush(tsi_transport_comm(d->transport), whole[1].piece[k].handle);
out:
  tsi_operand_finish(env, &whole[0]);
  tsi_operand_finish(env, &whole[1]);
  TSI_FREE(env, other);
  return status;
}

tristar_status tristar_distributed_insert(tristar_distributed_t *d, tristar_op op, int64_t b_pieces,
                                          const starpu_data_handle_t *b, int64_t x_pieces,
                                          const starpu_data_handle_t *x) {
  tristar_status status = TRISTAR_OK;
  tsi_distributed_insertion *i = NULL;
  TSI_ENTER(d, d->ts);
  tsi_env *env = env_of(d);
  if (!tsi_tasks_may_wait()) {
    status = tsi_fail(env, TRISTAR_ERR_UNSUPPORTED, __func__, __FILE__, __LINE__,
                      "distributed solves cannot be inserted from inside a StarPU task");
    return tsi_answer(env, status);
  }
  if (d->inserted == NULL) {
    const bool fresh = d->queue == NULL;
    tsi_queue_drain(d); /* its thread calls collective functions */
    status = tsi_transport_agree(d->transport, prepare_queue(d));
    if (status != TRISTAR_OK) {
      if (fresh) tsi_queue_destroy(d);
      tsi_inserted_destroy(d);
      return tsi_answer(env, status);
    }
  }
  TSI_TRY_OUT(TSI_ALLOC_ZERO(env, i, 1));
  i->op = op;
  TSI_TRY_OUT(fill_insertion(d, b_pieces, b, x_pieces, x, i));
  i->queued.carry_out = carry_out;
  i->queued.end = end;
  tsi_queue_put(d, &i->queued);
  tsi_acquisition_request(&d->ts->solves.order, &i->holds, granted, &i->queued);
  return TRISTAR_OK;
out:
  if (i) release_insertion(env, i);
  TSI_FREE(env, i);
  keep_failure(d, status);
  tsi_queue_put_failure(d, status);
  return tsi_answer(env, status);
}

tristar_status tristar_distributed_wait(tristar_distributed_t *d) {
  tristar_status status = TRISTAR_OK;
  TSI_ENTER(d, d->ts);
  if (d->inserted == NULL) return TRISTAR_OK;
  if (!tsi_tasks_may_wait())
    TSI_FAIL_OUT(env_of(d), TRISTAR_ERR_UNSUPPORTED, "a StarPU task cannot wait for solves");
  tsi_queue_drain(d);
  pthread_mutex_lock(&d->queue->lock);
  status = tsi_failure_report(env_of(d), &d->inserted->failure);
  tsi_failure_clear(&d->inserted->failure);
  pthread_mutex_unlock(&d->queue->lock);
out:
  return tsi_answer(env_of(d), status);
}
