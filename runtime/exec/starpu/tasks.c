/* Records, submits and waits: see tasks.h. */
#include "runtime/exec/starpu/tasks.h"

#include <errno.h>
#include <starpu.h>

#include "codelets/device_task.h"
#include "codelets/host_task.h"
#include "runtime/base/clock.h"
#include "runtime/base/happens_before.h"
#include "runtime/exec/starpu/device_data.h"
#include "runtime/exec/starpu/devices.h"
#include "runtime/exec/starpu/idle.h"
#include "runtime/exec/starpu/service.h"
#include "runtime/exec/starpu/simulation.h"

/* Data of StarPU's task for a task of the list. */
typedef struct task_record {
  tsi_task *task;
  tsi_tasks *tasks;
  atomic_bool happened;           /* for an event, in this run */
  struct starpu_codelet *codelet; /* of its StarPU task; NULL: for an event, which needs no worker */
} task_record;

struct tsi_tasks {
  tsi_env *env;
  tsi_task_list *list;
  bool here; /* the latest run was on the calling thread */
  /* made by tsi_tasks_record */
  bool recorded;
  bool broken;           /* no run can start any more */
  bool prepared;         /* for a run that has not started: its events may have happened */
  bool running;          /* submitted, and not yet seen to have ended */
  tsi_count submitted;   /* tasks that StarPU may not have released */
  tsi_failure failure;   /* of the run: some tasks were submitted without work */
  tsi_tasks_ended ended; /* NULL: the run is tested or waited for */
  void *ended_arg;
  tsi_count count; /* length of the list */
  task_record *record;
  tsi_adjacency *before;
  struct starpu_task *starpu; /* count + 1: the last one waits for all tasks for which no other waits */
  tsi_host_task *body;
  _Atomic(int) columns;       /* of the next run, or of the run in flight */
  tsi_device_task *on_device; /* count: for tasks on devices; NULL: there are none */
  struct starpu_codelet device_codelet;
};

tristar_status tsi_tasks_create(tsi_env *env, tsi_task_list *list, tsi_tasks **out) {
  *out = NULL;
  TSI_TRY(TSI_ALLOC_ZERO(env, *out, 1));
  (*out)->env = env;
  (*out)->list = list;
  atomic_init(&(*out)->columns, 1);
  return TRISTAR_OK;
}

/* Waits until StarPU has released every task. */
static tristar_status settle(tsi_tasks *tasks) {
  for (; tasks->submitted > 0; tasks->submitted--) {
    const int code = starpu_task_wait(&tasks->starpu[tasks->submitted - 1]);
    if (code != 0) TSI_FAIL(tasks->env, TRISTAR_ERR_RUNTIME, "starpu_task_wait gave %d", code);
  }
  return TRISTAR_OK;
}

void tsi_tasks_destroy(tsi_tasks **tasks) {
  if (*tasks == NULL) return;
  tsi_env *env = (*tasks)->env;
  if ((*tasks)->recorded && settle(*tasks) == TRISTAR_OK)
    for (tsi_count k = 0; k <= (*tasks)->count; k++) starpu_task_clean(&(*tasks)->starpu[k]);
  TSI_FREE(env, (*tasks)->before);
  TSI_FREE(env, *tasks);
}

/* Announces the edges of a task to TSan, and records its span. */
static void begin_record(task_record *record) {
  const tsi_tasks *tasks = record->tasks;
  const tsi_adjacency *before = tasks->before;
  const tsi_count k = record - tasks->record;
  TSI_HAPPENS_AFTER(record->tasks);
  for (tsi_count e = before->ptr[k]; e < before->ptr[k + 1]; e++)
    TSI_HAPPENS_AFTER(&tasks->record[before->list[e]]);
  record->task->span.start = tsi_clock();
}
static void end_record(task_record *record, int worker) {
  record->task->span.end = tsi_clock();
  record->task->span.worker = worker;
  TSI_HAPPENS_BEFORE(record);
}

/* Function of a host task. */
static void run_record(void *arg, int worker) {
  task_record *record = arg;
  tsi_task *task = record->task;
  tsi_idle_worked();
  begin_record(record);
  task->run(task->context, task->argument, worker);
  tsi_simulation_host_task(task->microseconds, atomic_load(&record->tasks->columns));
  end_record(record, worker);
}

