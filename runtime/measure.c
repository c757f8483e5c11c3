/* Measures a machine for tristar_calibrate: see calibration.h.
 *
 * Reads   a clock, hwloc.   Writes  StarPU's queues; memory of its own.
 *
 *   task      many chains of empty recorded tasks, as in a solve with more work than workers: seconds of a
 *             replay / tasks
 *   barrier   levels of one empty task for each worker, with a task between two levels that waits for all of
 *             the first and that all of the second wait for: seconds of a replay / levels
 *   reading   see bandwidth.h; before StarPU runs, if it does not yet
 *
 * A replay counts as the median of several. */
#include <starpu.h>

#include "runtime/bandwidth.h"
#include "runtime/base/median.h"
#include "runtime/calibration.h"
#include "runtime/clock.h"
#include "runtime/tasks.h"

#define CHAINS 64
#define CHAIN_LENGTH 32
#define LEVELS 200
#define RUNS 9

static void do_nothing(void *context, const tsi_index argument[4], int worker) {
  (void)context;
  (void)argument;
  (void)worker;
}

static tristar_status add_empty(tsi_tasks *tasks, tsi_index *number) {
  return tsi_tasks_add(tasks, "empty", do_nothing, NULL, (const tsi_index[4]){0}, 1, 1, number);
}

/* Records the tasks and replays them; the median of the seconds. */
static tristar_status time_tasks(tsi_tasks *tasks, double *seconds) {
  tristar_status status = TRISTAR_OK;
  double run[RUNS];
  TSI_TRY(tsi_tasks_record(tasks));
  TSI_TRY(tsi_tasks_run(tasks, false)); /* warm-up */
  for (int k = 0; k < RUNS; k++) {
    const double begin = tsi_clock();
    TSI_TRY(tsi_tasks_run(tasks, false));
    run[k] = tsi_clock() - begin;
  }
  *seconds = tsi_median(run, RUNS);
out:
  return status;
}

static tristar_status measure_task(tsi_env *env, double *microseconds) {
  tristar_status status = TRISTAR_OK;
  tsi_tasks *tasks = NULL;
  tsi_index number;
  double seconds;
  TSI_TRY(tsi_tasks_create(env, &tasks));
  for (int k = 0; k < CHAINS * CHAIN_LENGTH; k++) {
    TSI_TRY(add_empty(tasks, &number));
    if (number >= CHAINS) TSI_TRY(tsi_tasks_after(tasks, number, number - CHAINS));
  }
  TSI_TRY(time_tasks(tasks, &seconds));
  *microseconds = 1e6 * seconds / (CHAINS * CHAIN_LENGTH);
out:
  tsi_tasks_destroy(&tasks);
  return status;
}

static tristar_status measure_barrier(tsi_env *env, int workers, double *microseconds) {
  tristar_status status = TRISTAR_OK;
  tsi_tasks *tasks = NULL;
  tsi_index number, barrier = TSI_NONE;
  double seconds;
  TSI_TRY(tsi_tasks_create(env, &tasks));
  for (int level = 0; level < LEVELS; level++) {
    for (int w = 0; w < workers; w++) {
      TSI_TRY(add_empty(tasks, &number));
      TSI_TRY(tsi_tasks_after(tasks, number, barrier));
    }
    TSI_TRY(add_empty(tasks, &barrier));
    for (int w = 1; w <= workers; w++) TSI_TRY(tsi_tasks_after(tasks, barrier, barrier - w));
  }
  TSI_TRY(time_tasks(tasks, &seconds));
  *microseconds = 1e6 * seconds / LEVELS;
out:
  tsi_tasks_destroy(&tasks);
  return status;
}

/* Twice all of L3, within bounds. */
static size_t bytes_to_read(const tristar_calibration *c) {
  const int64_t caches = c->l3_cores > 0 ? c->cores / c->l3_cores + 1 : 0;
  size_t bytes = 2 * (size_t)(caches * c->l3_bytes);
  if (bytes < TSI_BANDWIDTH_BYTES_MIN) bytes = TSI_BANDWIDTH_BYTES_MIN;
  return bytes < TSI_BANDWIDTH_BYTES_MAX ? bytes : TSI_BANDWIDTH_BYTES_MAX;
}

tristar_status tsi_calibration_measure(tristar_t *ts, tristar_calibration *c) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &ts->env;
  if (!ts->use_starpu)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "calibration measures tasks: it needs a context with StarPU");
  const bool running = starpu_is_initialized() != 0;
  if (running && starpu_worker_get_id() >= 0)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "a StarPU task cannot calibrate: it must not wait for tasks");
  TSI_TRY(tsi_calibration_describe(ts, c));
  const int readers = running ? (int)starpu_cpu_worker_get_count() : tsi_expected_cpu_workers(ts->workers);
  TSI_TRY(tsi_bandwidth_read(env, bytes_to_read(c), readers > 0 ? readers : 1, &c->read_gbps_one,
                             &c->read_gbps_all));
  TSI_TRY(tsi_context_need_starpu(ts));
  c->workers = (int)starpu_cpu_worker_get_count();
  if (c->workers != readers) c->read_gbps_all = 0; /* of another number than expected */
  TSI_TRY(measure_task(env, &c->task_microseconds));
  TSI_TRY(measure_barrier(env, c->workers, &c->barrier_microseconds));
out:
  return status;
}
