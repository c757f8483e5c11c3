/* Tiled fronts on devices.
 *
 * Job. A front that the DAG gives to a device (factorization.h) is assembled on the cores, in main memory,
 * and packed there. Between the two it is one task of a worker of that device: P, C and, LU, Q go up, all of
 * the front's tiles stay on the device while panel after panel is factored and C is updated, and come down.
 * The order of the operations is fixed, so the bits of a front depend on which kind of processor has it, but
 * not on schedules.
 *
 * A diagonal block is factored on the host, by the worker's own thread, with the function that cores use
 * (tsi_front_diagonal): interchanges, perturbations and failures are those of any front. It comes down for
 * that, and goes up again with its interchanges and D^-1. That is one wait for the device a panel. (MAGMA's
 * hybrid factorizations do the same.) All else is products and triangular solves of the device's BLAS.
 *
 * Device memory is StarPU's: the task has one piece of it, as scratch, so that nothing else that StarPU has
 * on the device is in the way. What crosses the bus is copied by the task itself, as main memory of fronts
 * comes and goes with the steps.
 *
 * Reads   the numeric, an open front.   Writes  P, Q, C of the front, pivots, D^-1.
 * Invariants
 *   - when the task ends no copy is under way, whatever has failed
 *   - if a device has told an error, the numeric has failed, and device_failed is set */
#pragma once

#include "runtime/factor/numeric.h"
#include "runtime/exec/starpu/device_data.h"

struct tsi_device_front {
  tsi_device_data *room; /* NULL: cores have the front */
  tsi_task_data use;
};

/* What a front takes of a device, and what crosses the bus for it: bytes. */
typedef struct tsi_device_front_size {
  double memory, up, down;
} tsi_device_front_size;
tsi_device_front_size tsi_device_front_measure(const tsi_symbolic *symbolic, tristar_method method,
                                               size_t scalar_bytes, tsi_index s);

/* The tasks of devices get their memory. The list is made, and has no StarPU tasks yet. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_fronts_record(tsi_numeric *numeric);
/* Not from inside a StarPU task. */
void tsi_device_fronts_release(tsi_numeric *numeric);
