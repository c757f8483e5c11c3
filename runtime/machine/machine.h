/* The context's data about the machine: the calibration and, after its first use, the topology.
 *
 * Reads   the file of the calibration; hwloc.   Writes  its own members.
 * Invariants
 *   - calibration is the defaults or has passed every check of its file (calibration.h)
 *   - topology does not change after it is loaded */
#pragma once

#include "runtime/base/env.h"
#include "tristar_machine.h"

typedef struct tsi_machine {
  tsi_env *env;
  pthread_mutex_t lock; /* guards all fields below */
  tristar_calibration calibration;
  struct hwloc_topology *topology; /* NULL: not used yet; see topology.h */
} tsi_machine;

/* Loads the calibration. calibration: as in tristar_config. Errors: RUNTIME; nothing is held then. */
TRISTAR_CHECKED tristar_status tsi_machine_init(tsi_env *env, tsi_machine *machine, const char *calibration);
void tsi_machine_finish(tsi_machine *machine);
