/* Seconds from an arbitrary origin; they never run backward.
 *
 * tsi_clock is the clock of the library. It is the wall clock; in a build for a StarPU that simulates
 * (TSI_SIMULATED) it is the clock of the simulated machine, which advances only during simulated tasks and
 * transfers. tsi_wall_clock is for measurements of the real machine. */
#pragma once

#include <stdint.h>
#include <time.h>

static inline double tsi_wall_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
/* The time of this clock after `seconds` seconds, for pthread_cond_timedwait with a condition of
 * tsi_condition_init. */
static inline struct timespec tsi_wall_clock_in(double seconds) {
  struct timespec then;
  clock_gettime(CLOCK_MONOTONIC, &then);
  const int64_t nanoseconds = then.tv_nsec + (int64_t)(1e9 * seconds);
  then.tv_sec += nanoseconds / 1000000000;
  then.tv_nsec = nanoseconds % 1000000000;
  return then;
}

#ifdef TSI_SIMULATED
/* 0 before the first tsi_clock_follow. */
double tsi_clock(void);
/* now: returns the simulated time, while the simulation runs; NULL: the clock stands. */
void tsi_clock_follow(double (*now)(void));
#else
static inline double tsi_clock(void) {
  return tsi_wall_clock();
}
#endif
