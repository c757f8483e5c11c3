/* Replays: workspace and recorded tasks of one solve at a time. See plan.h.
 *
 * Neither plan nor replay touches a workspace. The tasks are the first to write its pages, so the system
 * allocates them near the cores of the tasks. */
#include "dag/moved_steps.h"
#include "runtime/solve/block_plan.h"
#include "runtime/solve/device_subtrees.h"
#include "runtime/solve/numa.h"
#include "runtime/rows/row_factor.h"
#include "runtime/machine/predict.h"
#include "runtime/solve/spmv.h"

static tristar_status list_steps(const tristar_plan_t *plan, tsi_step_list list, tsi_sweeps sweeps,
                                 tsi_steps **steps, tsi_levels **levels) {
  tsi_env *env = &plan->ts->env;
  if (plan->spmv) return tsi_spmv_steps(plan, steps, levels);
  const tristar_analysis_t *an = plan->factor->analysis;
  const int side = list == TSI_LIST_SWAPPED;
  TSI_OWNED tsi_steps *sweep = NULL; /* the sweep without the steps that move rows */
  static const bool whole = true;    /* the only chunk of a triangle by rows is on a device */
  const tsi_steps_source source = {.dag = plan->dag[side],
                                   .order = plan->order[side],
                                   .forward_chunks = plan->side[side].chunks,
                                   .backward_chunks = plan->side[plan->sides - 1 - side].chunks,
                                   .forward = sweeps != TSI_BACKWARD,
                                   .backward = sweeps != TSI_FORWARD,
                                   .push = plan->options.updates == TRISTAR_UPDATES_PUSH,
                                   .before = tsi_analysis_inverse(an) == TSI_INVERSE_PARTITIONED,
                                   .in_place = plan->triangle == NULL && tsi_factor_keeps_rows(plan->factor),
                                   .on_device = plan->subtrees   ? plan->subtrees->on_device
                                                : plan->triangle ? &whole
                                                                 : NULL};
  if (plan->blocks && list == TSI_LIST_OWN)
    TSI_TRY(tsi_block_plan_steps(plan, sweeps == TSI_BACKWARD, steps));
  else
    TSI_TRY(tsi_steps_create(env, &source, list == TSI_LIST_OWN ? &sweep : steps));
  if (sweep)
    TSI_TRY(tsi_moved_steps_create(env, sweep, plan->pieces,
                                   2.0 * an->symbolic->n * (double)plan->factor->scalar_bytes, steps));
  if (plan->options.scheduling == TRISTAR_SCHEDULING_LEVELS)
    TSI_TRY(tsi_levels_create(env, (*steps)->count, (*steps)->edges, (*steps)->edge, levels));
  return TRISTAR_OK;
}

/* Returns the maximum bytes of steps that are bundled. It depends on the number of workers; no result depends
 * on bundles. */
static double light_bytes(const tristar_plan_t *plan, const tsi_steps *steps) {
  if (!tsi_way_has_tasks(&plan->way) || plan->spmv || plan->blocks ||
      plan->options.updates == TRISTAR_UPDATES_PUSH || plan->options.granularity == TRISTAR_TASKS_SUPERNODES)
    return 0;
  const int workers = plan->stats.workers;
  if (workers <= 1) return tsi_steps_bytes(steps);
  return tsi_bundles_light(steps, workers,
                           tsi_plan_columns(&plan->options) > 1 ? TSI_BUNDLES_MORE_RHS : TSI_BUNDLES_ONE_RHS);
}

/* order: the steps of the chunks in the order of the cut, forward or backward, between the steps that move b
 * and x. */
static void list_lanes(const tsi_row_cut *cut, const tsi_steps *steps, tsi_index *order, tsi_index *lane) {
  tsi_index first = 0; /* of the chunks */
  while (steps->step[first].kind == TSI_STEP_READ) first++;
  for (tsi_index s = 0; s < steps->count; s++) {
    const tsi_step_kind kind = steps->step[s].kind;
    const tsi_index argument = steps->step[s].argument;
    const bool chunk = kind == TSI_STEP_FORWARD_CHUNK || kind == TSI_STEP_BACKWARD_CHUNK;
    if (chunk) order[first + (kind == TSI_STEP_FORWARD_CHUNK ? argument : cut->count - 1 - argument)] = s;
    lane[s] = chunk ? cut->lane[argument] : argument;
  }
}

