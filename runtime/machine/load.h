/* How much of the machine others use while something is measured.
 *
 * Reads   /proc/stat and the CPU time of this process. Time that a hypervisor takes away counts as used by
 * others. Ticks of the kernel are coarse: intervals of a few tenths of a second are the least that makes
 * sense. A header of its own because only load.c depends on the operating system. */
#pragma once

typedef struct tsi_load {
  double wall, busy,
      own; /* seconds: of the clock, of all cores together, of this process; busy < 0: unknown */
} tsi_load;

tsi_load tsi_load_now(void);
/* Cores that other processes have used since then, on average; negative: unknown. */
double tsi_load_of_others(const tsi_load *since);
