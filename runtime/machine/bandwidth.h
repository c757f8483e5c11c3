/* The read bandwidth of the machine, to which the bandwidth of a solve is compared: a solve streams the
 * factor once in each direction.
 *
 * Reads   its own arrays: one for a single thread, one for all threads; on a machine with one NUMA node one
 * array for both. The threads that read a part first fill it, once, so that its pages are allocated on their
 * NUMA node.
 * Writes  nothing else. It has its own threads instead of StarPU's, whose idle workers may poll and occupy
 * cores: best measured before StarPU runs. */
#pragma once

#include "runtime/base/env.h"

/* Size of an array for a bandwidth: `requested` bytes, but at least 256 MB, to exceed the caches of common
 * machines, and at most 1 GB. With TRISTAR_SHORT_RATES=1 (tsi_short_rates) it is 16 MB. */
size_t tsi_bandwidth_bytes(double requested);
bool tsi_short_rates(void);

/* Arrays for several measurements: creating their pages takes longer than reading them. All zeros: there are
 * none yet. */
typedef struct tsi_streams {
  uint64_t *words[2]; /* for one thread, and for all of them (one NUMA node: for both) */
  size_t count[2];
  int threads[2]; /* number of threads that have filled it */
} tsi_streams;

/* Measures bandwidths in 1e9 bytes per second: *one: of one thread that reads an array of one_bytes bytes;
 * *all: of `threads` together that read an array of all_bytes bytes; best of three. Creates arrays that do
 * not exist or have another size. Errors: MEMORY, RUNTIME (no threads). */
TRISTAR_CHECKED tristar_status tsi_streams_measure(tsi_env *env, tsi_streams *streams, size_t one_bytes,
                                                   size_t all_bytes, int threads, double *one, double *all);
void tsi_streams_release(tsi_streams *streams);

/* The same once, with arrays of `bytes` bytes that are freed. */
TRISTAR_CHECKED tristar_status tsi_bandwidth_read(tsi_env *env, size_t bytes, int threads, double *one,
                                                  double *all);
