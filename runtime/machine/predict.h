/* Predicted time of a solve: a cost model of the machine.
 *
 * Job. Predict the time of a plan with its recorded tasks, and whether a solve is faster with tasks at all. A
 * single task reads memory at the bandwidth of one core, and all tasks together at the bandwidth of all
 * cores. Tasks, barriers, and the start and end have the costs of the calibration:
 *
 *   no tasks       bytes / one
 *   tasks          max(bytes / all, heaviest path / one) + tasks * task + start
 *   level sets     sum over levels of max(bytes / all, heaviest task / one) + levels * barrier + start
 *
 * If the kernels of one core are slower than its bandwidth, their rate counts. Data that fit into half of the
 * last cache of the working cores are still cached at the next solve. They are read at the rate of the
 * kernels.
 *
 * Reads   the calibration, steps with bundles or levels.   Writes  nothing. */
#pragma once

#include "dag/bundles.h"
#include "runtime/machine/machine.h"

/* Assumptions about the machine, for a number of workers. */
typedef struct tsi_costs {
  double one, all;             /* bytes per second that one core, and all workers together, read */
  double cached;               /* bytes per second that the kernels of one core process, from caches */
  double cache;                /* bytes of a solve that stay in caches until the next one; 0: none */
  double task, barrier, start; /* seconds; task: while all workers run tasks */
  int workers;
} tsi_costs;

tsi_costs tsi_costs_assumed(tsi_machine *machine, int workers);

/* Seconds that all workers take to read `bytes` bytes from memory, `critical` of them on the heaviest path.
 */
double tsi_predict_reading(const tsi_costs *costs, double bytes, double critical);

/* Seconds of a solve that reads `bytes` bytes, `critical` of them on its heaviest path: seconds[0] by the
 * calling thread, seconds[1] in `tasks` tasks. */
void tsi_predict_ways(const tsi_costs *costs, double bytes, double critical, tsi_index tasks,
                      double seconds[2]);
/* Whether tasks are faster than the calling thread alone. */
bool tsi_predict_worth_tasks(const tsi_costs *costs, double bytes, double critical, tsi_index tasks);

/* Predicts the seconds of a solve. levels, bundles: one of them, or none without tasks. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_predict_seconds(tsi_env *env, const tsi_costs *costs,
                                                   const tsi_steps *steps, const tsi_levels *levels,
                                                   const tsi_bundles *bundles, double *seconds);
