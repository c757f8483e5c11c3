/* Seconds from an arbitrary origin; never run backward.
 *
 * tsi_clock is the time in which the library works: that of the wall, or, in a build for a StarPU that
 * simulates (TSI_SIMULATED), that of the simulated machine, which stands still but while simulated tasks and
 * transfers pass. tsi_wall_clock is for what measures the machine that the program itself runs on. */
#pragma once

#include <stdint.h>
#include <time.h>

static inline double tsi_wall_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
/* When that clock is so many seconds later, for pthread_cond_timedwait with a condition of
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
/* 0 until somebody tells where to read it. */
double tsi_clock(void);
/* now: gives the simulated time, from when the simulation begins to when it ends; NULL: the clock stands. */
void tsi_clock_follow(double (*now)(void));
#else
static inline double tsi_clock(void) {
  return tsi_wall_clock();
}
#endif
