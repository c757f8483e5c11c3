/* See simulation.h. */
#include "runtime/exec/starpu/simulation.h"

#ifdef TSI_SIMULATED

#include <starpu.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "codelets/columns.h"
#include "runtime/base/clock.h"
#include "runtime/exec/steps/task_list.h"
#include "runtime/exec/starpu/environment.h"

static tsi_simulated_costs machine;
static _Atomic(int) reading; /* tasks on the host that are reading */

static double now(void) {
  return 1e-6 * starpu_timing_now();
}

/* The file is in the folder where StarPU stores measurements of its host. A file installed with StarPU has
 * another name, given by STARPU_HOSTNAME. */
tristar_status tsi_simulation_check(const tsi_env *env) {
  char host[128], path[TSI_MESSAGE_SIZE / 2];
  const char *given = getenv("STARPU_PERF_MODEL_DIR"), *named = getenv("STARPU_HOSTNAME");
  tsi_starpu_host(host, sizeof host);
  snprintf(path, sizeof path, "%s%s/bus/%s.platform.v4.xml", given ? given : tsi_starpu_home(),
           given ? "" : "/.starpu/sampling", host);
  if ((named != NULL && *named != '\0') || access(path, R_OK) == 0) return TRISTAR_OK;
  TSI_FAIL(env, TRISTAR_ERR_RUNTIME,
           "StarPU simulates a machine, and has no description of one: there is no file %s, and "
           "STARPU_HOSTNAME names no "
           "other",
           path);
}

void tsi_simulation_begin(const tsi_simulated_costs *costs) {
  machine = *costs;
  atomic_store(&reading, 0);
  tsi_clock_follow(now);
}

void tsi_simulation_end(void) {
  tsi_clock_follow(NULL);
}

void tsi_simulation_host_task(double microseconds, int columns) {
  const int readers = atomic_fetch_add(&reading, 1) + 1;
  const double rate = tsi_double_min(machine.one, machine.all / readers);
  const double seconds = tsi_task_bytes(microseconds) / rate * tsi_time_of_columns(columns);
  starpu_sleep((float)(machine.task + seconds));
  atomic_fetch_sub(&reading, 1);
}

void tsi_simulation_device_task(double microseconds, int columns) {
  starpu_sleep((float)(1e-6 * microseconds * tsi_time_of_columns(columns)));
}

#endif
