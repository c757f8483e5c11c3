/* What a solve takes where subtrees of the assembly tree are placed on devices: a list schedule.
 *
 * Model. The cores work on the chunks that a plan has beside the subtrees on devices, and on slices of them:
 * a chunk waits for those whose rows it owns, a slice for its chunk. A task takes a core the seconds of a
 * task, and as long again until another one begins, and reads its bytes at the rate of one core, or at its
 * share of what all cores read together, which is that among the tasks that read when it begins. Of the tasks
 * that are ready the one comes first that has the longest path to the root before it.
 *
 * A subtree on a device is one task of it, between two small ones of the cores, which read b and take the
 * updates of its border, the rows below its root. Its columns cross the device's bus before it, when the
 * device is through with the task before, its border afterwards. It takes the device the seconds of a task,
 * and as long as its longest chain of nodes, or as its factor takes at the device's bandwidth. A device does
 * one thing at a time, and so does its bus to the host.
 *
 * That is the forward sweep. The backward one is the same in reverse, and takes as long.
 *
 * Reads   the structure of one factor, or of L of an LU factorization whose U has rows of its own, costs,
 * the device of each subtree.
 * Writes  its own arrays. */
#pragma once

#include "partition/cut/chunks.h"

/* What the work costs; all devices are the same. */
typedef struct tsi_device_split_costs {
  tsi_index devices;
  double task_seconds;       /* of a subtree on a device, in each direction, beside its work */
  const double *device_path; /* supernodes: seconds that a device takes for the subtree at least, in each
                                direction; NULL: none */
  double device_bandwidth;   /* bytes of factor a second that a device gets through */
  double device_memory;      /* bytes that may be taken of a device's memory */
  const double *stored;      /* supernodes: bytes that a device keeps of each one's factor, in memory */
  const double *beside;      /* supernodes: that it keeps beside for each one: tables, x; NULL: nothing */
  double border_bytes;       /* that it keeps beside for each row of a border */
  double subtree_bytes;      /* that it keeps beside for each subtree */
  const double *scratch;     /* supernodes: that it needs for each one of the subtree that it works on, one
                                after the other in the same memory; NULL: nothing */
  double border_scratch;     /* the same for each row of its border */
  const tsi_index *border;   /* supernodes: rows below the subtree of each one; NULL: those of the supernode,
                                as it is in a closed structure */
  double handover_seconds;   /* from a transfer's end to the task that waits for it, or after a subtree */
  double bus_seconds;        /* of a transfer */
  double bus_bandwidth;      /* bytes a second, in each direction, of each device */
  tsi_index cores;           /* at least 1 */
  double core_bandwidth;     /* bytes a second that one core reads */
  double cores_bandwidth;    /* all of them together */
  double core_task_seconds;  /* of a task on a core, beside reading */
  tsi_chunk_options cut;     /* of the chunks of the cores; labels and devices are not looked at */
  double stream_bytes;       /* of an entry of the factor, in one sweep */
  double row_bytes;          /* of a row of right-hand sides */
  tsi_index solves;          /* in flight at a time, that what is kept and needed beside the factor is for */
  bool devices_first;        /* subtrees are the cores' only where devices have no room, faster or not */
  const bool *shared;        /* supernodes: several processes work on it, and on all above it, which the cores
                                of each do; NULL: none. The schedule counts them as if one did it all */
} tsi_device_split_costs;

typedef struct tsi_split_subtree {
  tsi_index root;   /* supernode */
  tsi_index device; /* 0 ..; TSI_NONE: the cores */
  tsi_index columns, border;
  double entries;
  double bytes;   /* of factor, in a device's memory */
  double memory;  /* all that a device keeps for it */
  double scratch; /* what the device needs while it works on it */
  double seconds; /* of a solve on its device, once it is placed; 0: it is the cores' */
} tsi_split_subtree;

/* Seconds of a sweep. */
typedef struct tsi_device_split_times {
  double end;      /* all is through */
  double subtrees; /* all subtrees are */
  double cores;    /* those on the cores are; 0: there are none */
} tsi_device_split_times;

/* Seconds of a sweep that a subtree takes a device; that so many rows take a bus. */
double tsi_device_split_device_seconds(const tsi_device_split_costs *costs, const tsi_split_subtree *subtree);
double tsi_device_split_bus_seconds(const tsi_device_split_costs *costs, double rows);
/* Rows below the subtree of a root. */
tsi_index tsi_device_split_border(const tsi_device_split_costs *costs, const tsi_symbolic *symbolic,
                                  tsi_index root);
/* From when its b has been read on the host to when its updates are there, where nothing else is under way.
 */
double tsi_device_split_seconds_alone(const tsi_device_split_costs *costs, const tsi_split_subtree *subtree);

typedef struct tsi_device_split_schedule tsi_device_split_schedule;

/* All is borrowed. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_split_schedule_create(tsi_env *env, const tsi_symbolic *symbolic,
                                                                const tsi_panels *panels,
                                                                const tsi_device_split_costs *costs,
                                                                tsi_device_split_schedule **out);
/* Subtrees, none in another one. What is in none of them is the cores'. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_split_schedule_run(tsi_env *env,
                                                             tsi_device_split_schedule *schedule,
                                                             const tsi_split_subtree *subtree,
                                                             tsi_index count, tsi_device_split_times *times);
