/* Replays: workspace and recorded tasks of one solve at a time. See plan.h.
 *
 * Neither plan nor replay touches a workspace: the tasks are the first to write its pages, which the system
 * then puts near the cores that run them. */
#include "runtime/base/clock.h"
#include "runtime/solve/placement.h"
#include "runtime/machine/predict.h"
#include "runtime/solve/spmv.h"

/* A task that streams factor: it notes where it runs. Nodes of a sweep: its chunks, then its slices. */
#define STREAM_STEP(step, side, backward, first_node)                                                        \
  static void run_##step(void *context, const tsi_index argument[4], int worker) {                           \
    const tsi_replay *replay = context;                                                                      \
    tsi_placement_note(replay, backward, (first_node) + argument[0], worker);                                \
    replay->plan->nodes->step(replay->side, &replay->call, argument[0]);                                     \
  }
#define CHUNKS replay->plan->side[0].chunks->count
STREAM_STEP(forward_chunk, forward, false, 0)
STREAM_STEP(forward_slice, forward, false, CHUNKS)
STREAM_STEP(backward_chunk, backward, true, 0)
STREAM_STEP(backward_slice, backward, true, CHUNKS)

#define NODE_STEP(step, side)                                                                                \
  static void run_##step(void *context, const tsi_index argument[4], int worker) {                           \
    const tsi_replay *replay = context;                                                                      \
    (void)worker;                                                                                            \
    replay->plan->nodes->step(replay->side, &replay->call, argument[0]);                                     \
  }
NODE_STEP(forward_push, forward)
NODE_STEP(backward_push, backward)
NODE_STEP(read_chunk, forward)
NODE_STEP(turn_chunk, forward)
NODE_STEP(write_chunk, backward)

static void multiply(const tsi_replay *replay, bool backward, tsi_index number) {
  const tsi_spmv *spmv = replay->plan->spmv;
  const tsi_row_block *block = &spmv->products[backward]->block[number];
  spmv->kernels->multiply(&replay->product[backward]->rows, block->first, block->end, block->add,
                          replay->call.stride, replay->call.workspace);
}
static void run_forward_rows(void *context, const tsi_index argument[4], int worker) {
  (void)worker;
  multiply(context, false, argument[0]);
}
static void run_backward_rows(void *context, const tsi_index argument[4], int worker) {
  (void)worker;
  multiply(context, true, argument[0]);
}

static void run_barrier(void *context, const tsi_index argument[4], int worker) {
  (void)context;
  (void)argument;
  (void)worker;
}

static const tsi_task_run run_kind[TSI_STEP_KINDS] = {
    [TSI_STEP_FORWARD_CHUNK] = run_forward_chunk,
    [TSI_STEP_FORWARD_SLICE] = run_forward_slice,
    [TSI_STEP_FORWARD_PUSH] = run_forward_push,
    [TSI_STEP_BACKWARD_CHUNK] = run_backward_chunk,
    [TSI_STEP_BACKWARD_SLICE] = run_backward_slice,
    [TSI_STEP_BACKWARD_PUSH] = run_backward_push,
    [TSI_STEP_READ] = run_read_chunk,
    [TSI_STEP_FORWARD_ROWS] = run_forward_rows,
    [TSI_STEP_TURN] = run_turn_chunk,
    [TSI_STEP_BACKWARD_ROWS] = run_backward_rows,
    [TSI_STEP_WRITE] = run_write_chunk,
};

static void run_step(tsi_replay *replay, const tsi_step *step, int worker) {
  const tsi_index argument[4] = {step->argument, 0, 0, 0};
  run_kind[step->kind](replay, argument, worker);
}

/* A task for one step. Argument 1: the number of the step, for traces. */
static tristar_status add_task(tsi_replay *replay, tsi_tasks *tasks, const tsi_steps *steps, tsi_index k,
                               tsi_index *number) {
  const tsi_step *step = &steps->step[k];
  const tsi_index argument[4] = {step->argument, k, 0, 0};
  return tsi_tasks_add(tasks, tsi_step_name(step->kind), run_kind[step->kind], replay, argument,
                       step->priority, tsi_task_microseconds(step->bytes), number);
}

