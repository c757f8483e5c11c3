/* Simulated time, if StarPU simulates a machine (SimGrid): tasks compute as usual on the present machine, and
 * take the time that they would take on the simulated machine.
 *
 * Model. A task on the host takes the overhead of a task and the time to read its bytes. It reads at the
 * bandwidth of one core, or at its share of the bandwidth of all cores. The bandwidth of all cores is divided
 * equally among the tasks that read when it begins. A task on a device takes its estimate from the model of
 * devices. Both take longer with several right-hand sides. Caches are not modelled. Transfers take the time
 * of StarPU's bus model. Work of the calling thread takes no time.
 *
 * StarPU's workers are then actors of which one runs at a time: waiting by other means than StarPU's would
 * never end.
 *
 * Reads   estimates of tasks.   Writes  the clock of clock.h; its own counts, which are static, like StarPU.
 * Invariants: the same plan takes the same time, to the last digit. */
#pragma once

#include "runtime/base/env.h"

/* Whether this build is for a StarPU that simulates. */
#ifdef TSI_SIMULATED
#define TSI_IS_SIMULATED true
#else
#define TSI_IS_SIMULATED false
#endif

/* Costs of simulated cores. */
typedef struct tsi_simulated_costs {
  double one, all; /* bandwidth of one core, and of all of them together, in bytes per second */
  double task;     /* seconds */
} tsi_simulated_costs;

/* All functions below do nothing in a build without simulation.
 *
 * tsi_simulation_check: before starpu_init, which would end the program: checks that StarPU has a description
 * of the machine to simulate. Errors: RUNTIME. tsi_simulation_begin, _end: after StarPU has started; before
 * it stops. tsi_simulation_host_task, _device_task: in a task that has done its work: advances time by the
 * estimate for one right-hand side (tsi_task_microseconds), adapted to the columns. */
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
