/* Requests: several solves in flight give the bits of tristar_solve_with, whatever the engine, the order in
 * which they are waited for and the thread that waits; start and test do not wait; failures are reported and
 * nothing is leaked. */
#include <pthread.h>
#include <sched.h>
#include <starpu.h>

#include "tests/support/allocations.h"
#include "tests/support/context.h"
#include "tests/support/flow.h"
#include "tests/support/host_task.h"
#include "tests/support/subtests.h"
#include "tristar_device.h"
#include "tristar_solve.h"
#include "tristar_stats.h"

enum { REQUESTS = 5 };
static const int in_flight[] = {1, 2, REQUESTS};

/* The arguments of one solve; given, wanted: numbers of rows of b and of x, 0: all. */
typedef struct variant {
  tristar_op op;
  tristar_part part;
  int64_t nrhs, given, wanted;
  bool in_place;
} variant;

static const variant variants[] = {
    {TRISTAR_N, TRISTAR_PART_ALL, 1, 0, 0, false},   {TRISTAR_T, TRISTAR_PART_ALL, 1, 0, 0, false},
    {TRISTAR_N, TRISTAR_PART_ALL, 17, 0, 0, false},  {TRISTAR_T, TRISTAR_PART_ALL, 130, 0, 0, false},
    {TRISTAR_N, TRISTAR_PART_ALL, 130, 0, 0, true},  {TRISTAR_T, TRISTAR_PART_ALL, 17, 0, 0, true},
    {TRISTAR_N, TRISTAR_PART_L, 3, 0, 0, false},     {TRISTAR_T, TRISTAR_PART_U, 130, 0, 0, false},
    {TRISTAR_N, TRISTAR_PART_D, 17, 0, 0, true},     {TRISTAR_N, TRISTAR_PART_ALL, 1, 4, 0, false},
    {TRISTAR_T, TRISTAR_PART_ALL, 130, 60, 9, false}};

/* A request with its arrays, and the expected x. */
typedef struct job {
  double *b, *x, *expected;
  size_t bytes; /* of x */
  tristar_request_t *request;
} job;

/* Returns the options of a variant; n must not be a multiple of 7. Free the lists of rows with spoil(). */
static tristar_solve_options options_of(const variant *v, int64_t n) {
  tristar_solve_options o = DEFAULTS(tristar_solve_options);
  o.op = v->op;
  o.part = v->part;
  int64_t *list[2] = {NULL, NULL};
  const int64_t count[2] = {v->given, v->wanted};
  for (int k = 0; k < 2; k++) {
    if (count[k] == 0) continue;
    list[k] = xmalloc((size_t)count[k] * sizeof *list[k]);
    for (int64_t i = 0; i < count[k]; i++) list[k][i] = (11 + k + 7 * i) % n;
  }
  o.b_rows = v->given;
  o.b_row = list[0];
  o.x_rows = v->wanted;
  o.x_row = list[1];
  return o;
}

/* Overwrites and frees the lists: no request may use them any more. */
static void spoil(tristar_solve_options *o) {
  if (o->b_row) memset((void *)o->b_row, 255, (size_t)o->b_rows * sizeof *o->b_row);
  if (o->x_row) memset((void *)o->x_row, 255, (size_t)o->x_rows * sizeof *o->x_row);
  free((void *)o->b_row);
  free((void *)o->x_row);
}

static void job_create(tristar_plan_t *plan, const variant *v, int64_t n, uint64_t seed, job *j) {
  tristar_solve_options o = options_of(v, n);
  const int64_t in = (v->given ? v->given : n) * v->nrhs, out = (v->wanted ? v->wanted : n) * v->nrhs;
  j->bytes = (size_t)out * sizeof(double);
  j->b = xmalloc((size_t)in * sizeof *j->b);
  j->x = v->in_place ? j->b : xmalloc(j->bytes);
  j->expected = xmalloc(j->bytes);
  fill_random(j->b, in, seed);
  CHECK_OK(tristar_solve_with(plan, &o, v->nrhs, j->b, j->expected, NULL));
  spoil(&o);
}

static void job_start(tristar_plan_t *plan, const variant *v, int64_t n, job *j) {
  tristar_solve_options o = options_of(v, n);
  CHECK_OK(tristar_solve_start(plan, &o, v->nrhs, j->b, j->x, &j->request));
  CHECK(j->request != NULL);
  spoil(&o);
}

