/* The time of a solve with subtrees of the assembly tree on devices, by a list schedule.
 *
 * Model. The cores work on the chunks that a plan has besides the subtrees on devices, and on slices of them:
 * a chunk waits for the chunks with rows in its columns, a slice for its chunk. A task takes a core the
 * seconds of a task, and as long again until the next one begins. It reads its bytes at the rate of one core,
 * or at its share of the rate of all cores: the share among the tasks that read when it begins. The ready
 * task with the longest path to the root begins first.
 *
 * A subtree on a device is one task of the device between two small tasks of the cores. The first reads b,
 * the second takes the updates of the border, the rows below the subtree's root. The columns of the subtree
 * cross the device's bus before the task, after the preceding task of the device; its border crosses the bus
 * afterwards. The task takes the device the seconds of a task, and the longer of two times: for its longest
 * chain of nodes, and for its factor at the device's bandwidth. A device runs one task at a time, and its bus
 * to the host runs one transfer at a time.
 *
 * This is the forward sweep. The backward sweep is the same in reverse, and takes as long.
 *
 * Reads   the structure of one factor, or of L of an LU factorization whose U has rows of its own, costs, the
 * device of each subtree.
 * Writes  its own arrays. */
#pragma once

#include "partition/cut/chunks.h"

/* The costs of the work; all devices are equal. */
typedef struct tsi_device_split_costs {
  tsi_index devices;
  double task_seconds;       /* Seconds of a subtree on a device, in each direction, besides its work. */
  const double *device_path; /* supernodes: minimum seconds of a device for the subtree, each
                                direction; NULL: 0 */
  double device_bandwidth;   /* Bytes of the factor per second that a device processes. */
  double device_memory;      /* Bytes of a device's memory that may be used. */
  const double *stored;      /* supernodes: bytes of each one's factor in device memory */
  const double *extra;       /* supernodes: bytes that a device keeps besides: tables, x; NULL: 0 */
  double border_bytes;       /* Bytes that it keeps besides for each row of a border. */
  double subtree_bytes;      /* Bytes that it keeps besides for each subtree. */
  const double *scratch; /* supernodes: scratch bytes in the subtree at work; the subtrees of a device use the
                            same scratch memory in turn. NULL: 0 */
  double border_scratch; /* Scratch bytes for each row of its border. */
  const tsi_index *border;  /* supernodes: rows below the subtree; NULL: the rows of the supernode, as in a
                               closed structure */
  double handover_seconds;  /* Seconds from the end of a transfer to the task that waits for it; also after a
                               subtree. */
  double bus_seconds;       /* Seconds of a transfer, besides its bytes. */
  double bus_bandwidth;     /* Bytes per second, in each direction, of each device. */
  tsi_index cores;          /* At least 1. */
  double core_bandwidth;    /* Bytes per second that one core reads. */
  double cores_bandwidth;   /* Bytes per second that all cores together read. */
  double core_task_seconds; /* Seconds of a task on a core, besides reading. */
  tsi_chunk_options cut;    /* Cut of the cores into chunks; labels and devices are ignored. */
  double stream_bytes;      /* Bytes of an entry of the factor, in one sweep. */
  double row_bytes;         /* Bytes of a row of right-hand sides. */
  tsi_index solves;         /* Number of concurrent solves for which memory besides the factor is counted. */
  bool devices_first;       /* The cores get subtrees only if devices lack memory, faster or not. */
  const bool *shared; /* supernodes: several processes work on it and on all its ancestors, each with its
                         cores; NULL: none. The schedule assumes that one process does all this work */
} tsi_device_split_costs;

typedef struct tsi_split_subtree {
  tsi_index root;   /* supernode */
  tsi_index device; /* 0, 1, ...; TSI_NONE: the cores. */
  tsi_index columns, border;
  double entries;
  double bytes;   /* Bytes of the factor in device memory. */
  double memory;  /* Bytes that a device keeps for it. */
  double scratch; /* Scratch bytes while the device works on it. */
  double seconds; /* Seconds of a solve on its device, after it is placed; 0: it is on the cores. */
} tsi_split_subtree;

/* Seconds from the start of a sweep. */
typedef struct tsi_device_split_times {
  double end;      /* End of the sweep. */
  double subtrees; /* End of all subtrees. */
  double cores;    /* End of the subtrees on the cores; 0: there are none. */
} tsi_device_split_times;

/* Seconds of a sweep that a subtree takes on a device; seconds that the bus takes for this number of rows. */
double tsi_device_split_device_seconds(const tsi_device_split_costs *costs, const tsi_split_subtree *subtree);
double tsi_device_split_bus_seconds(const tsi_device_split_costs *costs, double rows);
/* Rows below the subtree of a root. */
tsi_index tsi_device_split_border(const tsi_device_split_costs *costs, const tsi_symbolic *symbolic,
                                  tsi_index root);
/* Seconds from b on the host to the updates on the host, if nothing else runs. */
double tsi_device_split_seconds_alone(const tsi_device_split_costs *costs, const tsi_split_subtree *subtree);

typedef struct tsi_device_split_schedule tsi_device_split_schedule;

/* Arguments are borrowed. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_split_schedule_create(tsi_env *env, const tsi_symbolic *symbolic,
                                                                const tsi_panels *panels,
                                                                const tsi_device_split_costs *costs,
                                                                tsi_device_split_schedule **out);
/* Computes the times. Subtrees must not contain each other; the cores have all other supernodes. Errors:
 * MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_split_schedule_run(tsi_env *env,
                                                             tsi_device_split_schedule *schedule,
                                                             const tsi_split_subtree *subtree,
                                                             tsi_index count, tsi_device_split_times *times);
