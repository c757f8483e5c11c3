/* Measures a machine for tristar_calibrate: see calibration.h.
 *
 * Reads   a clock, hwloc.   Writes  StarPU's queues; its own memory.
 *
 *   task      many chains of empty recorded tasks, as in a solve with more work than workers: seconds of a
 *             replay / tasks
 *   barrier   levels of one empty task for each worker, with a task between two levels that waits for all
 *             tasks of the first, and for which all tasks of the second wait: seconds of a replay / levels
 *   reading   see bandwidth.h; before StarPU runs, if it does not run yet
 *   multiply  products of dense matrices by the BLAS, on the calling thread
 *
 * A replay counts as the median of several. Other programs on the machine make all figures worse, never
 * better. So all figures are measured several times, until two attempts agree and other programs used the
 * cores only a little. The best figures count. */
#include <cblas.h>

#include "runtime/machine/bandwidth.h"
#include "runtime/machine/calibration.h"
#include "runtime/base/clock.h"
#include "runtime/machine/load.h"
#include "runtime/exec/starpu/blas.h"
#include "runtime/exec/starpu/tasks.h"

#define CHAINS 64
#define CHAIN_LENGTH 32
#define LEVELS 200
#define RUNS 9
#define RUNS_SECONDS 0.3 /* fewer runs if others use the cores */
/* Minimum number of attempts. */
#define ATTEMPTS_LEAST 5
#define ATTEMPTS_SECONDS 4
/* Attempts agree if the best two differ by at most this part. */
#define SPREAD_MOST 0.15
/* Others may use this part of one core, or this part of all cores. */
#define OTHERS_MOST 0.25
#define OTHERS_SHARE_MOST 0.02

static void do_nothing(void *context, const tsi_index argument[4], int worker) {
  (void)context;
  (void)argument;
  (void)worker;
}

static tristar_status add_empty(tsi_task_list *list, tsi_index *number) {
  return tsi_task_list_add(list, "empty", do_nothing, NULL, (const tsi_index[4]){0}, 1, 1, number);
}

/* Records the tasks and replays them; *seconds: the fewest of a replay. */
static tristar_status time_tasks(tsi_env *env, tsi_task_list *list, double *seconds) {
  TSI_CLEANUP(tsi_tasks_destroy) tsi_tasks *tasks = NULL;
  TSI_TRY(tsi_tasks_create(env, list, &tasks));
  TSI_TRY(tsi_tasks_record(tasks));
  TSI_TRY(tsi_tasks_run(tasks, false)); /* warm-up */
  const double first = tsi_wall_clock();
  for (int k = 0; k < RUNS && (k == 0 || tsi_wall_clock() - first < RUNS_SECONDS); k++) {
    const double begin = tsi_wall_clock();
    TSI_TRY(tsi_tasks_run(tasks, false));
    const double run = tsi_wall_clock() - begin;
    if (k == 0 || run < *seconds) *seconds = run;
  }
  return TRISTAR_OK;
}

static tristar_status measure_task(tsi_env *env, double *microseconds) {
  TSI_OWNED tsi_task_list *list = NULL;
  tsi_index number;
  double seconds;
  TSI_TRY(tsi_task_list_create(env, &list));
  for (int k = 0; k < CHAINS * CHAIN_LENGTH; k++) {
    TSI_TRY(add_empty(list, &number));
    if (number >= CHAINS) TSI_TRY(tsi_task_list_after(list, number, number - CHAINS));
  }
  TSI_TRY(time_tasks(env, list, &seconds));
  *microseconds = 1e6 * seconds / (CHAINS * CHAIN_LENGTH);
  return TRISTAR_OK;
}

static tristar_status measure_barrier(tsi_env *env, int workers, double *microseconds) {
  TSI_OWNED tsi_task_list *list = NULL;
  tsi_index number, barrier = TSI_NONE;
  double seconds;
  TSI_TRY(tsi_task_list_create(env, &list));
  for (int level = 0; level < LEVELS; level++) {
    for (int w = 0; w < workers; w++) {
      TSI_TRY(add_empty(list, &number));
      TSI_TRY(tsi_task_list_after(list, number, barrier));
    }
    TSI_TRY(add_empty(list, &barrier));
    for (int w = 1; w <= workers; w++) TSI_TRY(tsi_task_list_after(list, barrier, barrier - w));
  }
  TSI_TRY(time_tasks(env, list, &seconds));
  *microseconds = 1e6 * seconds / LEVELS;
  return TRISTAR_OK;
}

#define PRODUCT_ROWS 512 /* also columns, like a tile of a front; the inner size is half of it */
#define PRODUCT_TURNS 4  /* the first turn may be slow */

tristar_status tsi_products_measure(tsi_env *env, double *flops_per_second) {
  const int rows = PRODUCT_ROWS, inner = PRODUCT_ROWS / 2;
  double least = 0;
  TSI_SCRATCH_ZERO(env, double, matrices, 2 * PRODUCT_ROWS * PRODUCT_ROWS);
  double *a = matrices, *b = a + rows * inner, *c = b + inner * rows;
  TSI_TRY(tsi_blas_reserve(env, 1));
  tsi_blas_acquire();
  for (int turn = 0; turn < PRODUCT_TURNS; turn++) {
    const double begin = tsi_wall_clock();
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, rows, rows, inner, -1, a, rows, b, inner, 1, c,
                rows);
    const double seconds = tsi_wall_clock() - begin;
    if (turn == 0 || seconds < least) least = seconds;
  }
  tsi_blas_release();
  *flops_per_second = 2.0 * rows * rows * inner / tsi_double_max(least, 1e-9);
  return TRISTAR_OK;
}