/* Function of a task on a simulated device: its data is in main memory only. */
static void run_record_simulated(void *arg, void *const memory[], int worker) {
  task_record *record = arg;
  const tsi_task *task = record->task;
  (void)memory;
  begin_record(record);
  task->run(task->context, task->argument, worker);
  tsi_simulation_device_task(task->data->microseconds, atomic_load(&record->tasks->columns));
  end_record(record, worker);
}

/* Function of a task on a device, which may still be working when the function returns. */
static void run_record_on_device(void *arg, void *const memory[], int worker) {
  task_record *record = arg;
  const tsi_task *task = record->task;
  begin_record(record);
  const int code = record->tasks->list->run_on_device(task->context, task->argument, memory);
  if (code != 0)
    tsi_failure_keep(record->tasks->env, &record->tasks->failure,
                     tsi_fail(record->tasks->env, TRISTAR_ERR_RUNTIME, __func__, __FILE__, __LINE__,
                              "%s gave error %d in a task %s", tsi_devices.name, code, task->name));
  end_record(record, worker);
}

/* Converts a priority to the scale of the scheduler. */
static int scaled_priority(double priority, double largest) {
  const double lo = starpu_sched_get_min_priority(), hi = starpu_sched_get_max_priority();
  return largest > 0 ? (int)(lo + (hi - lo) * (priority / largest)) : 0;
}

/* Declares the edges; the last task waits for every task for which no other waits. */
static tristar_status declare_edges(tsi_tasks *tasks) {
  const tsi_adjacency *before = tasks->before;
  TSI_SCRATCH(tasks->env, struct starpu_task *, list, tasks->count);
  TSI_SCRATCH_ZERO(tasks->env, bool, waited_for, tasks->count);
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
  return TRISTAR_OK;
}

/* Finds the workers of devices, and sets the codelet for them. Errors: NO_WORKER. */
static tristar_status find_devices(tsi_tasks *tasks, int *worker) {
  const int count = tsi_devices_count(worker);
  for (tsi_count k = 0; k < tasks->count; k++) {
    const tsi_task_data *data = tasks->list->task[k].data;
    if (data && data->device >= count)
      TSI_FAIL(tasks->env, TRISTAR_ERR_NO_WORKER, "there is no device %d, StarPU has %d", data->device,
               count);
  }
  tsi_device_codelet_init(&tasks->device_codelet);
  if (count > 0) tsi_devices.use(&tasks->device_codelet, tsi_device_task_run);
  return TRISTAR_OK;
}

/* Gives a StarPU task the handles of its data. A task on a device is initialized again. */
static void use_data(tsi_tasks *tasks, tsi_count k, const int *worker) {
  const tsi_task *task = &tasks->list->task[k];
  task_record *record = &tasks->record[k];
  struct starpu_task *starpu = &tasks->starpu[k];
  if (task->data->device < 0)
    tsi_host_task_use_handles(starpu);
  else {
    tasks->on_device[k] =
        (tsi_device_task){tsi_devices.simulated ? run_record_simulated : run_record_on_device, record,
                          task->data->microseconds, &tasks->columns};
    tsi_device_task_init(starpu, &tasks->device_codelet, &tasks->on_device[k], task->name, starpu->priority,
                         worker[task->data->device]);
  }
  tsi_device_data_add(task->data, starpu);
}

