/* Distributed solves with TRANSPORT_ONE_SIDED and PLACE_GPU: a device of each rank runs the sweeps and sends
 * the messages.
 *
 * Job. Keep the values, the tables and a workspace on the device, with the shared heaps mapped there. Run the
 * sweeps of a solve in one launch, while the host checks that messages arrive in time.
 *
 * Reads   a process, the run port of a slot.   Writes  memory of the device; x.
 * Invariants: the device has the values of the latest tsi_device_run_renew. */
#pragma once

#include "runtime/mpi/oneside/run_port.h"
#include "runtime/process/process.h"

typedef struct tsi_device_run tsi_device_run;

/* Local. Checks that a solve can run on a device here. Errors: UNSUPPORTED. */
TRISTAR_CHECKED tristar_status tsi_device_run_check(const tsi_env *env);
/* Local, with an open port. Creates a run for solves with `stride` scalars per row. device: number of the
 * device, from 0, modulo the number of devices of this build's kind. Errors: MEMORY (also of the device),
 * RUNTIME, TOO_LARGE, UNSUPPORTED (the port adds, and the device cannot). */
TRISTAR_CHECKED tristar_status tsi_device_run_create(tsi_process *process, tsi_run_port *port,
                                                     tsi_index stride, int device, tsi_device_run **out);
void tsi_device_run_destroy(tsi_device_run **run);
/* Marks the values on the device as old: the process has new ones. */
void tsi_device_run_renew(tsi_device_run *run);
/* Runs the sweeps of a call (tsi_process_set_sweeps). context: a tsi_device_run. Errors: RUNTIME, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_run_sweeps(void *context, const tsi_solve_call *call);
