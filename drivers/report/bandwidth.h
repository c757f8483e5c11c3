/* The read bandwidth of the machine: what a solve, which streams the factor once in each direction, is
 * measured against. */
#ifndef TSI_DRIVERS_REPORT_BANDWIDTH_H
#define TSI_DRIVERS_REPORT_BANDWIDTH_H

#include "drivers/session/session.h"

typedef struct tsi_bandwidth {
  int cores;       /* of `all` */
  double one, all; /* GB/s: of one core, and of `cores` together; 0: not measured */
  size_t bytes;    /* of the array that was read */
} tsi_bandwidth;

/* Reads an array as large as the factor (at least 256 MB, so that it exceeds the caches; at most 1 GB) with
 * one thread and with as many as StarPU will have workers; best of three. To be called between analysis and
 * factorization, before StarPU runs: where its idle workers poll, they would take cores away. Fails without
 * memory. */
bool tsi_bandwidth_measure(tsi_session *s, tsi_bandwidth *bandwidth);

/* What a plan can reach with its workers. */
double tsi_bandwidth_of(const tsi_bandwidth *bandwidth, int workers);

#endif
