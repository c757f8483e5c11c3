/* Runs blocks on the calling thread, with helpers, or in tasks: see crew.h. */
#include "runtime/context/crew.h"

#include <sched.h>

#include "runtime/machine/predict.h"

#define GRABS 16   /* minimum number of grabs in which a portion is taken */
#define LOOKS 1000 /* at the count of blocks, before the core is yielded to other threads */

/* ---- Runs ---------------------------------------------------------------------------------------------- */

/* Runs the blocks of a portion that are not begun. A late member finds none, or blocks of a later run, which
 * it may run as well: the fields of a run are written before its blocks can be taken. */
static void run_portion(tsi_crew *crew, tsi_crew_portion *portion, tsi_index grab, int member) {
  for (;;) {
    const int64_t first = atomic_fetch_add_explicit(&portion->next, grab, memory_order_acquire);
    if (first >= portion->end) return;
    const int64_t end = tsi_count_min(first + grab, portion->end);
    for (int64_t b = first; b < end; b++) crew->run(crew->context, (tsi_index)b, member);
    atomic_fetch_add_explicit(&crew->done, end - first, memory_order_release);
  }
}

static void run_portions(tsi_crew *crew, int begin, int member) {
  const tsi_index grab = tsi_index_max(1, crew->blocks / (GRABS * crew->workers));
  for (int k = 0; k < crew->workers; k++)
    run_portion(crew, &crew->portion[(begin + k) % crew->workers], grab, member);
}

static void deal(tsi_crew *crew, tsi_crew_function run, void *context) {
  crew->run = run;
  crew->context = context;
  atomic_store_explicit(&crew->done, 0, memory_order_relaxed);
  for (int w = 0; w < crew->workers; w++)
    atomic_store_explicit(&crew->portion[w].next, w > 0 ? crew->portion[w - 1].end : 0, memory_order_release);
}

static void run_task(void *context, const tsi_index argument[4], int worker) {
  (void)worker;
  run_portions(context, argument[0], argument[0]);
}

/* Function of the caller, number 0, which returns when all blocks are done, and of helpers. The slot of a
 * helper, not its number, decides which member it is: a helper of an earlier run may still be here, and may
 * have another's number. */
static void help(void *arg, int number, int slot) {
  tsi_crew *crew = arg;
  run_portions(crew, number, slot + 1);
  if (number > 0) return;
  for (int looks = 0; atomic_load_explicit(&crew->done, memory_order_acquire) < crew->blocks; looks++)
    if (looks > LOOKS) (void)sched_yield();
}

tristar_status tsi_crew_run(tsi_crew *crew, tsi_crew_kind kind, double bytes, tsi_crew_function run,
                            void *context) {
  if (crew->workers == 1 || (crew->tasks == NULL && bytes < TSI_HELP_BYTES)) {
    for (tsi_index b = 0; b < crew->blocks; b++) run(context, b, 0);
    return TRISTAR_OK;
  }
  deal(crew, run, context);
  if (crew->tasks != NULL) return tsi_tasks_run(crew->tasks, false);
  tsi_helpers_share(&crew->ts->helpers, &crew->help[kind], crew->workers - 1,
                    &(tsi_shared){.work = help, .arg = crew, .amount = bytes});
  return TRISTAR_OK;
}

/* ---- Life ---------------------------------------------------------------------------------------------- */

static tristar_status record(tsi_crew *crew, const char *name, double bytes) {
  tsi_env *env = &crew->ts->env;
  TSI_TRY(tsi_task_list_create(env, &crew->list));
  for (int w = 0; w < crew->workers; w++) {
    const tsi_index argument[4] = {w, 0, 0, 0};
    tsi_index number;
    TSI_TRY(tsi_task_list_add(crew->list, name, run_task, crew, argument, 0,
                              tsi_task_microseconds(bytes / crew->workers), &number));
  }
  TSI_TRY(tsi_tasks_create(env, crew->list, &crew->tasks));
  return tsi_tasks_record(crew->tasks);
}

/* Whether several cores are faster than the caller alone. Tasks call the helpers that are StarPU's workers.
 */
static bool is_worth_sharing(tristar_t *ts, tristar_engine engine, tsi_crew_runs runs, tsi_index blocks,
                             double bytes) {
  if (engine != TRISTAR_ENGINE_AUTO || !ts->workers.allowed) return engine == TRISTAR_ENGINE_TASKS;
  const int requested = ts->workers.wishes.workers, workers = tsi_expected_cpu_workers(requested);
  const int cores = runs == TSI_RUNS_LONG ? workers : tsi_expected_helping_cores(requested);
  const tsi_costs costs = tsi_costs_assumed(&ts->machine, cores);
  return cores > 1 && blocks > 1 && tsi_predict_worth_tasks(&costs, bytes, bytes / cores, workers);
}

tristar_status tsi_crew_begin(tristar_t *ts, const char *name, tristar_engine engine, tsi_crew_runs runs,
                              tsi_index blocks, double bytes, double *start_seconds, tsi_crew *crew) {
  *crew = (tsi_crew){.ts = ts, .blocks = blocks, .bytes = bytes, .workers = 1, .members = 1};
  if (!is_worth_sharing(ts, engine, runs, blocks, bytes)) return TRISTAR_OK;
  TSI_TRY(tsi_context_need_starpu(ts, start_seconds));
  const bool tasks = engine == TRISTAR_ENGINE_TASKS || runs == TSI_RUNS_LONG;
  const int cores = tasks ? tsi_starpu_cpu_workers() : tsi_helpers_cores();
  const tsi_index workers = tsi_index_max(1, tsi_index_min(cores, blocks));
  TSI_TRY(TSI_ALLOC(&ts->env, crew->portion, workers));
  crew->workers = crew->members = workers;
  if (!tasks) crew->members = TSI_HELPERS + 1;
  for (tsi_index w = 0; w < workers; w++)
    crew->portion[w].end = (tsi_index)((w + 1) * (tsi_count)blocks / workers);
  if (tasks) TSI_TRY(record(crew, name, bytes));
  return TRISTAR_OK;
}

void tsi_crew_finish(tsi_crew *crew) {
  if (crew->ts == NULL) return;
  if (crew->portion != NULL && crew->tasks == NULL) tsi_helpers_leave(&crew->ts->helpers, crew);
  tsi_tasks_destroy(&crew->tasks);
  TSI_FREE(&crew->ts->env, crew->list);
  TSI_FREE(&crew->ts->env, crew->portion);
}
