/* The queue of inserted distributed solves: see inserted.h. */
#include "runtime/mpi/inserted.h"

#include <inttypes.h>
#include <starpu_mpi.h>

#include "runtime/base/threads.h"
#include "runtime/mpi/mailbox.h"
#include "runtime/starpu/tasks.h"
#include "tristar_starpu_mpi.h"

static tsi_env *env_of(const tristar_distributed_t *d) {
  return &d->ts->env;
}

/* ---- The thread ---------------------------------------------------------------------------------------- */

/* Where b is read and x is written; local. */
static tristar_status choose_arrays(tsi_env *env, tsi_distributed_insertion *i) {
  tristar_status status = TRISTAR_OK;
  if (i->b.rows == 0 || i->b.columns == 0) return TRISTAR_OK;
  if (!tsi_operand_locate(&i->b)) {
    TSI_TRY(tsi_operand_use_buffer(env, &i->b));
    tsi_operand_gather(&i->b);
  }
  if (!tsi_operand_locate(&i->x)) TSI_TRY(tsi_operand_use_buffer(env, &i->x));
out:
  return status;
}

/* Collective. */
static tristar_status carry_out(tristar_distributed_t *d, tsi_distributed_insertion *i) {
  tristar_status status = TRISTAR_OK;
  tristar_solve_options options;
  tristar_status mine = tsi_failure_tell(env_of(d), &i->failure);
  if (mine == TRISTAR_OK) mine = choose_arrays(env_of(d), i);
  TSI_TRY(tsi_transport_agree(d->transport, mine));
  TSI_TRY(tsi_distributed_use_rows(d, i->first));
  tristar_solve_options_init(&options);
  options.op = i->op;
  options.b_row_stride = options.x_row_stride = 1;
  options.b_column_stride = tsi_count_max(1, i->b.stride);
  options.x_column_stride = tsi_count_max(1, i->x.stride);
  TSI_TRY(tsi_distributed_solve(d, &options, i->b.columns, i->b.data, i->x.data, NULL));
  if (i->x.rows > 0) tsi_operand_scatter(&i->x);
out:
  return status;
}

/* All but the insertion itself. */
static void release_insertion(tsi_env *env, tsi_distributed_insertion *i) {
  tsi_holds_release(&i->holds);
  tsi_holds_finish(env, &i->holds);
  tsi_operand_finish(env, &i->b);
  tsi_operand_finish(env, &i->x);
  TSI_FREE(env, i->first);
}

/* The first insertion, once its handles are granted; NULL: the queue is empty, and stays so. */
static tsi_distributed_insertion *next_insertion(tsi_inserted *q) {
  pthread_mutex_lock(&q->lock);
  while (q->head ? !q->head->granted : !q->stop) pthread_cond_wait(&q->changed, &q->lock);
  tsi_distributed_insertion *i = q->head;
  if (i) q->head = i->next;
  if (q->head == NULL) q->tail = NULL;
  pthread_mutex_unlock(&q->lock);
  return i;
}

static void *serve(void *arg) {
  tsi_inserted *q = arg;
  tsi_env *env = env_of(q->distributed);
  tsi_distributed_insertion *i;
  while ((i = next_insertion(q)) != NULL) {
    const tristar_status status = tsi_answer(env, carry_out(q->distributed, i));
    release_insertion(env, i);
    if (i != &q->spare) TSI_FREE(env, i);
    pthread_mutex_lock(&q->lock);
    tsi_failure_keep(env, &q->failure, status);
    q->unfinished--;
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->lock);
  }
  return NULL;
}

static void granted(void *arg, tristar_status status) {
  tsi_distributed_insertion *i = arg;
  tsi_inserted *q = i->queue;
  pthread_mutex_lock(&q->lock);
  tsi_failure_keep(env_of(q->distributed), &i->failure, status);
  i->granted = true;
  pthread_cond_broadcast(&q->changed);
  pthread_mutex_unlock(&q->lock);
}

/* ---- The queue ----------------------------------------------------------------------------------------- */

/* Local. */
static tristar_status create_queue(tristar_distributed_t *d) {
  tristar_status status = TRISTAR_OK;
  tsi_inserted *q = NULL;
  int level = MPI_THREAD_SINGLE;
  TSI_TRY(TSI_MPI(env_of(d), "MPI_Query_thread", MPI_Query_thread(&level)));
  if (level < MPI_THREAD_MULTIPLE)
    TSI_FAIL(env_of(d), TRISTAR_ERR_UNSUPPORTED,
             "inserted solves need MPI with MPI_THREAD_MULTIPLE, as StarPU-MPI sends messages meanwhile");
  if (!starpu_is_initialized())
    TSI_FAIL(env_of(d), TRISTAR_ERR_UNSUPPORTED, "inserted solves need StarPU, which does not run");
#if STARPU_MAJOR_VERSION > 1 || STARPU_MINOR_VERSION >= 4
  /* for starpu_mpi_cache_flush; StarPU-MPI forgets it when it is shut down, not before */
  starpu_mpi_comm_register(tsi_transport_comm(d->transport));
#endif
  TSI_TRY(TSI_ALLOC_ZERO(env_of(d), q, 1));
  q->distributed = d;
  TSI_TRY(tsi_monitor_init(env_of(d), &q->lock, &q->changed));
  status = tsi_thread_start(env_of(d), &q->thread, serve, q);
  if (status == TRISTAR_OK) {
    d->inserted = q;
    return TRISTAR_OK;
  }
  pthread_cond_destroy(&q->changed);
  pthread_mutex_destroy(&q->lock);
out:
  TSI_FREE(env_of(d), q);
  return status;
}

