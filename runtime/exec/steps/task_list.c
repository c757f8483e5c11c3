/* Stores tasks and runs them on the calling thread: see task_list.h. */
#include "runtime/exec/steps/task_list.h"

#include "runtime/base/clock.h"
#include "runtime/base/grow.h"

tristar_status tsi_task_list_create(tsi_env *env, tsi_task_list **out) {
  TSI_OWNED tsi_task_list *list = NULL;
  *out = NULL;
  TSI_TRY(TSI_ALLOC_ZERO(env, list, 1));
  list->env = env;
  TSI_TRY(TSI_ALLOC_IN(list, list->task, 0)); /* both grow */
  TSI_TRY(TSI_ALLOC_IN(list, list->edge, 0));
  *out = tsi_take(&list);
  return TRISTAR_OK;
}

tristar_status tsi_task_list_add(tsi_task_list *list, const char *name, tsi_task_run run, void *context,
                                 const tsi_index argument[4], double priority, double microseconds,
                                 tsi_index *number) {
  if (!tsi_to_index(list->count, number)) TSI_FAIL(list->env, TRISTAR_ERR_TOO_LARGE, "more than 2^31 tasks");
  TSI_TRY(tsi_reserve(list->env, (void **)&list->task, sizeof *list->task, list->count, &list->capacity));
  tsi_task *task = &list->task[list->count++];
  *task = (tsi_task){
      .run = run, .context = context, .name = name, .priority = priority, .microseconds = microseconds};
  memcpy(task->argument, argument, sizeof task->argument);
  return TRISTAR_OK;
}

tristar_status tsi_task_list_add_event(tsi_task_list *list, const char *name, const tsi_index argument[4],
                                       tsi_index *number) {
  TSI_TRY(tsi_task_list_add(list, name, NULL, NULL, argument, 0, 0, number));
  list->task[*number].event = true;
  list->events = true;
  return TRISTAR_OK;
}

tristar_status tsi_task_list_after(tsi_task_list *list, tsi_index task, tsi_index before) {
  if (before == TSI_NONE) return TRISTAR_OK;
  if (before >= task) TSI_FAIL(list->env, TRISTAR_ERR_INTERNAL, "task %d waits for task %d", task, before);
  TSI_TRY(
      tsi_reserve(list->env, (void **)&list->edge, sizeof *list->edge, list->edges, &list->edge_capacity));
  list->edge[list->edges++] = (tsi_edge){task, before};
  return TRISTAR_OK;
}

void tsi_task_list_use(tsi_task_list *list, tsi_index task, const tsi_task_data *data,
                       tsi_task_on_device on_device) {
  list->task[task].data = data;
  list->run_on_device = on_device;
  list->devices = true;
}

/* A task begins when the previous task ends, so one call of the clock per task suffices. Without recording
 * there is none. */
tristar_status tsi_task_list_run(tsi_task_list *list) {
  double now = list->note_here ? tsi_clock() : 0;
  if (list->events)
    TSI_FAIL(list->env, TRISTAR_ERR_UNSUPPORTED,
             "tasks that wait for messages cannot run inside a StarPU task");
  if (list->devices)
    TSI_FAIL(list->env, TRISTAR_ERR_UNSUPPORTED,
             "a plan with subtrees on devices cannot be run by a single thread, such as a StarPU task");
  for (tsi_count k = 0; k < list->count; k++) {
    tsi_task *task = &list->task[k];
    task->run(task->context, task->argument, -1);
    if (!list->note_here) continue;
    const double end = tsi_clock();
    task->span = (tsi_task_span){now, end, -1};
    now = end;
  }
  return TRISTAR_OK;
}
