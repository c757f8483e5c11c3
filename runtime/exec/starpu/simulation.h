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
#pragma once

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

/* All below does nothing where this build simulates nothing.
 *
 * tsi_simulation_check: before starpu_init: has StarPU the description of the machine that it is to simulate?
 * It would end the program. Errors: RUNTIME. tsi_simulation_begin, _end: StarPU has started; it is about to
 * stop. tsi_simulation_host_task, _device_task: in a task that has done its work: time passes, for one that
 * is estimated to take so long with one right-hand side (tsi_task_microseconds). */
#ifdef TSI_SIMULATED
TRISTAR_CHECKED tristar_status tsi_simulation_check(const tsi_env *env);
void tsi_simulation_begin(const tsi_simulated_costs *costs);
void tsi_simulation_end(void);
void tsi_simulation_host_task(double microseconds, int columns);
void tsi_simulation_device_task(double microseconds, int columns);
#else
static inline tristar_status tsi_simulation_check(const tsi_env *env) {
  (void)env;
  return TRISTAR_OK;
}
static inline void tsi_simulation_begin(const tsi_simulated_costs *costs) {
  (void)costs;
}
static inline void tsi_simulation_end(void) {}
static inline void tsi_simulation_host_task(double microseconds, int columns) {
  (void)microseconds;
  (void)columns;
}
static inline void tsi_simulation_device_task(double microseconds, int columns) {
  (void)microseconds;
  (void)columns;
}
#endif