static void poll_request(tristar_request_t *request) {
  for (int done = 0; !done; sched_yield()) CHECK_OK(tristar_test(request, &done));
}

static void job_finish(job *j) {
  tristar_solve_result result = {.share = -1, .perturbed_pivots = -1};
  CHECK_OK(tristar_wait(&j->request, &result));
  CHECK(j->request == NULL && result.share > 0 && result.share <= 1 && result.perturbed_pivots == 0);
  CHECK_MSG(memcmp(j->x, j->expected, j->bytes) == 0, "other bits than tristar_solve_with");
}

static void job_free(job *j) {
  if (j->x != j->b) free(j->x);
  free(j->b);
  free(j->expected);
}

/* Runs `count` requests. order 0: waits in the order of their start, 1: in reverse, 2: polls every other
 * one first. */
static void check_requests(const flow *f, const variant *v, int count, int order) {
  job jobs[REQUESTS];
  const int64_t n = f->view.rows;
  tristar_plan_stats before, after;
  for (int k = 0; k < count; k++) job_create(f->plan, v, n, (uint64_t)k + 1, &jobs[k]);
  tristar_plan_get_stats(f->plan, &before);
  for (int k = 0; k < count; k++) job_start(f->plan, v, n, &jobs[k]);
  for (int k = 0; k < count; k++) {
    job *j = &jobs[order == 1 ? count - 1 - k : k];
    if (order == 2 && k % 2 == 0) poll_request(j->request);
    job_finish(j);
  }
  tristar_plan_get_stats(f->plan, &after);
  CHECK(after.solves == before.solves + count && after.last_solve_seconds > 0);
  for (int k = 0; k < count; k++) job_free(&jobs[k]);
}

/* LU with a matching that permutes rows: if x is b, b is copied. */
static void matched_create(tristar_t *ts, tristar_engine engine, flow *f) {
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  tristar_analysis_stats stats;
  tristar_plan_options plan = DEFAULTS(tristar_plan_options);
  f->view = generated_view(ts, "kkt3d", 3, &f->matrix);
  options.method = TRISTAR_METHOD_LU;
  CHECK_OK(tristar_analyze(ts, &f->view, &options, &f->analysis));
  tristar_analysis_get_stats(f->analysis, &stats);
  CHECK(stats.matched);
  CHECK_OK(tristar_factor(f->analysis, f->view.values, &f->factor));
  plan.engine = engine;
  plan.chunk_bytes_max = 3000;
  CHECK_OK(tristar_plan(f->factor, &plan, &f->plan));
}

/* kind NULL: a matrix for which matched_create computes a matching. */
static void check_problem(tristar_t *ts, const char *kind, int64_t size, tristar_engine engine) {
  CLEANUP(flow_destroy) flow f;
  int order = 0;
  if (kind)
    flow_create(ts, kind, size, engine, 3000, &f);
  else
    matched_create(ts, engine, &f);
  for (size_t v = 0; v < sizeof variants / sizeof *variants; v++)
    for (size_t k = 0; k < sizeof in_flight / sizeof *in_flight; k++)
      check_requests(&f, &variants[v], in_flight[k], order++ % 3);
}

/* ---- Threads and tasks --------------------------------------------------------------------------------- */

static void *finish_in_thread(void *arg) {
  job_finish(arg);
  return NULL;
}

typedef struct thread_work {
  const flow *f;
  uint64_t seed;
} thread_work;

static void *solve_in_thread(void *arg) {
  const thread_work *w = arg;
  job jobs[2];
  for (int turn = 0; turn < 10; turn++) {
    const variant *v = &variants[turn % 4];
    for (int k = 0; k < 2; k++)
      job_create(w->f->plan, v, w->f->view.rows, w->seed + (uint64_t)(2 * turn + k), &jobs[k]);
    for (int k = 0; k < 2; k++) job_start(w->f->plan, v, w->f->view.rows, &jobs[k]);
    for (int k = 0; k < 2; k++) job_finish(&jobs[k]);
    for (int k = 0; k < 2; k++) job_free(&jobs[k]);
  }
  return NULL;
}