/* Makes the lanes of a sweep by rows: chunks have the lanes of the cut; each piece of b and x has one lane.
 * own: lanes of a block cut. */
static tristar_status make_lanes(tsi_replay *replay, bool own, bool backward, tsi_executor *executor) {
  tsi_env *env = &replay->plan->ts->env;
  const tsi_row_cut *cut = replay->plan->factor->rows->cut;
  const tsi_steps *steps = executor->recording.steps;
  const tsi_index count = steps->count;
  tsi_lanes *lanes = NULL;
  TSI_SCRATCH(env, tsi_index, order, count);
  TSI_SCRATCH(env, tsi_index, lane, count);
  for (tsi_index s = 0; s < count; s++) order[s] = s;
  if (own)
    tsi_block_plan_lanes(replay->plan, backward, steps, lane);
  else
    list_lanes(cut, steps, order, lane);
  TSI_TRY(tsi_lanes_create(env, count, steps->edges, steps->edge, order, cut->lanes, lane, &lanes));
  return tsi_lane_run_create(env, &replay->execution, steps, lanes, &executor->lanes);
}

static tristar_status record(tsi_replay *replay, tsi_step_list list, tsi_sweeps sweeps) {
  tristar_status status = TRISTAR_OK;
  const tristar_plan_t *plan = replay->plan;
  const bool tasks = tsi_way_has_tasks(&plan->way);
  tsi_env *env = &plan->ts->env;
  tsi_executor *executor = &replay->executor[list][sweeps];
  tsi_recording *recording = &executor->recording;
  tsi_steps *steps = NULL;
  tsi_grouping grouping = {.workers = plan->stats.workers};
  TSI_TRY_OUT(list_steps(plan, list, sweeps, &steps, &grouping.levels));
  grouping.light = light_bytes(plan, steps);
  TSI_TRY_OUT(tsi_executor_create(env, &replay->execution, steps, grouping, tasks, executor));
  recording->owned = tsi_take(&steps);
  if (plan->way.kind == TRISTAR_WAY_LANES)
    TSI_TRY_OUT(make_lanes(replay, plan->blocks && list == TSI_LIST_OWN, sweeps == TSI_BACKWARD, executor));
  const tsi_costs costs = tsi_costs_assumed(&plan->ts->machine, plan->stats.workers);
  TSI_TRY_OUT(tsi_predict_seconds(env, &costs, recording->steps, tasks ? recording->levels : NULL,
                                  tasks ? recording->bundles : NULL, &recording->predicted));
out:
  TSI_FREE(env, steps);
  if (status != TRISTAR_OK) tsi_executor_release(env, executor);
  return status;
}

/* Sets the products for replay->execution.call; for OP_N if the call is not set yet. */
static tristar_status take_products(tsi_replay *replay) {
  tristar_plan_t *plan = replay->plan;
  const tsi_solve_call *call = &replay->execution.call;
  const void *upper = plan->factor->upper;
  const bool none = call->forward_values == NULL;
  const tsi_spmv_rows **rows = replay->execution.product_rows;
  TSI_TRY(tsi_spmv_prepare(plan, false, !none && call->forward_values == upper, &rows[0]));
  return tsi_spmv_prepare(plan, true, none ? upper != NULL : call->backward_values == upper, &rows[1]);
}

static void release_executors(tsi_replay *replay) {
  for (int d = 0; d < TSI_LISTS; d++)
    for (int k = 0; k < TSI_SWEEPS; k++) {
      tsi_executor *executor = &replay->executor[d][k];
      if (executor->lanes) tsi_helpers_leave(&replay->plan->ts->helpers, executor->lanes);
      tsi_executor_release(&replay->plan->ts->env, executor);
    }
}

/* Recorded tasks on devices contain the address of the workspace. If it changed, they are recorded again. */
static tristar_status prepare_subtrees(tsi_replay *replay) {
  bool changed;
  TSI_TRY(tsi_device_subtrees_prepare(replay, &changed));
  if (!changed) return TRISTAR_OK;
  release_executors(replay);
  return tsi_device_subtrees_renew(replay);
}

/* Does the same for a triangle by rows, whose sweeps have separate data. */
static tristar_status prepare_triangle(tsi_replay *replay, bool backward) {
  tristar_plan_t *plan = replay->plan;
  TSI_TRY(tsi_device_triangle_prepare(plan->triangle, backward, plan->factor->generation));
  if (tsi_triangle_data_serves(replay->triangle, &replay->execution, backward)) return TRISTAR_OK;
  if (replay->triangle) TSI_TRY(tsi_tasks_check_waiting(&plan->ts->env));
  release_executors(replay);
  return tsi_triangle_data_create(plan->triangle, backward, &replay->execution, &replay->triangle);
}

