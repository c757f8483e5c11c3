/* Distributed solves whose sweeps run on a device of each rank, which sends the messages itself:
 * TRANSPORT_ONE_SIDED with PLACE_GPU.
 *
 * Job. Keep the values, the tables and a workspace on the device, and the shared heaps mapped there; run the
 * sweeps of a solve in one launch, while the host looks whether messages come in time.
 *
 * Reads   a process, the run port of a slot.   Writes  memory of the device; x.
 * Invariants: the device holds the values of the latest tsi_device_run_renew. */
#pragma once

#include "runtime/mpi/oneside/run_port.h"
#include "runtime/process/process.h"

typedef struct tsi_device_run tsi_device_run;

/* Local. Can a solve run on a device here? Errors: UNSUPPORTED. */
TRISTAR_CHECKED tristar_status tsi_device_run_check(const tsi_env *env);
/* Local, with the port open: for solves with `stride` scalars a row. device: of those of the build, from 0,
 * modulo their number. Errors: MEMORY (also of the device), RUNTIME, TOO_LARGE, UNSUPPORTED (the port adds,
 * and the device cannot). */
TRISTAR_CHECKED tristar_status tsi_device_run_create(tsi_process *process, tsi_run_port *port,
                                                     tsi_index stride, int device, tsi_device_run **out);
void tsi_device_run_destroy(tsi_device_run **run);
/* The values of the process are new. */
void tsi_device_run_renew(tsi_device_run *run);
/* The sweeps of a call (tsi_process_set_sweeps). context: a tsi_device_run. Errors: RUNTIME, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_run_sweeps(void *context, const tsi_solve_call *call);
