/* See devices.h. */
#include "runtime/starpu/devices.h"

#include <starpu.h>

int tsi_devices_count(int *worker) {
  int number[TSI_DEVICES_MOST];
  if (tsi_devices.name == NULL) return 0;
  return tsi_devices.workers(worker ? worker : number, TSI_DEVICES_MOST);
}

tsi_device_facts tsi_device_describe(int device) {
  int worker[TSI_DEVICES_MOST];
  tsi_device_facts facts = {.memory = 0};
  (void)tsi_devices_count(worker);
  facts.worker = worker[device];
  starpu_worker_get_name(facts.worker, facts.name, sizeof facts.name);
  const double total = (double)starpu_memory_get_total(starpu_worker_get_memory_node((unsigned)facts.worker));
  if (total > 0) facts.memory = total;
  return facts;
}
