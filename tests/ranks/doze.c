/* A rank that waits sleeps for a moment wherever it would yield: sched_yield() returns at once while the
 * scheduler of Linux finds that the caller has time left, and ranks that wait keep the cores from those that
 * work. Loaded before the C library, or linked into tests. */
#define _POSIX_C_SOURCE 199309L /* nanosleep */
#include <sched.h>
#include <time.h>

__attribute__((visibility("default"))) int sched_yield(void) {
  const struct timespec moment = {0, 20000};
  nanosleep(&moment, NULL);
  return 0;
}
