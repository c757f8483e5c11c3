/* Records, submits and waits: see tasks.h. */
#include "runtime/tasks.h"

#include <errno.h>
#include <starpu.h>

#include "codelets/host_task.h"
#include "dag/adjacency.h"
#include "runtime/happens_before.h"
#include "runtime/idle.h"

typedef struct task_record {
  tsi_task_run run;
  void *context;
  tsi_index argument[4];
  const char *name;
  double priority, microseconds;
  tsi_tasks *tasks;
  bool event;
  atomic_bool happened; /* of an event, in this run */
} task_record;

struct tsi_tasks {
  tsi_env *env;
  tsi_count count, capacity;
  task_record *record;
  tsi_count edges, edge_capacity;
  tsi_edge *edge;
  bool events; /* there are some */
  /* made by tsi_tasks_record */
  bool recorded;
  bool running;        /* submitted, and not yet seen to have ended */
  tsi_count submitted; /* tasks that StarPU may still know */
  tsi_adjacency *before;
  struct starpu_task *starpu; /* count + 1: the last one waits for all that nobody waits for */
  tsi_host_task *body;
  _Atomic(int) columns; /* of the next run, or the one in flight */
};

tristar_status tsi_tasks_create(tsi_env *env, tsi_tasks **out) {
  tristar_status status = TRISTAR_OK;
  *out = NULL;
  TSI_TRY(TSI_ALLOC_ZERO(env, *out, 1));
  (*out)->env = env;
  atomic_init(&(*out)->columns, 1);
out:
  return status;
}

/* Waits until StarPU has let go of every task. */
static tristar_status settle(tsi_tasks *tasks) {
  tristar_status status = TRISTAR_OK;
  for (; tasks->submitted > 0; tasks->submitted--) {
    const int code = starpu_task_wait(&tasks->starpu[tasks->submitted - 1]);
    if (code != 0) TSI_FAIL(tasks->env, TRISTAR_ERR_RUNTIME, "starpu_task_wait gave %d", code);
  }
out:
  return status;
}

void tsi_tasks_destroy(tsi_tasks **tasks) {
  if (*tasks == NULL) return;
  tsi_env *env = (*tasks)->env;
  if ((*tasks)->recorded && settle(*tasks) == TRISTAR_OK)
    for (tsi_count k = 0; k <= (*tasks)->count; k++) starpu_task_clean(&(*tasks)->starpu[k]);
  TSI_FREE(env, (*tasks)->record);
  TSI_FREE(env, (*tasks)->edge);
  tsi_adjacency_destroy(env, &(*tasks)->before);
  TSI_FREE(env, (*tasks)->starpu);
  TSI_FREE(env, (*tasks)->body);
  TSI_FREE(env, *tasks);
}

/* Doubles an array of `count` elements of `size` bytes that is full. */
static tristar_status grow(tsi_env *env, void **array, tsi_count count, tsi_count *capacity, size_t size) {
  tristar_status status = TRISTAR_OK;
  void *larger = NULL;
  if (count < *capacity) return TRISTAR_OK;
  const tsi_count wanted = 2 * *capacity + 64;
  TSI_TRY(tsi_allocate(env, (size_t)wanted, size, __func__, __FILE__, __LINE__, &larger));
  if (count > 0) memcpy(larger, *array, (size_t)count * size);
  tsi_release(env, *array);
  *array = larger;
  *capacity = wanted;
out:
  return status;
}

tristar_status tsi_tasks_add(tsi_tasks *tasks, const char *name, tsi_task_run run, void *context,
                             const tsi_index argument[4], double priority, double microseconds,
                             tsi_index *number) {
  tristar_status status = TRISTAR_OK;
  if (!tsi_to_index(tasks->count, number))
    TSI_FAIL(tasks->env, TRISTAR_ERR_TOO_LARGE, "more than 2^31 tasks");
  TSI_TRY(grow(tasks->env, (void **)&tasks->record, tasks->count, &tasks->capacity, sizeof *tasks->record));
  task_record *record = &tasks->record[tasks->count++];
  *record = (task_record){run, context, {0}, name, priority, microseconds, tasks, false, false};
  memcpy(record->argument, argument, sizeof record->argument);
out:
  return status;
}

tristar_status tsi_tasks_add_event(tsi_tasks *tasks, const char *name, tsi_index *number) {
  tristar_status status = TRISTAR_OK;
  static const tsi_index none[4] = {0, 0, 0, 0};
  TSI_TRY(tsi_tasks_add(tasks, name, NULL, NULL, none, 0, 0, number));
  tasks->record[*number].event = true;
  tasks->events = true;
out:
  return status;
}

