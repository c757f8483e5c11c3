/* The cores to which StarPU's workers are bound, if TriStar starts StarPU.
 *
 * They follow from the affinity mask of the process, set by mpiexec, Slurm, taskset or a container, which
 * StarPU 1.3 does not read by itself. The list begins with the first processing unit (hardware thread) of
 * each core in the mask, one for each worker. If there are more workers than cores, the other units of these
 * cores follow, and then the list begins again. Cores are in hwloc's order.
 *
 * Reads   the affinity mask of the calling thread, hwloc's topology.   Writes  a list for starpu_conf.
 * The mask is not used if hwloc describes another machine (HWLOC_SYNTHETIC, HWLOC_XMLFILE). */
#pragma once

#include "runtime/base/env.h"

typedef struct tsi_binding {
  int cores;   /* number of cores on which the process may run */
  int units;   /* number of their processing units */
  bool masked; /* the machine has more cores */
} tsi_binding;

/* A processing unit: hwloc's logical number and the operating system's number. */
typedef struct tsi_unit {
  unsigned logical, cpu;
} tsi_unit;

/* unit: receives at most `most` processing units, in the order above. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_binding_find(const tsi_env *env, int most, tsi_unit *unit,
                                                tsi_binding *out);

/* Counts the cores and the processing units of the machine, whatever the affinity mask. Returns whether hwloc
 * can count them. */
bool tsi_binding_count(int *cores, int *units);
