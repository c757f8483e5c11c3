/* Places the subtrees of the assembly tree on the devices and the cores of a node.
 *
 * Job. Find subtrees, and assign each to a device or to the cores, so that a list schedule of both sweeps
 * takes the least time (device_split_schedule.h). The cores work on the ancestors of the subtrees. A subtree
 * may be the whole tree of a root; so one device alone, and the cores alone, are among the placings. On one
 * process of several, subtrees consist of supernodes that it alone has.
 *
 * Method. Start from the roots and replace the heaviest subtree by its children, repeatedly. At each stage
 * assign the subtrees, the heaviest first, each to the resource that completes it first among those with
 * enough memory. Completion times are sums of the work of each resource, a lower bound. Repeat this for each
 * number of devices; with several speeds of the cores (full bandwidth, half of it, and so on), as they also
 * work on the ancestors; and with only the heaviest subtrees, or a part of the factor, for devices. Of all
 * placings choose the one with the shortest schedule: the first one of several, and the cores alone before
 * all others. Then move single subtrees between devices and cores as long as the schedule becomes shorter, up
 * to a limit. The result depends on the structure and the costs only.
 *
 * With devices_first all subtrees are assigned to devices, as if each had enough memory for all. If memory
 * is too small, the stages are repeated. Placings are considered that take no longer than the first one, or
 * than the cores alone. Of these, the one with most of the first assignment on devices is chosen. The cores
 * get the rest, which is counted in unfit_bytes.
 *
 * Reads   the structure of one factor, or of L of an LU factorization whose U has rows of its own.
 * Writes  a tsi_device_split that owns its arrays.
 * Invariants (tsi_device_split_check)
 *   - no subtree contains another one or a shared supernode
 *   - the memory of a device holds all that it keeps for its subtrees, and the scratch of the most demanding
 *     one
 *   - load[d] is the sum over the subtrees on device d, in the order of their assignment
 *   - times are the times of the schedule; they do not exceed the time of the cores alone, unless devices
 *     come first */
#pragma once

#include "partition/device/device_split_schedule.h"

typedef struct tsi_device_load {
  tsi_index subtrees;
  double bytes;    /* Bytes of the factor, as stored. */
  double memory;   /* Bytes that the device keeps. */
  double scratch;  /* Scratch bytes of the most demanding subtree. */
  double up, down; /* Bytes that cross the bus in a solve. */
  double seconds;  /* Seconds of a solve, with waits for transfers before tasks. */
} tsi_device_load;

/* Bytes that a device keeps for a subtree. bytes: of the factor; extra: kept for its supernodes besides the
 * factor; border: rows of its border. */
static inline double tsi_device_split_memory(const tsi_device_split_costs *costs, double bytes, double extra,
                                             tsi_index border) {
  return bytes + extra + border * costs->border_bytes + costs->subtree_bytes;
}

/* Bytes of memory that a device needs. */
static inline double tsi_device_load_memory(const tsi_device_load *load) {
  return load->memory + load->scratch;
}

/* Adds a subtree to the load of a device. */
void tsi_device_load_add(const tsi_device_split_costs *costs, const tsi_split_subtree *subtree,
                         tsi_device_load *load);

typedef struct tsi_device_split {
  tsi_index count;
  tsi_split_subtree *subtree; /* Heaviest first. */
  tsi_index devices;
  tsi_device_load *load; /* devices */
  double cores_seconds;  /* of a solve, both sweeps, until the subtrees on the cores are complete */
  double above_seconds;  /* Seconds of a solve for the ancestors, after all subtrees are complete. */
  double seconds;        /* Seconds of a solve. */
  double only_cores;     /* Seconds of a solve without devices. */
  double unfit_bytes;    /* Stored bytes of subtrees that the cores have for lack of device memory. */
} tsi_device_split;

/* Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_split_create(tsi_env *env, const tsi_symbolic *symbolic,
                                                       const tsi_panels *panels,
                                                       const tsi_device_split_costs *costs,
                                                       tsi_device_split **out);
/* Stored bytes of the factor on all devices. */
double tsi_device_split_bytes(const tsi_device_split *placing);
/* Does each device have enough memory? */
bool tsi_device_split_has_space(const tsi_device_split_costs *costs, const tsi_device_split *placing);
TRISTAR_CHECKED tristar_status tsi_device_split_check(tsi_env *env, const tsi_device_split *placing,
                                                      const tsi_symbolic *symbolic, const tsi_panels *panels,
                                                      const tsi_device_split_costs *costs);

/* device[s]: the device of supernode s; TSI_NONE: the cores. */
void tsi_device_split_devices(const tsi_device_split *placing, const tsi_symbolic *symbolic,
                              tsi_index *device);