/* argument: DAG, sweeps, bundle. */
static void run_bundle(void *context, const tsi_index argument[4], int worker) {
  tsi_replay *replay = context;
  const tsi_recording *recording = &replay->recording[argument[0]][argument[1]];
  const tsi_bundles *bundles = recording->bundles;
  for (tsi_index q = bundles->ptr[argument[2]]; q < bundles->ptr[argument[2] + 1]; q++) {
    if (replay->step_start) replay->step_start[bundles->item[q]] = tsi_clock();
    run_step(replay, &recording->steps->step[bundles->item[q]], worker);
  }
}

static tristar_status add_bundle(tsi_replay *replay, int dag, tsi_sweeps sweeps, tsi_index bundle,
                                 tsi_tasks *tasks) {
  const tsi_recording *recording = &replay->recording[dag][sweeps];
  const tsi_bundles *bundles = recording->bundles;
  const tsi_index first = bundles->ptr[bundle], end = bundles->ptr[bundle + 1];
  const tsi_index argument[4] = {dag, (tsi_index)sweeps, bundle, 0};
  double priority, bytes;
  tsi_index number;
  if (end - first == 1) return add_task(replay, tasks, recording->steps, bundles->item[first], &number);
  tsi_bundle_weigh(bundles, recording->steps, bundle, &priority, &bytes);
  return tsi_tasks_add(tasks, "bundle", run_bundle, replay, argument, priority, tsi_task_microseconds(bytes),
                       &number);
}

/* Tasks that run as soon as those that they wait for are through; task k is bundle k. */
static tristar_status add_bundles(tsi_replay *replay, int dag, tsi_sweeps sweeps, tsi_tasks *tasks) {
  tristar_status status = TRISTAR_OK;
  const tsi_bundles *bundles = replay->recording[dag][sweeps].bundles;
  for (tsi_index k = 0; k < bundles->count; k++) TSI_TRY(add_bundle(replay, dag, sweeps, k, tasks));
  for (tsi_count e = 0; e < bundles->edges; e++)
    TSI_TRY(tsi_tasks_after(tasks, bundles->edge[e].item, bundles->edge[e].before));
out:
  return status;
}

/* Tasks level by level; between two levels a task without work waits for all of the former, and all of the
 * latter wait for it. */
static tristar_status add_levels(tsi_replay *replay, tsi_tasks *tasks, const tsi_steps *steps,
                                 const tsi_levels *levels) {
  tristar_status status = TRISTAR_OK;
  static const tsi_index none[4] = {0, TSI_NONE, 0, 0}; /* no step */
  tsi_index barrier = TSI_NONE, first = 0, number;
  for (tsi_index l = 0; l < levels->count; l++) {
    for (tsi_index q = levels->ptr[l]; q < levels->ptr[l + 1]; q++) {
      TSI_TRY(add_task(replay, tasks, steps, levels->item[q], &number));
      TSI_TRY(tsi_tasks_after(tasks, number, barrier));
    }
    if (l + 1 == levels->count) break;
    const tsi_index end = tsi_tasks_count(tasks);
    TSI_TRY(tsi_tasks_add(tasks, "barrier", run_barrier, replay, none, 1, 1, &barrier));
    for (; first < end; first++) TSI_TRY(tsi_tasks_after(tasks, barrier, first));
    first = barrier + 1;
  }
out:
  return status;
}

static void release_recording(tsi_env *env, tsi_recording *recording) {
  tsi_tasks_destroy(&recording->tasks);
  tsi_bundles_destroy(env, &recording->bundles);
  tsi_steps_destroy(env, &recording->steps);
}

