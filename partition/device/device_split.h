/* Places the subtrees of the assembly tree on the devices and the cores of a node.
 *
 * Job. Find subtrees, and for each of them a device or the cores, so that a solve of both sweeps takes the
 * least time by a list schedule (device_split_schedule.h). What lies above the subtrees is the cores'. A
 * subtree may be all that a root has below it, so one device alone, for the whole tree, is among the
 * placings, and so are the cores alone. Of a process among several, subtrees are of what it has alone.
 *
 * Method. Start from the roots and replace the heaviest subtree by its children, again and again. At each
 * stage subtrees are dealt out, the heaviest first, each to where it ends first among those that have room
 * for it: by the sum of what each has, which is a bound from below. This is done for each number of
 * devices, and as if the cores were as fast as their bandwidth says, half as fast, and so on, as those also
 * have what is above; and with only the heaviest subtrees, or a part of the factor, for devices. Of all these
 * the one is taken that ends first by the schedule; the first one of several, and the cores alone before all
 * of them. Then single subtrees move between devices and cores as long as the schedule becomes shorter, but
 * not for long. The result follows from the structure and the costs only.
 *
 * With devices_first all subtrees are dealt to devices, as if each had room for all. If they have not, the
 * stages are gone through again, and of the placings that take no longer than that one, or than the cores
 * alone, the one is taken that leaves devices the most of what they would have had; the rest is the cores',
 * and told as unfit.
 *
 * Reads   the structure of one factor, or of L of an LU factorization whose U has rows of its own.
 * Writes  a tsi_device_split that owns its arrays.
 * Invariants (tsi_device_split_check)
 *   - no subtree contains another one, and none what is shared
 *   - what a device keeps for its subtrees, and needs for the one that needs most, is no more than its memory
 *   - load[d] sums up the subtrees on device d, in the order in which they were dealt out
 *   - times are those of the schedule, and no longer than those of the cores alone, unless devices come first
 */
#pragma once

#include "partition/device/device_split_schedule.h"

typedef struct tsi_device_load {
  tsi_index subtrees;
  double bytes;    /* of factor, stored */
  double memory;   /* all that it keeps */
  double scratch;  /* what it needs for the subtree that needs most */
  double up, down; /* bytes that cross the bus in a solve */
  double seconds;  /* of a solve, with waiting for what crosses the bus before tasks */
} tsi_device_load;

/* All that a device keeps for a subtree: bytes of factor, beside these of its supernodes, rows of its border.
 */
static inline double tsi_device_split_memory(const tsi_device_split_costs *costs, double bytes, double beside,
                                             tsi_index border) {
  return bytes + beside + border * costs->border_bytes + costs->subtree_bytes;
}

/* Bytes of its memory that a device takes. */
static inline double tsi_device_load_memory(const tsi_device_load *load) {
  return load->memory + load->scratch;
}

/* Gives a device one more subtree. */
void tsi_device_load_add(const tsi_device_split_costs *costs, const tsi_split_subtree *subtree,
                         tsi_device_load *load);

typedef struct tsi_device_split {
  tsi_index count;
  tsi_split_subtree *subtree; /* the heaviest first */
  tsi_index devices;
  tsi_device_load *load; /* devices */
  double cores_seconds;  /* of a solve until the subtrees on the cores are through, in both sweeps */
  double above_seconds;  /* from when all subtrees are, for what is above */
  double seconds;        /* of a solve */
  double only_cores;     /* the same without devices */
  double unfit_bytes;    /* stored, of subtrees that would have been on devices which have no room */
} tsi_device_split;

/* Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_split_create(tsi_env *env, const tsi_symbolic *symbolic,
                                                       const tsi_panels *panels,
                                                       const tsi_device_split_costs *costs,
                                                       tsi_device_split **out);
/* Of factor, stored, on all devices. */
double tsi_device_split_bytes(const tsi_device_split *placing);
/* Has no device more than its memory? */
bool tsi_device_split_has_room(const tsi_device_split_costs *costs, const tsi_device_split *placing);
TRISTAR_CHECKED tristar_status tsi_device_split_check(tsi_env *env, const tsi_device_split *placing,
                                                      const tsi_symbolic *symbolic, const tsi_panels *panels,
                                                      const tsi_device_split_costs *costs);

/* device[s]: that of supernode s; TSI_NONE: the cores. */
void tsi_device_split_devices(const tsi_device_split *placing, const tsi_symbolic *symbolic,
                              tsi_index *device);