tristar_status tsi_tasks_after(tsi_tasks *tasks, tsi_index task, tsi_index before) {
  tristar_status status = TRISTAR_OK;
  if (before == TSI_NONE) return TRISTAR_OK;
  if (before >= task) TSI_FAIL(tasks->env, TRISTAR_ERR_INTERNAL, "task %d waits for task %d", task, before);
  TSI_TRY(grow(tasks->env, (void **)&tasks->edge, tasks->edges, &tasks->edge_capacity, sizeof *tasks->edge));
  tasks->edge[tasks->edges++] = (tsi_edge){task, before};
out:
  return status;
}

/* A host task's body: the record's function, between the two sides of the edges as TSan is to see them. */
static void run_record(void *arg, int worker) {
  task_record *record = arg;
  tsi_tasks *tasks = record->tasks;
  const tsi_adjacency *before = tasks->before;
  const tsi_count k = record - tasks->record;
  TSI_HAPPENS_AFTER(tasks);
  for (tsi_count e = before->ptr[k]; e < before->ptr[k + 1]; e++)
    TSI_HAPPENS_AFTER(&tasks->record[before->list[e]]);
  record->run(record->context, record->argument, worker);
  TSI_HAPPENS_BEFORE(record);
}

/* Priorities on the scale of the scheduler. */
static int scaled_priority(double priority, double largest) {
  const double lo = starpu_sched_get_min_priority(), hi = starpu_sched_get_max_priority();
  return largest > 0 ? (int)(lo + (hi - lo) * (priority / largest)) : 0;
}

/* Declares what each task waits for; the last one waits for every task that no other waits for. */
static tristar_status declare_edges(tsi_tasks *tasks) {
  tristar_status status = TRISTAR_OK;
  const tsi_adjacency *before = tasks->before;
  struct starpu_task **list = NULL;
  bool *waited_for = NULL;
  TSI_TRY(TSI_ALLOC(tasks->env, list, tasks->count));
  TSI_TRY(TSI_ALLOC_ZERO(tasks->env, waited_for, tasks->count));
  for (tsi_count k = 0; k < tasks->count; k++) {
    unsigned count = 0;
    for (tsi_count e = before->ptr[k]; e < before->ptr[k + 1]; e++) {
      list[count++] = &tasks->starpu[before->list[e]];
      waited_for[before->list[e]] = true;
    }
    if (count > 0) starpu_task_declare_deps_array(&tasks->starpu[k], count, list);
  }
  unsigned count = 0;
  for (tsi_count k = 0; k < tasks->count; k++)
    if (!waited_for[k]) list[count++] = &tasks->starpu[k];
  if (count > 0) starpu_task_declare_deps_array(&tasks->starpu[tasks->count], count, list);
out:
  TSI_FREE(tasks->env, list);
  TSI_FREE(tasks->env, waited_for);
  return status;
}

tristar_status tsi_tasks_record(tsi_tasks *tasks) {
  tristar_status status = TRISTAR_OK;
  double largest = 0;
  TSI_TRY(tsi_adjacency_create(tasks->env, tsi_tasks_count(tasks), tasks->edges, tasks->edge, TSI_BEFORE,
                               &tasks->before));
  TSI_TRY(TSI_ALLOC(tasks->env, tasks->starpu, tasks->count + 1));
  TSI_TRY(TSI_ALLOC(tasks->env, tasks->body, tasks->count));
  for (tsi_count k = 0; k < tasks->count; k++)
    if (tasks->record[k].priority > largest) largest = tasks->record[k].priority;
  for (tsi_count k = 0; k < tasks->count; k++) {
    task_record *record = &tasks->record[k];
    if (tasks->env->check && !tsi_host_task_known(record->name))
      TSI_FAIL(tasks->env, TRISTAR_ERR_INTERNAL, "tasks %s have no performance model", record->name);
    tasks->body[k] = (tsi_host_task){run_record, record, record->microseconds, &tasks->columns};
    tsi_host_task_init(&tasks->starpu[k], &tasks->body[k], record->name,
                       scaled_priority(record->priority, largest));
    if (record->event) tasks->starpu[k].cl = NULL; /* no worker needs to know of it */
  }
  tsi_host_task_init(&tasks->starpu[tasks->count], NULL, "tristar_end", 0);
  tasks->starpu[tasks->count].cl = NULL; /* only marks the end */
  tasks->recorded = true;
  TSI_TRY(declare_edges(tasks));
out:
  return status;
}

static tristar_status submit_event(task_record *record) {
  tristar_status status = TRISTAR_OK;
  tsi_tasks *tasks = record->tasks;
  if (atomic_exchange(&record->happened, true)) return TRISTAR_OK;
  TSI_HAPPENS_BEFORE(record);
  const int code = starpu_task_submit(&tasks->starpu[record - tasks->record]);
  if (code != 0) TSI_FAIL(tasks->env, TRISTAR_ERR_RUNTIME, "starpu_task_submit gave %d", code);
out:
  return status;
}

