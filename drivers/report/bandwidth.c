/* The read bandwidth and the peak of memory: see bandwidth.h. */
#include "drivers/report/bandwidth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/machine/bandwidth.h"
#include "runtime/context/context.h"

bool tsi_bandwidth_measure(tsi_session *s, int cores, tsi_bandwidth *bandwidth) {
  const double factor = (double)s->a.stored_lower * (double)s->precision->bytes;
  const size_t bytes = tsi_bandwidth_bytes(factor * (s->a.method == TRISTAR_METHOD_LU ? 2 : 1));
  *bandwidth = (tsi_bandwidth){.cores = cores, .bytes = bytes};
  tsi_env env; /* its own, so that tristar_get_memory does not count the array */
  tsi_env_init(&env);
  const tristar_status status =
      tsi_bandwidth_read(&env, bytes, bandwidth->cores, &bandwidth->one, &bandwidth->all);
  if (status == TRISTAR_OK) return true;
  return tsi_session_fail(s, status, "no memory or no threads to measure the read bandwidth with");
}

double tsi_bandwidth_of(const tsi_bandwidth *bandwidth, int workers) {
  return workers > 1 ? bandwidth->all : bandwidth->one;
}

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
