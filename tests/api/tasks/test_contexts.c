/* Contexts in any number, order and thread share StarPU. Calls for which StarPU would end the program return
 * an error. */
#include <pthread.h>
#include <starpu.h>
#include <sys/stat.h>

#include "tristar_precond.h"
#include "tests/support/context.h"
#include "tristar_machine.h"
#include "tristar_stats.h"
#include "tests/support/flow.h"
#include "tests/support/subtests.h"

static tristar_t *make(void) {
  tristar_t *ts = open_with_starpu(0, false);
  return ts;
}

/* All tasks run on StarPU, and the result is right. */
static void solve(tristar_t *ts, int64_t k) {
  CLEANUP(flow_destroy) flow f;
  flow_create(ts, "poisson3d7", k, TRISTAR_ENGINE_TASKS, 20000, &f);
  const int64_t n = f.view.rows;
  double *b = xmalloc((size_t)n * sizeof *b), *x = xmalloc((size_t)n * sizeof *x), error;
  fill_random(b, n, 1);
  CHECK_OK(tristar_solve(f.plan, TRISTAR_N, 1, b, n, x, n));
  CHECK_OK(tristar_residual(f.factor, TRISTAR_N, 1, b, n, x, n, NULL, 0, &error));
  CHECK(error < 1e-13);
  free(b);
  free(x);
}

/* Contexts may be destroyed in any order. StarPU runs until the last one is destroyed. */
static void check_orders(void) {
  tristar_starpu_info info;
  for (int first = 0; first < 2; first++) {
    tristar_t *ts[2] = {make(), make()};
    solve(ts[0], 6);
    solve(ts[1], 6);
    CHECK_OK(tristar_get_starpu(ts[1], &info));
    CHECK(info.owned); /* TriStar started it, though for the other context */
    tristar_destroy(&ts[first]);
    CHECK(starpu_is_initialized());
    solve(ts[1 - first], 7);
    tristar_destroy(&ts[1 - first]);
    CHECK(!starpu_is_initialized());
  }
}

/* If the program shuts down the StarPU that it started, StarPU still runs for the context. */
static void check_program(void) {
  tristar_starpu_info info;
  tristar_t *ts = make();
  CHECK(starpu_init(NULL) == 0);
  solve(ts, 6);
  CHECK_OK(tristar_get_starpu(ts, &info));
  CHECK(!info.owned);
  starpu_shutdown();
  solve(ts, 6);
  tristar_destroy(&ts);
  CHECK(!starpu_is_initialized());
  CHECK(starpu_init(NULL) == 0); /* the reverse order */
  ts = make();
  solve(ts, 6);
  tristar_destroy(&ts);
  CHECK(starpu_is_initialized());
  starpu_shutdown();
}

#define THREADS 4
#define ROUNDS 6

static void *come_and_go(void *arg) {
  for (int round = 0; round < ROUNDS; round++) {
    CLEANUP(tristar_destroy) tristar_t *ts = make();
    solve(ts, 5 + *(int *)arg % 2);
  }
  return NULL;
}

static void check_threads(void) {
  pthread_t thread[THREADS];
  int number[THREADS];
  for (int t = 0; t < THREADS; t++) {
    number[t] = t;
    CHECK(pthread_create(&thread[t], NULL, come_and_go, &number[t]) == 0);
  }
  for (int t = 0; t < THREADS; t++) CHECK(pthread_join(thread[t], NULL) == 0);
  CHECK(!starpu_is_initialized());
}

/* While this variable is set StarPU cannot start, and the message contains `text`. Afterwards the same
 * context can start StarPU. */
static void expect_defect(tristar_t *ts, const char *name, const char *value, const char *text) {
  tristar_starpu_info info;
  char before[512] = "";
  const bool was_set = getenv(name) != NULL;
  if (was_set) snprintf(before, sizeof before, "%s", getenv(name));
  CHECK(setenv(name, value, 1) == 0);
  CHECK_STATUS(tristar_get_starpu(ts, &info), TRISTAR_ERR_RUNTIME);
  CHECK(!starpu_is_initialized());
  CHECK_ERROR(ts, text);
  CHECK((was_set ? setenv(name, before, 1) : unsetenv(name)) == 0);
}

