/* Nodes that `tristar simulate` can simulate: cores with their memory, devices of the cost model, and a bus
 * to each of them.
 *
 * What data sheets say is taken from there. Assumed: what one core reads, the share of the memory's bandwidth
 * that all cores reach, and of buses what runtime/solve/device_choice.h says. Each device has a bus of its
 * own; devices reach each other through main memory.
 *
 * Reads   its table.
 * Writes  a folder of temporary files, for StarPU and the library; variables of this process that name them:
 * STARPU_PERF_MODEL_DIR, STARPU_HOSTNAME, STARPU_NCPU, STARPU_NCUDA, STARPU_NOPENCL, STARPU_SILENT,
 * TRISTAR_CALIBRATION. */
#pragma once

#include "drivers/session/session.h"
#include "runtime/machine/devices.h"

#define TSI_PLATFORM_DEVICES 8 /* at most */

typedef struct tsi_platform {
  const char *name, *host, *source;
  int device;    /* number of runtime/machine/devices.h */
  double memory; /* bytes a second of main memory */
} tsi_platform;

/* number: as --platform has it; NULL: there are no more. */
const tsi_platform *tsi_platform_get(int number);
/* Bytes a second that one core, and so many cores together, read. */
double tsi_platform_one(const tsi_platform *platform);
double tsi_platform_all(const tsi_platform *platform, int cores);

typedef struct tsi_platform_folder {
  char path[256]; /* "": there is none */
} tsi_platform_folder;

/* Makes a node with so many cores and devices the one that StarPU is to simulate, once in a process, before
 * it starts. A signal that ends the process (HUP, INT, QUIT, TERM, PIPE) removes the files first. Gives 0 or
 * an errno. */
int tsi_platform_install(const tsi_platform *platform, int cores, int devices, tsi_platform_folder *folder);
/* To be called again once StarPU has started: SimGrid handles some of these signals, too. */
void tsi_platform_guard(void);
/* Removes the files, if there are any; StarPU has ended. */
void tsi_platform_remove(void);