/* Creates the StarPU tasks of the list, and the one at the end. */
static tristar_status make_starpu_tasks(tsi_tasks *tasks) {
  double largest = 0;
  int worker[TSI_DEVICES_MOST];
  if (tasks->list->devices) TSI_TRY(find_devices(tasks, worker));
  TSI_TRY(TSI_ALLOC_IN(tasks, tasks->record, tasks->count));
  if (tasks->list->devices) TSI_TRY(TSI_ALLOC_IN(tasks, tasks->on_device, tasks->count));
  TSI_TRY(TSI_ALLOC_IN(tasks, tasks->starpu, tasks->count + 1));
  TSI_TRY(TSI_ALLOC_IN(tasks, tasks->body, tasks->count));
  for (tsi_count k = 0; k < tasks->count; k++)
    if (tasks->list->task[k].priority > largest) largest = tasks->list->task[k].priority;
  for (tsi_count k = 0; k < tasks->count; k++) {
    tsi_task *task = &tasks->list->task[k];
    task_record *record = &tasks->record[k];
    if (tasks->env->check && !tsi_host_task_exists(task->name))
      TSI_FAIL(tasks->env, TRISTAR_ERR_INTERNAL, "tasks %s have no performance model", task->name);
    *record = (task_record){.task = task, .tasks = tasks};
    tasks->body[k] = (tsi_host_task){run_record, record, task->microseconds, &tasks->columns};
    tsi_host_task_init(&tasks->starpu[k], &tasks->body[k], task->name,
                       scaled_priority(task->priority, largest));
    if (task->data) use_data(tasks, k, worker);
    if (task->event) tasks->starpu[k].cl = NULL;
    record->codelet = tasks->starpu[k].cl;
  }
  tsi_host_task_init(&tasks->starpu[tasks->count], NULL, "tristar_end", 0);
  tasks->starpu[tasks->count].cl = NULL; /* only marks the end */
  return TRISTAR_OK;
}

size_t tsi_tasks_bytes(const tsi_task_list *list) {
  const tsi_tasks *tasks;
  const size_t count = (size_t)list->count,
               task = sizeof *tasks->record + sizeof *tasks->starpu + sizeof *tasks->body;
  return sizeof *tasks + count * task + sizeof *tasks->starpu +
         tsi_adjacency_bytes(tsi_task_list_count(list), list->edges);
}

tristar_status tsi_tasks_record(tsi_tasks *tasks) {
  const tsi_task_list *list = tasks->list;
  tasks->count = list->count;
  TSI_TRY(tsi_adjacency_create(tasks->env, tsi_task_list_count(list), list->edges, list->edge, TSI_BEFORE,
                               &tasks->before));
  TSI_TRY(make_starpu_tasks(tasks));
  tasks->recorded = true;
  return declare_edges(tasks);
}

static tristar_status submit_event(task_record *record) {
  tsi_tasks *tasks = record->tasks;
  if (tasks->broken || atomic_exchange(&record->happened, true)) return TRISTAR_OK;
  record->task->span = (tsi_task_span){.worker = -1};
  record->task->span.start = record->task->span.end = tsi_clock();
  TSI_HAPPENS_BEFORE(record);
  const int code = starpu_task_submit(&tasks->starpu[record - tasks->record]);
  if (code != 0) TSI_FAIL(tasks->env, TRISTAR_ERR_RUNTIME, "starpu_task_submit gave %d", code);
  return TRISTAR_OK;
}

tristar_status tsi_tasks_happen(tsi_tasks *tasks, tsi_index event) {
  return submit_event(&tasks->record[event]);
}

bool tsi_tasks_may_wait(void) {
  return !tsi_starpu_runs() || (starpu_worker_get_id() < 0 && starpu_task_get_current() == NULL);
}

tristar_status tsi_tasks_check_waiting(const tsi_env *env) {
  if (!tsi_tasks_may_wait())
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED,
             "a StarPU task cannot wait for devices: the first solve after a factorization, or with more "
             "right-hand sides, by a plan with subtrees on devices is to be started outside of tasks");
  return TRISTAR_OK;
}

unsigned tsi_tasks_context(void) {
  const unsigned context = starpu_sched_ctx_get_context();
  return context == STARPU_NMAX_SCHED_CTXS ? 0 : context; /* 0: the context of all workers */
}

static tristar_status submit_one(tsi_tasks *tasks, tsi_count k, unsigned context) {
  tasks->starpu[k].sched_ctx = context;
  const int code = starpu_task_submit(&tasks->starpu[k]);
  if (code == -ENODEV) TSI_FAIL(tasks->env, TRISTAR_ERR_NO_WORKER, "no StarPU worker can run the tasks");
  if (code != 0) TSI_FAIL(tasks->env, TRISTAR_ERR_RUNTIME, "starpu_task_submit gave %d", code);
  return TRISTAR_OK;
}

/* Submits all tasks except events. The end task comes first: so the run ends in the last of its tasks, on a
 * worker, and not on the stack of the submitting thread. If StarPU refuses a task, this task and those after
 * it are submitted without work, which needs no worker: so the run ends nevertheless. Once the last task is
 * submitted a run with `ended` may be over, and other threads may use the set. So it is not read any more.
 * Failures: of the end task: nothing is in flight; of others: *failed, and the set keeps the failure. */
