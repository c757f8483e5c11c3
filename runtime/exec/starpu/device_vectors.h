/* Vectors of a program in the memory of a device, for one solve.
 *
 * Job. Wait for the program's stream, have StarPU bring b to main memory and make room for x there, and bring
 * x to the device when it is solved.
 *
 * Reads   b, the program's stream.   Writes  x.
 * Invariants
 *   - between taking and giving back, b can be read and x written in main memory, by this process alone
 *   - where x is b, one handle stands for both
 *   - x on the device is written if the solve has succeeded, and at no other time */
#pragma once

#include "runtime/base/env.h"
#include "tristar_device.h"

typedef struct tsi_device_vectors tsi_device_vectors;

/* Where they are in main memory, columns so many scalars apart. */
typedef struct tsi_host_vectors {
  const void *b;
  void *x;
  int64_t b_column, x_column;
} tsi_host_vectors;

/* This build has devices. Errors: UNSUPPORTED. */
TRISTAR_CHECKED tristar_status tsi_device_vectors_check_build(tsi_env *env);
/* StarPU has a worker for the device, whose memory b and x are. StarPU runs. Errors: ARGUMENT, UNSUPPORTED.
 */
TRISTAR_CHECKED tristar_status tsi_device_vectors_check(tsi_env *env, const tristar_device_vectors *given);

/* given: checked, also its leading dimensions; rows, columns > 0. scalar: bytes. Not from inside a StarPU
 * task. Errors: MEMORY, RUNTIME, TOO_LARGE; nothing is held then. */
TRISTAR_CHECKED tristar_status tsi_device_vectors_take(tsi_env *env, const tristar_device_vectors *given,
                                                       int64_t rows, int64_t columns, size_t scalar,
                                                       tsi_device_vectors **out, tsi_host_vectors *host);
/* Returns when x is on the device, if it is solved, and StarPU knows neither b nor x any more. Accepts NULL.
 */
void tsi_device_vectors_give_back(tsi_env *env, tsi_device_vectors **vectors, bool solved);
