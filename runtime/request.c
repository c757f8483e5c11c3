/* Runs a request block after block; tristar_test and tristar_wait: see request.h. */
#include "runtime/request.h"

#include <starpu.h>

#include "runtime/clock.h"

static tsi_env *env_of(const tristar_request_t *r) {
  return &r->plan->ts->env;
}

/* b gathered where x is b and a chunk may write rows that another one has yet to read. Sets call's b. */
static tristar_status copy_in(const tristar_request_t *r, tsi_solve_call *call, char **copy) {
  tristar_status status = TRISTAR_OK;
  const tristar_analysis_t *an = r->plan->factor->analysis;
  const size_t n = (size_t)an->pattern->n, scalar = r->plan->factor->user_bytes;
  const bool same = r->in_user == r->out_user &&
                    (!r->in_user || (!an->stats.matched && !an->imported) || !tsi_analysis_is_lu(an));
  if (call->b != call->x || same) return TRISTAR_OK;
  TSI_TRY(TSI_ALLOC(env_of(r), *copy, n * scalar * (size_t)call->nrhs));
  for (tsi_index c = 0; c < call->nrhs; c++)
    for (size_t i = 0; i < n; i++)
      memcpy(*copy + (i + n * (size_t)c) * scalar,
             (const char *)call->b + (size_t)((int64_t)i * call->b_row + c * call->b_column) * scalar,
             scalar);
  call->b = *copy;
  call->b_row = 1;
  call->b_column = (int64_t)n;
out:
  return status;
}

/* The replay's call: the request's, for nrhs columns from the first on. */
static void fill_call(const tristar_request_t *r, int64_t first, tsi_index nrhs, tsi_replay *replay) {
  tsi_solve_call *call = &replay->call;
  void *workspace = call->workspace;
  const tsi_index stride = call->stride;
  const int64_t scalar = (int64_t)r->plan->factor->user_bytes;
  *call = r->call;
  call->workspace = workspace;
  call->stride = stride;
  call->nrhs = nrhs;
  call->b = (const char *)r->call.b + first * r->call.b_column * scalar;
  call->x = (char *)r->call.x + first * r->call.x_column * scalar;
  replay->forward = r->forward ? &r->forward->data : NULL;
  replay->backward = r->backward ? &r->backward->data : NULL;
}

static void release_block(tristar_request_t *r, tsi_block *block) {
  if (block->replay) tsi_replay_give_back(block->replay);
  TSI_FREE(env_of(r), block->copy);
  *block = (tsi_block){0};
}

/* The next block; in flight afterwards, or solved already. */
static tristar_status start_block(tristar_request_t *r) {
  tristar_status status = TRISTAR_OK;
  const tristar_plan_t *plan = r->plan;
  tsi_block *block = &r->block[(r->oldest + r->running) % TSI_BLOCKS];
  const int64_t first = r->next;
  const tsi_index nrhs = (tsi_index)tsi_count_min(TSI_NRHS_BLOCK, r->nrhs - first);
  r->next += nrhs;
  TSI_TRY(tsi_replay_take(r->plan, tsi_workspace_stride(nrhs), &block->replay));
  tsi_solve_call *call = &block->replay->call;
  fill_call(r, first, nrhs, block->replay);
  TSI_TRY(copy_in(r, call, &block->copy));
  if (r->diagonal) {
    for (tsi_index c = 0; c < plan->side[0].chunks->count; c++)
      plan->nodes->diagonal_chunk(&plan->side[0].data, call, c);
    goto out;
  }
  TSI_TRY(tsi_replay_tasks(block->replay, r->dag, r->sweeps, &block->tasks));
  tsi_tasks_set_columns(block->tasks, nrhs);
  TSI_TRY(tsi_tasks_start(block->tasks, r->here));
  if (!tsi_tasks_running(block->tasks)) goto out;
  r->running++;
  return TRISTAR_OK;
out: /* failed, or solved */
  release_block(r, block);
  return status;
}

static void keep_first_failure(tristar_request_t *r, tristar_status status) {
  if (r->status == TRISTAR_OK) r->status = status;
}

static void end_oldest_block(tristar_request_t *r) {
  tsi_block *block = &r->block[r->oldest];
  keep_first_failure(r, tsi_tasks_wait(block->tasks));
  release_block(r, block);
  r->oldest = (r->oldest + 1) % TSI_BLOCKS;
  r->running--;
}

static void finish(tristar_request_t *r) {
  tristar_plan_t *plan = r->plan;
  tsi_reach_finish(env_of(r), &r->reach);
  r->done = true;
  if (r->status != TRISTAR_OK) return;
  pthread_mutex_lock(&plan->lock);
  plan->stats.last_solve_seconds = tsi_clock() - r->begin;
  plan->stats.solves++;
  pthread_mutex_unlock(&plan->lock);
}

bool tsi_request_advance(tristar_request_t *r, bool wait) {
  while (!r->done) {
    if (r->status == TRISTAR_OK && r->running < TSI_BLOCKS && r->next < r->nrhs)
      keep_first_failure(r, start_block(r));
    else if (r->running == 0)
      finish(r);
    else if (wait || tsi_tasks_test(r->block[r->oldest].tasks))
      end_oldest_block(r);
    else
      return false;
  }
  return true;
}

tristar_status tristar_test(tristar_request_t *request, int *done) {
  if (done != NULL) *done = 0;
  if (request == NULL) return TRISTAR_ERR_ARGUMENT;
  if (done == NULL)
    return tsi_fail(env_of(request), TRISTAR_ERR_ARGUMENT, __func__, __FILE__, __LINE__, "done is NULL");
  *done = tsi_request_advance(request, false);
  return TRISTAR_OK;
}

tristar_status tristar_wait(tristar_request_t **request, tristar_solve_result *result) {
  tristar_status status = TRISTAR_OK;
  if (request == NULL || *request == NULL) return TRISTAR_OK;
  tristar_request_t *r = *request;
  tsi_env *env = env_of(r);
  if (!tsi_request_advance(r, false) && starpu_worker_get_id() >= 0)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "a StarPU task cannot wait for tasks that run on StarPU");
  (void)tsi_request_advance(r, true);
  status = r->status;
  if (status == TRISTAR_OK && result) result->share = r->share;
  tristar_plan_destroy(&r->plan); /* its share of it */
  TSI_FREE(env, *request);
out:
  return status;
}