static void check_threads(const flow *f) {
  pthread_t thread[3];
  job j;
  for (size_t v = 0; v < sizeof variants / sizeof *variants;
       v++) { /* started by this thread, awaited by another one */
    job_create(f->plan, &variants[v], f->view.rows, 7, &j);
    job_start(f->plan, &variants[v], f->view.rows, &j);
    CHECK(pthread_create(&thread[0], NULL, finish_in_thread, &j) == 0);
    CHECK(pthread_join(thread[0], NULL) == 0);
    job_free(&j);
  }
  thread_work work[3];
  for (int t = 0; t < 3; t++) {
    work[t] = (thread_work){f, (uint64_t)(100 * t)};
    CHECK(pthread_create(&thread[t], NULL, solve_in_thread, &work[t]) == 0);
  }
  for (int t = 0; t < 3; t++) CHECK(pthread_join(thread[t], NULL) == 0);
}

/* Tasks that occupy the workers. */
static volatile int hold, holding;
static tristar_request_t *held; /* in flight while the tasks occupy the workers */
static tristar_status status_in_task;

static void hold_worker(void *buffers[], void *arg) {
  (void)buffers;
  (void)arg;
  __atomic_add_fetch(&holding, 1, __ATOMIC_ACQ_REL);
  while (get_flag(&hold) == 2)
    starpu_sleep(0.001f); /* 1: wait for the request, then occupy the worker; 0: end */
  if (arg != NULL) {
    tristar_solve_result result;
    status_in_task = tristar_wait(&held, &result);
  }
  __atomic_sub_fetch(&holding, 1, __ATOMIC_ACQ_REL);
  while (get_flag(&hold) == 1) starpu_sleep(0.001f);
}
static void solve_in_task(void *buffers[], void *arg) {
  (void)buffers;
  (void)solve_in_thread(*(void **)arg);
}

#define WORKERS_MOST 64

/* Occupies all workers until hold is 0, and returns their number. first: argument of the first task. */
static int occupy_workers(struct starpu_task *task[WORKERS_MOST], void *first) {
  static struct starpu_codelet codelet = {.cpu_funcs = {hold_worker}, .nbuffers = 0};
  const int workers = (int)starpu_cpu_worker_get_count();
  CHECK(workers <= WORKERS_MOST);
  set_flag(&hold, 2);
  for (int w = 0; w < workers; w++) task[w] = submit(&codelet, w == 0 ? first : NULL);
  while (get_flag(&holding) < workers) sched_yield();
  return workers;
}

static void release_workers(struct starpu_task *task[WORKERS_MOST], int workers) {
  set_flag(&hold, 0);
  for (int w = 0; w < workers; w++) CHECK(starpu_task_wait(task[w]) == 0);
}

/* While every worker is occupied no task can run. Start and test still return, and a wait inside a task is
 * refused. */
static void check_occupied(const flow *f) {
  struct starpu_task *task[WORKERS_MOST];
  job j;
  int done = 1;
  for (int turn = 0; turn < 2; turn++) {
    const variant *v = &variants[turn == 0 ? 0 : 3];
    job_create(f->plan, v, f->view.rows, 8, &j);
    const int workers = occupy_workers(task, &held);
    job_start(f->plan, v, f->view.rows, &j);
    held = j.request;
    CHECK_OK(tristar_test(j.request, &done));
    CHECK(!done);
    set_flag(&hold, 1);
    while (get_flag(&holding) > 0) sched_yield();
    CHECK_STATUS(status_in_task, TRISTAR_ERR_UNSUPPORTED);
    CHECK(held == j.request);
    CHECK_OK(tristar_test(j.request, &done));
    CHECK(!done);
    release_workers(task, workers);
    if (turn == 1) poll_request(j.request);
    job_finish(&j);
    job_free(&j);
  }
}

static void check_in_task(const flow *f) {
  static struct starpu_codelet codelet = {.cpu_funcs = {solve_in_task}, .nbuffers = 0};
  thread_work work = {f, 5};
  void *arg = &work;
  CHECK(starpu_task_wait(submit(&codelet, &arg)) == 0);
}

/* ---- Ends and failures --------------------------------------------------------------------------------- */

