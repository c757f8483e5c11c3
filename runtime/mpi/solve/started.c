/* tristar_distributed_solve_start, _test and _wait: items of the queue (queue.h).
 *
 * Reads   options, b.   Writes  x, the request. */
#include "runtime/mpi/solve/queue.h"
#include "runtime/base/options.h"
#include "runtime/exec/starpu/tasks.h"

struct tristar_distributed_request_s {
  tsi_queued queued; /* first member */
  tristar_t *ts;
  tsi_queue *queue; /* a reference: the distributed factor may be destroyed earlier */
  tristar_solve_options options;
  int64_t nrhs;
  const void *b;
  void *x;
  int64_t *b_row, *x_row; /* copies of the lists */
  tristar_solve_result result;
  bool done;           /* guarded by the queue's lock, like outcome */
  tsi_failure outcome; /* status that wait returns */
};

static tsi_env *env_of(const tristar_distributed_request_t *r) {
  return &r->ts->env;
}

/* Also releases a reference to env, which may not exist afterwards. */
static void release(tsi_env *env, tristar_distributed_request_t *r) {
  if (r == NULL) return;
  tsi_queue_drop(env, r->queue);
  TSI_FREE(env, r->b_row);
  TSI_FREE(env, r->x_row);
  TSI_FREE(env, r);
  tsi_env_release(env);
}

static tristar_status carry_out(tsi_queued *item, tristar_status mine) {
  tristar_distributed_request_t *r = (tristar_distributed_request_t *)item;
  TSI_TRY(tsi_transport_agree(item->distributed->transport, mine));
  return tsi_distributed_solve(item->distributed, &r->options, r->nrhs, r->b, r->x, &r->result);
}

/* The waiting thread may free the request as soon as it is done. */
static void end(tsi_queued *item, tristar_status status) {
  tristar_distributed_request_t *r = (tristar_distributed_request_t *)item;
  tsi_queue *q = item->distributed->queue;
  if (r->options.end) r->options.end(r->options.end_arg, status);
  pthread_mutex_lock(&q->lock);
  tsi_failure_keep(env_of(r), &r->outcome, status);
  r->done = true;
  pthread_cond_broadcast(&q->changed);
  pthread_mutex_unlock(&q->lock);
}

/* Local: *to = list, if there is one. */
static tristar_status copy_list(tsi_env *env, int64_t count, const int64_t *list, int64_t **to) {
  if (list == NULL || count < 0) return TRISTAR_OK;
  TSI_TRY(TSI_ALLOC(env, *to, count));
  if (count > 0) memcpy(*to, list, (size_t)count * sizeof *list);
  return TRISTAR_OK;
}

tristar_status tristar_distributed_solve_start(tristar_distributed_t *d, const tristar_solve_options *options,
                                               int64_t nrhs, const void *b, void *x,
                                               tristar_distributed_request_t **request) {
  tristar_status status = TRISTAR_OK;
  tristar_distributed_request_t *r = NULL;
  tristar_solve_options full;
  if (request != NULL) *request = NULL;
  TSI_ENTER(d, d->ts);
  tsi_env *env = &d->ts->env;
  if (d->queue == NULL) {
    status = tsi_transport_agree(d->transport, tsi_queue_create(d));
    if (status != TRISTAR_OK) {
      tsi_queue_destroy(d);
      return tsi_answer(env, status);
    }
  }
  if (request == NULL) TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "request is NULL");
  TSI_TRY_OUT(TSI_OPTIONS(env, tristar_solve_options, options, &full));
  TSI_TRY_OUT(TSI_ALLOC_ZERO(env, r, 1));
  r->ts = d->ts;
  tsi_env_retain(env);
  r->queue = tsi_queue_share(d->queue);
  r->options = full;
  r->nrhs = nrhs;
  r->b = b;
  r->x = x;
  TSI_TRY_OUT(copy_list(env, r->options.b_rows, r->options.b_row, &r->b_row));
  TSI_TRY_OUT(copy_list(env, r->options.x_rows, r->options.x_row, &r->x_row));
  if (r->b_row) r->options.b_row = r->b_row;
  if (r->x_row) r->options.x_row = r->x_row;
  r->queued.carry_out = carry_out;
  r->queued.end = end;
  *request = r; /* `end` may read it */
  tsi_queue_put(d, &r->queued);
  tsi_queue_ready(&r->queued, TRISTAR_OK);
  return TRISTAR_OK;
out:
  release(env, r);
  tsi_queue_put_failure(d, status);
  return tsi_answer(env, status);
}

tristar_status tristar_distributed_solve_test(tristar_distributed_request_t *request, int *done) {
  tristar_status status = TRISTAR_OK;
  if (done != NULL) *done = 0;
  TSI_ENTER(request, request->ts);
  tsi_queue *q = request->queue;
  if (done == NULL) TSI_FAIL_OUT(env_of(request), TRISTAR_ERR_ARGUMENT, "done is NULL");
  pthread_mutex_lock(&q->lock);
  *done = request->done;
  pthread_mutex_unlock(&q->lock);
out:
  return tsi_answer(env_of(request), status);
}

tristar_status tristar_distributed_solve_wait(tristar_distributed_request_t **request,
                                              tristar_solve_result *result) {
  tristar_status status = TRISTAR_OK;
  if (request == NULL || *request == NULL) return TRISTAR_OK;
  tristar_distributed_request_t *r = *request;
  tsi_env *env = env_of(r);
  tsi_queue *q = r->queue;
  if (tsi_env_abandon(env, r)) {
    *request = NULL;
    return tsi_refuse_inherited(env, __func__, __FILE__, __LINE__);
  }
  if (!tsi_tasks_may_wait())
    TSI_FAIL_OUT(env, TRISTAR_ERR_UNSUPPORTED, "a StarPU task cannot wait for solves");
  pthread_mutex_lock(&q->lock);
  while (!r->done) pthread_cond_wait(&q->changed, &q->lock);
  pthread_mutex_unlock(&q->lock);
  status = tsi_failure_report(env, &r->outcome);
  if (result && status == TRISTAR_OK) *result = r->result;
  *request = NULL;
  status = tsi_answer(env, status);
  release(env, r);
  return tsi_answer(NULL, status);
out:
  return tsi_answer(env, status);
}
