/* A child of fork() neither hangs nor crashes. Objects of its parent are refused, and destroyed without
 * effect; its own contexts work; the parent continues. */
#include <pthread.h>
#include <starpu.h>
#include <stdatomic.h>

#include "tests/support/objects.h"
#include "tests/support/subtests.h"
#include "tristar_adapter.h"
#include "tristar_starpu.h"
#include "tristar_machine.h"

static atomic_int warnings;

static void count_warnings(void *arg, tristar_log_level level, const char *text) {
  (void)arg;
  if (level == TRISTAR_LOG_WARNING && strstr(text, "fork()") != NULL) atomic_fetch_add(&warnings, 1);
}

static tristar_t *make(bool starpu) {
  tristar_config config = DEFAULTS(tristar_config);
  tristar_t *ts;
  config.use_starpu = starpu;
  config.log = count_warnings;
  config.log_level = TRISTAR_LOG_WARNING;
  CHECK_OK(tristar_create(&config, &ts));
  return ts;
}

/* ---- What a child does --------------------------------------------------------------------------------- */

/* All calls that compute are refused, whatever they need. */
static void expect_refusals(objects *o) {
  char message[512];
  tristar_starpu_info info;
  tristar_memory_stats memory;
  tristar_plan_stats stats;
  tristar_view view;
  int done;
  use_objects(o, TRISTAR_ERR_UNSUPPORTED);
  CHECK_STATUS(tristar_refactor(o->factor, o->values), TRISTAR_ERR_UNSUPPORTED);
  CHECK_ERROR(o->ts, "fork()");
  CHECK_STATUS(tristar_test(o->request, &done), TRISTAR_ERR_UNSUPPORTED);
  CHECK_STATUS(tristar_plan_wait(o->plan), TRISTAR_ERR_UNSUPPORTED);
  CHECK_STATUS(tristar_precond_update(o->ilu, &o->view), TRISTAR_ERR_UNSUPPORTED);
  CHECK_STATUS(tristar_krylov_update_values(o->krylov, o->values), TRISTAR_ERR_UNSUPPORTED);
  CHECK_STATUS(tristar_get_starpu(o->ts, &info), TRISTAR_ERR_UNSUPPORTED);
  CHECK_STATUS(tristar_adapter_check(o->ts), TRISTAR_ERR_UNSUPPORTED);
  CHECK(!tristar_get_worker(o->ts, 0, message, sizeof message, NULL));
  CHECK_OK(tristar_get_memory(o->ts, &memory)); /* calls that only copy succeed */
  CHECK_OK(tristar_plan_get_stats(o->plan, &stats));
  CHECK_OK(tristar_matrix_get_view(o->matrix, &view));
  CHECK(memory.current_bytes > 0 && stats.chunks > 0 && view.rows == o->n);
}

static void expect_destruction(objects *o, uint64_t seed) {
  int kind[OBJECT_KINDS];
  shuffle_kinds(seed, OBJECT_KINDS, kind);
  for (int k = 0; k < OBJECT_KINDS; k++) destroy_object(o, (object_kind)kind[k], TRISTAR_ERR_UNSUPPORTED);
  CHECK(o->ts == NULL && o->plan == NULL && o->factor == NULL && o->dense.values == NULL);
}

/* Creates all objects in a new context of the child. can: the child may start StarPU. */
static void expect_new_context(bool starpu, bool can) {
  CLEANUP(free_arrays) objects own;
  tristar_starpu_info info;
  atomic_store(&warnings, 0);
  tristar_t *ts = make(starpu);
  CHECK(atomic_load(&warnings) == (starpu && !can));
  CHECK_STATUS(tristar_get_starpu(ts, &info), starpu && can ? TRISTAR_OK : TRISTAR_ERR_UNSUPPORTED);
  make_objects(ts, starpu && can, &own);
  check_solution(&own, own.plan);
  check_solution(&own, own.serial_plan);
  destroy_object(&own, REQUEST, TRISTAR_OK);
  destroy_object(&own, ENDING_REQUEST, TRISTAR_OK);
  CHECK_OK(tristar_refactor(own.factor, own.values));
  use_objects(&own, TRISTAR_OK);
  for (int k = 0; k < OBJECT_KINDS; k++) destroy_object(&own, (object_kind)k, TRISTAR_OK);
}

typedef enum child_work {
  REFUSALS,
  DESTRUCTION,
  NEW_SERIAL,
  NEW_STARPU,
  GRANDCHILD,
  ALL,
  EXIT,
  WORKS
} child_work;

static void run_child(child_work what, objects *o, bool can);

static void work_in_child(child_work what, objects *o, bool can) {
  if (o != NULL && (what == REFUSALS || what == ALL)) expect_refusals(o);
  if (what == NEW_SERIAL || what == ALL) expect_new_context(false, can);
  if (what == NEW_STARPU || what == ALL) expect_new_context(true, can);
  if (what == GRANDCHILD) {
    objects own;
    make_objects(make(false), false, &own);
    run_child(REFUSALS, &own, can);
    run_child(ALL, o, can);
    check_solution(&own, own.plan);
  }
  if (o != NULL && (what == DESTRUCTION || what == ALL)) expect_destruction(o, (uint64_t)getpid());
}

