/* See devices.h. */
#include "runtime/exec/starpu/devices.h"

#include <math.h>
#include <starpu.h>

const char *tsi_devices_obstacle(void) {
  return tsi_devices.name ? NULL : "this build of TriStar has no devices: its StarPU is without CUDA and HIP";
}

int tsi_devices_count(int *worker) {
  int number[TSI_DEVICES_MOST];
  if (tsi_devices.name == NULL) return 0;
  return tsi_devices.workers(worker ? worker : number, TSI_DEVICES_MOST);
}

/* A figure of StarPU, or 0 if it is unknown. */
static double known(double figure) {
  return isfinite(figure) && figure > 0 ? figure : 0;
}

tsi_device_facts tsi_device_describe(int device) {
  int worker[TSI_DEVICES_MOST];
  tsi_device_facts facts = {.memory = 0};
  (void)tsi_devices_count(worker);
  facts.worker = worker[device];
  starpu_worker_get_name(facts.worker, facts.name, sizeof facts.name);
  const unsigned node = starpu_worker_get_memory_node((unsigned)facts.worker);
  if (node != STARPU_MAIN_RAM) {
    facts.up = known(1e6 * starpu_transfer_bandwidth(STARPU_MAIN_RAM, node));
    facts.down = known(1e6 * starpu_transfer_bandwidth(node, STARPU_MAIN_RAM));
    facts.seconds = known(1e-6 * starpu_transfer_latency(STARPU_MAIN_RAM, node));
  }
  const double total = (double)starpu_memory_get_total(node);
  if (total > 0) facts.memory = total;
  return facts;
}
