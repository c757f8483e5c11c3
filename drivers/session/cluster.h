/* Descriptions of a cluster, for `tristar simulate --machine`: JSON objects with the fields of
 * tristar_cluster as keys, a name, and the network that SimGrid simulates.
 *
 * Reads   a parsed file, or the calibration of this machine.   Writes  a tsi_cluster.
 * Invariant: an unknown key, or a value of another type, is an error that names the key. */
#pragma once

#include <cjson/cJSON.h>

#include "drivers/session/simgrid_clock.h"
#include "runtime/machine/devices.h"
#include "tristar_machine.h"

typedef struct tsi_cluster {
  tristar_cluster model;
  const tsi_device *device; /* each process is one; NULL: cores */
  char name[80];
  tsi_topology topology;
  int shape[3];
} tsi_cluster;

/* The object that tsi_cluster_read reads. */
cJSON *tsi_cluster_json(const tsi_cluster *cluster);
/* What is wrong with the file; "": nothing. object NULL: the defaults. */
void tsi_cluster_read(const cJSON *object, tsi_cluster *cluster, char *wrong, size_t size);
/* The description NAME.json that comes with the program: cori, perlmutter, frontier, ... False: there is
 * none. */
bool tsi_cluster_find(const char *name, char *path, size_t size);
/* Nodes with such devices and the links of runtime/machine/devices.c. */
void tsi_cluster_of_device(const tsi_device *device, tsi_cluster *cluster);
/* This machine by its calibration: a node with a process on each core. Messages have the defaults. */
void tsi_cluster_of_calibration(const tristar_calibration *calibration, tsi_cluster *cluster);
