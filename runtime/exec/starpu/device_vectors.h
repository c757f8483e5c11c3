/* Vectors of a program in the memory of a device, for one solve.
 *
 * Job. Wait for the program's stream, let StarPU copy b to main memory and allocate x there, and copy x to
 * the device after the solve.
 *
 * Reads   b, the program's stream.   Writes  x.
 * Invariants
 *   - from tsi_device_vectors_take to _give_back only this process reads b and writes x, in main memory
 *   - if x is b, one handle represents both
 *   - x on the device is written only if the solve has succeeded */
#pragma once

#include "runtime/base/env.h"
#include "tristar_device.h"

typedef struct tsi_device_vectors tsi_device_vectors;

/* Addresses in main memory; b_column, x_column: distances between columns in scalars. */
typedef struct tsi_host_vectors {
  const void *b;
  void *x;
  int64_t b_column, x_column;
} tsi_host_vectors;

/* Checks that this build has devices. Errors: UNSUPPORTED. */
TRISTAR_CHECKED tristar_status tsi_device_vectors_check_build(tsi_env *env);
/* Checks that b and x are in the memory of one device, and that StarPU, which runs, has a worker for it.
 * Errors: ARGUMENT, UNSUPPORTED. */
TRISTAR_CHECKED tristar_status tsi_device_vectors_check(tsi_env *env, const tristar_device_vectors *given);

/* given: checked, also its leading dimensions; rows, columns > 0. scalar: bytes. Must not be called inside a
 * StarPU task. Errors: MEMORY, RUNTIME, TOO_LARGE; nothing is held then. */
TRISTAR_CHECKED tristar_status tsi_device_vectors_take(tsi_env *env, const tristar_device_vectors *given,
                                                       int64_t rows, int64_t columns, size_t scalar,
                                                       tsi_device_vectors **out, tsi_host_vectors *host);
/* Returns when x, if it is solved, is on the device, and StarPU has unregistered b and x. Accepts NULL. */
void tsi_device_vectors_give_back(tsi_env *env, tsi_device_vectors **vectors, bool solved);
