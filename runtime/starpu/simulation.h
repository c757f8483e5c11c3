/* Simulated time, where StarPU simulates a machine (SimGrid): tasks compute what they always do, on the
 * machine that the program runs on, and take the time that they would take on the simulated one.
 *
 * Model. A task on the host takes what a task costs, and reads its bytes at the rate of one core, or at its
 * share of what all cores read together, which is that among the tasks that read when it begins. A task on a
 * device takes its estimate, which is that of the model of devices. Both are longer with several right-hand
 * sides. Caches are left out. Transfers take what StarPU's model of the buses says. What the calling thread
 * does takes no time.
 *
 * StarPU's workers are then actors of one thread at a time: a wait that is not StarPU's would never end.
 *
 * Reads   estimates of tasks.   Writes  the clock of clock.h; its own counts, which are static, as StarPU is.
 * Invariants: the same plan takes the same time, to the last digit. */
#ifndef TSI_RUNTIME_STARPU_SIMULATION_H
#define TSI_RUNTIME_STARPU_SIMULATION_H

#include "runtime/base/env.h"

/* Is this build for a StarPU that simulates? */
#ifdef TSI_SIMULATED
#define TSI_IS_SIMULATED true
#else
#define TSI_IS_SIMULATED false
#endif

/* What simulated cores take. */
typedef struct tsi_simulated_costs {
  double one, all; /* bytes per second that one core, and all of them together, read */
  double task;     /* seconds */
} tsi_simulated_costs;

/* All below does nothing where this build simulates nothing. */

/* Before starpu_init: has StarPU the description of the machine that it is to simulate? It would end the
 * program. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_simulation_check(const tsi_env *env);
/* StarPU has started; it is about to stop. */
void tsi_simulation_begin(const tsi_simulated_costs *costs);
void tsi_simulation_end(void);

/* In a task that has done its work: time passes, for one that is estimated to take so long with one
 * right-hand side (tsi_task_microseconds). */
void tsi_simulation_host_task(double microseconds, int columns);
void tsi_simulation_device_task(double microseconds, int columns);

#endif
