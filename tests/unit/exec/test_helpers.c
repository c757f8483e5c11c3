/* Workers that help: workers that poll or sleep accept offers, and no worker is inside work that was
 * withdrawn. Solves of a triangle have the bits of a serial solve: with help, from one to three threads at a
 * time and from inside a StarPU task, with an owned or borrowed StarPU whose workers sleep or poll. Plans and
 * contexts can be destroyed right after a solve, and all memory is freed. Helpers delay neither tasks of the
 * program nor other contexts. Linked with --wrap, to count the offers of solves. */
#include <pthread.h>
#include <sched.h>
#include <starpu.h>
#include <stdatomic.h>

#include "runtime/exec/starpu/helpers.h"
#include "runtime/exec/starpu/idle.h"
#include "runtime/factor/factor.h"
#include "runtime/rows/row_factor.h"
#include "tests/support/host_task.h"
#include "tests/support/random.h"
#include "tests/support/subtests.h"
#include "tristar_machine.h"
#include "tristar_matrix.h"
#include "tristar_stats.h"

enum {
  SIZE = TSI_TESTS_RACES ? 22 : 26,
  THREADS = 3,
  SOLVES = TSI_TESTS_RACES ? 8 : 40,
  OFFERS = TSI_TESTS_SANITIZED ? 100 : 1000
};

static atomic_int offers; /* number of accepted offers of solves */

bool __real_tsi_helpers_offer(tsi_helpers *helpers, int most, tsi_help help, void *arg);
bool __wrap_tsi_helpers_offer(tsi_helpers *helpers, int most, tsi_help help, void *arg);
bool __wrap_tsi_helpers_offer(tsi_helpers *helpers, int most, tsi_help help, void *arg) {
  const bool stands = __real_tsi_helpers_offer(helpers, most, help, arg);
  atomic_fetch_add(&offers, stands);
  return stands;
}

static void create(int idle_sleep, tristar_t **ts) {
  tristar_config config = DEFAULTS(tristar_config);
  config.idle_sleep = idle_sleep;
  CHECK_OK(tristar_create(&config, ts));
}

/* ---- Offers -------------------------------------------------------------------------------------------- */

/* Belongs to the thread that offers, which frees it as soon as the offer is withdrawn. */
typedef struct job {
  atomic_int entered, stay; /* stay: helpers must not return yet */
} job;

static void work(void *arg, int number, int worker) {
  job *j = arg;
  CHECK(number >= 1 && worker >= 0);
  atomic_fetch_add(&j->entered, 1);
  while (atomic_load(&j->stay)) sched_yield();
}

/* A worker helps, awake or asleep. If none does, the test hangs until its time limit. */
static void check_offer_taken_up(tsi_helpers *helpers) {
  job j = {0};
  atomic_store(&j.stay, 1);
  CHECK(__real_tsi_helpers_offer(helpers, TSI_HELPERS, work, &j));
  CHECK(!__real_tsi_helpers_offer(helpers, TSI_HELPERS, work, &j)); /* only one offer at a time is accepted */
  while (atomic_load(&j.entered) == 0) sched_yield();
  tsi_helpers_take_back(helpers);
  atomic_store(&j.stay, 0);
  tsi_helpers_leave(helpers, &j);
}

/* Offers are made and withdrawn in random intervals, and their data is freed at once. */
static void check_offers_left(tsi_helpers *helpers) {
  uint64_t seed = 1;
  for (int k = 0; k < OFFERS; k++) {
    job *j = xcalloc(1, sizeof *j);
    if (__real_tsi_helpers_offer(helpers, 1, work, j)) {
      for (uint64_t spin = next_random(&seed) % 2000; spin > 0 && atomic_load(&j->entered) == 0; spin--)
        continue;
      tsi_helpers_take_back(helpers);
    }
    tsi_helpers_leave(helpers, j);
    free(j);
    if (k % 100 == 0) starpu_sleep(0.001f); /* until helpers return to StarPU */
  }
}

static void do_nothing(void *buffers[], void *arg) {
  (void)buffers;
  (void)arg;
}
static struct starpu_codelet nothing = {.cpu_funcs = {do_nothing}, .nbuffers = 0};

/* Runs one task on each worker. */
static void check_workers_run_tasks(void) {
  for (unsigned w = 0; w < starpu_worker_get_count(); w++) {
    struct starpu_task *task = starpu_task_create();
    task->cl = &nothing;
    task->detach = 0;
    task->execute_on_a_specific_worker = 1;
    task->workerid = w;
    CHECK(starpu_task_submit(task) == 0);
    CHECK(starpu_task_wait(task) == 0);
  }
}

typedef struct offerer {
  pthread_t thread;
  tsi_helpers *helpers;
  atomic_bool stop;
} offerer;

static void *offer_endlessly(void *arg) {
  offerer *o = arg;
  job j = {0};
  while (!atomic_load(&o->stop)) {
    if (__real_tsi_helpers_offer(o->helpers, TSI_HELPERS, work, &j)) tsi_helpers_take_back(o->helpers);
  }
  tsi_helpers_leave(o->helpers, &j);
  return NULL;
}

