/* Replays: workspace and recorded tasks of one solve at a time. See plan.h. */
#include "runtime/plan.h"

static void run_forward_chunk(void *context, const tsi_index argument[4], int worker) {
  const tsi_replay *replay = context;
  (void)worker;
  replay->plan->nodes->forward_chunk(&replay->plan->data, &replay->call, argument[0]);
}
static void run_forward_slice(void *context, const tsi_index argument[4], int worker) {
  const tsi_replay *replay = context;
  (void)worker;
  replay->plan->nodes->forward_slice(&replay->plan->data, &replay->call, argument[0]);
}
static void run_backward_chunk(void *context, const tsi_index argument[4], int worker) {
  const tsi_replay *replay = context;
  (void)worker;
  replay->plan->nodes->backward_chunk(&replay->plan->data, &replay->call, argument[0]);
}
static void run_backward_slice(void *context, const tsi_index argument[4], int worker) {
  const tsi_replay *replay = context;
  (void)worker;
  replay->plan->nodes->backward_slice(&replay->plan->data, &replay->call, argument[0]);
}

#define BYTES_PER_MICROSECOND 15e3

/* Adds combined task `task` of the DAG; number_of[task] becomes its number. */
static tristar_status add_task(tsi_replay *replay, tsi_index task, tsi_index *number_of) {
  const tsi_dag *dag = replay->plan->dag;
  const bool backward = task >= dag->nodes;
  const tsi_index node = backward ? task - dag->nodes : task;
  const bool slice = node >= dag->chunks;
  const tsi_index argument[4] = {slice ? node - dag->chunks : node, 0, 0, 0};
  static const struct {
    const char *name;
    tsi_task_run run;
  } kind[2][2] = {{{"forward_chunk", run_forward_chunk}, {"forward_slice", run_forward_slice}},
                  {{"backward_chunk", run_backward_chunk}, {"backward_slice", run_backward_slice}}};
  return tsi_tasks_add(replay->tasks, kind[backward][slice].name, kind[backward][slice].run, replay, argument,
                       dag->priority[task], 1 + dag->bytes[node] / BYTES_PER_MICROSECOND, &number_of[task]);
}

typedef struct edge_adder {
  tsi_tasks *tasks;
  const tsi_index *number_of;
  tristar_status status;
} edge_adder;

static void add_edge(void *arg, tsi_index task, tsi_index before) {
  edge_adder *adder = arg;
  if (adder->status == TRISTAR_OK)
    adder->status = tsi_tasks_after(adder->tasks, adder->number_of[task], adder->number_of[before]);
}

static tristar_status add_tasks(tsi_env *env, tsi_replay *replay) {
  tristar_status status = TRISTAR_OK;
  const tristar_plan_t *plan = replay->plan;
  const tsi_index tasks = 2 * plan->dag->nodes;
  tsi_index *number_of = NULL;
  TSI_TRY(TSI_ALLOC(env, number_of, tasks));
  TSI_TRY(tsi_tasks_create(env, &replay->tasks));
  for (tsi_index k = 0; k < tasks; k++) TSI_TRY(add_task(replay, plan->order[k], number_of));
  edge_adder adder = {replay->tasks, number_of, TRISTAR_OK};
  tsi_dag_for_each_edge(plan->dag, add_edge, &adder);
  TSI_TRY(adder.status);
  if (plan->use_tasks) TSI_TRY(tsi_tasks_record(replay->tasks));
out:
  TSI_FREE(env, number_of);
  return status;
}

static tristar_status replay_create(tristar_plan_t *plan, tsi_replay **out) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &plan->ts->env;
  *out = NULL;
  TSI_TRY(TSI_ALLOC_ZERO(env, *out, 1));
  (*out)->plan = plan;
  TSI_TRY(add_tasks(env, *out));
out:
  if (status != TRISTAR_OK) tsi_replay_destroy(out);
  return status;
}

void tsi_replay_destroy(tsi_replay **replay) {
  if (*replay == NULL) return;
  tsi_env *env = &(*replay)->plan->ts->env;
  tsi_tasks_destroy(&(*replay)->tasks);
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
  pthread_mutex_lock(&plan->lock);
  replay->next = plan->free_replays;
  plan->free_replays = replay;
  plan->stats.workspace_bytes = (size_t)replay->workspace_size * plan->factor->scalar_bytes;
  pthread_mutex_unlock(&plan->lock);
}
