/* The looks of the thread that puts idle workers to sleep, counted: for tests that are linked with
 * -Wl,--wrap=clock_nanosleep. So they can tell workers that are held awake from workers that nobody has come
 * to put to sleep yet. */
#pragma once

#include <starpu.h>
#include <stdatomic.h>
#include <time.h>

#include "runtime/exec/starpu/idle.h"
#include "tests/support/check.h"

/* LOOKS: more of them in a row without anything to do than it takes to put workers to sleep. */
enum { LOOKS = 8 };

/* The thread has looked, has put the workers to sleep if it found that it should, and waits for its next
 * look: for a millisecond, also where it means to wait for longer. */
static atomic_int looks;

int __real_clock_nanosleep(clockid_t clock, int flags, const struct timespec *period, struct timespec *rest);
int __wrap_clock_nanosleep(clockid_t clock, int flags, const struct timespec *period, struct timespec *rest);
int __wrap_clock_nanosleep(clockid_t clock, int flags, const struct timespec *period, struct timespec *rest) {
  const struct timespec millisecond = {0, 1000000};
  (void)period;
  atomic_fetch_add(&looks, 1);
  return __real_clock_nanosleep(clock, flags, &millisecond, rest);
}

/* Hangs, to the time limit of the test, if they never do. */
static inline void wait_until_asleep(void) {
  while (!tsi_idle_asleep()) starpu_sleep(0.001f);
}

/* Though the thread has looked often enough: without a hold the workers would be asleep. Hangs, to the time
 * limit of the test, if the thread does not look. */
static inline void check_held(void) {
  const int first = atomic_load(&looks);
  while (atomic_load(&looks) - first < LOOKS) {
    CHECK(!tsi_idle_asleep());
    starpu_sleep(0.001f);
  }
  CHECK(!tsi_idle_asleep());
}
