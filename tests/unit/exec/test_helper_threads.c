/* test_helper_threads CORES: helpers on a machine with more cores than StarPU has workers, since Debian's
 * StarPU has 4. hwloc simulates the machine, so the test runs anywhere. All cores but the caller's help, each
 * with its own slot, with threads that are awake, asleep or new. This is tested with raw offers, with lanes,
 * and with the vectors and products of a Krylov method, whose results have the bits of one thread. A number
 * of workers chosen by the user limits all helpers together. A child of fork() destroys the context without
 * them. */
#include <sched.h>
#include <starpu.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/context/context.h"
#include "tests/support/check.h"
#include "tests/support/random.h"
#include "tristar_krylov.h"
#include "tristar_matrix.h"
#include "tristar_stats.h"

enum {
  SIZE = TSI_TESTS_RACES ? 42 : 58,
  KRYLOV_SIZE = 56,
  ITERATIONS = TSI_TESTS_RACES ? 2 : 6,
  OFFERS = TSI_TESTS_RACES ? 5 : 30,
  AWAITED = 6, /* number of runs of each kind that wait for all helpers */
  KINDS = 2    /* kinds of work: lanes, crews */
};

static int cores;
static tristar_t *ts;

/* ---- Shared work: who comes ---------------------------------------------------------------------------- */

/* For each kind of work, in the order in which the kinds first occur. */
static tsi_help function[KINDS];
static int runs[KINDS], most_of[KINDS];
static atomic_int entered[KINDS], awaited[KINDS]; /* number of helpers in the latest run */
static atomic_bool seen[KINDS][TSI_HELPERS];

static void count(int kind, void *arg, int number, int slot) {
  if (number > 0) {
    CHECK(slot >= 0 && slot < TSI_HELPERS && number < cores);
    atomic_store(&seen[kind][slot], true);
    atomic_fetch_add(&entered[kind], 1);
  } else
    while (atomic_load(&entered[kind]) < atomic_load(&awaited[kind])) sched_yield();
  function[kind](arg, number, slot);
}
static void count_first(void *arg, int number, int slot) {
  count(0, arg, number, slot);
}
static void count_second(void *arg, int number, int slot) {
  count(1, arg, number, slot);
}

static int slots_seen(int kind) {
  int slots = 0;
  for (int k = 0; k < TSI_HELPERS; k++) slots += atomic_load(&seen[kind][k]);
  return slots;
}

/* Lets helpers share every run. */
void __real_tsi_helpers_share(tsi_helpers *helpers, tsi_help_choice *choice, int most,
                              const tsi_shared *shared);
void __wrap_tsi_helpers_share(tsi_helpers *helpers, tsi_help_choice *choice, int most,
                              const tsi_shared *shared);
void __wrap_tsi_helpers_share(tsi_helpers *helpers, tsi_help_choice *choice, int most,
                              const tsi_shared *shared) {
  static const tsi_help counting[KINDS] = {count_first, count_second};
  tsi_help_choice helped = {.seconds = {1, 1}, .helped = true, .runs = 1, .next = INT64_MAX};
  tsi_shared counted = *shared;
  int kind = 0;
  (void)choice;
  while (kind < KINDS && function[kind] != NULL && function[kind] != shared->work) kind++;
  CHECK(kind < KINDS && most < cores);
  if (function[kind] == NULL)
    function[kind] = shared->work; /* written once, as helpers of earlier runs may read it */
  most_of[kind] = most;
  counted.work = counting[kind];
  atomic_store(&entered[kind], 0);
  atomic_store(&awaited[kind], runs[kind]++ < AWAITED ? most : 0);
  __real_tsi_helpers_share(helpers, &helped, most, &counted);
}

/* ---- Raw offers ---------------------------------------------------------------------------------------- */

typedef struct job {
  atomic_int entered;
  atomic_bool seen[TSI_HELPERS];
} job;

static void enter(void *arg, int number, int slot) {
  job *j = arg;
  CHECK(number >= 1 && number < cores && slot >= 0 && slot < TSI_HELPERS);
  CHECK(!atomic_exchange(&j->seen[slot], true));
  atomic_fetch_add(&j->entered, 1);
}

static void check_offers(void) {
  uint64_t seed = 5;
  for (int k = 0; k < OFFERS; k++) {
    job *j = calloc(1, sizeof *j);
    CHECK(j != NULL);
    CHECK(tsi_helpers_offer(&ts->helpers, cores - 1, enter, j));
    while (atomic_load(&j->entered) < cores - 1) sched_yield();
    tsi_helpers_take_back(&ts->helpers);
    tsi_helpers_leave(&ts->helpers, j);
    CHECK(atomic_load(&j->entered) == cores - 1);
    free(j);
    if (next_random(&seed) % 2 == 0) starpu_sleep(0.004f); /* so that helpers sleep */
  }
}

static void check_counts(void) {
  tristar_starpu_info info;
  CHECK_OK(tristar_get_starpu(ts, &info));
  const int workers = info.max_workers < cores ? info.max_workers : cores;
  CHECK_MSG(info.cpu_workers == workers && info.helper_threads == cores - workers, "%d workers, %d threads",
            info.cpu_workers, info.helper_threads);
  CHECK(tsi_helpers_cores() == cores);
  CHECK(tsi_expected_helping_cores(0) == cores && tsi_expected_cpu_workers(0) == workers);
}

/* ---- Solves -------------------------------------------------------------------------------------------- */

