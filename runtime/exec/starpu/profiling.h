/* StarPU's profiling counters of its CPU workers.
 *
 * Switching profiling on, and reading the counters, sets them to zero, so differences cannot be taken. If the
 * program owns StarPU and has profiling on, its counters are not touched.
 *
 * Reads   the counters.   Writes  StarPU's profiling status, which tsi_profiling_end restores. */
#pragma once

#include "runtime/base/env.h"

/* Seconds in tasks since the counters were zeroed: of all CPU workers, of the busiest, of the idlest. */
typedef struct tsi_profiling_sums {
  int workers;
  double all, busiest, idlest;
} tsi_profiling_sums;

/* Switches profiling on. *before: to be passed to tsi_profiling_end. StarPU must run. Errors: UNSUPPORTED
 * (inside a task; the program profiles StarPU itself), NO_WORKER. */
TRISTAR_CHECKED tristar_status tsi_profiling_begin(tsi_env *env, int *before);
void tsi_profiling_end(int before);
/* Zeroes the counters. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_profiling_reset(tsi_env *env);
/* Bytes transferred over a bus since the counters were read last: from main memory to a device, and back. */
typedef struct tsi_bus_bytes {
  double up, down;
} tsi_bus_bytes;

/* Adds to *bytes the bytes transferred over the bus of a worker's device, and zeroes StarPU's counter.
 * Profiling is on. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_profiling_add_bus(tsi_env *env, int worker, tsi_bus_bytes *bytes);

/* Reads the counters, which zeroes them. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_profiling_read(tsi_env *env, tsi_profiling_sums *sums);
