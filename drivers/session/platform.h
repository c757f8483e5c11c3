/* Nodes that `tristar simulate` can simulate: cores with their memory, devices of the cost model, and a bus
 * to each device.
 *
 * Numbers are from data sheets, with three assumptions: the bandwidth of one core, the share of the memory
 * bandwidth that all cores reach, and the buses (runtime/solve/device_choice.h). Each device has its own bus;
 * devices exchange data through main memory.
 *
 * Reads   its table.
 * Writes  a folder of temporary files, for StarPU and the library; variables of this process that name them:
 * STARPU_PERF_MODEL_DIR, STARPU_HOSTNAME, STARPU_NCPU, STARPU_NCUDA, STARPU_NOPENCL, STARPU_SILENT,
 * TRISTAR_CALIBRATION. */
#pragma once

#include "drivers/session/session.h"
#include "runtime/machine/devices.h"

#define TSI_PLATFORM_DEVICES 8 /* maximum number of devices */

typedef struct tsi_platform {
  const char *name, *host, *source;
  int device;    /* number of the device in runtime/machine/devices.h */
  double memory; /* bandwidth of main memory in bytes per second */
} tsi_platform;

/* Returns a platform by its number among the words of --platform; NULL after the last. */
const tsi_platform *tsi_platform_get(int number);
/* Return the read bandwidth of one core, and of `cores` cores together, in bytes per second. */
double tsi_platform_one(const tsi_platform *platform);
double tsi_platform_all(const tsi_platform *platform, int cores);

typedef struct tsi_platform_folder {
  char path[256]; /* "": there is none */
} tsi_platform_folder;

/* Makes StarPU simulate a node with so many cores and devices. Call it once in a process, before StarPU
 * starts. A signal that ends the process (HUP, INT, QUIT, TERM, PIPE) removes the files first. Returns 0 or
 * an errno. */
int tsi_platform_install(const tsi_platform *platform, int cores, int devices, tsi_platform_folder *folder);
/* Installs the handler again. Call it after StarPU has started, as SimGrid handles some of these signals. */
void tsi_platform_guard(void);
/* Removes the files, if there are any. Call it after StarPU has ended. */
void tsi_platform_remove(void);