/* The child ends without the leak sanitizer, which would report memory that only threads of the parent can
 * reach. */
static void run_child(child_work what, objects *o, bool can) {
  int status;
  fflush(NULL);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(60);
    work_in_child(what, o, can);
    if (what == EXIT && !TSI_TESTS_SANITIZED) exit(0);
    _exit(0);
  }
  CHECK(waitpid(child, &status, 0) == child);
  CHECK_MSG(!WIFSIGNALED(status), "work %d: signal %d (14: it hangs)", (int)what, WTERMSIG(status));
  CHECK_MSG(WEXITSTATUS(status) == 0, "work %d: status %d", (int)what, WEXITSTATUS(status));
}

/* ---- Parents ------------------------------------------------------------------------------------------- */

/* The parent solves while the child exists, and afterwards. */
static void check_work(bool starpu) {
  for (int what = 0; what < WORKS; what++) {
    objects o;
    make_objects(make(starpu), starpu, &o);  /* with requests that may be in flight */
    if (TSI_TESTS_SANITIZED) usleep(100000); /* until workers allocate nothing, see check_threads */
    run_child((child_work)what, &o, !starpu);
    destroy_object(&o, REQUEST, TRISTAR_OK);
    destroy_object(&o, ENDING_REQUEST, TRISTAR_OK);
    check_solution(&o, o.plan);
    use_objects(&o, TRISTAR_OK);
    for (int k = 0; k < OBJECT_KINDS; k++) destroy_object(&o, (object_kind)k, TRISTAR_OK);
    free_arrays(&o);
    CHECK(!starpu_is_initialized());
  }
}

/* The parent's StarPU does not run, because it has ended or was not needed yet. The child starts its own. */
static void check_not_running(void) {
  objects o;
  tristar_t *ts = make(true);
  run_child(NEW_STARPU, NULL, true);
  make_objects(ts, true, &o);
  for (int k = 0; k < OBJECT_KINDS; k++) destroy_object(&o, (object_kind)k, TRISTAR_OK);
  free_arrays(&o);
  CHECK(!starpu_is_initialized());
  run_child(NEW_STARPU, NULL, true);
}

/* The program started StarPU, and no context existed at the fork. */
static void check_program(void) {
  CHECK(starpu_init(NULL) == 0);
  run_child(ALL, NULL, false);
  starpu_shutdown();
}

static atomic_bool stop;

static void *solve_on(void *arg) {
  objects *o = arg;
  OWNED double *x = xmalloc((size_t)o->n * sizeof *x);
  while (!atomic_load(&stop)) {
    tristar_plan_t *plan;
    CHECK_OK(tristar_solve(o->plan, TRISTAR_N, 1, o->b, o->n, x, o->n));
    tristar_factor_t *factor = NEW_FACTOR(o->analysis, o->values);
    CHECK_OK(tristar_plan(factor, NULL, &plan));
    CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, o->b, o->n, x, o->n));
    tristar_plan_destroy(&plan);
    tristar_factor_destroy(&factor);
    CLEANUP(tristar_destroy) tristar_t *ts = make(false);
  }
  return NULL;
}

/* Other threads of the parent are inside calls and hold locks. Omitted with the address sanitizer of gcc
 * 12, whose own locks remain locked in the child. */
static void check_threads(bool starpu) {
  CLEANUP(free_arrays) objects o;
  pthread_t thread[2];
  make_objects(make(starpu), starpu, &o);
  atomic_store(&stop, false);
  for (int t = 0; t < 2; t++) CHECK(pthread_create(&thread[t], NULL, solve_on, &o) == 0);
  for (int round = 0; round < 10; round++) run_child(ALL, &o, !starpu);
  atomic_store(&stop, true);
  for (int t = 0; t < 2; t++) CHECK(pthread_join(thread[t], NULL) == 0);
  for (int k = OBJECT_KINDS - 1; k >= 0; k--) destroy_object(&o, (object_kind)k, TRISTAR_OK);
}

/* A process that executes another program is not affected. */
static void check_commands(void) {
  CLEANUP(free_arrays) objects o;
  make_objects(make(true), true, &o);
  CHECK(system("exit 0") == 0);
  FILE *pipe = popen("exit 0", "r");
  CHECK(pipe != NULL && pclose(pipe) == 0);
  check_solution(&o, o.plan);
  for (int k = 0; k < OBJECT_KINDS; k++) destroy_object(&o, (object_kind)k, TRISTAR_OK);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  if (TSI_TESTS_RACES) SKIP("the thread sanitizer allows no threads after fork()");
  RUN(check_not_running());
  RUN(check_work(false));
  RUN(check_work(true));
  RUN(check_program());
  for (int starpu = 0; starpu < 2 && !TSI_TESTS_SANITIZED; starpu++) RUN(check_threads(starpu));
  RUN(check_commands());
  return 0;
}
