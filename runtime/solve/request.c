/* Runs a request, followed or alone; tristar_test and tristar_wait: see request.h. */
#include "runtime/solve/request.h"

#include "runtime/base/clock.h"
#include "runtime/base/progress.h"
#include "runtime/rows/row_factor.h"
#include "runtime/solve/in_flight.h"
#include "runtime/solve/trace.h"

static tsi_env *env_of(const tristar_request_t *r) {
  return &r->plan->ts->env;
}

static void gather_column(const tristar_request_t *r, const void *b, char *to) {
  const size_t n = (size_t)r->plan->factor->analysis->pattern->n, scalar = r->plan->factor->user_bytes;
  for (size_t i = 0; i < n; i++)
    memcpy(to + i * scalar, (const char *)b + (size_t)((int64_t)i * r->call.b_row) * scalar, scalar);
}

/* Copies b if x is b and a chunk may write rows that another chunk has not read yet. Sets b of the call, or
 * of the request's columns. */
static tristar_status copy_in(const tristar_request_t *r, tsi_solve_call *call, char **copy) {
  const tristar_analysis_t *an = r->plan->factor->analysis;
  const size_t scalar = r->plan->factor->user_bytes, column = (size_t)an->pattern->n * scalar;
  const bool alike = !tsi_analysis_is_lu(an) && an->one_order;
  const bool same =
      r->in_user == r->out_user && (!r->in_user || alike || tsi_factor_keeps_rows(r->plan->factor));
  tsi_index first = 0; /* first column whose x is its b */
  while (r->columns && first < call->nrhs && r->columns[first].b != r->columns[first].x) first++;
  if (same || (r->columns ? first == call->nrhs : call->b != call->x)) return TRISTAR_OK;
  TSI_TRY(TSI_ALLOC(env_of(r), *copy, column * (size_t)call->nrhs));
  for (tsi_index c = first; c < call->nrhs; c++) {
    char *to = *copy + (size_t)c * column;
    if (r->columns == NULL)
      gather_column(r, (const char *)call->b + (size_t)(c * call->b_column) * scalar, to);
    else if (r->columns[c].b == r->columns[c].x) {
      gather_column(r, r->columns[c].b, to);
      r->columns[c].b = to;
    }
  }
  call->b = *copy;
  call->b_row = 1;
  call->b_column = (int64_t)an->pattern->n;
  return TRISTAR_OK;
}

/* Sets the replay's call: the request's, for nrhs columns from column `first` on. */
static void fill_call(const tristar_request_t *r, int64_t first, tsi_index nrhs, tsi_replay *replay) {
  tsi_solve_call *call = &replay->execution.call;
  void *workspace = call->workspace;
  const tsi_index stride = call->stride;
  const int64_t scalar = (int64_t)r->plan->factor->user_bytes;
  *call = r->call;
  call->workspace = workspace;
  call->stride = stride;
  call->nrhs = nrhs;
  call->b = (const char *)r->call.b + first * r->call.b_column * scalar;
  call->x = (char *)r->call.x + first * r->call.x_column * scalar;
  if (r->columns) call->columns = r->columns + first;
  replay->execution.forward = r->forward ? &r->forward->data : NULL;
  replay->execution.backward = r->backward ? &r->backward->data : NULL;
  if (r->stream && nrhs == 1) call->rows = r->stream;
}

static const tsi_executor *executor_of(const tristar_request_t *r, const tsi_request_block *block) {
  return &block->replay->executor[r->list][r->sweeps];
}

static void release_block(tristar_request_t *r, tsi_request_block *block) {
  if (r->trace && block->tasks) tsi_trace_discard(executor_of(r, block));
  if (block->replay) tsi_replay_give_back(block->replay);
  TSI_FREE(env_of(r), block->copy);
  *block = (tsi_request_block){0};
}

/* Takes a replay for the columns from `first` on. The addresses of b and x may be set later. */
static tristar_status reserve_block(tristar_request_t *r, int64_t first, tsi_request_block *block) {
  const tsi_index nrhs = (tsi_index)tsi_count_min(r->plan->block, r->nrhs - first);
  block->request = r;
  TSI_TRY(tsi_replay_take(r->plan, tsi_workspace_stride(tsi_index_max(nrhs, r->call.least)), &block->replay));
  fill_call(r, first, nrhs, block->replay);
  if (r->diagonal) return TRISTAR_OK;
  TSI_TRY(tsi_replay_tasks(block->replay, r->list, r->sweeps, &block->tasks));
  tsi_tasks_set_columns(block->tasks, nrhs);
  return TRISTAR_OK;
}

/* ---- Lanes --------------------------------------------------------------------------------------------- */