tristar_status tsi_replay_tasks(tsi_replay *replay, tsi_step_list list, tsi_sweeps sweeps, tsi_tasks **out) {
  const tsi_executor *executor = &replay->executor[list][sweeps];
  *out = NULL;
  TSI_TRY(tsi_numa_begin(replay,
                         sweeps == tsi_plan_sweeps(replay->plan) && replay->execution.call.sparse == NULL));
  if (replay->plan->spmv) TSI_TRY(take_products(replay));
  if (replay->plan->blocks && list == TSI_LIST_OWN)
    TSI_TRY(tsi_block_plan_prepare(replay->plan, sweeps == TSI_BACKWARD,
                                   &replay->execution.blocks[sweeps == TSI_BACKWARD]));
  if (replay->plan->subtrees) TSI_TRY(prepare_subtrees(replay));
  if (replay->plan->triangle) TSI_TRY(prepare_triangle(replay, sweeps == TSI_BACKWARD));
  if (executor->tasks == NULL) TSI_TRY(record(replay, list, sweeps));
  *out = executor->tasks;
  return TRISTAR_OK;
}

static tristar_status replay_create(tristar_plan_t *plan, tsi_replay **out) {
  tsi_env *env = &plan->ts->env;
  *out = NULL;
  TSI_TRY(TSI_ALLOC_ZERO(env, *out, 1));
  (*out)->plan = plan;
  (*out)->execution = (tsi_execution){.nodes = plan->nodes};
  if (plan->spmv == NULL) return TRISTAR_OK;
  (*out)->execution.spmv = plan->spmv->kernels;
  for (int k = 0; k < 2; k++) (*out)->execution.products[k] = plan->spmv->products[k];
  return TRISTAR_OK;
}

void tsi_replay_destroy(tsi_replay **replay) {
  if (*replay == NULL) return;
  tsi_env *env = &(*replay)->plan->ts->env;
  release_executors(*replay);
  tsi_device_subtrees_discard(*replay);
  tsi_triangle_data_destroy(&(*replay)->execution, &(*replay)->triangle);
  TSI_FREE(env, (*replay)->execution.call.workspace);
  TSI_FREE(env, *replay);
}

static tristar_status fit_workspace(tsi_env *env, tsi_replay *replay, tsi_index stride) {
  tsi_count size;
  if (!tsi_count_mul(replay->plan->workspace_rows, stride, &size))
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "a workspace of %lld rows of %d",
             (long long)replay->plan->workspace_rows, stride);
  if (size <= replay->workspace_size) return TRISTAR_OK;
  TSI_FREE(env, replay->execution.call.workspace);
  replay->workspace_size = 0;
  TSI_TRY(TSI_ALLOC_SIZED(env, replay->execution.call.workspace, size, replay->plan->factor->scalar_bytes));
  replay->workspace_size = size;
  return TRISTAR_OK;
}

static bool is_idle(const tsi_replay *replay) {
  for (int d = 0; d < TSI_LISTS; d++)
    for (int k = 0; k < TSI_SWEEPS; k++)
      if (replay->executor[d][k].tasks && !tsi_tasks_idle(replay->executor[d][k].tasks)) return false;
  return true;
}

/* Takes the first replay whose tasks StarPU has released from the pool. If there is none, takes the first
 * replay if the caller may wait for its tasks, else returns NULL. */
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
  if (replay == NULL) TSI_TRY_OUT(replay_create(plan, &replay));
  TSI_TRY_OUT(fit_workspace(&plan->ts->env, replay, stride));
  replay->execution.call.stride = stride;
  *out = tsi_take(&replay);
out:
  if (replay != NULL) tsi_replay_give_back(replay);
  return status;
}

void tsi_replay_give_back(tsi_replay *replay) {
  tristar_plan_t *plan = replay->plan;
  tsi_numa_end(replay);
  pthread_mutex_lock(&plan->lock);
  replay->next = plan->free_replays;
  plan->free_replays = replay;
  plan->stats.workspace_bytes = (size_t)replay->workspace_size * plan->factor->scalar_bytes;
  pthread_mutex_unlock(&plan->lock);
}