static void solve(tristar_factor_t *factor, tristar_engine engine, int solves, const double *b, double *x,
                  int64_t n) {
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  tristar_plan_stats stats;
  options.engine = engine;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(factor, &options);
  CHECK_OK(tristar_plan_get_stats(plan, &stats));
  if (engine == TRISTAR_ENGINE_AUTO)
    CHECK_MSG(stats.workers > 4 && stats.workers <= cores && strcmp(stats.scheduler, "lanes") == 0, "%d %s",
              stats.workers, stats.scheduler);
  for (int k = 0; k < solves; k++)
    CHECK_OK(tristar_solve(plan, k % 2 ? TRISTAR_T : TRISTAR_N, 1, b, n, x + (k % 2) * n, n));
}

static void check_lanes(void) {
  tristar_triangle_options options = DEFAULTS(tristar_triangle_options);
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *matrix;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor;
  tristar_view view = generated_view(ts, "poisson3d7", SIZE, &matrix);
  options.partition = TRISTAR_PARTITION_SUPERSTEPS;
  CHECK_OK(tristar_import_triangle(ts, &view, &options, &factor));
  const int64_t n = view.rows;
  OWNED double *b = malloc((size_t)n * sizeof *b), *x = calloc((size_t)n, 4 * sizeof *x);
  CHECK(b != NULL && x != NULL);
  fill_random(b, n, 7);
  solve(factor, TRISTAR_ENGINE_SERIAL, 2, b, x, n);
  solve(factor, TRISTAR_ENGINE_AUTO, 2 * AWAITED, b, x + 2 * n, n);
  CHECK(memcmp(x, x + 2 * n, 2 * (size_t)n * sizeof *x) == 0);
}

static void iterate(const tristar_view *view, tristar_engine engine, const double *b, double *x) {
  tristar_krylov_options options = DEFAULTS(tristar_krylov_options);
  CLEANUP(tristar_krylov_destroy) tristar_krylov_t *krylov;
  tristar_krylov_stats stats;
  tristar_krylov_result result;
  options.engine = engine;
  options.max_iterations = ITERATIONS;
  CHECK_OK(tristar_krylov_create(ts, view, &options, &krylov));
  CHECK_OK(tristar_krylov_get_stats(krylov, &stats));
  CHECK_MSG(stats.workers == (engine == TRISTAR_ENGINE_SERIAL ? 1 : cores), "%d share", stats.workers);
  CHECK_OK(tristar_krylov_solve(krylov, NULL, 1, b, view->rows, x, view->rows, &result));
  CHECK(result.iterations == ITERATIONS);
}

static void check_krylov(void) {
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *matrix;
  tristar_view view = generated_view(ts, "poisson3d7", KRYLOV_SIZE, &matrix);
  const size_t n = (size_t)view.rows;
  OWNED double *b = malloc(n * sizeof *b), *x = malloc(2 * n * sizeof *x);
  CHECK(b != NULL && x != NULL);
  fill_random(b, view.rows, 9);
  iterate(&view, TRISTAR_ENGINE_SERIAL, b, x);
  iterate(&view, TRISTAR_ENGINE_AUTO, b, x + n);
  CHECK(memcmp(x, x + n, n * sizeof *x) == 0);
}

/* ---- Ends ---------------------------------------------------------------------------------------------- */

static void check_fork(void) {
  int status;
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    tristar_destroy(&ts);
    _exit(ts == NULL ? 0 : 1);
  }
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void check_bounded(int workers) {
  tristar_config config = DEFAULTS(tristar_config);
  tristar_starpu_info info;
  config.workers = workers;
  CHECK_OK(tristar_create(&config, &ts));
  CHECK(tsi_expected_helping_cores(workers) == workers);
  CHECK_OK(tristar_get_starpu(ts, &info));
  CHECK(info.cpu_workers + info.helper_threads == workers && tsi_helpers_cores() == workers);
  tristar_destroy(&ts);
}

int main(int argc, char **argv) {
  char machine[64];
  CHECK(argc == 2);
  cores = atoi(argv[1]);
  snprintf(machine, sizeof machine, "pack:1 core:%d pu:1", cores);
  CHECK(unsetenv("HWLOC_COMPONENTS") == 0); /* it would override HWLOC_SYNTHETIC */
  CHECK(setenv("HWLOC_SYNTHETIC", machine, 1) == 0);
  CHECK(setenv("STARPU_WORKERS_NOBIND", "1", 1) == 0);
  CHECK(setenv("STARPU_NCPU", argv[1], 1) == 0);
  CHECK_OK(tristar_create(NULL, &ts));
  CHECK(tsi_expected_helping_cores(0) == cores); /* StarPU has not started */
  check_counts();
  check_offers();
  check_lanes();
  check_krylov();
  for (int k = 0; k < KINDS; k++) /* more slots if the caller has moved to another core */
    CHECK_MSG(most_of[k] >= 4 && slots_seen(k) >= most_of[k], "kind %d: %d of %d helped", k, slots_seen(k),
              most_of[k]);
  check_fork();
  check_offers();
  tristar_destroy(&ts);
  CHECK(unsetenv("STARPU_NCPU") == 0);
  check_bounded(3);
  check_bounded(cores - 2);
  CHECK(setenv("STARPU_WORKERS_CPUID", "0 1 2 3", 1) ==
        0); /* if the user lists cores, no helper threads are started */
  CHECK_OK(tristar_create(NULL, &ts));
  tristar_starpu_info info;
  CHECK_OK(tristar_get_starpu(ts, &info));
  CHECK(info.helper_threads == 0);
  tristar_destroy(&ts);
  return 0;
}
