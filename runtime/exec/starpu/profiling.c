/* Reads StarPU's profiling counters: see profiling.h. */
#include "runtime/exec/starpu/profiling.h"

#include <starpu.h>
#include <starpu_profiling.h>

#include "runtime/exec/starpu/service.h"

static double to_seconds(const struct timespec *t) {
  return (double)t->tv_sec + 1e-9 * (double)t->tv_nsec;
}

tristar_status tsi_profiling_begin(tsi_env *env, int *before) {
  if (tsi_starpu_inside_task())
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "inside a StarPU task a solve makes no tasks to profile");
  if (!tsi_starpu_is_ours() && starpu_profiling_status_get() == STARPU_PROFILING_ENABLE)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED,
             "the program profiles StarPU itself, and reading the counters would reset them");
  if (tsi_starpu_cpu_workers() < 1) TSI_FAIL(env, TRISTAR_ERR_NO_WORKER, "StarPU has no CPU worker");
  *before = starpu_profiling_status_set(STARPU_PROFILING_ENABLE);
  return TRISTAR_OK;
}

void tsi_profiling_end(int before) {
  (void)starpu_profiling_status_set(before);
}

/* Reads the counters of a worker, which zeroes them. info may be NULL. */
static tristar_status take(tsi_env *env, int worker, struct starpu_profiling_worker_info *info) {
  const int code = starpu_profiling_worker_get_info(worker, info);
  if (code != 0) TSI_FAIL(env, TRISTAR_ERR_RUNTIME, "starpu_profiling_worker_get_info gave %d", code);
  return TRISTAR_OK;
}

tristar_status tsi_profiling_reset(tsi_env *env) {
  int worker[STARPU_NMAXWORKERS];
  const int workers = tsi_starpu_cpu_worker_numbers(worker, STARPU_NMAXWORKERS);
  for (int w = 0; w < workers; w++) TSI_TRY(take(env, worker[w], NULL));
  return TRISTAR_OK;
}

tristar_status tsi_profiling_read(tsi_env *env, tsi_profiling_sums *sums) {
  int worker[STARPU_NMAXWORKERS];
  struct starpu_profiling_worker_info info;
  *sums = (tsi_profiling_sums){.workers = tsi_starpu_cpu_worker_numbers(worker, STARPU_NMAXWORKERS)};
  for (int w = 0; w < sums->workers; w++) {
    TSI_TRY(take(env, worker[w], &info));
    const double seconds = to_seconds(&info.executing_time);
    sums->all += seconds;
    if (w == 0 || seconds > sums->busiest) sums->busiest = seconds;
    if (w == 0 || seconds < sums->idlest) sums->idlest = seconds;
  }
  return TRISTAR_OK;
}

/* Adds the bytes transferred over one bus in one direction. */
static tristar_status take_bus(tsi_env *env, unsigned from, unsigned to, double *bytes) {
  struct starpu_profiling_bus_info info;
  for (int bus = 0; bus < starpu_bus_get_count(); bus++) {
    if (starpu_bus_get_src(bus) != (int)from || starpu_bus_get_dst(bus) != (int)to) continue;
    const int code = starpu_bus_get_profiling_info(bus, &info);
    if (code != 0) TSI_FAIL(env, TRISTAR_ERR_RUNTIME, "starpu_bus_get_profiling_info gave %d", code);
    *bytes += (double)info.transferred_bytes;
  }
  return TRISTAR_OK;
}

tristar_status tsi_profiling_add_bus(tsi_env *env, int worker, tsi_bus_bytes *bytes) {
  const unsigned node = starpu_worker_get_memory_node((unsigned)worker);
  TSI_TRY(take_bus(env, STARPU_MAIN_RAM, node, &bytes->up));
  return take_bus(env, node, STARPU_MAIN_RAM, &bytes->down);
}
