/* A build without devices: see devices.h. */
#include "runtime/exec/starpu/devices.h"

const tsi_device_driver tsi_devices = {.name = NULL};
