/* Memory: the read bandwidth of the machine, which a solve, which streams the factor once in each direction,
 * is measured against; the peak of a process. */
#pragma once

#include <sys/types.h>

#include "drivers/session/session.h"

typedef struct tsi_bandwidth {
  int cores;       /* of `all` */
  double one, all; /* GB/s: of one core, and of `cores` together; 0: not measured */
  size_t bytes;    /* of the array that was read */
} tsi_bandwidth;

/* Reads an array as large as the factor (at least 256 MB, so that it exceeds the caches; at most 1 GB) with
 * one thread and with one on each of so many cores; best of three. To be called between analysis and
 * factorization, before StarPU runs: where its idle workers poll, they would take cores away. Fails without
 * memory. */
bool tsi_bandwidth_measure(tsi_session *s, int cores, tsi_bandwidth *bandwidth);

/* What a plan can reach with its workers. */
double tsi_bandwidth_of(const tsi_bandwidth *bandwidth, int workers);

/* Returns the largest resident set of a process so far, in bytes; 0 if it is unknown. */
double tsi_peak_memory(pid_t pid);
