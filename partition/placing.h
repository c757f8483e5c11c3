/* Places the subtrees of the assembly tree on the devices and the cores of a node.
 *
 * Job. Find subtrees, and for each of them a device or the cores, so that a solve of both sweeps takes the
 * least time by a list schedule. What lies above the subtrees is the cores'.
 *
 * Model. A subtree takes a device, in each direction, the seconds of a task and its bytes of factor at the
 * device's bandwidth; its vectors cross the device's bus meanwhile: forward b of its columns up and the
 * updates of its border, the rows below its root, down; backward x of the border up and of the columns down.
 * The slower of the two counts. The cores are one resource that reads at their common bandwidth: what they
 * have is cut into chunks enough. What is above the subtrees comes after all of them forward and before them
 * backward. Factors have crossed the bus before: they stay on the device.
 *
 * Method. Start from the roots and replace the heaviest subtree by its children, again and again. At each
 * stage subtrees are dealt out, the heaviest first, each to where it ends first among those that have room
 * for its factor. The stage that ends first is taken; cores alone are one of them, but with devices_first
 * only if no stage has a subtree on a device. The result follows from the structure and the costs only.
 *
 * Reads   the structure of one factor, in closed form (symbolic.h).
 * Writes  a tsi_placing that owns its arrays.
 * Invariants (tsi_placing_check)
 *   - no subtree contains another one
 *   - the factor of the subtrees on a device is no larger than its memory
 *   - load[d] sums up the subtrees on device d, in the order in which they were dealt out */
#ifndef TSI_PARTITION_PLACING_H
#define TSI_PARTITION_PLACING_H

#include "partition/panels.h"

/* What the work costs; all devices are the same. */
typedef struct tsi_place_costs {
  tsi_index devices;
  double task_seconds;     /* of a subtree on a device, in each direction, beside streaming */
  double device_bandwidth; /* bytes of factor a second that a device gets through in a subtree */
  double device_memory;    /* bytes that factors may take of a device's memory */
  double bus_seconds;      /* of a transfer */
  double bus_bandwidth;    /* bytes a second, in each direction, of each device */
  double cores_bandwidth;  /* of all cores together */
  double stream_bytes;     /* of an entry of the factor, in one sweep */
  double stored_bytes;     /* of an entry, in memory: twice as many where L and U are stored */
  double row_bytes;        /* of a row of right-hand sides */
  bool devices_first;      /* subtrees are the cores' only where devices have no room, faster or not */
} tsi_place_costs;

typedef struct tsi_placed_subtree {
  tsi_index root;   /* supernode */
  tsi_index device; /* 0 ..; TSI_NONE: the cores */
  tsi_index columns, border;
  double entries;
} tsi_placed_subtree;

typedef struct tsi_device_load {
  tsi_index subtrees;
  double bytes;    /* stored */
  double up, down; /* bytes that cross the bus in a solve */
  double seconds;  /* of a solve */
} tsi_device_load;

typedef struct tsi_placing {
  tsi_index count;
  tsi_placed_subtree *subtree; /* the heaviest first */
  tsi_index devices;
  tsi_device_load *load; /* devices */
  double cores_seconds;  /* for the subtrees on the cores */
  double above_seconds;  /* for what is above the subtrees */
  double seconds;        /* of a solve */
  double only_cores;     /* seconds without devices */
  double unfit_bytes;    /* stored, of subtrees that would have ended first on a device which had no room */
} tsi_placing;

/* Errors: UNSUPPORTED (a structure that is not closed), MEMORY. */
TRISTAR_CHECKED tristar_status tsi_placing_create(tsi_env *env, const tsi_symbolic *symbolic,
                                                  const tsi_panels *panels, const tsi_place_costs *costs,
                                                  tsi_placing **out);
void tsi_placing_destroy(tsi_env *env, tsi_placing **placing);
TRISTAR_CHECKED tristar_status tsi_placing_check(tsi_env *env, const tsi_placing *placing,
                                                 const tsi_symbolic *symbolic, const tsi_panels *panels,
                                                 const tsi_place_costs *costs);

/* device[s]: that of supernode s; TSI_NONE: the cores. */
void tsi_placing_devices(const tsi_placing *placing, const tsi_symbolic *symbolic, tsi_index *device);

#endif
