/* Idle workers sleep if TriStar has started StarPU, and only then. Solves, tasks of the program, other
 * contexts and the end of StarPU wake them up; results have the same bits. The test does not depend on speed:
 * linked with --wrap, it counts the checks of the thread that puts workers to sleep, and naps. */
#include <pthread.h>
#include <starpu.h>

#include "runtime/context/context.h"
#include "tests/support/flow.h"
#include "tests/support/host_task.h"
#include "tests/support/looks.h"
#include "tests/support/subtests.h"
#include "tristar_solve.h"

enum { PAUSES = 8, THREADS = 2, NAPS = 10 };

static void create(int idle_sleep, tristar_t **ts) {
  tristar_config config = DEFAULTS(tristar_config);
  CHECK(config.idle_sleep < 0);
  config.idle_sleep = idle_sleep;
  CHECK_OK(tristar_create(&config, ts));
}

static void check_never_asleep(void) {
  for (int k = 0; k < 20; k++) {
    starpu_sleep(0.001f);
    CHECK(!tsi_idle_asleep());
  }
}

/* ---- Wake up ------------------------------------------------------------------------------------------- */

typedef struct system {
  flow f;
  int64_t n;
  double *b, *expected;
} system_t;

static void system_create(tristar_t *ts, system_t *s) {
  flow_create(ts, "poisson3d7", 8, TRISTAR_ENGINE_TASKS, 3000, &s->f);
  s->n = s->f.view.rows;
  s->b = xmalloc((size_t)s->n * sizeof *s->b);
  s->expected = xmalloc((size_t)s->n * sizeof *s->expected);
  fill_random(s->b, s->n, 4);
  CHECK_OK(tristar_solve(s->f.plan, TRISTAR_N, 1, s->b, s->n, s->expected, s->n));
}

static void system_destroy(system_t *s) {
  free(s->b);
  free(s->expected);
  flow_destroy(&s->f);
}

static void solve(const system_t *s) {
  OWNED double *x = xmalloc((size_t)s->n * sizeof *x);
  CHECK_OK(tristar_solve(s->f.plan, TRISTAR_N, 1, s->b, s->n, x, s->n));
  CHECK(memcmp(x, s->expected, (size_t)s->n * sizeof *x) == 0);
}

static void count_run(void *buffers[], void *arg) {
  (void)buffers;
  __atomic_add_fetch((int *)arg, 1, __ATOMIC_RELEASE);
}
static struct starpu_codelet codelet = {.cpu_funcs = {count_run}, .nbuffers = 0};

static void check_pauses(const system_t *s) {
  int runs = 0;
  for (int k = 0; k < PAUSES; k++) {
    wait_until_asleep();
    solve(s);
    solve(s);
    wait_until_asleep();
    CHECK(starpu_task_wait(submit(&codelet, &runs)) == 0); /* a task of the program */
    CHECK(__atomic_load_n(&runs, __ATOMIC_ACQUIRE) == k + 1);
  }
}

/* A request in flight does not keep workers awake after its tasks have ended. It can be awaited later. */
static void check_request(const system_t *s) {
  tristar_request_t *request;
  OWNED double *x = xmalloc((size_t)s->n * sizeof *x);
  CHECK_OK(tristar_solve_start(s->f.plan, NULL, 1, s->b, x, &request));
  wait_until_asleep();
  CHECK_OK(tristar_wait(&request, NULL));
  CHECK(memcmp(x, s->expected, (size_t)s->n * sizeof *x) == 0);
}

/* With two holds the workers stay awake until both are released. */
static void check_hold(const system_t *s) {
  wait_until_asleep();
  tsi_idle_hold();
  check_held();
  tsi_idle_hold();
  solve(s);
  check_held();
  tsi_idle_release();
  check_held();
  tsi_idle_release();
  wait_until_asleep();
}

/* Threads that hold the workers may dismiss them temporarily. After two calls the workers sleep until both
 * threads have called them back. */
static void check_dismissed(const system_t *s) {
  tsi_idle_hold();
  check_held();
  tsi_idle_dismiss();
  wait_until_asleep();
  tsi_idle_dismiss();
  solve(s);
  wait_until_asleep();
  tsi_idle_recall();
  wait_until_asleep();
  tsi_idle_recall();
  check_held();
  tsi_idle_release();
  wait_until_asleep();
}

static void *solve_with_pauses(void *arg) {
  for (int k = 0; k < PAUSES; k++) {
    solve(arg);
    starpu_sleep(0.001f * (float)k);
  }
  return NULL;
}

static void check_threads(system_t *s) {
  pthread_t thread[THREADS];
  for (int t = 0; t < THREADS; t++) CHECK(pthread_create(&thread[t], NULL, solve_with_pauses, s) == 0);
  for (int t = 0; t < THREADS; t++) CHECK(pthread_join(thread[t], NULL) == 0);
}

/* A second context shares the StarPU of the first one. Its solves also wake the workers. */
static void check_second_context(void) {
  tristar_t *ts;
  system_t s;
  create(1, &ts);
  wait_until_asleep();
  system_create(ts, &s);
  check_pauses(&s);
  system_destroy(&s);
  tristar_destroy(&ts);
  wait_until_asleep();
}

