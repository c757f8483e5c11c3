/* Replays: workspace and recorded tasks of one solve at a time. See plan.h.
 *
 * Neither plan nor replay touches a workspace: the tasks are the first to write its pages, which the system
 * then puts near the cores that run them. */
#include "runtime/placement.h"

static void run_forward_chunk(void *context, const tsi_index argument[4], int worker) {
  const tsi_replay *replay = context;
  tsi_placement_note(replay, false, argument[1], worker);
  replay->plan->nodes->forward_chunk(replay->forward, &replay->call, argument[0]);
}
static void run_forward_slice(void *context, const tsi_index argument[4], int worker) {
  const tsi_replay *replay = context;
  tsi_placement_note(replay, false, argument[1], worker);
  replay->plan->nodes->forward_slice(replay->forward, &replay->call, argument[0]);
}
static void run_backward_chunk(void *context, const tsi_index argument[4], int worker) {
  const tsi_replay *replay = context;
  tsi_placement_note(replay, true, argument[1], worker);
  replay->plan->nodes->backward_chunk(replay->backward, &replay->call, argument[0]);
}
static void run_backward_slice(void *context, const tsi_index argument[4], int worker) {
  const tsi_replay *replay = context;
  tsi_placement_note(replay, true, argument[1], worker);
  replay->plan->nodes->backward_slice(replay->backward, &replay->call, argument[0]);
}

#define BYTES_PER_MICROSECOND 15e3

/* Adds task `task` of a DAG; *number becomes its number. */
static tristar_status add_task(tsi_replay *replay, tsi_tasks *tasks, const tsi_dag *dag, tsi_index task,
                               tsi_index *number) {
  const bool backward = task >= dag->forward->nodes;
  const tsi_sweep *sweep = backward ? dag->backward : dag->forward;
  const tsi_index node = backward ? task - dag->forward->nodes : task;
  const bool slice = node >= sweep->chunks;
  const tsi_index argument[4] = {slice ? node - sweep->chunks : node, node, 0, 0};
  static const struct {
    const char *name;
    tsi_task_run run;
  } kind[2][2] = {{{"forward_chunk", run_forward_chunk}, {"forward_slice", run_forward_slice}},
                  {{"backward_chunk", run_backward_chunk}, {"backward_slice", run_backward_slice}}};
  return tsi_tasks_add(tasks, kind[backward][slice].name, kind[backward][slice].run, replay, argument,
                       dag->priority[task], 1 + sweep->bytes[node] / BYTES_PER_MICROSECOND, number);
}

typedef struct edge_adder {
  tsi_tasks *tasks;
  const tsi_index *number_of; /* TSI_NONE: the task does not run */
  tristar_status status;
} edge_adder;

static void add_edge(void *arg, tsi_index task, tsi_index before) {
  edge_adder *adder = arg;
  if (adder->status == TRISTAR_OK && adder->number_of[task] != TSI_NONE)
    adder->status = tsi_tasks_after(adder->tasks, adder->number_of[task], adder->number_of[before]);
}

tristar_status tsi_replay_tasks(tsi_replay *replay, int number, tsi_sweeps sweeps, tsi_tasks **out) {
  tristar_status status = TRISTAR_OK;
  const tristar_plan_t *plan = replay->plan;
  const tsi_dag *dag = plan->dag[number];
  tsi_env *env = &plan->ts->env;
  tsi_index *number_of = NULL;
  tsi_tasks *tasks = NULL;
  *out = NULL;
  TSI_TRY(tsi_placement_begin(replay, sweeps == tsi_plan_sweeps(plan) && replay->call.sparse == NULL));
  *out = replay->tasks[number][sweeps];
  if (*out != NULL) goto out;
  TSI_TRY(TSI_ALLOC(env, number_of, dag->tasks));
  TSI_TRY(tsi_tasks_create(env, &tasks));
  for (tsi_index k = 0; k < dag->tasks; k++) {
    const tsi_index task = plan->order[number][k];
    number_of[task] = TSI_NONE;
    if (sweeps != (task < dag->forward->nodes ? TSI_BACKWARD : TSI_FORWARD))
      TSI_TRY(add_task(replay, tasks, dag, task, &number_of[task]));
  }
  edge_adder adder = {tasks, number_of, TRISTAR_OK};
  tsi_dag_for_each_edge(dag, add_edge, &adder);
  TSI_TRY(adder.status);
  if (plan->use_tasks) TSI_TRY(tsi_tasks_record(tasks));
  *out = replay->tasks[number][sweeps] = tasks;
  tasks = NULL;
out:
  tsi_tasks_destroy(&tasks);
  TSI_FREE(env, number_of);
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
    for (int k = 0; k < TSI_SWEEPS; k++) tsi_tasks_destroy(&(*replay)->tasks[d][k]);
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

tristar_status tsi_replay_take(tristar_plan_t *plan, tsi_index stride, tsi_replay **out) {
  tristar_status status = TRISTAR_OK;
  tsi_replay *replay;
  *out = NULL;
  pthread_mutex_lock(&plan->lock);
  replay = plan->free_replays;
  if (replay != NULL) plan->free_replays = replay->next;
  pthread_mutex_unlock(&plan->lock);
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
  pthread_mutex_lock(&plan->lock);
  replay->next = plan->free_replays;
  plan->free_replays = replay;
  plan->stats.workspace_bytes = (size_t)replay->workspace_size * plan->factor->scalar_bytes;
  pthread_mutex_unlock(&plan->lock);
}