void tsi_inserted_drain(const tristar_distributed_t *d) {
  tsi_inserted *q = d->inserted;
  if (q == NULL) return;
  pthread_mutex_lock(&q->lock);
  while (q->unfinished > 0) pthread_cond_wait(&q->changed, &q->lock);
  pthread_mutex_unlock(&q->lock);
}

void tsi_inserted_destroy(tristar_distributed_t *d) {
  tsi_inserted *q = d->inserted;
  if (q == NULL) return;
  pthread_mutex_lock(&q->lock);
  q->stop = true;
  pthread_cond_broadcast(&q->changed);
  pthread_mutex_unlock(&q->lock);
  pthread_join(q->thread, NULL);
  pthread_mutex_destroy(&q->lock);
  pthread_cond_destroy(&q->changed);
  TSI_FREE(env_of(d), d->inserted);
}

static void push(tsi_inserted *q, tsi_distributed_insertion *i) {
  i->queue = q;
  i->next = NULL;
  pthread_mutex_lock(&q->lock);
  if (q->tail)
    q->tail->next = i;
  else
    q->head = i;
  q->tail = i;
  q->unfinished++;
  pthread_mutex_unlock(&q->lock);
}

/* An insertion that has failed here; the other ranks' threads get to know. */
static void push_failure(tristar_distributed_t *d, tristar_status status) {
  tsi_inserted_drain(d); /* nobody has the spare one */
  tsi_distributed_insertion *spare = &d->inserted->spare;
  memset(spare, 0, sizeof *spare);
  push(d->inserted, spare);
  granted(spare, status);
}

/* ---- Handles ------------------------------------------------------------------------------------------- */

/* Fills first (ranks + 1) by the owners of the pieces of a whole matrix. */
static tristar_status find_blocks(const tristar_distributed_t *d, const tsi_operand *whole, int64_t *first) {
  tristar_status status = TRISTAR_OK;
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
out:
  return status;
}

/* The pieces of this rank, out of those of all. */
static tristar_status take_own(const tristar_distributed_t *d, const tsi_operand *whole, const int64_t *first,
                               tsi_operand *own) {
  tristar_status status = TRISTAR_OK;
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
out:
  return status;
}

/* Local: everything about the handles. */
static tristar_status fill_insertion(const tristar_distributed_t *d, int64_t b_pieces,
                                     const starpu_data_handle_t *b, int64_t x_pieces,
                                     const starpu_data_handle_t *x, tsi_distributed_insertion *i) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = env_of(d);
  const int64_t ranks = tsi_transport_size(d->transport);
  tsi_operand whole[2] = {{.count = 0}, {.count = 0}};
  int64_t *other = NULL;
  TSI_TRY(TSI_ALLOC(env, i->first, ranks + 1));
  TSI_TRY(TSI_ALLOC(env, other, ranks + 1));
  TSI_TRY(
      tsi_operands_create(env, d->n, d->process->user_bytes, b_pieces, b, x_pieces, x, &whole[0], &whole[1]));
  TSI_TRY(find_blocks(d, &whole[0], i->first));
  TSI_TRY(find_blocks(d, &whole[1], other));
  if (memcmp(i->first, other, (size_t)(ranks + 1) * sizeof *other) != 0)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "x is spread over the ranks in other rows than b");
  TSI_TRY(take_own(d, &whole[0], i->first, &i->b));
  TSI_TRY(take_own(d, &whole[1], i->first, &i->x));
  TSI_TRY(tsi_holds_create(env, &i->b, &i->x, &i->holds));
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
  if (d == NULL) return TSI_NULL(d);
  tsi_env *env = env_of(d);
  if (!tsi_tasks_may_wait()) {
    status = tsi_fail(env, TRISTAR_ERR_UNSUPPORTED, __func__, __FILE__, __LINE__,
                      "distributed solves cannot be inserted from inside a StarPU task");
    return tsi_answer(env, status);
  }
  if (d->inserted == NULL) {
    status = tsi_transport_agree(d->transport, create_queue(d));
    if (status != TRISTAR_OK) {
      tsi_inserted_destroy(d);
      return tsi_answer(env, status);
    }
  }
  TSI_TRY(TSI_ALLOC_ZERO(env, i, 1));
  i->op = op;
  TSI_TRY(fill_insertion(d, b_pieces, b, x_pieces, x, i));
  push(d->inserted, i);
  tsi_holds_ask(&d->ts->solves.order, &i->holds, granted, i);
  return TRISTAR_OK;
out:
  if (i) release_insertion(env, i);
  TSI_FREE(env, i);
  push_failure(d, status);
  return tsi_answer(env, status);
}

tristar_status tristar_distributed_wait(tristar_distributed_t *d) {
  tristar_status status = TRISTAR_OK;
  if (d == NULL) return TSI_NULL(d);
  tsi_inserted *q = d->inserted;
  if (q == NULL) return TRISTAR_OK;
  if (!tsi_tasks_may_wait())
    TSI_FAIL(env_of(d), TRISTAR_ERR_UNSUPPORTED, "a StarPU task cannot wait for solves");
  tsi_inserted_drain(d);
  pthread_mutex_lock(&q->lock);
  status = tsi_failure_tell(env_of(d), &q->failure);
  tsi_failure_clear(&q->failure);
  pthread_mutex_unlock(&q->lock);
out:
  return tsi_answer(env_of(d), status);
}
