/* Memory: the read bandwidth of the machine, and the peak memory of a process. The bandwidth is the bound for
 * solves, which stream the factor once in each direction. */
#pragma once

#include <sys/types.h>

#include "drivers/session/session.h"

typedef struct tsi_bandwidth {
  int cores;       /* number of cores that `all` was measured with */
  double one, all; /* GB/s of one core, and of `cores` cores together; 0: not measured */
  size_t bytes;    /* size of the array that was read */
} tsi_bandwidth;

/* Measures the read bandwidth with one thread, and with a thread on each of so many cores; best of three. The
 * array is as large as the factor, but at least 256 MB, to exceed the caches, and at most 1 GB. Call it
 * between analysis and factorization, before StarPU runs: its idle workers may poll and so occupy cores.
 * Fails if memory or threads are not available. */
bool tsi_bandwidth_measure(tsi_session *s, int cores, tsi_bandwidth *bandwidth);

/* Returns the bandwidth in GB/s that a plan with so many workers can reach. */
double tsi_bandwidth_of(const tsi_bandwidth *bandwidth, int workers);

/* Returns the largest resident set of a process so far, in bytes; 0 if it is unknown. */
double tsi_peak_memory(pid_t pid);
