/* Counts the checks ("looks") of the thread that puts idle workers to sleep, for tests that are linked with
 * -Wl,--wrap=clock_nanosleep. With the count a test distinguishes workers that are held awake from workers
 * that the thread has not put to sleep yet. */
#pragma once

#include <starpu.h>
#include <stdatomic.h>
#include <time.h>

#include "runtime/exec/starpu/idle.h"
#include "tests/support/check.h"

/* LOOKS: more idle looks in a row than the thread needs to put workers to sleep. */
enum { LOOKS = 8 };

/* Number of looks. After each look the thread has put the workers to sleep if it had to, and waits a
 * millisecond for the next look, even if it asked for a longer time. */
static atomic_int looks;

int __real_clock_nanosleep(clockid_t clock, int flags, const struct timespec *period, struct timespec *rest);
int __wrap_clock_nanosleep(clockid_t clock, int flags, const struct timespec *period, struct timespec *rest);
int __wrap_clock_nanosleep(clockid_t clock, int flags, const struct timespec *period, struct timespec *rest) {
  const struct timespec millisecond = {0, 1000000};
  (void)period;
  atomic_fetch_add(&looks, 1);
  return __real_clock_nanosleep(clock, flags, &millisecond, rest);
}

/* Waits until the workers sleep; hangs until the time limit of the test if they never do. */
static inline void wait_until_asleep(void) {
  while (!tsi_idle_asleep()) starpu_sleep(0.001f);
}

/* Checks that the workers are awake after so many looks that without a hold they would sleep. Hangs until the
 * time limit of the test if the thread does not look. */
static inline void check_held(void) {
  const int first = atomic_load(&looks);
  while (atomic_load(&looks) - first < LOOKS) {
    CHECK(!tsi_idle_asleep());
    starpu_sleep(0.001f);
  }
  CHECK(!tsi_idle_asleep());
}