static void check_surroundings(void) {
  tristar_config config;
  tristar_starpu_info info;
  CLEANUP(tristar_destroy) tristar_t *ts = make();
  char deep[400];
  expect_defect(ts, "STARPU_NCPU", "abc", "STARPU_NCPU is \"abc\"");
  expect_defect(ts, "STARPU_NCPU", "-1", "STARPU_NCPU is \"-1\"");
  expect_defect(ts, "STARPU_CALIBRATE", "yes", "STARPU_CALIBRATE is \"yes\"");
  expect_defect(ts, "STARPU_SCHED_ALPHA", "1,5", "STARPU_SCHED_ALPHA is \"1,5\"");
  expect_defect(ts, "STARPU_SCHED", "nosuch",
                "StarPU has no scheduler 'nosuch', which STARPU_SCHED asks for");
  expect_defect(ts, "STARPU_SCHED", "help", "StarPU has no scheduler 'help'");
  expect_defect(ts, "STARPU_HOME", "/dev/null/there", "set STARPU_HOME");
  expect_defect(ts, "XDG_CACHE_HOME", "/proc/there", "/proc/there/.starpu");
  expect_defect(ts, "STARPU_PERF_MODEL_DIR", "/dev/null", "/dev/null");
  memset(deep, 'd', sizeof deep);
  deep[0] = '/';
  deep[sizeof deep - 1] = '\0';
  expect_defect(ts, "STARPU_HOME", deep, "too long a name");
  if (geteuid() != 0) { /* root may write to any directory */
    CHECK(mkdir("closed", S_IRUSR | S_IXUSR) == 0);
    expect_defect(ts, "STARPU_HOME", "closed", "Permission denied");
    CHECK(rmdir("closed") == 0);
  }
  CHECK_OK(tristar_get_starpu(ts, &info));
  solve(ts, 6);
  tristar_destroy(&ts);
  tristar_config_init(&config);
  config.scheduler = "nosuch";
  CHECK_OK(tristar_create(&config, &ts));
  CHECK_STATUS(tristar_get_starpu(ts, &info), TRISTAR_ERR_ARGUMENT);
}

/* The times of the first calls do not include the start of StarPU. */
static void check_start_time(void) {
  CLEANUP(tristar_destroy) tristar_t *ts = make();
  flow f, g;
  tristar_factor_stats factor;
  tristar_plan_stats plan;
  tristar_starpu_info info;
  flow_create(ts, "s2d9pt", 60, TRISTAR_ENGINE_TASKS, 20000, &f);
  CHECK_OK(tristar_factor_get_stats(f.factor, &factor));
  CHECK_OK(tristar_plan_get_stats(f.plan, &plan));
  CHECK_OK(tristar_get_starpu(ts, &info));
  CHECK(info.start_seconds > 0 && factor.start_seconds + plan.start_seconds == info.start_seconds);
  flow_create(ts, "s2d9pt", 60, TRISTAR_ENGINE_TASKS, 20000, &g);
  CHECK_OK(tristar_factor_get_stats(g.factor, &factor));
  CHECK_OK(tristar_plan_get_stats(g.plan, &plan));
  CHECK(factor.start_seconds == 0 && plan.start_seconds == 0);
  CHECK_OK(tristar_refactor(f.factor, f.view.values));
  CHECK_OK(tristar_factor_get_stats(f.factor, &factor));
  CHECK(factor.start_seconds == 0 && factor.factor_seconds > 0);
  flow_destroy(&f);
  flow_destroy(&g);
}

/* The time of a preconditioner does not include the start of StarPU. */
static void check_precond_start_time(void) {
  CLEANUP(tristar_destroy) tristar_t *ts = make();
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *matrix;
  tristar_precond_options options = DEFAULTS(tristar_precond_options);
  tristar_precond_stats stats;
  tristar_starpu_info info;
  tristar_view view = generated_view(ts, "s2d9pt", 20, &matrix);
  options.kind = TRISTAR_PRECOND_ILU;
  options.engine = TRISTAR_ENGINE_TASKS;
  CLEANUP(tristar_precond_destroy) tristar_precond_t *precond = NEW_PRECOND(ts, &view, &options);
  CHECK_OK(tristar_precond_get_stats(precond, &stats));
  CHECK_OK(tristar_get_starpu(ts, &info));
  CHECK(info.start_seconds > 0 && stats.start_seconds == info.start_seconds);
  CHECK(stats.numeric_seconds > 0 && stats.numeric_seconds <= stats.setup_seconds);
  CHECK_OK(tristar_precond_update(precond, &view));
  CHECK_OK(tristar_precond_get_stats(precond, &stats));
  CHECK(stats.start_seconds == 0 && stats.setup_seconds > 0);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  RUN(check_orders());
  RUN(check_program());
  RUN(check_threads());
  RUN(check_surroundings());
  RUN(check_start_time());
  RUN(check_precond_start_time());
  return 0;
}
