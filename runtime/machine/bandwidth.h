/* The read bandwidth of the machine: what a solve, which streams the factor once in each direction, is
 * measured against.
 *
 * Reads   arrays of its own: one for a single thread, one for all threads; on a machine with one NUMA node
 * one array for both. The threads that read a part fill it first, and once, so that its pages lie near them.
 * Writes  nothing else. The threads are its own and not StarPU's, whose idle workers may poll and take cores
 * away: best measured before StarPU runs. */
#pragma once

#include "runtime/base/env.h"

/* Size of an array for a bandwidth: `wanted` bytes, but at least 256 MB, to exceed the caches of common
 * machines, and at most 1 GB. With TRISTAR_SHORT_RATES=1 (tsi_short_rates) it is 16 MB. */
size_t tsi_bandwidth_bytes(double wanted);
bool tsi_short_rates(void);

/* Arrays that are measured with several times: making their pages takes longer than reading them. Zeros: none
 * yet. */
typedef struct tsi_streams {
  uint64_t *words[2]; /* for one thread, and for all of them (one NUMA node: for both) */
  size_t count[2];
  int threads[2]; /* that have filled it */
} tsi_streams;

/* 1e9 bytes a second that one thread reads from an array of one_bytes bytes, and `threads` together from one
 * of all_bytes bytes; best of three. Makes arrays that are not there, or of another size. Errors: MEMORY,
 * RUNTIME (no threads). */
TRISTAR_CHECKED tristar_status tsi_streams_measure(tsi_env *env, tsi_streams *streams, size_t one_bytes,
                                                   size_t all_bytes, int threads, double *one, double *all);
void tsi_streams_release(tsi_streams *streams);

/* The same once, with arrays of `bytes` bytes that it does not keep. */
TRISTAR_CHECKED tristar_status tsi_bandwidth_read(tsi_env *env, size_t bytes, int threads, double *one,
                                                  double *all);
