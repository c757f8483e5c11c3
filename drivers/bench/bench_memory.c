/* Available memory, for `tristar bench`, which keeps factors of several solvers at a time: see bench.h.
 *
 * Reads   MemAvailable of /proc/meminfo, and the limit of the control group of this process, if it has one
 * (containers, batch systems). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/bench/bench.h"

/* Returns the number in a file that contains only this number; infinity: there is none. */
static double number_in(const char *path) {
  char line[64] = "", *end = line;
  FILE *file = fopen(path, "r");
  if (file == NULL) return INFINITY;
  const double number = fgets(line, sizeof line, file) != NULL ? strtod(line, &end) : 0;
  fclose(file);
  return end != line ? number : INFINITY; /* "max" */
}

static double available(void) {
  char line[128];
  double bytes = INFINITY;
  FILE *file = fopen("/proc/meminfo", "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL)
    if (strncmp(line, "MemAvailable:", 13) == 0) bytes = 1024 * strtod(line + 13, NULL);
  if (file != NULL) fclose(file);
  return bytes;
}

/* Returns a lower bound: the memory of a group includes cached files, which the system could release. */
static double left_in_group(const char *limit, const char *used) {
  const double most = number_in(limit), now = number_in(used);
  return isfinite(most) && isfinite(now) ? most - now : INFINITY;
}

double tsi_bench_memory_left(void) {
  const double second = left_in_group("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current");
  const double first = left_in_group("/sys/fs/cgroup/memory/memory.limit_in_bytes",
                                     "/sys/fs/cgroup/memory/memory.usage_in_bytes");
  return fmin(available(), fmin(first, second));
}
