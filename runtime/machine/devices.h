/* GPUs that the cost model of device_model.h knows.
 *
 * What a data sheet says is taken from there; a bus or link has half of what it says of both directions. The
 * rest are assumptions, the same for all devices but where they follow from a data sheet's figures: nobody
 * has measured them yet. */
#pragma once

#include "runtime/exec/device/device_build.h"
#include "tristar_layout.h"

typedef struct tsi_device {
  const char *name; /* as the program's options have it */
  const char *title;
  const char *source; /* of its processors and its bandwidth */
  int processors;     /* streaming multiprocessors, compute units */
  double peak;        /* bytes a second of its memory */
  double reached;     /* of these, what a kernel that streams reaches: assumed */
  double memory;      /* bytes */
  double bus;         /* bytes a second, in each direction, between it and main memory */
  double flops;       /* a second, of products of matrices in double precision; single: at least */
  int per_node;       /* devices of a node */
  double link;        /* bytes a second, in each direction, between a device and the others of its node */
  double network;     /* bytes a second, in each direction, of a device to other nodes */
} tsi_device;

/* number: from 0; NULL: there are no more. */
const tsi_device *tsi_device_get(int number);

/* The device whose name occurs in a text, such as the name of a worker; where there is none, the first. */
const tsi_device *tsi_device_named(const char *text);

/* The device of this name; NULL: there is none. */
const tsi_device *tsi_device_find(const char *name);

/* Nodes with such devices, each of which is a process that runs its program in one persistent launch
 * (codelets/gpu/tables/program_launch.h): the cores are the resident blocks, which draw the steps. */
tristar_cluster tsi_device_cluster(const tsi_device *device);

/* What nodes cost on a device. */
tsi_device_costs tsi_device_costs_of(const tsi_device *device);
