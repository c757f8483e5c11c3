/* Inserted solves among the tasks of a program: in their order, without waiting, whoever inserts them; what
 * is in flight is bounded; failures are end_result; nothing is leaked, and foreign tasks are left alone. */
#include <pthread.h>
#include <sched.h>
#include <starpu.h>

#include "tests/support/context.h"
#include "tests/support/host_task.h"
#include "tests/support/stream.h"
#include "tests/support/subtests.h"
#include "tristar_stats.h"

/* ---- Tasks of the program ------------------------------------------------------------------------------ */

/* The thread sanitizer does not know the dependencies that StarPU enforces. */
#if TSI_TESTS_RACES
#include <sanitizer/tsan_interface.h>
#define HAPPENS_BEFORE(address) __tsan_release(address)
#define HAPPENS_AFTER(address) __tsan_acquire(address)
#else
#define HAPPENS_BEFORE(address) ((void)(address))
#define HAPPENS_AFTER(address) ((void)(address))
#endif

/* Returns the address that represents a datum in the annotations of dependencies for the thread sanitizer. */
static void *handle_of(unsigned k) {
  return STARPU_TASK_GET_HANDLE(starpu_task_get_current(), k);
}

/* b = 1 + (i + seed) % 7 */
static void produce(void *buffers[], void *arg) {
  double *b = (double *)STARPU_VECTOR_GET_PTR(buffers[0]);
  const uint32_t n = STARPU_VECTOR_GET_NX(buffers[0]);
  const int seed = *(int *)arg;
  HAPPENS_AFTER(handle_of(0));
  for (uint32_t i = 0; i < n; i++) b[i] = 1 + (double)((i + (unsigned)seed) % 7);
  HAPPENS_BEFORE(handle_of(0));
}
/* sum = sum / 2 + x */
static void consume(void *buffers[], void *arg) {
  const double *x = (const double *)STARPU_VECTOR_GET_PTR(buffers[0]);
  double *sum = (double *)STARPU_VECTOR_GET_PTR(buffers[1]);
  const uint32_t n = STARPU_VECTOR_GET_NX(buffers[0]);
  (void)arg;
  for (unsigned k = 0; k < 2; k++) HAPPENS_AFTER(handle_of(k));
  for (uint32_t i = 0; i < n; i++) sum[i] = sum[i] / 2 + x[i];
  for (unsigned k = 0; k < 2; k++) HAPPENS_BEFORE(handle_of(k));
}
static struct starpu_codelet producer = {.cpu_funcs = {produce}, .nbuffers = 1, .modes = {STARPU_W}};
static struct starpu_codelet consumer = {
    .cpu_funcs = {consume}, .nbuffers = 2, .modes = {STARPU_R, STARPU_RW}};

static volatile int hold, holding; /* the tasks occupy a worker until hold is 0 */
static void hold_worker(void *buffers[], void *arg) {
  (void)buffers;
  (void)arg;
  set_flag(&holding, 1);
  while (get_flag(&hold)) starpu_sleep(0.001f);
}
static struct starpu_codelet holder = {.cpu_funcs = {hold_worker}, .nbuffers = 0};
/* Keeps its datum locked until hold is 0. */
static struct starpu_codelet data_holder = {.cpu_funcs = {hold_worker}, .nbuffers = 1, .modes = {STARPU_RW}};

/* ---- Chains -------------------------------------------------------------------------------------------- */

enum { CHAIN = 20, PLANS = 3 };

/* A producer, solves with all plans of the same b, an in-place solve of x with the first plan, and a
 * consumer. The chain waits only at its end. */