static void help(void *arg, int number, int slot) {
  tsi_lane_run_join(arg, number, slot);
}

static void begin_lanes(void *arg) {
  tsi_lane_run_begin(arg);
}

/* Runs a block whose rows are not moved, by the plain stream. Runs its lanes instead if there is no memory
 * for the stream, or if help may still be faster: the plain stream costs as much memory as the stream of
 * lanes, and the time of several solves. */
static void run_plain(void *arg, int number, int slot) {
  tsi_request_block *block = arg;
  const tristar_request_t *r = block->request;
  tsi_solve_call *call = &block->replay->execution.call;
  const bool backward = r->forward == NULL;
  const bool make = r->plan->pieces > 0 || tsi_help_is_refused(&block->replay->help);
  const tsi_row_sweep *rows = NULL;
  if (tsi_row_factor_plain(env_of(r), r->plan->factor->rows, backward, make, &rows) != TRISTAR_OK || !rows) {
    tsi_lane_run_begin(executor_of(r, block)->lanes);
    tsi_lane_run_join(executor_of(r, block)->lanes, number, slot);
    return;
  }
  call->rows = rows;
  r->plan->nodes->whole_stream(backward ? &r->backward->data : &r->forward->data, call, backward);
}

/* Runs a block on this thread, with help if help was faster before. */
static void run_lanes(tristar_request_t *r, tsi_request_block *block) {
  tsi_lane_run *run = executor_of(r, block)->lanes;
  const tsi_shared shared = {.work = help,
                             .arg = run,
                             .begin = begin_lanes,
                             .alone = r->plain ? run_plain : NULL,
                             .alone_arg = block,
                             .amount = 1};
  tsi_helpers_share(&r->plan->ts->helpers, &block->replay->help, run->lanes->count - 1, &shared);
}

/* Adds up the statistics of a block whose tasks have ended. Blocks of a request that runs alone may end
 * concurrently. */
static void note_block(tristar_request_t *r, const tsi_request_block *block) {
  tristar_plan_t *plan = r->plan;
  const tsi_recording *recording = &executor_of(r, block)->recording;
  pthread_mutex_lock(&plan->lock);
  if (tsi_way_has_tasks(&r->plan->way) && tsi_tasks_ran_on_starpu(block->tasks))
    tsi_tasks_add_busy(block->tasks, plan->solved.slots, r->sums.compute);
  else
    r->sums.here = true;
  r->sums.tasks += recording->list->count;
  r->sums.bytes += r->share * recording->bytes;
  pthread_mutex_unlock(&plan->lock);
  if (r->trace) tsi_trace_note(r->trace, executor_of(r, block));
}

/* Starts the next block. Afterwards it is in flight, or already solved. */
static tristar_status start_block(tristar_request_t *r) {
  tristar_status status = TRISTAR_OK;
  const tristar_plan_t *plan = r->plan;
  tsi_request_block *block = &r->pair[(r->oldest + r->running) % TSI_BLOCKS];
  const int64_t first = r->next;
  r->next += tsi_count_min(r->plan->block, r->nrhs - first);
  TSI_TRY_OUT(reserve_block(r, first, block));
  tsi_solve_call *call = &block->replay->execution.call;
  const tsi_way way = tsi_way_of_request(r, false);
  TSI_TRY_OUT(copy_in(r, call, &block->copy));
  if (way.kind == TRISTAR_WAY_DIRECT) {
    for (tsi_index c = 0; c < plan->side[0].chunks->count; c++)
      plan->nodes->diagonal_chunk(&plan->side[0].data, call, c);
    r->sums.here = true;
    goto out;
  }
  if (way.kind == TRISTAR_WAY_LANES) {
    run_lanes(r, block);
    note_block(r, block);
    goto out;
  }
  if (r->trace) TSI_TRY_OUT(tsi_trace_begin(r->trace, executor_of(r, block)));
  TSI_TRY_OUT(tsi_tasks_start(block->tasks, way.kind == TRISTAR_WAY_SERIAL));
  if (tsi_tasks_running(block->tasks)) {
    r->running++;
    return TRISTAR_OK;
  }
  note_block(r, block);
out: /* failed, or solved */
  release_block(r, block);
  return status;
}

void tsi_request_fail(tristar_request_t *r, tristar_status status) {
  tsi_failure_keep(env_of(r), &r->failure, status);
}

static void end_oldest_block(tristar_request_t *r) {
  tsi_request_block *block = &r->pair[r->oldest];
  const tristar_status status = tsi_tasks_wait(block->tasks);
  tsi_request_fail(r, status);
  if (status == TRISTAR_OK) note_block(r, block);
  release_block(r, block);
  r->oldest = (r->oldest + 1) % TSI_BLOCKS;
  r->running--;
}