static tristar_status list_steps(const tristar_plan_t *plan, int number, tsi_sweeps sweeps, tsi_steps **steps,
                                 tsi_levels **levels) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &plan->ts->env;
  if (plan->spmv) return tsi_spmv_steps(plan, steps, levels);
  const tsi_steps_source source = {.dag = plan->dag[number],
                                   .order = plan->order[number],
                                   .forward_chunks = plan->side[number].chunks,
                                   .backward_chunks = plan->side[plan->sides - 1 - number].chunks,
                                   .forward = sweeps != TSI_BACKWARD,
                                   .backward = sweeps != TSI_FORWARD,
                                   .push = plan->options.updates == TRISTAR_UPDATES_PUSH};
  TSI_TRY(tsi_steps_create(env, &source, steps));
  if (plan->options.scheduling == TRISTAR_SCHEDULING_LEVELS)
    TSI_TRY(tsi_levels_create(env, (*steps)->count, (*steps)->edges, (*steps)->edge, levels));
out:
  return status;
}

/* What bundles may weigh. Only bundles know how many workers there are: no result depends on them. */
static double light_bytes(const tristar_plan_t *plan, const tsi_steps *steps) {
  if (!plan->use_tasks || plan->spmv || plan->options.updates == TRISTAR_UPDATES_PUSH ||
      plan->options.granularity == TRISTAR_TASKS_SUPERNODES)
    return 0;
  const int workers = plan->stats.workers;
  if (workers <= 1) return tsi_steps_bytes(steps);
  return tsi_bundles_light(steps, workers,
                           plan->options.nrhs > 1 ? TSI_BUNDLES_MORE_RHS : TSI_BUNDLES_ONE_RHS);
}

static tristar_status record(tsi_replay *replay, int number, tsi_sweeps sweeps) {
  tristar_status status = TRISTAR_OK;
  const tristar_plan_t *plan = replay->plan;
  tsi_env *env = &plan->ts->env;
  tsi_recording *recording = &replay->recording[number][sweeps];
  tsi_tasks *tasks = NULL;
  tsi_levels *levels = NULL;
  release_recording(env, recording);
  TSI_TRY(list_steps(plan, number, sweeps, &recording->steps, &levels));
  TSI_TRY(tsi_tasks_create(env, &tasks));
  if (levels)
    TSI_TRY(add_levels(replay, tasks, recording->steps, levels));
  else {
    TSI_TRY(tsi_bundles_create(env, recording->steps, light_bytes(plan, recording->steps),
                               plan->stats.workers, &recording->bundles));
    TSI_TRY(add_bundles(replay, number, sweeps, tasks));
  }
  if (plan->use_tasks) TSI_TRY(tsi_tasks_record(tasks));
  const tsi_costs costs = tsi_costs_assumed(&plan->ts->machine, plan->stats.workers);
  TSI_TRY(tsi_predict_seconds(env, &costs, recording->steps, plan->use_tasks ? levels : NULL,
                              plan->use_tasks ? recording->bundles : NULL, &recording->predicted));
  recording->bytes = tsi_steps_bytes(recording->steps);
  recording->tasks = tasks;
  tasks = NULL;
out:
  tsi_tasks_destroy(&tasks);
  tsi_levels_destroy(env, &levels);
  return status;
}

/* The products that replay->call is to multiply with; those of OP_N if there is none yet. */
static tristar_status take_products(tsi_replay *replay) {
  tristar_status status = TRISTAR_OK;
  tristar_plan_t *plan = replay->plan;
  const tsi_solve_call *call = &replay->call;
  const void *upper = plan->factor->upper;
  const bool none = call->forward_values == NULL;
  TSI_TRY(tsi_spmv_prepare(plan, false, !none && call->forward_values == upper, &replay->product[0]));
  TSI_TRY(tsi_spmv_prepare(plan, true, none ? upper != NULL : call->backward_values == upper,
                           &replay->product[1]));
out:
  return status;
}

