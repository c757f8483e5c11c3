/* Blocks on the calling thread, or in tasks: see crew.h. */
#include "runtime/context/crew.h"

#include "runtime/machine/predict.h"

#define PORTIONS 16 /* that each worker takes in a run, at least */

static void run_task(void *context, const tsi_index argument[4], int worker) {
  tsi_crew *crew = context;
  (void)worker;
  for (;;) {
    const int64_t first = atomic_fetch_add_explicit(&crew->next, crew->portion, memory_order_relaxed);
    if (first >= crew->blocks) return;
    const int64_t end = first + crew->portion < crew->blocks ? first + crew->portion : crew->blocks;
    for (int64_t b = first; b < end; b++) crew->run(crew->context, (tsi_index)b, argument[0]);
  }
}

static tristar_status record(tristar_t *ts, const char *name, double bytes, double *start_seconds,
                             tsi_crew *crew) {
  tristar_status status = TRISTAR_OK;
  TSI_TRY(tsi_context_need_starpu(ts, start_seconds));
  crew->workers = tsi_starpu_cpu_workers();
  if (crew->workers > crew->blocks) crew->workers = crew->blocks > 0 ? crew->blocks : 1;
  crew->portion = tsi_index_max(1, crew->blocks / (PORTIONS * crew->workers));
  TSI_TRY(tsi_task_list_create(crew->env, &crew->list));
  for (int w = 0; w < crew->workers; w++) {
    const tsi_index argument[4] = {w, 0, 0, 0};
    tsi_index number;
    TSI_TRY(tsi_task_list_add(crew->list, name, run_task, crew, argument, 0,
                              tsi_task_microseconds(bytes / crew->workers), &number));
  }
  TSI_TRY(tsi_tasks_create(crew->env, crew->list, &crew->tasks));
  TSI_TRY(tsi_tasks_record(crew->tasks));
out:
  return status;
}

tristar_status tsi_crew_begin(tristar_t *ts, const char *name, tristar_engine engine, tsi_index blocks,
                              double bytes, double *start_seconds, tsi_crew *crew) {
  tristar_status status = TRISTAR_OK;
  crew->env = &ts->env;
  crew->blocks = blocks;
  crew->workers = 1;
  crew->list = NULL;
  crew->tasks = NULL;
  bool tasks = engine == TRISTAR_ENGINE_TASKS;
  if (engine == TRISTAR_ENGINE_AUTO && ts->workers.allowed) {
    const int workers = tsi_expected_cpu_workers(ts->workers.wishes.workers);
    const tsi_costs costs = tsi_costs_assumed(&ts->machine, workers);
    tasks = workers > 1 && blocks > 1 && tsi_predict_worth_tasks(&costs, bytes, bytes / workers, workers);
  }
  if (tasks) TSI_TRY(record(ts, name, bytes, start_seconds, crew));
out:
  return status;
}

void tsi_crew_finish(tsi_crew *crew) {
  tsi_tasks_destroy(&crew->tasks);
  tsi_task_list_destroy(&crew->list);
}

tristar_status tsi_crew_run(tsi_crew *crew, tsi_crew_function run, void *context) {
  if (crew->tasks == NULL) {
    for (tsi_index b = 0; b < crew->blocks; b++) run(context, b, 0);
    return TRISTAR_OK;
  }
  crew->run = run;
  crew->context = context;
  atomic_store(&crew->next, 0);
  return tsi_tasks_run(crew->tasks, false);
}
