/* Which cores the workers of a StarPU that we start are bound to.
 *
 * The affinity mask of the process decides, as mpiexec, Slurm, taskset or a container have set it: StarPU 1.3
 * does not look at it by itself. One worker gets the first processing unit (hardware thread) of each core
 * that the mask has; if there are more workers than cores, the other units of these cores follow, and then
 * the list begins again. Cores are in the order in which hwloc numbers them.
 *
 * Reads   the affinity mask of the calling thread, hwloc's topology.   Writes  a list for starpu_conf.
 * Not looked at: the mask, where hwloc describes another machine (HWLOC_SYNTHETIC, HWLOC_XMLFILE). */
#pragma once

#include "runtime/base/env.h"

typedef struct tsi_binding {
  int cores;   /* that the process may run on */
  int units;   /* processing units of these */
  bool masked; /* the machine has more */
} tsi_binding;

/* A processing unit, by hwloc's logical number and by the operating system's. */
typedef struct tsi_unit {
  unsigned logical, cpu;
} tsi_unit;

/* unit: at most `most` processing units, in the order above. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_binding_find(const tsi_env *env, int most, tsi_unit *unit,
                                                tsi_binding *out);