tristar_status tsi_replay_tasks(tsi_replay *replay, int number, tsi_sweeps sweeps, tsi_tasks **out) {
  tristar_status status = TRISTAR_OK;
  const tsi_recording *recording = &replay->recording[number][sweeps];
  *out = NULL;
  TSI_TRY(
      tsi_placement_begin(replay, sweeps == tsi_plan_sweeps(replay->plan) && replay->call.sparse == NULL));
  if (replay->plan->spmv) TSI_TRY(take_products(replay));
  if (recording->tasks == NULL) TSI_TRY(record(replay, number, sweeps));
  *out = recording->tasks;
out:
  return status;
}

static tristar_status replay_create(tristar_plan_t *plan, tsi_replay **out) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &plan->ts->env;
  *out = NULL;
  TSI_TRY(TSI_ALLOC_ZERO(env, *out, 1));
  (*out)->plan = plan;
out:
  return status;
}

void tsi_replay_destroy(tsi_replay **replay) {
  if (*replay == NULL) return;
  tsi_env *env = &(*replay)->plan->ts->env;
  for (int d = 0; d < 2; d++)
    for (int k = 0; k < TSI_SWEEPS; k++) release_recording(env, &(*replay)->recording[d][k]);
  TSI_FREE(env, (*replay)->call.workspace);
  TSI_FREE(env, *replay);
}

static tristar_status fit_workspace(tsi_env *env, tsi_replay *replay, tsi_index stride) {
  tristar_status status = TRISTAR_OK;
  tsi_count size;
  if (!tsi_count_mul(replay->plan->workspace_rows, stride, &size))
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "a workspace of %lld rows of %d",
             (long long)replay->plan->workspace_rows, stride);
  if (size <= replay->workspace_size) return TRISTAR_OK;
  TSI_FREE(env, replay->call.workspace);
  replay->workspace_size = 0;
  TSI_TRY(tsi_allocate(env, (size_t)size, replay->plan->factor->scalar_bytes, __func__, __FILE__, __LINE__,
                       &replay->call.workspace));
  replay->workspace_size = size;
out:
  return status;
}

static bool is_idle(const tsi_replay *replay) {
  for (int d = 0; d < 2; d++)
    for (int k = 0; k < TSI_SWEEPS; k++)
      if (replay->recording[d][k].tasks && !tsi_tasks_idle(replay->recording[d][k].tasks)) return false;
  return true;
}

/* Takes the first replay that StarPU has let go of out of the pool; if there is none, the first one of all
 * where the caller may wait for that, else NULL. */
static tsi_replay *take_free(tristar_plan_t *plan) {
  tsi_replay **link, *replay;
  pthread_mutex_lock(&plan->lock);
  for (link = &plan->free_replays; *link != NULL && !is_idle(*link); link = &(*link)->next) {
  }
  if (*link == NULL && tsi_tasks_may_wait()) link = &plan->free_replays;
  replay = *link;
  if (replay != NULL) *link = replay->next;
  pthread_mutex_unlock(&plan->lock);
  return replay;
}

tristar_status tsi_replay_take(tristar_plan_t *plan, tsi_index stride, tsi_replay **out) {
  tristar_status status = TRISTAR_OK;
  tsi_replay *replay = take_free(plan);
  *out = NULL;
  if (replay == NULL) TSI_TRY(replay_create(plan, &replay));
  TSI_TRY(fit_workspace(&plan->ts->env, replay, stride));
  replay->call.stride = stride;
  *out = replay;
  replay = NULL;
out:
  if (replay != NULL) tsi_replay_give_back(replay);
  return status;
}

void tsi_replay_give_back(tsi_replay *replay) {
  tristar_plan_t *plan = replay->plan;
  tsi_placement_end(replay);
  replay->step_start = NULL;
  pthread_mutex_lock(&plan->lock);
  replay->next = plan->free_replays;
  plan->free_replays = replay;
  plan->stats.workspace_bytes = (size_t)replay->workspace_size * plan->factor->scalar_bytes;
  pthread_mutex_unlock(&plan->lock);
}