/* ---- The range of x ------------------------------------------------------------------------------------ */

void tsi_request_check_range(tristar_request_t *r) {
  const tristar_plan_t *plan = r->plan;
  const bool shared = plan->way.kind == TRISTAR_WAY_TASKS || plan->way.kind == TRISTAR_WAY_LANES;
  r->checks = true;
  r->watch.sum_is_finite = plan->sum_is_finite;
  if (shared && !plan->blocks) r->call.watch = &r->watch; /* else one thread looks at x in the end */
}

static const void *number_at(const tsi_numbers *of, size_t bytes, int64_t row, int64_t column) {
  return (const char *)of->values + (size_t)(row * of->row + column * of->column) * bytes;
}

int64_t tsi_numbers_first_not_finite(char scalar, const tsi_numbers *of, int64_t column) {
  const tsi_sparse_kernels *kernels = tsi_sparse_kernels_select(scalar);
  const size_t bytes = kernels->scalar_bytes;
  int64_t i = 0;
  if (of->row == 1) return kernels->first_not_finite(of->rows, number_at(of, bytes, 0, column));
  while (i < of->rows && kernels->first_not_finite(1, number_at(of, bytes, i, column)) == 1) i++;
  return i;
}

/* A quick test: true only if all columns are finite. */
static bool are_finite(const tristar_plan_t *plan, const tsi_numbers *of, int64_t nrhs) {
  const bool by_rows = of->row != 1 && of->column == 1;
  const int64_t lines = by_rows ? of->rows : nrhs, length = by_rows ? nrhs : of->rows;
  if (of->row != 1 && of->column != 1) return false;
  for (int64_t k = 0; k < lines; k++)
    if (!plan->sum_is_finite(length,
                             number_at(of, plan->factor->user_bytes, by_rows ? k : 0, by_rows ? 0 : k)))
      return false;
  return true;
}

tristar_status tsi_solution_check(const tristar_plan_t *plan, int64_t nrhs, tsi_numbers b, tsi_numbers x,
                                  bool was_read) {
  const char scalar = plan->factor->analysis->pattern->scalar;
  if (are_finite(plan, &x, nrhs)) return TRISTAR_OK;
  for (int64_t c = 0; c < nrhs; c++) {
    const int64_t row = tsi_numbers_first_not_finite(scalar, &x, c);
    if (row == x.rows) continue;
    if (b.values != x.values && tsi_numbers_first_not_finite(scalar, &b, c) < b.rows) continue;
    TSI_FAIL(&plan->ts->env, TRISTAR_ERR_NOT_FINITE,
             "row %lld of x, column %lld (counted from 0), is beyond the range of numbers%s", (long long)row,
             (long long)c, was_read || b.values == x.values ? ", or x was not finite before the solve" : "");
  }
  return TRISTAR_OK;
}

tristar_status tsi_request_check(const tristar_request_t *r, int64_t nrhs) {
  const tsi_solve_call *call = &r->call;
  return tsi_solution_check(r->plan, nrhs, (tsi_numbers){call->b, r->given, call->b_row, call->b_column},
                            (tsi_numbers){call->x, r->requested, call->x_row, call->x_column},
                            call->beta[0] != 0 || call->beta[1] != 0);
}

/* A request that other requests share is checked by fuse.c. */
static void check_range(tristar_request_t *r) {
  if (!r->checks || r->columns || r->nrhs == 0 || tsi_failure_exists(&r->failure)) return;
  if (r->call.watch && !atomic_load(&r->watch.suspects)) return;
  tsi_request_fail(r, tsi_request_check(r, r->nrhs));
}

static void finish(tristar_request_t *r) {
  tristar_plan_t *plan = r->plan;
  const double seconds = tsi_clock() - r->begin;
  tsi_reach_finish(&r->reach);
  TSI_FREE(env_of(r), r->block);
  if (!tsi_failure_exists(&r->failure) && r->solves > 0) {
    pthread_mutex_lock(&plan->lock);
    plan->stats.last_solve_seconds = seconds;
    plan->stats.solves += r->solves;
    if (r->solves > 1) plan->stats.fused += r->solves, plan->stats.fused_passes++;
    tsi_sums_keep(&plan->solved, &r->sums, seconds, plan->stats.solves);
    pthread_mutex_unlock(&plan->lock);
  }
  check_range(r);
  tsi_sums_end(env_of(r), &plan->solved, &r->sums);
}