static void check_chain(tristar_t *ts, tristar_engine engine, tristar_engine other) {
  flow f, g;
  int seed[CHAIN];
  flow_create(ts, "convdiff3d", 6, engine, 6000, &f);
  flow_create(ts, "convdiff3d", 6, other, 3000, &g);
  const int64_t n = f.view.rows;
  const size_t bytes = (size_t)n * sizeof(double);
  OWNED double *b = xmalloc(bytes), *x = xmalloc(bytes), *y = xmalloc(bytes), *sum = xcalloc(1, bytes),
               *expected = xcalloc(1, bytes);
  for (int k = 0; k < CHAIN; k++) {
    seed[k] = k;
    for (int64_t i = 0; i < n; i++) b[i] = 1 + (double)((i + k) % 7);
    CHECK_OK(tristar_solve(f.plan, TRISTAR_N, 1, b, n, x, n));
    CHECK_OK(tristar_solve(g.plan, TRISTAR_T, 1, b, n, y, n));
    CHECK_OK(tristar_solve(f.plan, TRISTAR_N, 1, x, n, x, n));
    for (int64_t i = 0; i < n; i++) expected[i] = (expected[i] / 2 + x[i]) / 2 + y[i];
  }
  starpu_data_handle_t hb = vector(b, n), hx = vector(x, n), hy = vector(y, n), hsum = vector(sum, n);
  for (int k = 0; k < CHAIN; k++) {
    int *arg = &seed[k];
    CHECK(starpu_task_insert(&producer, STARPU_W, hb, STARPU_CL_ARGS_NFREE, arg, sizeof *arg, 0) == 0);
    CHECK_OK(tristar_solve_insert(f.plan, TRISTAR_N, hb, hx));
    CHECK_OK(tristar_solve_insert(g.plan, TRISTAR_T, hb, hy));
    CHECK_OK(tristar_solve_insert(f.plan, TRISTAR_N, hx, hx));
    CHECK(starpu_task_insert(&consumer, STARPU_R, hx, STARPU_RW, hsum, 0) == 0);
    CHECK(starpu_task_insert(&consumer, STARPU_R, hy, STARPU_RW, hsum, 0) == 0);
  }
  flow_destroy(&g); /* solves of this plan are still in flight */
  CHECK(starpu_data_acquire(hsum, STARPU_R) == 0);
  HAPPENS_AFTER(hsum);
  CHECK(memcmp(sum, expected, bytes) == 0);
  starpu_data_release(hsum);
  starpu_data_unregister(hb);
  starpu_data_unregister(hx);
  starpu_data_unregister(hy);
  starpu_data_unregister(hsum);
  CHECK_OK(tristar_plan_wait(f.plan));
  flow_destroy(&f);
}

/* ---- Many solves, `end` -------------------------------------------------------------------------------- */

enum { STREAMS = 4, EACH = 250 };

/* Each solve inserts the next one. */
static void insert_next(void *arg, tristar_status status) {
  stream *s = arg;
  tristar_insert_options options = DEFAULTS(tristar_insert_options);
  count_end(arg, status);
  if (--s->left <= 0) return;
  options.end = insert_next;
  options.end_arg = s;
  if (tristar_solve_insert_with(s->plan, &options, s->hb, s->hx) != TRISTAR_OK) s->wrong++;
}

static void *insert_many(void *arg) {
  stream *s = arg;
  for (int k = 0; k < 2 * EACH; k++) insert(&s[k % 2], count_end);
  return NULL;
}

/* Two threads, four plans, 1000 solves; then `end` functions that insert further solves. The context is
 * new: in another one, plans whose solves were running when they were destroyed may still free memory. */
static void check_many(void) {
  CLEANUP(close_context) tristar_t *ts = open_with_starpu(0, false);
  static const tristar_engine engines[] = {TRISTAR_ENGINE_TASKS, TRISTAR_ENGINE_SERIAL};
  flow f[STREAMS];
  stream s[STREAMS];
  pthread_t thread[2];
  const size_t before = memory_now(ts);
  for (int k = 0; k < STREAMS; k++) {
    flow_create(ts, "poisson3d7", 5, engines[k == 3], 2000, &f[k]);
    stream_create(f[k].plan, f[k].view.rows, (uint64_t)k, &s[k]);
  }
  for (int t = 0; t < 2; t++) CHECK(pthread_create(&thread[t], NULL, insert_many, &s[2 * t]) == 0);
  for (int t = 0; t < 2; t++) CHECK(pthread_join(thread[t], NULL) == 0);
  for (int k = 0; k < STREAMS; k++) {
    CHECK_OK(tristar_plan_wait(s[k].plan));
    CHECK_MSG(s[k].ended == EACH && s[k].wrong == 0, "stream %d: %d ended, %d wrong", k, s[k].ended,
              s[k].wrong);
  }
  const size_t after_first = memory_now(ts);
  for (int k = 0; k < STREAMS; k++) {
    s[k].left = 50;
    insert(&s[k], insert_next);
  }
  for (int k = 0; k < STREAMS; k++)
    while (__atomic_load_n(&s[k].ended, __ATOMIC_ACQUIRE) < EACH + 50) sched_yield();
  for (int k = 0; k < STREAMS; k++) {
    CHECK_OK(tristar_plan_wait(s[k].plan));
    CHECK(s[k].wrong == 0);
  }
  CHECK(memory_now(ts) < 3 * after_first); /* the pools are bounded */
  for (int k = 0; k < STREAMS; k++) {
    stream_destroy(&s[k]);
    flow_destroy(&f[k]);
  }
  CHECK(memory_now(ts) == before);
}