static tristar_status submit(tsi_tasks *tasks, unsigned context, bool *failed) {
  tristar_status status = TRISTAR_OK;
  const tsi_count count = tasks->count;
  *failed = false;
  tsi_idle_rouse();
  tasks->prepared = false;
  tasks->running = true;
  tasks->submitted = count + 1;
  status = submit_one(tasks, count, context);
  if (status !=
      TRISTAR_OK) { /* StarPU has seen events that happened: they would start tasks of a later run */
    tasks->running = false;
    tasks->submitted = 0;
    tasks->broken = tasks->list->events;
    return status;
  }
  for (tsi_count k = 0; k < count; k++) {
    if (tasks->list->task[k].event) continue;
    if (!*failed) {
      const tristar_status one = submit_one(tasks, k, context);
      if (one == TRISTAR_OK) continue;
      tsi_failure_keep(tasks->env, &tasks->failure, one);
      *failed = true;
    }
    tasks->starpu[k].cl = NULL;
    (void)submit_one(tasks, k, context);
  }
  return TRISTAR_OK;
}

tristar_status tsi_tasks_prepare(tsi_tasks *tasks) {
  if (!tasks->recorded || tasks->prepared) return TRISTAR_OK;
  if (tasks->broken)
    TSI_FAIL(tasks->env, TRISTAR_ERR_RUNTIME, "StarPU has refused the end of an earlier run");
  TSI_TRY(settle(tasks));
  for (tsi_count k = 0; k < tasks->count; k++) {
    atomic_store(&tasks->record[k].happened, false);
    tasks->starpu[k].cl = tasks->record[k].codelet; /* after a failure it may be NULL */
  }
  tsi_failure_clear(&tasks->failure);
  tasks->prepared = true;
  return TRISTAR_OK;
}

static tristar_status start_on_starpu(tsi_tasks *tasks) {
  bool failed;
  TSI_TRY(tsi_tasks_prepare(tasks)); /* the previous run */
  tasks->ended = NULL;
  tasks->starpu[tasks->count].callback_func = NULL;
  TSI_HAPPENS_BEFORE(tasks);
  tasks->here = false;
  TSI_TRY(submit(tasks, STARPU_NMAX_SCHED_CTXS, &failed)); /* the context of this thread */
  if (!failed) return TRISTAR_OK;
  for (tsi_count k = 0; k < tasks->count; k++)
    if (tasks->list->task[k].event) (void)submit_event(&tasks->record[k]);
  tristar_status status = settle(tasks);
  tasks->running = false;
  if (status == TRISTAR_OK) status = tsi_failure_report(tasks->env, &tasks->failure);
  return status;
}

void tsi_tasks_set_columns(tsi_tasks *tasks, tsi_index columns) {
  atomic_store(&tasks->columns, columns);
}

tristar_status tsi_tasks_start(tsi_tasks *tasks, bool here) {
  if (tasks->recorded && !here && tsi_tasks_may_wait()) return start_on_starpu(tasks);
  tasks->here = true;
  return tsi_task_list_run(tasks->list);
}

/* The run has ended: results of its tasks can be read. */
static void end_run(tsi_tasks *tasks) {
  for (tsi_count k = 0; k < tasks->count; k++) TSI_HAPPENS_AFTER(&tasks->record[k]);
  tasks->running = false;
}

bool tsi_tasks_running(const tsi_tasks *tasks) {
  return tasks->running;
}

/* A finished task can be submitted again (StarPU calls it finished when starpu_task_wait would return). The
 * end task is checked first; others may still be in the last lines of StarPU, after they have released the
 * next tasks. */
bool tsi_tasks_idle(tsi_tasks *tasks) {
  for (; tasks->submitted > 0; tasks->submitted--)
    if (!starpu_task_finished(&tasks->starpu[tasks->submitted - 1])) return false;
  return true;
}

bool tsi_tasks_test(tsi_tasks *tasks) {
  if (!tasks->running) return true;
  if (!tsi_tasks_idle(tasks)) return false;
  end_run(tasks);
  return true;
}

