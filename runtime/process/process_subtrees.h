/* Subtrees of a process's share on its devices: their choice, and their data.
 *
 * Job. Choose subtrees from the chunks that a process owns as a whole, and assign them to the devices of its
 * StarPU. A plan does the same for its factor (device_split_options.h). All processes receive the choice of
 * each process, because they have the same layout: a subtree on a device is one chunk of it. The cores solve
 * the chunks that processes of a grid, or grids, share. So messages are sent from and to main memory only
 * (program.h). The handles of border steps copy data from devices to main memory before they are sent.
 *
 * Reads   the structure of the factor, the options of a process, the calibration, StarPU's devices.
 * Writes  its result; subtrees, interchanges and residents of a process.
 * Invariants: devices have the values of the last tsi_process_renew. */
#pragma once

#include "runtime/context/context.h"
#include "runtime/solve/device_split_options.h"
#include "runtime/process/process.h"
#include "tristar_device.h"

/* Options for the use of devices. */
typedef struct tsi_process_wishes {
  tristar_place place;
  double device_bytes; /* maximum bytes on a device; 0: this process's part of nine tenths of its memory, if
                          the memory is known */
  tsi_index columns;   /* number of right-hand sides in a block */
  int sharers;         /* processes that use the same devices, this one included */
} tsi_process_wishes;

/* tsi_device_split_options_choose for the chunks that the process owns as a whole, in a layout without
 * devices (options->layout.device is NULL). places->device: the device of each supernode of the factor; NULL:
 * no supernode is on a device. StarPU runs if it may. Errors: those of tsi_device_split_options_choose and of
 * tsi_layout_create. */
TRISTAR_CHECKED tristar_status tsi_process_places(tristar_t *ts, const tsi_factor_kind *kind,
                                                  const tsi_symbolic *symbolic, const tsi_panels *panels,
                                                  const tsi_process_options *options,
                                                  const tsi_process_wishes *wishes,
                                                  tsi_device_split_options *places);

/* Creates the subtrees of options->layout.device for a process that has its share, tables and arrays for
 * values. There are none if no chunk of the process is on a device. StarPU runs. Errors: TOO_LARGE, MEMORY.
 */
TRISTAR_CHECKED tristar_status tsi_process_subtrees_create(tsi_process *process, const tsi_symbolic *symbolic,
                                                           const tsi_panels *panels,
                                                           const tsi_process_options *options);
void tsi_process_subtrees_destroy(tsi_process *process);

/* Sends the new values of the process to its devices. No solve is in flight. Must not be called inside a
 * StarPU task. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_process_renew(tsi_process *process);

/* Statistics of the i-th device (from 0) that has subtrees; false: there is none. */
bool tsi_process_describe_device(const tsi_process *process, int i, tsi_index columns,
                                 tristar_device_stats *stats);
