/* Peak memory of a process: see peak_memory.h. */
#include "drivers/report/peak_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double tsi_peak_memory(pid_t pid) {
  char path[64], line[128];
  double kilobytes = 0;
  snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
  FILE *file = fopen(path, "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL)
    if (strncmp(line, "VmHWM:", 6) == 0) kilobytes = strtod(line + 6, NULL);
  if (file != NULL) fclose(file);
  return 1024 * kilobytes;
}