/* A request that runs alone is done when its last callback has run. */
bool tsi_request_advance(tristar_request_t *r, bool wait) {
  if (r->ended) return tsi_in_flight_done(r->plan, &r->done, wait);
  while (!r->done) {
    if (r->next < r->nrhs)
      tsi_request_fail(r,
                       tsi_progress_look(env_of(r), TRISTAR_PHASE_SOLVE, (double)r->next / (double)r->nrhs));
    if (!tsi_failure_exists(&r->failure) && r->running < r->plan->followed && r->next < r->nrhs)
      tsi_request_fail(r, start_block(r));
    else if (r->running == 0) {
      finish(r);
      r->done = true;
    } else if (wait || tsi_tasks_test(r->pair[r->oldest].tasks))
      end_oldest_block(r);
    else
      return false;
  }
  return true;
}

bool tsi_request_has_tasks(const tristar_request_t *r) {
  const tsi_way way = tsi_way_of_request(r, true);
  return tsi_way_has_tasks(&way) && r->nrhs > 0;
}

void tsi_request_cancel(tristar_request_t *r) {
  for (int64_t k = 0; k < r->blocks; k++) release_block(r, &r->block[k]);
  r->blocks = 0;
  TSI_FREE(env_of(r), r->block);
  tsi_reach_finish(&r->reach);
  if (r->sums.compute) tsi_sums_end(env_of(r), &r->plan->solved, &r->sums);
}

tristar_status tsi_request_reserve(tristar_request_t *r) {
  tristar_status status = TRISTAR_OK;
  r->blocks = (r->nrhs + r->plan->block - 1) / r->plan->block;
  status = TSI_ALLOC_ZERO(env_of(r), r->block, r->blocks);
  if (status != TRISTAR_OK) r->blocks = 0;
  for (int64_t k = 0; k < r->blocks; k++) {
    TSI_TRY_OUT(reserve_block(r, k * r->plan->block, &r->block[k]));
    TSI_TRY_OUT(tsi_tasks_prepare(r->block[k].tasks));
  }
out:
  if (status != TRISTAR_OK) tsi_request_cancel(r);
  return status;
}

static void end_one(tristar_request_t *r) {
  if (atomic_fetch_sub(&r->left, 1) > 1) return;
  finish(r);
  r->ended(r);
}

static void end_block(void *arg, tristar_status status) {
  tsi_request_block *block = arg;
  tristar_request_t *r = block->request;
  tsi_request_fail(r, status);
  if (status == TRISTAR_OK) note_block(r, block);
  release_block(r, block);
  end_one(r);
}

void tsi_request_launch(tristar_request_t *r) {
  atomic_store(&r->left, r->blocks + 1);
  for (int64_t k = 0; k < r->blocks; k++) {
    tristar_status status = tsi_failure_report(env_of(r), &r->failure);
    tsi_request_block *block = &r->block[k];
    tsi_solve_call *call = &block->replay->execution.call;
    fill_call(r, k * r->plan->block, call->nrhs, block->replay);
    if (status == TRISTAR_OK) status = copy_in(r, call, &block->copy);
    if (status == TRISTAR_OK) status = tsi_tasks_launch(block->tasks, r->context, end_block, block);
    if (status != TRISTAR_OK) end_block(block, status);
  }
  end_one(r);
}

tristar_status tristar_test(tristar_request_t *request, int *done) {
  tristar_status status = TRISTAR_OK;
  if (done != NULL) *done = 0;
  TSI_ENTER(request, request->plan->ts);
  tsi_env *env = env_of(request);
  if (done == NULL) TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "done is NULL");
  *done = tsi_request_advance(request, false);
out:
  return tsi_answer(env, status);
}

tristar_solve_result tsi_request_result(const tristar_request_t *r) {
  return (tristar_solve_result){.share = r->share,
                                .perturbed_pivots = r->plan->factor->stats.perturbed_pivots};
}

tristar_status tristar_wait(tristar_request_t **request, tristar_solve_result *result) {
  tristar_status status = TRISTAR_OK;
  if (request == NULL || *request == NULL) return TRISTAR_OK;
  tristar_request_t *r = *request;
  tsi_env *env = env_of(r);
  if (tsi_env_abandon(env, r)) {
    *request = NULL;
    return tsi_refuse_inherited(env, __func__, __FILE__, __LINE__);
  }
  tsi_env_retain(env);
  if (!tsi_request_advance(r, false) && !tsi_tasks_may_wait())
    TSI_FAIL_OUT(env, TRISTAR_ERR_UNSUPPORTED, "a StarPU task cannot wait for tasks that run on StarPU");
  (void)tsi_request_advance(r, true);
  status = tsi_failure_report(env, &r->failure);
  if (status == TRISTAR_OK && result) *result = tsi_request_result(r);
  tristar_plan_destroy(&r->plan); /* drops the request's share */
  TSI_FREE(env, *request);
out:
  status = tsi_answer(env, status);
  tsi_env_release(env);
  return tsi_answer(NULL, status);
}