static tristar_status measure_multiply(tsi_env *env, double *seconds_per_giga) {
  double flops_per_second;
  TSI_TRY(tsi_products_measure(env, &flops_per_second));
  *seconds_per_giga = 1e9 / flops_per_second;
  return TRISTAR_OK;
}

/* Twice `caches` L3 caches, within bounds. */
static size_t bytes_to_read(const tristar_calibration *c, int64_t caches) {
  return tsi_bandwidth_bytes(2 * (double)(caches * c->l3_bytes));
}

/* Measures before StarPU runs; in later attempts, only if its idle workers sleep. */
static tristar_status measure_reading(tsi_workers *workers, const tristar_calibration *c,
                                      tsi_streams *streams, tsi_attempts *a) {
  const int readers =
      tsi_starpu_runs() ? tsi_starpu_cpu_workers() : tsi_expected_cpu_workers(workers->wishes.workers);
  const int64_t caches = c->l3_cores > 0 ? c->cores / c->l3_cores + 1 : 0;
  double one, all;
  TSI_TRY(tsi_streams_measure(workers->env, streams, bytes_to_read(c, 1), bytes_to_read(c, caches),
                              readers > 0 ? readers : 1, &one, &all));
  TSI_TRY(tsi_workers_need(workers, NULL));
  a->figure[TSI_FIGURE_READ_ONE][a->count] = 1 / one;
  if (tsi_starpu_cpu_workers() == readers) a->figure[TSI_FIGURE_READ_ALL][a->count] = 1 / all;
  return TRISTAR_OK;
}

static tristar_status attempt(tsi_workers *workers, const tristar_calibration *c, tsi_streams *streams,
                              tsi_attempts *a) {
  const tsi_load load = tsi_load_now();
  if (a->count == 0 || !tsi_starpu_polls()) TSI_TRY(measure_reading(workers, c, streams, a));
  TSI_TRY(measure_task(workers->env, &a->figure[TSI_FIGURE_TASK][a->count]));
  TSI_TRY(measure_barrier(workers->env, tsi_starpu_cpu_workers(), &a->figure[TSI_FIGURE_BARRIER][a->count]));
  TSI_TRY(measure_multiply(workers->env, &a->figure[TSI_FIGURE_MULTIPLY][a->count]));
  a->other_cores[a->count] = tsi_load_of_others(&load);
  a->count++;
  return TRISTAR_OK;
}

/* Finds the least two of the known values, in ascending order. Returns the number of known values. */
static int find_least(const double *value, int count, bool zero_is_there, double least[2]) {
  int found = 0;
  for (int k = 0; k < count; k++) {
    const double v = value[k];
    if (v < 0 || (v == 0 && !zero_is_there)) continue;
    if (found == 0 || v < least[0]) {
      least[1] = least[0];
      least[0] = v;
    } else if (found == 1 || v < least[1])
      least[1] = v;
    found++;
  }
  return found;
}

tsi_calibration_quality tsi_attempts_judge(const tsi_attempts *a, int cores, double best[TSI_FIGURES]) {
  tsi_calibration_quality q = {.attempts = a->count, .other_cores = -1, .spread = 0};
  double least[2] = {0, 0};
  for (int f = 0; f < TSI_FIGURES; f++) {
    const int found = find_least(a->figure[f], a->count, false, least);
    best[f] = found > 0 ? least[0] : 0;
    if (found > 1 && least[1] / least[0] - 1 > q.spread) q.spread = least[1] / least[0] - 1;
  }
  const int known = find_least(a->other_cores, a->count, true, least);
  if (known > 0) q.other_cores = known > 1 ? least[1] : least[0];
  const double most = OTHERS_SHARE_MOST * cores > OTHERS_MOST ? OTHERS_SHARE_MOST * cores : OTHERS_MOST;
  q.trusted = a->count >= ATTEMPTS_LEAST && q.spread <= SPREAD_MOST && q.other_cores <= most;
  return q;
}

tristar_status tsi_calibration_measure(tsi_machine *machine, tsi_workers *workers, tristar_calibration *c,
                                       tsi_calibration_quality *quality) {
  tsi_env *env = machine->env;
  tsi_attempts attempts = {.count = 0};
  TSI_CLEANUP(tsi_streams_release) tsi_streams streams = {.count = {0, 0}};
  double best[TSI_FIGURES];
  if (!workers->allowed)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "calibration measures tasks: it needs a context with StarPU");
  if (tsi_starpu_inside_task())
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "a StarPU task cannot calibrate: it must not wait for tasks");
  TSI_TRY(tsi_calibration_describe(machine, c));
  const double begin = tsi_wall_clock();
  do {
    TSI_TRY(attempt(workers, c, &streams, &attempts));
    *quality = tsi_attempts_judge(&attempts, c->cores, best);
  } while (!quality->trusted && attempts.count < TSI_ATTEMPTS &&
           (attempts.count < 2 || tsi_wall_clock() - begin < ATTEMPTS_SECONDS));
  c->workers = tsi_starpu_cpu_workers();
  c->task_microseconds = best[TSI_FIGURE_TASK];
  c->barrier_microseconds = best[TSI_FIGURE_BARRIER];
  c->read_gbps_one = 1 / best[TSI_FIGURE_READ_ONE];
  c->read_gbps_all = best[TSI_FIGURE_READ_ALL] > 0 ? 1 / best[TSI_FIGURE_READ_ALL] : 0;
  c->multiply_gflops_one = 1 / best[TSI_FIGURE_MULTIPLY];
  return TRISTAR_OK;
}
