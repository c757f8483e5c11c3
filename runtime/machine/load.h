/* The use of the machine by other processes during a measurement.
 *
 * Reads   /proc/stat and the CPU time of this process. Time taken by a hypervisor counts as used by others.
 * Ticks of the kernel are coarse, so intervals should have at least a few tenths of a second. A header of its
 * own because only load.c depends on the operating system. */
#pragma once

typedef struct tsi_load {
  double wall, busy,
      own; /* seconds: of the clock, of all cores together, of this process; busy < 0: unknown */
} tsi_load;

tsi_load tsi_load_now(void);
/* Average number of cores that other processes have used since then; negative: unknown. */
double tsi_load_of_others(const tsi_load *since);