/* The end task's callback. */
static void end_launched(void *arg) {
  tsi_tasks *tasks = arg;
  const tristar_status status = tsi_failure_report(tasks->env, &tasks->failure);
  end_run(tasks);
  tasks->ended(tasks->ended_arg, status);
}

tristar_status tsi_tasks_launch(tsi_tasks *tasks, unsigned context, tsi_tasks_ended ended, void *arg) {
  struct starpu_task *end = &tasks->starpu[tasks->count];
  bool failed;
  tasks->ended = ended;
  tasks->ended_arg = arg;
  end->callback_func = end_launched;
  end->callback_arg = tasks;
  tasks->here = false;
  TSI_HAPPENS_BEFORE(tasks);
  return submit(tasks, context, &failed);
}

tristar_status tsi_tasks_wait(tsi_tasks *tasks) {
  if (!tasks->running) return tsi_failure_report(tasks->env, &tasks->failure);
  const int code = starpu_task_wait(&tasks->starpu[tasks->count]); /* the next run waits for the others */
  if (code != 0) TSI_FAIL(tasks->env, TRISTAR_ERR_RUNTIME, "starpu_task_wait gave %d", code);
  end_run(tasks);
  return tsi_failure_report(tasks->env, &tasks->failure);
}

tristar_status tsi_tasks_run(tsi_tasks *tasks, bool here) {
  const tristar_status status = tsi_tasks_start(tasks, here);
  return status == TRISTAR_OK ? tsi_tasks_wait(tasks) : status;
}

bool tsi_tasks_ran_on_starpu(const tsi_tasks *tasks) {
  return !tasks->here;
}

void tsi_tasks_add_busy(const tsi_tasks *tasks, int workers, double *seconds) {
  for (tsi_count k = 0; k < tasks->list->count; k++) {
    const tsi_task_span *span = &tasks->list->task[k].span;
    if (span->worker >= 0 && span->worker < workers) seconds[span->worker] += span->end - span->start;
  }
}

/* ---- One task of its own ------------------------------------------------------------------------------- */

typedef struct single_task {
  tsi_env *env;
  tsi_host_task body;
  _Atomic(int) columns; /* of body */
  void (*run)(void *arg, int worker);
  void (*ended)(void *arg);
  void *arg;
} single_task;

static void run_single(void *arg, int worker) {
  single_task *single = arg;
  tsi_idle_worked();
  TSI_HAPPENS_AFTER(single);
  single->run(single->arg, worker);
  tsi_simulation_host_task(single->body.microseconds, atomic_load(&single->columns));
}

static void end_single(void *arg) {
  single_task *single = arg;
  void (*ended)(void *) = single->ended;
  void *ended_arg = single->arg;
  TSI_FREE(single->env, single);
  ended(ended_arg);
}

tristar_status tsi_task_submit(tsi_env *env, const char *name, unsigned context, double microseconds,
                               tsi_index columns, void (*run)(void *arg, int worker),
                               void (*ended)(void *arg), void *arg) {
  tristar_status status = TRISTAR_OK;
  single_task *single = NULL;
  struct starpu_task *task = NULL;
  TSI_TRY_OUT(TSI_ALLOC_ZERO(env, single, 1));
  *single = (single_task){.env = env, .run = run, .ended = ended, .arg = arg};
  atomic_init(&single->columns, columns);
  single->body = (tsi_host_task){run_single, single, microseconds, &single->columns};
  task = starpu_task_create();
  if (task == NULL) TSI_FAIL_OUT(env, TRISTAR_ERR_MEMORY, "starpu_task_create gave no task");
  tsi_host_task_init(task, &single->body, name, 0);
  task->destroy = task->detach = 1;
  task->sched_ctx = context;
  task->callback_func = end_single;
  task->callback_arg = single;
  TSI_HAPPENS_BEFORE(single);
  tsi_idle_rouse();
  const int code = starpu_task_submit(task);
  if (code == 0) return TRISTAR_OK; /* all data may be freed */
  task->destroy = task->detach = 0;
  if (code == -ENODEV) TSI_FAIL_OUT(env, TRISTAR_ERR_NO_WORKER, "no StarPU worker can run the solve");
  TSI_FAIL_OUT(env, TRISTAR_ERR_RUNTIME, "starpu_task_submit gave %d", code);
out:
  if (task != NULL) starpu_task_destroy(task);
  TSI_FREE(env, single);
  return status;
}
