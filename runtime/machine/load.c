/* The load of the machine: see load.h. */
#include "runtime/machine/load.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/clock.h"

/* Ticks of all cores in the first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal.
 */
static double busy_seconds(void) {
  unsigned long long tick[8];
  FILE *file = fopen("/proc/stat", "re");
  const long per_second = sysconf(_SC_CLK_TCK);
  if (file == NULL) return -1;
  const int found = fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &tick[0], &tick[1], &tick[2],
                           &tick[3], &tick[4], &tick[5], &tick[6], &tick[7]);
  fclose(file);
  if (found != 8 || per_second <= 0) return -1;
  const unsigned long long busy = tick[0] + tick[1] + tick[2] + tick[5] + tick[6] + tick[7];
  return (double)busy / (double)per_second;
}

tsi_load tsi_load_now(void) {
  struct timespec own;
  const tsi_load now = {tsi_wall_clock(), busy_seconds(), 0};
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own) != 0) return (tsi_load){now.wall, -1, 0};
  return (tsi_load){now.wall, now.busy, (double)own.tv_sec + 1e-9 * (double)own.tv_nsec};
}

double tsi_load_of_others(const tsi_load *since) {
  const tsi_load now = tsi_load_now();
  const double wall = now.wall - since->wall;
  if (since->busy < 0 || now.busy < 0 || wall <= 0) return -1;
  const double others = now.busy - since->busy - (now.own - since->own);
  return others > 0 ? others / wall : 0;
}
