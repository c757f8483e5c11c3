/* Descriptions of a cluster, for `tristar simulate --machine`: JSON objects with the fields of
 * tristar_cluster as keys, a name, and the network that SimGrid simulates.
 *
 * Reads   a parsed file, or the calibration of this machine.   Writes  a tsi_cluster.
 * Invariant: an unknown key or a value of a wrong type is an error; its message contains the key. */
#pragma once

#include <cjson/cJSON.h>

#include "drivers/session/simgrid_clock.h"
#include "runtime/machine/devices.h"
#include "tristar_machine.h"

typedef struct tsi_cluster {
  tristar_cluster model;
  const tsi_device *device; /* device of each process; NULL: processes use cores */
  char name[80];
  tsi_topology topology;
  int shape[3];
} tsi_cluster;

/* Returns the description as an object that tsi_cluster_read reads. */
cJSON *tsi_cluster_json(const tsi_cluster *cluster);
/* Reads a description; object NULL: sets the defaults. Writes an error message to `wrong`, or "". */
void tsi_cluster_read(const cJSON *object, tsi_cluster *cluster, char *wrong, size_t size);
/* Finds the file NAME.json among the descriptions installed with the program: cori, perlmutter, frontier, ...
 * Returns false if there is none. */
bool tsi_cluster_find(const char *name, char *path, size_t size);
/* Describes nodes with devices of this type and the links of runtime/machine/devices.c. */
void tsi_cluster_of_device(const tsi_device *device, tsi_cluster *cluster);
/* Describes this machine by its calibration: one node, one process per core, default costs of messages. */
void tsi_cluster_of_calibration(const tristar_calibration *calibration, tsi_cluster *cluster);
