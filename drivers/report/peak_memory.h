/* Peak memory of a process, from /proc. */
#ifndef TSI_DRIVERS_REPORT_PEAK_MEMORY_H
#define TSI_DRIVERS_REPORT_PEAK_MEMORY_H

#include <sys/types.h>

/* Returns the largest resident set of the process so far, in bytes; 0 if it is unknown. */
double tsi_peak_memory(pid_t pid);

#endif
