/* See devices.h. */
#include "runtime/starpu/devices.h"

int tsi_devices_count(int *worker) {
  int number[TSI_DEVICES_MOST];
  if (tsi_devices.name == NULL) return 0;
  return tsi_devices.workers(worker ? worker : number, TSI_DEVICES_MOST);
}
