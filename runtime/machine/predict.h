/* How long a solve should take: a cost model of the machine.
 *
 * Job. Tell in advance what a plan costs with the tasks that it has recorded, and whether a solve is worth
 * tasks at all. Memory is read at the rate of one core by a single task, and at that of all cores by all of
 * them; tasks, barriers, and the way there and back cost what the calibration says:
 *
 *   a plain call   bytes / one
 *   tasks          max(bytes / all, heaviest path / one) + tasks * task + start
 *   level sets     sum over levels of max(bytes / all, heaviest task / one) + levels * barrier + start
 *
 * One core reads as fast as its kernels work, where that is slower. What fits into half of the last cache of
 * the cores that work is found there again by the next solve, and read from there as fast as kernels work.
 *
 * Reads   the calibration, steps with bundles or levels.   Writes  nothing. */
#pragma once

#include "dag/bundles.h"
#include "runtime/machine/machine.h"

/* What is assumed about the machine, for a number of workers. */
typedef struct tsi_costs {
  double one, all;             /* bytes per second that one core, and all workers together, read */
  double cached;               /* those that the kernels of one core get through, out of caches */
  double cache;                /* bytes of a solve that stay in caches till the next one; 0: none */
  double task, barrier, start; /* seconds; task: while all workers run tasks */
  int workers;
} tsi_costs;

tsi_costs tsi_costs_assumed(tsi_machine *machine, int workers);

/* Seconds that all workers take to read so many bytes from memory, `critical` of them on the heaviest path.
 */
double tsi_predict_reading(const tsi_costs *costs, double bytes, double critical);

/* Seconds of a solve that reads so many bytes, `critical` of them on its heaviest path: seconds[0] by a plain
 * call, seconds[1] in so many tasks. */
void tsi_predict_ways(const tsi_costs *costs, double bytes, double critical, tsi_index tasks,
                      double seconds[2]);
/* Whether the tasks are faster. */
bool tsi_predict_worth_tasks(const tsi_costs *costs, double bytes, double critical, tsi_index tasks);

/* Seconds of a solve. levels, bundles: one of them, or none for a plain call. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_predict_seconds(tsi_env *env, const tsi_costs *costs,
                                                   const tsi_steps *steps, const tsi_levels *levels,
                                                   const tsi_bundles *bundles, double *seconds);
