/* The cost model of a solve: see predict.h. */
#include "runtime/machine/predict.h"

#include "runtime/machine/calibration.h"

/* Without measurements: all cores of common machines read about twice as fast as one. */
#define ALL_TO_ONE 1.8
#define BARRIER_TO_TASK 3
/* Bytes per second that the kernels of one core process: from memory, however fast it is; from caches. */
#define KERNELS_ONE 17e9
#define KERNELS_CACHED 40e9
/* Seconds from the call to the first task, and from the last task to the return: 20 to 60 us were measured.
 */
#define START 40e-6

/* Without measurements: half of the last cache of common machines. */
#define CACHE_ASSUMED 4e6

/* Half of the last cache of `workers` cores. */
static double cache_of(const tristar_calibration *c, int workers) {
  if (c->l3_bytes == 0 && c->l2_bytes == 0) return CACHE_ASSUMED;
  if (c->l3_bytes == 0) return 0.5 * (double)c->l2_bytes * workers;
  const double share = c->l3_cores > workers ? (double)workers / c->l3_cores : 1;
  return 0.5 * share * (double)c->l3_bytes;
}

tsi_costs tsi_costs_assumed(tsi_machine *machine, int workers) {
  const tristar_calibration c = tsi_calibration_now(machine);
  const bool known = c.read_gbps_all > 0 && c.workers == workers;
  const double all = known ? c.read_gbps_all : workers > 1 ? ALL_TO_ONE * c.read_gbps_one : c.read_gbps_one;
  const double barrier =
      c.barrier_microseconds > 0 ? c.barrier_microseconds : BARRIER_TO_TASK * c.task_microseconds;
  const double one = tsi_double_min(1e9 * c.read_gbps_one, KERNELS_ONE);
  return (tsi_costs){.one = one,
                     .all = tsi_double_max(one, tsi_double_min(1e9 * all, workers * one)),
                     .cached = tsi_double_max(one, KERNELS_CACHED),
                     .cache = cache_of(&c, workers),
                     .task = 1e-6 * c.task_microseconds,
                     .barrier = 1e-6 * barrier,
                     .start = START,
                     .workers = workers};
}

double tsi_predict_reading(const tsi_costs *costs, double bytes, double critical) {
  return tsi_double_max(bytes / costs->all, critical / costs->one);
}

/* Costs with the read rates of a solve of `bytes` bytes. */
static tsi_costs costs_of(const tsi_costs *costs, double bytes) {
  tsi_costs now = *costs;
  if (bytes <= costs->cache) {
    now.one = costs->cached;
    now.all = costs->workers * costs->cached;
  }
  return now;
}

static double with_tasks(const tsi_costs *costs, double bytes, double critical, tsi_index tasks) {
  return tsi_predict_reading(costs, bytes, critical) + costs->task * tasks + costs->start;
}

void tsi_predict_ways(const tsi_costs *costs, double bytes, double critical, tsi_index tasks,
                      double seconds[2]) {
  const tsi_costs now = costs_of(costs, bytes);
  seconds[0] = bytes / now.one;
  seconds[1] = with_tasks(&now, bytes, critical, tasks);
}

bool tsi_predict_worth_tasks(const tsi_costs *costs, double bytes, double critical, tsi_index tasks) {
  double seconds[2];
  tsi_predict_ways(costs, bytes, critical, tasks, seconds);
  return seconds[1] < seconds[0];
}

static double in_levels(const tsi_costs *costs, const tsi_steps *steps, const tsi_levels *levels) {
  double seconds = costs->start + costs->task * steps->count + costs->barrier * levels->count;
  for (tsi_index l = 0; l < levels->count; l++) {
    double bytes = 0, heaviest = 0;
    for (tsi_index q = levels->ptr[l]; q < levels->ptr[l + 1]; q++) {
      const double step = steps->step[levels->item[q]].bytes;
      bytes += step;
      heaviest = tsi_double_max(heaviest, step);
    }
    seconds += tsi_predict_reading(costs, bytes, heaviest);
  }
  return seconds;
}

/* Bytes on the heaviest path of bundles; path: scratch, one for each bundle. */
static double heaviest_path(const tsi_steps *steps, const tsi_bundles *bundles, double *path) {
  double heaviest = 0;
  tsi_count e = 0;
  for (tsi_index k = 0; k < bundles->count; k++) { /* edges are sorted by the bundle that waits */
    path[k] = 0;
    for (; e < bundles->edges && bundles->edge[e].item == k; e++)
      path[k] = tsi_double_max(path[k], path[bundles->edge[e].before]);
    for (tsi_index q = bundles->ptr[k]; q < bundles->ptr[k + 1]; q++)
      path[k] += steps->step[bundles->item[q]].bytes;
    heaviest = tsi_double_max(heaviest, path[k]);
  }
  return heaviest;
}

tristar_status tsi_predict_seconds(tsi_env *env, const tsi_costs *costs, const tsi_steps *steps,
                                   const tsi_levels *levels, const tsi_bundles *bundles, double *seconds) {
  double bytes = 0;
  for (tsi_index k = 0; k < steps->count; k++) bytes += steps->step[k].bytes;
  const tsi_costs now = costs_of(costs, bytes);
  *seconds = levels ? in_levels(&now, steps, levels) : bytes / now.one;
  if (levels || bundles == NULL) return TRISTAR_OK;
  TSI_SCRATCH(env, double, path, bundles->count);
  *seconds = with_tasks(&now, bytes, heaviest_path(steps, bundles, path), bundles->count);
  return TRISTAR_OK;
}