/* Helpers return to StarPU even if offers follow each other without a pause. */
static void check_offers_go_on(tsi_helpers *helpers) {
  offerer o = {.helpers = helpers};
  CHECK(pthread_create(&o.thread, NULL, offer_endlessly, &o) == 0);
  for (int k = 0; k < 3; k++) {
    starpu_sleep(0.002f);
    check_workers_run_tasks();
  }
  atomic_store(&o.stop, true);
  CHECK(pthread_join(o.thread, NULL) == 0);
}

/* ---- Solves -------------------------------------------------------------------------------------------- */

/* The lower triangle of a matrix, b, and x of serial solves. */
typedef struct system {
  tristar_t *ts;
  tristar_matrix_t *matrix;
  tristar_factor_t *factor;
  int64_t n;
  double *b, *expected[2]; /* expected: for TRISTAR_N, TRISTAR_T */
} system_t;

static const tristar_op ops[2] = {TRISTAR_N, TRISTAR_T};

static tristar_plan_t *plan_of(const system_t *s, tristar_engine engine) {
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  tristar_plan_stats stats;
  options.engine = engine;
  tristar_plan_t *plan = NEW_PLAN(s->factor, &options);
  CHECK_OK(tristar_plan_get_stats(plan, &stats));
  CHECK_MSG(strcmp(stats.scheduler, engine == TRISTAR_ENGINE_SERIAL ? "serial" : "lanes") == 0, "%s",
            stats.scheduler);
  return plan;
}

static void system_create(int idle_sleep, system_t *s) {
  tristar_triangle_options options = DEFAULTS(tristar_triangle_options);
  create(idle_sleep, &s->ts);
  tristar_view view = generated_view(s->ts, "poisson3d7", SIZE, &s->matrix);
  options.partition = TRISTAR_PARTITION_SUPERSTEPS;
  CHECK_OK(tristar_import_triangle(s->ts, &view, &options, &s->factor));
  s->n = view.rows;
  s->b = xmalloc((size_t)s->n * sizeof *s->b);
  fill_random(s->b, s->n, 7);
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = plan_of(s, TRISTAR_ENGINE_SERIAL);
  for (int k = 0; k < 2; k++) {
    s->expected[k] = xmalloc((size_t)s->n * sizeof *s->b);
    CHECK_OK(tristar_solve(plan, ops[k], 1, s->b, s->n, s->expected[k], s->n));
  }
}

static void system_destroy(system_t *s) {
  tristar_factor_destroy(&s->factor);
  tristar_matrix_destroy(&s->matrix);
  tristar_destroy(&s->ts);
  free(s->b);
  free(s->expected[0]);
  free(s->expected[1]);
}

static void solve(const system_t *s, tristar_plan_t *plan, int solves) {
  const size_t bytes = (size_t)s->n * sizeof(double);
  OWNED double *x = xmalloc(bytes);
  for (int k = 0; k < solves; k++) {
    const int op = k / 4 % 2;
    memset(x, 0xff, bytes);
    CHECK_OK(tristar_solve(plan, ops[op], 1, s->b, s->n, x, s->n));
    CHECK_MSG(memcmp(x, s->expected[op], bytes) == 0, "solve %d: other bits", k);
  }
}

/* plan NULL: each thread creates several plans of its own, for a few solves each. */
typedef struct caller {
  pthread_t thread;
  const system_t *s;
  tristar_plan_t *plan;
} caller;

static void solve_as(const caller *c) {
  if (c->plan != NULL) {
    solve(c->s, c->plan, SOLVES);
    return;
  }
  for (int k = 0; k < SOLVES; k += SOLVES / 4) {
    CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = plan_of(c->s, TRISTAR_ENGINE_AUTO);
    solve(c->s, plan, k % 3 == 0 ? 1 : SOLVES / 4);
  }
}

static void *run_thread(void *arg) {
  solve_as(arg);
  return NULL;
}

static void run_task(void *buffers[], void *arg) {
  caller *c;
  (void)buffers;
  starpu_codelet_unpack_args(arg, &c);
  solve_as(c);
}
static struct starpu_codelet codelet = {.cpu_funcs = {run_task}, .nbuffers = 0};

static void check_task(caller *c) {
  CHECK(starpu_task_insert(&codelet, STARPU_VALUE, &c, sizeof c, 0) == 0);
  CHECK(starpu_task_wait_for_all() == 0);
}

static size_t memory_of(const system_t *s) {
  tristar_memory_stats stats;
  CHECK_OK(tristar_get_memory(s->ts, &stats));
  return stats.current_bytes;
}

/* Makes the streams for one core, which a solve makes after many refused offers. The factor keeps them. */
static void make_plain(const system_t *s) {
  for (int backward = 0; backward < 2; backward++) {
    const tsi_row_sweep *sweep;
    CHECK(tsi_row_factor_has_plain(s->factor->rows));
    CHECK_OK(tsi_row_factor_plain(&s->ts->env, s->factor->rows, backward, true, &sweep));
  }
}

