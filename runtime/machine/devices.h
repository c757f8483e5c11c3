/* GPUs of the cost model in device_model.h.
 *
 * Figures are taken from data sheets; for a bus or link, half of the figure for both directions. Other
 * figures are assumptions, equal for all devices unless they follow from a data sheet: they have not been
 * measured yet. */
#pragma once

#include "runtime/exec/device/device_build.h"
#include "tristar_layout.h"

typedef struct tsi_device {
  const char *name; /* name in the program's options */
  const char *title;
  const char *source; /* source of processors and bandwidth */
  int processors;     /* streaming multiprocessors, compute units */
  double peak;        /* memory bandwidth in bytes per second */
  double reached;     /* part of peak that a streaming kernel reaches: assumed */
  double memory;      /* bytes */
  double bus;         /* bytes per second, in each direction, between it and main memory */
  double flops;       /* per second, in products of matrices in double precision; single: at least this */
  int per_node;       /* number of devices per node */
  double link;        /* bytes per second, in each direction, between a device and the others of its node */
  double network;     /* bytes per second, in each direction, of a device to other nodes */
  int group;          /* number of consecutive devices of a node that all have links with each other; a device
                         has links with the devices of the same index in other groups, too */
} tsi_device;

/* number: from 0; returns NULL if there are no more. */
const tsi_device *tsi_device_get(int number);

/* The device whose name occurs in a text, for example in the name of a worker; if there is none, the first.
 */
const tsi_device *tsi_device_named(const char *text);

/* The device of this name; NULL: there is none. */
const tsi_device *tsi_device_find(const char *name);

/* A cluster of nodes with such devices. Each device is a process that runs its program in one persistent
 * launch (codelets/gpu/tables/program_launch.h): its cores are the resident blocks, which draw the steps. */
tristar_cluster tsi_device_cluster(const tsi_device *device);

/* Costs of nodes of device tables on a device. */
tsi_device_costs tsi_device_costs_of(const tsi_device *device);
