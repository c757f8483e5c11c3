/* Statistics of the solves of a plan: how the solve that ended last spent its time.
 *
 * Job. A solve adds up the times of its tasks on each worker (task_list.h), for each block of right-hand
 * sides. When it ends, the sums are kept for tristar_plan_get_solve_stats.
 *
 * Reads   StarPU's numbers of its CPU workers, and of its device workers if the plan uses devices; once.
 * Writes  its own arrays; `latest` and `compute` under the lock of the plan.
 * Invariants
 *   - worker[k] < slots: sums of a running solve are indexed by StarPU's number, `compute` is indexed by k
 *   - without StarPU there is one worker, the calling thread, whose slot is 0 */
#pragma once

#include <stdatomic.h>

#include "runtime/context/context.h"
#include "tristar_trace.h"

typedef struct tsi_statistics {
  int workers; /* number of CPU workers plus device workers; or 1 */
  int *worker; /* workers: StarPU's number of each */
  int slots;
  atomic_llong in_flight;
  tristar_solve_stats latest;
  double *compute; /* workers: seconds in tasks of the latest solve */
} tsi_statistics;

/* The sums of a solve. */
typedef struct tsi_solve_sums {
  double *compute; /* slots; NULL until tsi_sums_begin; may point to `one` */
  double one;
  bool here; /* tasks ran on the calling thread */
  int64_t tasks;
  double bytes;
} tsi_solve_sums;

/* on_starpu: StarPU runs the tasks; devices: also on devices. Errors: MEMORY, NO_WORKER. */
TRISTAR_CHECKED tristar_status tsi_statistics_create(tsi_env *env, bool on_starpu, bool devices,
                                                     tsi_statistics *statistics);
void tsi_statistics_destroy(tsi_env *env, tsi_statistics *statistics);
/* Converts StarPU's number of a worker to the number in these arrays; 0 for the calling thread. */
int tsi_statistics_worker(const tsi_statistics *statistics, int starpu);

/* The solve is in flight until tsi_sums_end; *sums must not move. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_sums_begin(tsi_env *env, tsi_statistics *statistics, tsi_solve_sums *sums);
/* Keeps the sums, unless the solve failed. The plan's lock is held. */
void tsi_sums_keep(tsi_statistics *statistics, const tsi_solve_sums *sums, double seconds, int64_t solves);
void tsi_sums_end(tsi_env *env, tsi_statistics *statistics, tsi_solve_sums *sums);