static void check_solves(const system_t *s) {
  make_plain(s);
  const size_t before = memory_of(s);
  const int first = atomic_load(&offers);
  for (int shared = 0; shared < 2; shared++) {
    CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = shared ? plan_of(s, TRISTAR_ENGINE_AUTO) : NULL;
    caller callers[THREADS];
    for (int threads = TSI_TESTS_RACES ? THREADS : 1; threads <= THREADS; threads++) {
      for (int t = 0; t < threads; t++) {
        callers[t].s = s;
        callers[t].plan = plan;
        CHECK(pthread_create(&callers[t].thread, NULL, run_thread, &callers[t]) == 0);
      }
      for (int t = 0; t < threads; t++) CHECK(pthread_join(callers[t].thread, NULL) == 0);
    }
    check_task(&callers[0]);
  }
  CHECK(memory_of(s) == before);
  CHECK(atomic_load(&offers) > first);
}

/* Plan, context and StarPU end directly after a solve, without a wait. */
static void check_ends(int idle_sleep) {
  for (int k = 0; k < 2; k++) {
    CLEANUP(system_destroy) system_t s;
    system_create(idle_sleep, &s);
    CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = plan_of(&s, TRISTAR_ENGINE_AUTO);
    solve(&s, plan, 1 + 2 * k);
  }
}

static void free_helpers(tsi_helpers *helpers) {
  free(helpers);
}

/* StarPU of s runs. idle_sleep: its workers sleep when they are idle. */
static void check_offers(const system_t *s, bool idle_sleep) {
  tsi_helpers *helpers = aligned_alloc(_Alignof(tsi_helpers), sizeof *helpers);
  tristar_plan_t *plan = plan_of(s, TRISTAR_ENGINE_AUTO);
  CHECK(helpers != NULL);
  tristar_plan_destroy(&plan);
  tsi_helpers_init(helpers, free_helpers);
  for (int k = 0; k < 3; k++) {
    while (idle_sleep && !tsi_idle_asleep()) starpu_sleep(0.001f);
    check_offer_taken_up(helpers);
  }
  check_offers_left(helpers);
  check_offers_go_on(helpers);
  check_offer_taken_up(helpers);
  tsi_helpers_close(helpers);
  tsi_helpers_release(helpers);
}

static void check_all(int idle_sleep) {
  system_t s;
  system_create(idle_sleep, &s);
  check_offers(&s, idle_sleep == 1);
  check_solves(&s);
  system_destroy(&s);
  check_ends(idle_sleep);
}

/* ---- Others -------------------------------------------------------------------------------------------- */

/* A thread that solves until it is stopped. */
typedef struct endless {
  pthread_t thread;
  system_t s;
  atomic_bool runs, stop;
} endless;

static void *solve_endlessly(void *arg) {
  endless *e = arg;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = plan_of(&e->s, TRISTAR_ENGINE_AUTO);
  while (!atomic_load(&e->stop)) {
    solve(&e->s, plan, 8);
    atomic_store(&e->runs, true); /* now StarPU runs */
  }
  return NULL;
}

/* While one context solves without a pause, the workers also run other tasks, and other contexts end. */
static void check_nobody_starves(void) {
  endless e = {.thread = 0};
  system_create(1, &e.s);
  CHECK(pthread_create(&e.thread, NULL, solve_endlessly, &e) == 0);
  while (!atomic_load(&e.runs)) (void)sched_yield();
  check_ends(1);
  check_workers_run_tasks();
  atomic_store(&e.stop, true);
  CHECK(pthread_join(e.thread, NULL) == 0);
  system_destroy(&e.s);
}

static volatile int release_foreign;
static void wait_for_release(void *buffers[], void *arg) {
  (void)buffers;
  (void)arg;
  while (!get_flag(&release_foreign)) starpu_sleep(0.001f);
}
static struct starpu_codelet foreign = {.cpu_funcs = {wait_for_release}, .nbuffers = 0};

/* While all workers run tasks of the program they do not help, and no solve waits for them. */
static void check_busy_workers(void) {
  enum { MOST = 64 };
  struct starpu_task *task[MOST];
  const unsigned workers = starpu_worker_get_count();
  CHECK(workers <= MOST);
  set_flag(&release_foreign, 0);
  for (unsigned w = 0; w < workers; w++) {
    task[w] = starpu_task_create();
    task[w]->cl = &foreign;
    task[w]->detach = 0;
    task[w]->execute_on_a_specific_worker = 1;
    task[w]->workerid = w;
    CHECK(starpu_task_submit(task[w]) == 0);
  }
  check_ends(-1);
  check_ends(-1);
  set_flag(&release_foreign, 1);
  for (unsigned w = 0; w < workers; w++) CHECK(starpu_task_wait(task[w]) == 0);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  for (int idle_sleep = 0; idle_sleep < 2; idle_sleep++) RUN(check_all(idle_sleep));
  RUN(check_nobody_starves());
  CHECK(starpu_init(NULL) == 0); /* the library borrows StarPU */
  RUN(check_all(-1));
  RUN(check_nobody_starves());
  RUN(check_busy_workers());
  CHECK(starpu_is_initialized());
  starpu_shutdown();
  return 0;
}