/* The plan, the factor and the analysis are destroyed before the request is waited for. */
static void check_orphan(tristar_t *ts, tristar_engine engine) {
  flow f;
  job j;
  tristar_memory_stats before, after;
  tristar_get_memory(ts, &before);
  flow_create(ts, "poisson3d7", 7, engine, 3000, &f);
  job_create(f.plan, &variants[3], f.view.rows, 9, &j);
  job_start(f.plan, &variants[3], f.view.rows, &j);
  flow_destroy(&f);
  job_finish(&j);
  job_free(&j);
  tristar_get_memory(ts, &after);
  CHECK(after.current_bytes == before.current_bytes);
}

/* The k-th allocation of start, test and wait fails, for every k. The matched matrix is solved in place, so
 * b is copied. */
static void check_allocations(tristar_t *ts, tristar_engine engine, bool polled) {
  CLEANUP(flow_destroy) flow f;
  tristar_plan_stats stats = {.tasks = 0};
  int failed_start = 0, failed_later = 0;
  const int64_t nrhs = 140;
  matched_create(ts, engine, &f);
  const int64_t n = f.view.rows;
  OWNED double *b = xmalloc((size_t)(n * nrhs) * sizeof *b);
  fill_random(b, n * nrhs, 3);
  allocation_failures failing = fail_allocations_of(ts);
  failing.keeps_memory = true; /* a plan that is created in a round */
  while (!failing.over) {
    tristar_plan_options options = DEFAULTS(tristar_plan_options);
    tristar_request_t *request;
    const size_t before = bytes_held(ts);
    options.engine = engine;
    options.chunk_bytes_max = 3000;
    tristar_plan_t *plan = NEW_PLAN(f.factor, &options);
    CHECK_OK(tristar_plan_get_stats(plan, &stats));
    CHECK(next_failure(&failing));
    tristar_status status = tristar_solve_start(plan, NULL, nrhs, b, b, &request);
    CHECK((request != NULL) == (status == TRISTAR_OK));
    failed_start += status != TRISTAR_OK;
    if (status == TRISTAR_OK) {
      if (polled) poll_request(request);
      status = tristar_wait(&request, NULL);
      CHECK(request == NULL);
      failed_later += status != TRISTAR_OK;
    }
    end_failure(&failing, status);
    CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, b, n, b, n)); /* the plan can still be used */
    tristar_plan_destroy(&plan);
    CHECK_MSG(bytes_held(ts) == before, "allocation %d: %zu bytes leaked", (int)failing.at,
              bytes_held(ts) - before);
  }
  CHECK(failed_start > 2);
  /* on StarPU the third block is started by start (if the first one has already ended) or by wait */
  CHECK(failed_later == 0 || stats.tasks > 0);
}

/* With all workers occupied two blocks are in flight when start returns. Test or wait finds that the third
 * one fails, and ends the other two first. */
static void check_failure_later(tristar_t *ts, bool polled) {
  struct starpu_task *task[WORKERS_MOST];
  CLEANUP(flow_destroy) flow f;
  tristar_memory_stats before, after;
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  tristar_request_t *request;
  const int64_t nrhs = 140;
  matched_create(ts, TRISTAR_ENGINE_TASKS, &f);
  const int64_t n = f.view.rows;
  OWNED double *b = xmalloc((size_t)(n * nrhs) * sizeof *b);
  fill_random(b, n * nrhs, 3);
  options.engine = TRISTAR_ENGINE_TASKS;
  options.chunk_bytes_max = 3000;
  tristar_get_memory(ts, &before);
  tristar_plan_t *plan = NEW_PLAN(f.factor, &options);
  const int workers = occupy_workers(task, NULL);
  CHECK_OK(tristar_solve_start(plan, NULL, nrhs, b, b, &request));
  CHECK_OK(tristar_fail_allocation(ts, 1));
  release_workers(task, workers);
  if (polled) poll_request(request);
  CHECK_STATUS(tristar_wait(&request, NULL), TRISTAR_ERR_MEMORY);
  CHECK(request == NULL);
  CHECK_OK(tristar_fail_allocation(ts, 0));
  CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, b, n, b, n));
  tristar_plan_destroy(&plan);
  tristar_get_memory(ts, &after);
  CHECK(after.current_bytes == before.current_bytes);
}

