/* GPUs that the cost model of device_model.h knows.
 *
 * What a data sheet says is taken from there; a bus has half of what it says of both directions. The rest are
 * assumptions, the same for all devices but where they follow from a data sheet's figures: nobody has
 * measured them yet. */
#pragma once

#include "runtime/exec/device/device_build.h"

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
} tsi_device;

/* number: from 0; NULL: there are no more. */
const tsi_device *tsi_device_get(int number);

/* The device whose name occurs in a text, such as the name of a worker; where there is none, the first. */
const tsi_device *tsi_device_named(const char *text);

/* What nodes cost on a device. */
tsi_device_costs tsi_device_costs_of(const tsi_device *device);