tristar_status tsi_tasks_happen(tsi_tasks *tasks, tsi_index event) {
  return submit_event(&tasks->record[event]);
}

/* Submits all but events; after a failure the ones already submitted run to their end (they wait for earlier
 * ones only), and so all events happen. */
static tristar_status submit(tsi_tasks *tasks) {
  tristar_status status = TRISTAR_OK;
  for (tsi_count k = 0; k <= tasks->count; k++) {
    if (k < tasks->count && tasks->record[k].event) {
      tasks->submitted = k + 1;
      continue;
    }
    const int code = starpu_task_submit(&tasks->starpu[k]);
    if (code == -ENODEV) TSI_FAIL(tasks->env, TRISTAR_ERR_NO_WORKER, "no StarPU worker can run the tasks");
    if (code != 0) TSI_FAIL(tasks->env, TRISTAR_ERR_RUNTIME, "starpu_task_submit gave %d", code);
    tasks->submitted = k + 1;
  }
out:
  return status;
}

tristar_status tsi_tasks_prepare(tsi_tasks *tasks) {
  tristar_status status = TRISTAR_OK;
  if (!tasks->recorded) return TRISTAR_OK;
  TSI_TRY(settle(tasks));
  for (tsi_count k = 0; k < tasks->count; k++) atomic_store(&tasks->record[k].happened, false);
out:
  return status;
}

static tristar_status start_on_starpu(tsi_tasks *tasks) {
  tristar_status status = TRISTAR_OK;
  TSI_TRY(tsi_tasks_prepare(tasks)); /* the run before */
  TSI_HAPPENS_BEFORE(tasks);
  tsi_idle_rouse();
  status = submit(tasks);
  if (status != TRISTAR_OK) {
    for (tsi_count k = 0; k < tasks->submitted; k++)
      if (tasks->record[k].event) (void)submit_event(&tasks->record[k]);
    const tristar_status settled = settle(tasks);
    return settled != TRISTAR_OK ? settled : status;
  }
  tasks->running = true;
out:
  return status;
}

void tsi_tasks_set_columns(tsi_tasks *tasks, tsi_index columns) {
  atomic_store(&tasks->columns, columns);
}

tristar_status tsi_tasks_start(tsi_tasks *tasks, bool here) {
  if (tasks->recorded && !here && starpu_worker_get_id() < 0) return start_on_starpu(tasks);
  if (tasks->events)
    return tsi_fail(tasks->env, TRISTAR_ERR_UNSUPPORTED, __func__, __FILE__, __LINE__,
                    "tasks that wait for messages cannot run inside a StarPU task");
  for (tsi_count k = 0; k < tasks->count; k++)
    tasks->record[k].run(tasks->record[k].context, tasks->record[k].argument, -1);
  return TRISTAR_OK;
}

/* The run has ended: what its tasks wrote can be read. */
static void end_run(tsi_tasks *tasks) {
  for (tsi_count k = 0; k < tasks->count; k++) TSI_HAPPENS_AFTER(&tasks->record[k]);
  tasks->running = false;
}

bool tsi_tasks_running(const tsi_tasks *tasks) {
  return tasks->running;
}

/* A finished task can be submitted again (StarPU calls it finished when starpu_task_wait would return). The
 * end task is looked at first; the others may still be in the last lines of StarPU's that come after the
 * tasks that they release. */
bool tsi_tasks_test(tsi_tasks *tasks) {
  if (!tasks->running) return true;
  for (; tasks->submitted > 0; tasks->submitted--)
    if (!starpu_task_finished(&tasks->starpu[tasks->submitted - 1])) return false;
  end_run(tasks);
  return true;
}

tristar_status tsi_tasks_wait(tsi_tasks *tasks) {
  tristar_status status = TRISTAR_OK;
  if (!tasks->running) return TRISTAR_OK;
  const int code = starpu_task_wait(&tasks->starpu[tasks->count]); /* the others: before the next run */
  if (code != 0) TSI_FAIL(tasks->env, TRISTAR_ERR_RUNTIME, "starpu_task_wait gave %d", code);
  end_run(tasks);
out:
  return status;
}

tristar_status tsi_tasks_run(tsi_tasks *tasks, bool here) {
  const tristar_status status = tsi_tasks_start(tasks, here);
  return status == TRISTAR_OK ? tsi_tasks_wait(tasks) : status;
}

tsi_index tsi_tasks_count(const tsi_tasks *tasks) {
  return (tsi_index)tasks->count;
}
tsi_count tsi_tasks_edges(const tsi_tasks *tasks) {
  return tasks->edges;
}