static void check_arguments(tristar_t *ts, const flow *f) {
  tristar_solve_options o = DEFAULTS(tristar_solve_options);
  tristar_request_t *request = (tristar_request_t *)&o;
  const int64_t row = f->view.rows;
  OWNED double *b = xcalloc((size_t)row, sizeof *b);
  int done = 7;
  CHECK_STATUS(tristar_solve_start(NULL, &o, 1, b, b, &request), TRISTAR_ERR_ARGUMENT);
  CHECK(request == NULL);
  CHECK_STATUS(tristar_solve_start(f->plan, &o, 1, b, b, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_ERROR(ts, "request is NULL");
  CHECK_STATUS(tristar_solve_start(f->plan, &o, -1, b, b, &request), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_solve_start(f->plan, &o, 1, NULL, b, &request), TRISTAR_ERR_ARGUMENT);
  o.b_row = &row; /* a row out of range */
  o.b_rows = 1;
  request = (tristar_request_t *)&o;
  double x;
  CHECK_STATUS(tristar_solve_start(f->plan, &o, 1, &x, b, &request), TRISTAR_ERR_ARGUMENT);
  CHECK(request == NULL);
  CHECK_STATUS(tristar_test(NULL, &done), TRISTAR_ERR_ARGUMENT);
  CHECK(done == 0);
  CHECK_OK(tristar_wait(NULL, NULL));
  CHECK_OK(tristar_wait(&request, NULL));
  CHECK_OK(tristar_solve_start(f->plan, NULL, 1, b, b, &request));
  CHECK_STATUS(tristar_test(request, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_OK(tristar_wait(&request, NULL));
  CHECK(request == NULL);
  CHECK_OK(tristar_solve_start(f->plan, NULL, 0, NULL, NULL, &request)); /* nrhs = 0 */
  CHECK_OK(tristar_test(request, &done));
  CHECK(done == 1);
  CHECK_OK(tristar_wait(&request, NULL));
}

/* A matrix of order zero. */
static void check_empty(tristar_t *ts, tristar_engine engine) {
  CLEANUP(flow_destroy) flow f = {.matrix = NULL};
  tristar_request_t *request;
  tristar_plan_options options;
  const int64_t ptr = 0;
  const int32_t index = 0;
  const double value = 0;
  int done = 0;
  f.view = (tristar_view){.format = TRISTAR_CSC,
                          .scalar = TRISTAR_DOUBLE,
                          .ptr = &ptr,
                          .index = &index,
                          .values = &value,
                          .ptr_bits = 64,
                          .index_bits = 32};
  tristar_plan_options_init(&options);
  options.engine = engine;
  CHECK_OK(tristar_analyze(ts, &f.view, NULL, &f.analysis));
  CHECK_OK(tristar_factor(f.analysis, &value, &f.factor));
  CHECK_OK(tristar_plan(f.factor, &options, &f.plan));
  CHECK_OK(tristar_solve_start(f.plan, NULL, 130, NULL, NULL, &request));
  CHECK_OK(tristar_test(request, &done));
  CHECK(done == 1);
  CHECK_OK(tristar_wait(&request, NULL));
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  static const tristar_engine engines[] = {TRISTAR_ENGINE_SERIAL, TRISTAR_ENGINE_TASKS};
  flow f;
  CHECK(starpu_init(NULL) == 0);
  tristar_t *ts = open_with_starpu(0, false);
  for (int e = 0; e < 2; e++) {
    RUN(check_problem(ts, "poisson3d7", 6, engines[e]));
    RUN(check_problem(ts, "convdiff3d", 5, engines[e]));
    RUN(check_problem(ts, "kkt3d", 3, engines[e]));
    RUN(check_problem(ts, NULL, 0, engines[e]));
    RUN(check_orphan(ts, engines[e]));
    RUN(check_empty(ts, engines[e]));
    RUN(check_allocations(ts, engines[e], e == 0));
  }
  RUN(check_allocations(ts, TRISTAR_ENGINE_TASKS, true));
  RUN(check_failure_later(ts, false));
  RUN(check_failure_later(ts, true));
  flow_create(ts, "convdiff3d", 6, TRISTAR_ENGINE_TASKS, 3000, &f);
  RUN(check_arguments(ts, &f));
  RUN(check_threads(&f));
  RUN(check_occupied(&f));
  if (!tristar_plan_get_subtree(f.plan, 0, NULL))
    RUN(check_in_task(&f)); /* a task cannot solve with a plan that has subtrees */
  flow_destroy(&f);
  close_context(&ts);
  starpu_shutdown();
  return 0;
}