/* ---- Limits, foreign tasks ----------------------------------------------------------------------------- */

/* A task that inserts solves: with a limit that is reached, and without a limit. */
static tristar_status status_in_task[3];
static void insert_in_task(void *buffers[], void *arg) {
  stream *s = *(void **)arg;
  tristar_insert_options options = DEFAULTS(tristar_insert_options);
  (void)buffers;
  options.in_flight = 1;
  status_in_task[0] = tristar_solve_insert_with(s->plan, &options, s->hb, s->hx);
  status_in_task[1] = tristar_solve_insert(s->plan, TRISTAR_N, s->hb, s->hx);
  status_in_task[2] = tristar_plan_wait(s->plan);
}
static struct starpu_codelet inserter = {.cpu_funcs = {insert_in_task}, .nbuffers = 0};

static void check_limit(const flow *f) {
  CLEANUP(stream_destroy) stream s;
  tristar_insert_options options = DEFAULTS(tristar_insert_options);
  tristar_plan_stats stats;
  stream_create(f->plan, f->view.rows, 1, &s);
  set_flag(&hold, 1);
  CHECK(starpu_task_insert(&data_holder, STARPU_RW, s.hb, 0) == 0);
  tristar_plan_get_stats(f->plan, &stats);
  const int64_t solves = stats.solves;
  options.in_flight = 2;
  options.busy = 1;
  CHECK_OK(tristar_solve_insert_with(f->plan, &options, s.hb, s.hx));
  CHECK_OK(tristar_solve_insert_with(f->plan, &options, s.hb, s.hx));
  CHECK_STATUS(tristar_solve_insert_with(f->plan, &options, s.hb, s.hx), TRISTAR_ERR_BUSY);
  void *arg = &s;
  struct starpu_task *task = submit(&inserter, &arg);
  CHECK(starpu_task_wait(task) == 0); /* runs on the second worker */
  CHECK_STATUS(status_in_task[0], TRISTAR_ERR_BUSY);
  CHECK_OK(status_in_task[1]);
  CHECK_STATUS(status_in_task[2], TRISTAR_ERR_UNSUPPORTED);
  tristar_plan_get_stats(f->plan, &stats);
  CHECK(stats.solves == solves); /* no solve has run, and no call has waited */
  set_flag(&hold, 0);
  options.busy = 0; /* the call waits until fewer solves are in flight */
  CHECK_OK(tristar_solve_insert_with(f->plan, &options, s.hb, s.hx));
  CHECK_OK(tristar_plan_wait(f->plan));
  CHECK(memcmp(s.x, s.expected, (size_t)s.n * sizeof(double)) == 0);
  tristar_plan_get_stats(f->plan, &stats);
  CHECK(stats.solves == solves + 4);
}

/* Nothing waits for a foreign task that never ends. */
static void check_foreign(void) {
  flow f;
  stream s;
  set_flag(&hold, 1);
  set_flag(&holding, 0);
  struct starpu_task *foreign = submit(&holder, NULL);
  while (!get_flag(&holding)) sched_yield();
  tristar_t *ts = open_with_starpu(0, false);
  flow_create(ts, "poisson3d7", 6, TRISTAR_ENGINE_TASKS, 3000, &f);
  stream_create(f.plan, f.view.rows, 3, &s);
  for (int k = 0; k < 5; k++) insert(&s, count_end);
  flow_destroy(&f);
  tristar_destroy(&ts); /* waits for the pending solves */
  CHECK(s.ended == 5 && s.wrong == 0);
  CHECK(!starpu_task_finished(foreign));
  stream_destroy(&s);
  set_flag(&hold, 0);
  CHECK(starpu_task_wait(foreign) == 0);
}

/* ---- Scheduling contexts ------------------------------------------------------------------------------- */

/* A solve that is inserted in a scheduling context runs on the one worker of this context. Other solves of
 * the plan may use other contexts. */
