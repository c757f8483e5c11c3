/* The read bandwidth of the machine: what a solve, which streams the factor once in each direction, is
 * measured against.
 *
 * Reads   an array of its own, which the threads that read it fill first, so that its pages lie near them.
 * Writes  nothing else. The threads are its own and not StarPU's, whose idle workers may
 * poll and take cores away: best measured before StarPU runs. */
#ifndef TSI_RUNTIME_BANDWIDTH_H
#define TSI_RUNTIME_BANDWIDTH_H

#include "runtime/base/env.h"

/* How large an array must be at least to exceed the caches of common machines, and at most to stay bearable.
 */
#define TSI_BANDWIDTH_BYTES_MIN ((size_t)256 << 20)
#define TSI_BANDWIDTH_BYTES_MAX ((size_t)1 << 30)

/* 1e9 bytes a second that one thread, and `threads` together, read from an array of `bytes` bytes; best of
 * three. Errors: MEMORY, RUNTIME (no threads). */
TRISTAR_CHECKED tristar_status tsi_bandwidth_read(tsi_env *env, size_t bytes, int threads, double *one,
                                                  double *all);

#endif
