/* Priorities and performance models of tasks for StarPU's schedulers. Priorities: with one worker the ready
 * tasks of a set run in their order. Performance models: dmda measures each kind of task, stores the model,
 * and finds it again; results have the same bits; lws stores nothing. Every kind of step has its own model
 * and colour. */
#include <starpu.h>

#include "codelets/host_task.h"
#include "dag/steps.h"
#include "runtime/context/context.h"
#include "runtime/exec/starpu/tasks.h"
#include "tests/support/flow.h"
#include "tests/support/subtests.h"

static void create(const char *scheduler, int workers, tristar_t **ts) {
  tristar_config config = DEFAULTS(tristar_config);
  config.scheduler = scheduler;
  config.workers = workers;
  config.check = 1;
  CHECK_OK(tristar_create(&config, ts));
}

/* ---- Priorities ---------------------------------------------------------------------------------------- */

enum { TASKS = 12 };

typedef struct order {
  int done[TASKS];
  int count;
} order;

static void note(void *context, const tsi_index argument[4], int worker) {
  order *o = context;
  (void)worker;
  o->done[o->count++] = argument[0];
}

/* Waits until all tasks are submitted. */
static void wait_for_all(void *context, const tsi_index argument[4], int worker) {
  (void)argument;
  (void)worker;
  while (!atomic_load((atomic_bool *)context)) starpu_sleep(0.0001f);
}

/* All tasks become ready when the first one ends. The only worker runs them by priority. */
static void check_priorities(const char *scheduler) {
  static const tsi_index none[4] = {0};
  CLEANUP(tristar_destroy) tristar_t *ts;
  TSI_OWNED tsi_task_list *list;
  CLEANUP(tsi_tasks_destroy) tsi_tasks *tasks;
  tsi_index first, number;
  atomic_bool submitted;
  create(scheduler, 1, &ts);
  CHECK_OK(tsi_context_need_starpu(ts, NULL));
  CHECK_OK(tsi_task_list_create(tsi_context_env(ts), &list));
  order o = {.count = 0};
  CHECK_OK(tsi_task_list_add(list, "empty", wait_for_all, &submitted, none, 100, 1, &first));
  for (tsi_index k = 0; k < TASKS; k++) {
    const tsi_index rank = 5 * k % TASKS; /* a larger rank runs later */
    const tsi_index argument[4] = {rank, 0, 0, 0};
    CHECK_OK(tsi_task_list_add(list, "empty", note, &o, argument, 1.5 * (TASKS - rank), 1, &number));
    CHECK_OK(tsi_task_list_after(list, number, first));
  }
  CHECK_OK(tsi_tasks_create(tsi_context_env(ts), list, &tasks));
  CHECK_OK(tsi_tasks_record(tasks));
  for (int run = 0; run < 5; run++) {
    o.count = 0;
    atomic_store(&submitted, false);
    CHECK_OK(tsi_tasks_start(tasks, false));
    atomic_store(&submitted, true);
    CHECK_OK(tsi_tasks_wait(tasks));
    CHECK(o.count == TASKS);
    for (int k = 0; k < TASKS; k++)
      CHECK_MSG(o.done[k] == k, "%s: task %d of run %d has rank %d", scheduler, k, run, o.done[k]);
  }
}

/* ---- Performance models -------------------------------------------------------------------------------- */

/* Finds the file of the performance model of a kind. Returns false if there is none. StarPU 1.4 only finds
 * files that existed when it started. */
static bool find_model(const char *kind, char *path, size_t size) {
  char symbol[64];
  tristar_t *ts;
  create("eager", 1, &ts);
  snprintf(symbol, sizeof symbol, "tristar_%s", kind);
  starpu_perfmodel_get_model_path(symbol, path, size);
  tristar_destroy(&ts);
  return access(path, R_OK) == 0;
}

/* Solves with 1 and with 9 right-hand sides. */
static void solve(const char *scheduler, double *x, int64_t n) {
  tristar_t *ts;
  flow f;
  create(scheduler, 2, &ts);
  flow_create(ts, "convdiff3d", 7, TRISTAR_ENGINE_TASKS, 2000, &f);
  CHECK(f.view.rows == n);
  for (int k = 0; k < 15; k++)
    for (int64_t nrhs = 1; nrhs <= 9; nrhs += 8) {
      fill_random(x, n * nrhs, 8);
      CHECK_OK(tristar_solve(f.plan, TRISTAR_N, nrhs, x, n, x, n));
    }
  flow_destroy(&f);
  tristar_destroy(&ts); /* writes the models */
}

static void check_models(void) {
  enum { N = 7 * 7 * 7 };
  static double expected[9 * N], x[9 * N];
  char file[512];
  const char *kind = "forward_chunk";
  solve("lws", expected, N);
  if (find_model(kind, file, sizeof file)) CHECK(unlink(file) == 0); /* files of an earlier run */
  solve("lws", x, N);
  CHECK_MSG(!find_model(kind, file, sizeof file), "lws wrote %s", file);
  CHECK(memcmp(x, expected, sizeof x) == 0);
  for (int run = 0; run < 2; run++) { /* first without a model, then with it */
    solve("dmda", x, N);
    CHECK_MSG(find_model(kind, file, sizeof file), "dmda wrote no model of %s", kind);
    CHECK(memcmp(x, expected, sizeof x) == 0);
  }
}

static void check_kinds(void) {
  struct starpu_task task[2];
  for (int k = 0; k < TSI_STEP_KINDS; k++) {
    const char *name = tsi_step_name((tsi_step_kind)k);
    CHECK_MSG(tsi_host_task_exists(name), "no kind %s", name);
    tsi_host_task_init(&task[0], NULL, name, 0);
    CHECK(strcmp(task[0].cl->name + strlen("tristar_"), name) == 0 && task[0].color != 0);
    CHECK(task[0].cl->model != NULL && strcmp(task[0].cl->model->symbol, task[0].cl->name) == 0);
    for (int l = 0; l < k; l++) {
      tsi_host_task_init(&task[1], NULL, tsi_step_name((tsi_step_kind)l), 0);
      CHECK(task[0].color != task[1].color && task[0].cl != task[1].cl);
    }
  }
  CHECK(!tsi_host_task_exists("nothing of the kind"));
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  unsetenv("STARPU_NCPU"); /* it would override the number of workers */
  RUN(check_kinds());
  RUN(check_priorities("prio"));
  RUN(check_priorities("lws"));
  RUN(check_priorities("dmdas"));
  RUN(check_models());
  return 0;
}
