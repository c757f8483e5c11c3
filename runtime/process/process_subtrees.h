/* Subtrees of a process's share that work on its devices: which, and their data.
 *
 * Job. Choose subtrees of what a process has whole, as a plan does it for its factor
 * (device_split_options.h), and give them to the devices that the StarPU of the process has. The choice of
 * every process goes to all of them, as their layout is one: a subtree on a device is one chunk of it. What
 * the processes of a grid share, and what grids share, is the cores'; so messages are of and for main memory
 * only (program.h). Data that devices have worked with comes to main memory by the handles of the steps at a
 * border, before what is sent of it.
 *
 * Reads   the structure of the factor, the options of a process, the calibration, StarPU's devices.
 * Writes  its result; subtrees, interchanges and residents of a process.
 * Invariants: devices have the values of the last tsi_process_renew. */
#pragma once

#include "runtime/context/context.h"
#include "runtime/solve/device_split_options.h"
#include "runtime/process/process.h"
#include "tristar_device.h"

/* What is wanted of devices. */
typedef struct tsi_process_wishes {
  tristar_place place;
  double device_bytes; /* on a device at most; 0: the process's part of nine tenths of its memory,
                          if that is known */
  tsi_index columns;   /* right-hand sides of a block */
  int sharers;         /* processes that use the same devices, this one included */
} tsi_process_wishes;

/* As tsi_device_split_options_choose, of what the process has whole in a layout without devices
 * (options->layout.device is NULL). places->device: supernodes of the factor; NULL: none of them is on a
 * device. StarPU runs unless it may not. Errors: those of tsi_device_split_options_choose and of
 * tsi_layout_create. */
TRISTAR_CHECKED tristar_status tsi_process_places(tristar_t *ts, const tsi_factor_kind *kind,
                                                  const tsi_symbolic *symbolic, const tsi_panels *panels,
                                                  const tsi_process_options *options,
                                                  const tsi_process_wishes *wishes,
                                                  tsi_device_split_options *places);

/* The subtrees of a process that has its share, tables and room for values, of options->layout.device; none
 * where no chunk of it is on a device. StarPU runs. Errors: TOO_LARGE, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_process_subtrees_create(tsi_process *process, const tsi_symbolic *symbolic,
                                                           const tsi_panels *panels,
                                                           const tsi_process_options *options);
void tsi_process_subtrees_destroy(tsi_process *process);

/* The values of the process are new: devices are to have them. No solve is in flight. Not from inside a
 * StarPU task. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_process_renew(tsi_process *process);

/* The i-th (from 0) of the devices that have subtrees; false: there is none. */
bool tsi_process_describe_device(const tsi_process *process, int i, tsi_index columns,
                                 tristar_device_stats *stats);
