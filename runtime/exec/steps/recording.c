/* Records steps as tasks: see recording.h. */
#include "runtime/exec/steps/recording.h"

#include "runtime/base/clock.h"
#include "runtime/exec/steps/exchange.h"

/* Function of every task. */
static void run_items(void *context, const tsi_index argument[4], int worker) {
  const tsi_recording *recording = context;
  tsi_execution_run(recording->execution, recording->steps, argument[1] - argument[0],
                    recording->item + argument[0], worker);
}

/* Function on a device for a task with one step. */
static int run_on_device(void *context, const tsi_index argument[4], void *const memory[]) {
  const tsi_recording *recording = context;
  const tsi_execution *e = recording->execution;
  const tsi_index number = recording->item[argument[0]];
  if (e->exchange && tsi_exchange_failed(e->exchange)) return 0; /* like all steps of a failed run */
  if (e->step_start) e->step_start[number] = tsi_clock();
  return e->devices->run(e->devices->context, e, &recording->steps->step[number], memory);
}

/* Adds a task for items first .. end - 1, with their largest priority and the sum of their bytes. */
static tristar_status add_items(tsi_recording *recording, tsi_index first, tsi_index end, double priority,
                                double bytes, tsi_index *number) {
  const tsi_index argument[4] = {first, end, 0, 0};
  const tsi_step *step = end > first ? &recording->steps->step[recording->item[first]] : NULL;
  const char *name = end - first == 1 ? tsi_step_name(step->kind) : end > first ? "bundle" : "barrier";
  const tsi_execution_devices *devices = recording->execution->devices;
  TSI_TRY(tsi_task_list_add(recording->list, name, run_items, recording, argument, priority,
                            tsi_task_microseconds(bytes), number));
  if (step && step->on_device)
    tsi_task_list_use(recording->list, *number,
                      devices->data_of(devices->context, recording->execution, step), run_on_device);
  return TRISTAR_OK;
}

static tristar_status add_step(tsi_recording *recording, tsi_index at, tsi_index *number) {
  const tsi_step *step = &recording->steps->step[recording->item[at]];
  return add_items(recording, at, at + 1, step->priority, step->bytes, number);
}

static tristar_status add_event(tsi_recording *recording, tsi_index first, const tsi_step *arrival) {
  const tsi_index argument[4] = {first, first + 1, 0, 0};
  return tsi_task_list_add_event(recording->list, tsi_step_name(TSI_STEP_ARRIVAL), argument,
                                 &recording->event[arrival->argument]);
}

/* Adds tasks that run as soon as the tasks before them have ended; task k is bundle k. */
static tristar_status add_bundles(tsi_recording *recording) {
  const tsi_bundles *bundles = recording->bundles;
  tsi_index number;
  for (tsi_index k = 0; k < bundles->count; k++) {
    const tsi_step *first = &recording->steps->step[bundles->item[bundles->ptr[k]]];
    double priority, bytes;
    tsi_bundle_weigh(bundles, recording->steps, k, &priority, &bytes);
    if (first->kind == TSI_STEP_ARRIVAL)
      TSI_TRY(add_event(recording, bundles->ptr[k], first));
    else
      TSI_TRY(add_items(recording, bundles->ptr[k], bundles->ptr[k + 1], priority, bytes, &number));
  }
  for (tsi_count e = 0; e < bundles->edges; e++)
    TSI_TRY(tsi_task_list_after(recording->list, bundles->edge[e].item, bundles->edge[e].before));
  return TRISTAR_OK;
}

/* Adds tasks level by level. Between two levels a barrier, a task without work, waits for all tasks of the
 * first level; all tasks of the second level wait for it. */
static tristar_status add_levels(tsi_recording *recording) {
  const tsi_levels *levels = recording->levels;
  tsi_index barrier = TSI_NONE, first = 0, number;
  for (tsi_index l = 0; l < levels->count; l++) {
    for (tsi_index q = levels->ptr[l]; q < levels->ptr[l + 1]; q++) {
      TSI_TRY(add_step(recording, q, &number));
      TSI_TRY(tsi_task_list_after(recording->list, number, barrier));
    }
    if (l + 1 == levels->count) break;
    const tsi_index end = tsi_task_list_count(recording->list);
    TSI_TRY(add_items(recording, 0, 0, 1, 0, &barrier));
    for (; first < end; first++) TSI_TRY(tsi_task_list_after(recording->list, barrier, first));
    first = barrier + 1;
  }
  return TRISTAR_OK;
}

static tristar_status add_listed(tsi_env *env, tsi_recording *recording) {
  tsi_index number;
  TSI_TRY(TSI_ALLOC(env, recording->order, recording->steps->count));
  recording->item = recording->order;
  for (tsi_index k = 0; k < recording->steps->count; k++) {
    recording->order[k] = k;
    TSI_TRY(add_step(recording, k, &number));
  }
  return TRISTAR_OK;
}

static tristar_status add_tasks(tsi_env *env, const tsi_grouping *grouping, tsi_recording *recording) {
  if (grouping->listed) return add_listed(env, recording);
  if (recording->levels) {
    recording->item = recording->levels->item;
    return add_levels(recording);
  }
  TSI_TRY(tsi_bundles_create(env, recording->steps, grouping->light, grouping->workers, &recording->bundles));
  recording->item = recording->bundles->item;
  return add_bundles(recording);
}

tristar_status tsi_recording_create(tsi_env *env, tsi_execution *execution, const tsi_steps *steps,
                                    tsi_grouping grouping, tsi_recording *recording) {
  recording->execution = execution;
  recording->steps = steps;
  recording->levels = grouping.levels;
  recording->bytes = tsi_steps_bytes(steps);
  TSI_TRY(tsi_task_list_create(env, &recording->list));
  if (execution->exchange)
    TSI_TRY(TSI_ALLOC(env, recording->event, tsi_exchange_receives(execution->exchange)));
  return add_tasks(env, &grouping, recording);
}

void tsi_recording_release(tsi_env *env, tsi_recording *recording) {
  TSI_FREE(env, recording->list);
  TSI_FREE(env, recording->bundles);
  TSI_FREE(env, recording->levels);
  TSI_FREE(env, recording->owned);
  TSI_FREE(env, recording->order);
  TSI_FREE(env, recording->event);
  *recording = (tsi_recording){.list = NULL};
}
