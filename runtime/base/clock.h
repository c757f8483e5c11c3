/* Wall-clock seconds from an arbitrary origin; never runs backward. */
#ifndef TSI_RUNTIME_BASE_CLOCK_H
#define TSI_RUNTIME_BASE_CLOCK_H

#include <time.h>

static inline double tsi_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#endif
