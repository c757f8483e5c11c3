/* Tiled fronts on devices.
 *
 * Job. A front that the DAG gives to a device (factorization.h) is assembled and packed on the cores, in main
 * memory. Between the two, one task of a worker of that device factors it. P, C and, LU, Q are copied to the
 * device. All tiles of the front stay there while panel after panel is factored and C is updated, and are
 * then copied back. The order of the operations is fixed. So the bits of a front depend on the kind of
 * processor that factors it, but not on schedules.
 *
 * The worker's own thread factors a diagonal block on the host, with the function that cores use
 * (tsi_front_diagonal). So interchanges, perturbations and failures are as in any front. The block is copied
 * to the host, and back with its interchanges and D^-1: one wait for the device per panel. (MAGMA's hybrid
 * factorizations do the same.) The rest are products and triangular solves of the device's BLAS.
 *
 * StarPU manages the device memory. The task has one piece of it as scratch, for which StarPU can evict its
 * other data from the device. The task itself copies over the bus, because steps allocate and free the main
 * memory of fronts.
 *
 * Reads   the numeric, an open front.   Writes  P, Q, C of the front, pivots, D^-1.
 * Invariants
 *   - when the task ends no copy is under way, whatever has failed
 *   - if a device has reported an error, the numeric has failed, and device_failed is set */
#pragma once

#include "runtime/factor/numeric.h"
#include "runtime/exec/starpu/device_data.h"

struct tsi_device_front {
  tsi_device_data *memory; /* Device memory of the front; NULL: cores factor it. */
  tsi_task_data use;
};

/* Bytes that a front needs on a device, and bytes copied over the bus for it. */
typedef struct tsi_device_front_size {
  double memory, up, down;
} tsi_device_front_size;
tsi_device_front_size tsi_device_front_measure(const tsi_symbolic *symbolic, tristar_method method,
                                               size_t scalar_bytes, tsi_index s);

/* Adds device memory to the tasks of devices. The list exists, and has no StarPU tasks yet. Errors:
 * MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_fronts_record(tsi_numeric *numeric);
/* Not from inside a StarPU task. */
void tsi_device_fronts_release(tsi_numeric *numeric);
