/* The queue of a distributed factor: see queue.h. */
#include "runtime/mpi/solve/queue.h"

#include "runtime/base/threads.h"
#include "runtime/mpi/comm/mailbox.h"

static tsi_env *env_of(const tristar_distributed_t *d) {
  return &d->ts->env;
}

/* The first item, once it is ready; NULL: the queue is empty, and will stay empty. */
static tsi_queued *take_next(tsi_queue *q) {
  pthread_mutex_lock(&q->lock);
  while (q->head ? !q->head->ready : !q->stop) pthread_cond_wait(&q->changed, &q->lock);
  tsi_queued *item = q->head;
  if (item) q->head = item->next;
  if (q->head == NULL) q->tail = NULL;
  pthread_mutex_unlock(&q->lock);
  return item;
}

static void *serve(void *arg) {
  tsi_queue *q = arg;
  tsi_env *env = env_of(q->distributed);
  tsi_queued *item;
  while ((item = take_next(q)) != NULL) {
    const tristar_status mine = tsi_failure_report(env, &item->failure);
    item->end(item, tsi_answer(env, item->carry_out(item, mine)));
    pthread_mutex_lock(&q->lock);
    q->unfinished--;
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->lock);
  }
  return NULL;
}

tristar_status tsi_queue_create(tristar_distributed_t *d) {
  tristar_status status = TRISTAR_OK;
  tsi_queue *q = NULL;
  int level = MPI_THREAD_SINGLE;
  TSI_TRY_OUT(TSI_MPI(env_of(d), "MPI_Query_thread", MPI_Query_thread(&level)));
  if (level < MPI_THREAD_MULTIPLE)
    TSI_FAIL_OUT(
        env_of(d), TRISTAR_ERR_UNSUPPORTED,
        "solves that are inserted or started need MPI with MPI_THREAD_MULTIPLE, as others send messages "
        "meanwhile");
  TSI_TRY_OUT(TSI_ALLOC_ZERO(env_of(d), q, 1));
  q->distributed = d;
  atomic_init(&q->references, 1);
  TSI_TRY_OUT(tsi_monitor_init(env_of(d), &q->lock, &q->changed));
  status = tsi_thread_start(env_of(d), &q->thread, serve, q);
  if (status == TRISTAR_OK) {
    d->queue = q;
    return TRISTAR_OK;
  }
  pthread_cond_destroy(&q->changed);
  pthread_mutex_destroy(&q->lock);
out:
  TSI_FREE(env_of(d), q);
  return status;
}

void tsi_queue_drain(const tristar_distributed_t *d) {
  tsi_queue *q = d->queue;
  if (q == NULL) return;
  pthread_mutex_lock(&q->lock);
  while (q->unfinished > 0) pthread_cond_wait(&q->changed, &q->lock);
  pthread_mutex_unlock(&q->lock);
}

tsi_queue *tsi_queue_share(tsi_queue *q) {
  atomic_fetch_add(&q->references, 1);
  return q;
}

void tsi_queue_drop(tsi_env *env, tsi_queue *q) {
  if (atomic_fetch_sub(&q->references, 1) > 1) return;
  pthread_mutex_destroy(&q->lock);
  pthread_cond_destroy(&q->changed);
  TSI_FREE(env, q);
}

void tsi_queue_destroy(tristar_distributed_t *d) {
  tsi_queue *q = d->queue;
  if (q == NULL) return;
  pthread_mutex_lock(&q->lock);
  q->stop = true;
  pthread_cond_broadcast(&q->changed);
  pthread_mutex_unlock(&q->lock);
  pthread_join(q->thread, NULL);
  d->queue = NULL;
  tsi_queue_drop(env_of(d), q);
}

void tsi_queue_put(tristar_distributed_t *d, tsi_queued *item) {
  tsi_queue *q = d->queue;
  item->distributed = d;
  item->next = NULL;
  pthread_mutex_lock(&q->lock);
  if (q->tail)
    q->tail->next = item;
  else
    q->head = item;
  q->tail = item;
  q->unfinished++;
  pthread_mutex_unlock(&q->lock);
}

void tsi_queue_ready(tsi_queued *item, tristar_status status) {
  tsi_queue *q = item->distributed->queue;
  pthread_mutex_lock(&q->lock);
  tsi_failure_keep(env_of(q->distributed), &item->failure, status);
  item->ready = true;
  pthread_cond_broadcast(&q->changed);
  pthread_mutex_unlock(&q->lock);
}

static tristar_status report(tsi_queued *item, tristar_status mine) {
  return tsi_transport_agree(item->distributed->transport, mine);
}

static void end_spare(tsi_queued *item, tristar_status status) {
  (void)item;
  (void)status; /* the caller that queued it has returned it */
}

void tsi_queue_put_failure(tristar_distributed_t *d, tristar_status status) {
  tsi_queued *spare = &d->queue->spare;
  tsi_queue_drain(d); /* afterwards no thread uses it */
  *spare = (tsi_queued){.carry_out = report, .end = end_spare};
  tsi_queue_put(d, spare);
  tsi_queue_ready(spare, status);
}