/* ---- Who sleeps ---------------------------------------------------------------------------------------- */

static void check_asleep(void) {
  tristar_t *ts;
  system_t s;
  double seconds;
  create(1, &ts);
  CHECK_OK(tsi_context_need_starpu(ts, &seconds));
  CHECK(tsi_idle_asleep()); /* workers sleep from the beginning */
  system_create(ts, &s);
  check_pauses(&s);
  check_request(&s);
  check_hold(&s);
  check_dismissed(&s);
  check_threads(&s);
  check_second_context();
  wait_until_asleep();
  system_destroy(&s); /* StarPU stops while its workers sleep */
  tristar_destroy(&ts);
  CHECK(!tsi_idle_asleep() && !starpu_is_initialized());
}

/* No thread checks for idle workers, so no worker is put to sleep. */
static void check_awake(int idle_sleep) {
  tristar_t *ts;
  system_t s;
  const int before = atomic_load(&looks);
  create(idle_sleep, &ts);
  system_create(ts, &s);
  check_never_asleep();
  solve(&s);
  system_destroy(&s);
  tristar_destroy(&ts);
  CHECK(atomic_load(&looks) == before);
}

static int naps; /* number of calls of nanosleep by workers */

int __real_nanosleep(const struct timespec *time, struct timespec *rest);
int __wrap_nanosleep(const struct timespec *time, struct timespec *rest);
int __wrap_nanosleep(const struct timespec *time, struct timespec *rest) {
  if (starpu_worker_get_id() >= 0) __atomic_add_fetch(&naps, 1, __ATOMIC_RELAXED);
  return __real_nanosleep(time, rest);
}

/* A long task of one worker. It ends when others have napped, or after *arg milliseconds. */
static void last(void *buffers[], void *arg) {
  (void)buffers;
  const int before = __atomic_load_n(&naps, __ATOMIC_RELAXED);
  for (int k = 0; k < *(int *)arg && __atomic_load_n(&naps, __ATOMIC_RELAXED) < before + NAPS; k++)
    starpu_sleep(0.001f);
}
static struct starpu_codelet lasting = {.cpu_funcs = {last}, .nbuffers = 0};

/* With "doze" the other workers nap during a task, also while they are held. Results have the same bits. */
static void check_doze(bool doze) {
  tristar_t *ts;
  system_t s;
  int most = doze ? 60000 : 20;
  setenv("TRISTAR_IDLE", doze ? "doze" : "sleep", 1);
  create(-1, &ts);
  system_create(ts, &s);
  const int before = __atomic_load_n(&naps, __ATOMIC_RELAXED);
  CHECK(starpu_task_wait(submit(&lasting, &most)) == 0);
  CHECK((__atomic_load_n(&naps, __ATOMIC_RELAXED) >= before + NAPS) == doze);
  tsi_idle_hold();
  const int held = __atomic_load_n(&naps, __ATOMIC_RELAXED);
  CHECK(starpu_task_wait(submit(&lasting, &most)) == 0);
  CHECK((__atomic_load_n(&naps, __ATOMIC_RELAXED) >= held + NAPS) == doze);
  tsi_idle_release();
  check_pauses(&s);
  check_threads(&s);
  system_destroy(&s);
  tristar_destroy(&ts);
  unsetenv("TRISTAR_IDLE");
}

static void check_variable(void) {
  tristar_t *ts;
  tristar_config config = DEFAULTS(tristar_config);
  setenv("TRISTAR_IDLE", "poll", 1);
  check_awake(-1);
  setenv("TRISTAR_IDLE", "snore", 1);
  CHECK_STATUS(tristar_create(&config, &ts), TRISTAR_ERR_ARGUMENT);
  CHECK(ts == NULL);
  config.idle_sleep = 0; /* then the variable is not read */
  CHECK_OK(tristar_create(&config, &ts));
  tristar_destroy(&ts);
  setenv("TRISTAR_IDLE", "", 1);
  CHECK_OK(tristar_create(NULL, &ts));
  tristar_destroy(&ts);
  unsetenv("TRISTAR_IDLE");
}

static unsigned do_nothing(void *arg) {
  (void)arg;
  return 1;
}

/* The program has its own progression hook, which workers poll. Then it is not defined whether workers
 * sleep. */
static void check_own_hook(void) {
  tristar_t *ts;
  system_t s;
  create(1, &ts);
  system_create(ts, &s);
  const int hook = starpu_progression_hook_register(do_nothing, NULL);
  CHECK(hook >= 0);
  for (int k = 0; k < 3; k++) {
    starpu_sleep(0.004f);
    solve(&s);
  }
  system_destroy(&s);
  tristar_destroy(&ts);
  starpu_progression_hook_deregister(hook);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  RUN(check_variable());
  RUN(check_asleep());
  RUN(check_awake(0));
  RUN(check_own_hook());
  RUN(check_doze(false));
  RUN(check_doze(true));
  RUN(check_doze(false));
  RUN(check_asleep());
  CHECK(starpu_init(NULL) == 0); /* the program started StarPU, so its settings hold */
  RUN(check_awake(1));
  CHECK(starpu_is_initialized());
  starpu_shutdown();
  return 0;
}