static void check_context(const flow *f) {
  int worker = 0;
  const unsigned all = 0;
  CLEANUP(stream_destroy) stream s;
  const unsigned one = starpu_sched_ctx_create(&worker, 1, "one", STARPU_SCHED_CTX_POLICY_NAME, "eager", 0);
  stream_create(f->plan, f->view.rows, 3, &s);
  for (int k = 0; k < 10; k++) {
    starpu_sched_ctx_set_context((unsigned *)(k % 2 ? &all : &one));
    insert(&s, count_end);
  }
  CHECK_OK(tristar_plan_wait(f->plan));
  CHECK(s.ended == 10 && s.wrong == 0);
  /* while its worker is occupied, no solve of the context runs */
  struct starpu_task *task = starpu_task_create();
  task->cl = &holder;
  task->detach = 0;
  set_flag(&hold, 1);
  set_flag(&holding, 0);
  CHECK(starpu_task_submit_to_ctx(task, one) == 0);
  while (!get_flag(&holding)) sched_yield();
  starpu_sched_ctx_set_context((unsigned *)&one);
  insert(&s, count_end);
  starpu_sleep(0.01f);
  CHECK(__atomic_load_n(&s.ended, __ATOMIC_ACQUIRE) == 10);
  set_flag(&hold, 0);
  CHECK(starpu_task_wait(task) == 0);
  CHECK_OK(tristar_plan_wait(f->plan));
  CHECK(s.ended == 11 && s.wrong == 0);
  starpu_sched_ctx_set_context((unsigned *)&all);
  starpu_sched_ctx_delete(one); /* the plan no longer needs the context */
  insert(&s, count_end);
  CHECK_OK(tristar_plan_wait(f->plan));
  CHECK(s.ended == 12 && s.wrong == 0);
}

/* ---- Started solves with `end` ------------------------------------------------------------------------- */

static void check_started(const flow *f) {
  static const int64_t counts[] = {0, 1, 70, 200};
  const int64_t n = f->view.rows;
  OWNED double *b = xmalloc((size_t)(200 * n) * sizeof *b), *x = xmalloc((size_t)(200 * n) * sizeof *x),
               *expected = xmalloc((size_t)(200 * n) * sizeof *x);
  fill_random(b, 200 * n, 6);
  for (int k = 0; k < 4; k++) {
    tristar_solve_options options = DEFAULTS(tristar_solve_options);
    tristar_request_t *request;
    end_result t = {0, TRISTAR_ERR_INTERNAL};
    int done = 0;
    CHECK_OK(tristar_solve(f->plan, TRISTAR_T, counts[k], b, n, expected, n));
    options.op = TRISTAR_T;
    options.end = record_end;
    options.end_arg = &t;
    CHECK_OK(tristar_solve_start(f->plan, &options, counts[k], b, x, &request));
    if (k == 2)
      while (!done) CHECK_OK(tristar_test(request, &done));
    if (k == 3) CHECK_OK(tristar_plan_wait(f->plan));
    CHECK_OK(tristar_wait(&request, NULL));
    CHECK(t.calls == 1 && t.status == TRISTAR_OK);
    CHECK(memcmp(x, expected, (size_t)(counts[k] * n) * sizeof *x) == 0);
    t.calls = 0;
    CHECK_STATUS(tristar_solve_start(f->plan, &options, -1, b, x, &request), TRISTAR_ERR_ARGUMENT);
    CHECK(t.calls == 0);
  }
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  flow f;
  CHECK(starpu_init(NULL) == 0);
  tristar_t *ts = open_with_starpu(0, false);
  RUN(check_chain(ts, TRISTAR_ENGINE_TASKS, TRISTAR_ENGINE_TASKS));
  RUN(check_chain(ts, TRISTAR_ENGINE_TASKS, TRISTAR_ENGINE_SERIAL));
  RUN(check_many());
  if (starpu_cpu_worker_get_count() > 1) RUN(check_foreign());
  for (int serial = 0; serial < 2; serial++) {
    flow_create(ts, "convdiff3d", 5, serial ? TRISTAR_ENGINE_SERIAL : TRISTAR_ENGINE_TASKS, 4000, &f);
    RUN(check_started(&f));
    if (starpu_cpu_worker_get_count() > 1) RUN(check_limit(&f));
    RUN(check_context(&f));
    flow_destroy(&f);
  }
  close_context(&ts);
  starpu_shutdown();
  return 0;
}
