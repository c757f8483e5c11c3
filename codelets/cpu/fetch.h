/* Memory is read fastest strictly upwards or strictly downwards, line by line, what is fetched ahead of it
 * too. Upwards the processor foresees the long columns of wide panels itself; downwards, and in narrow
 * panels, what lies AHEAD bytes further on is fetched along with what is read. Where the factor has ended,
 * that has no effect. */
#ifndef TSI_CODELETS_CPU_FETCH_H
#define TSI_CODELETS_CPU_FETCH_H

#include "codelets/cpu/vector.h"

#define AHEAD 1024
#define LINE 64

/* Fetches the lines AHEAD bytes behind the `count` scalars from p on, upwards. */
INLINE void fetch_behind(const void *p, tsi_count count, size_t size) {
  const char *from = (const char *)p + AHEAD, *to = from + count * (tsi_count)size;
  for (; from < to; from += LINE) __builtin_prefetch(from, 0, 3);
}

/* Those AHEAD bytes before them, downwards. */
INLINE void fetch_before(const void *p, tsi_count count, size_t size) {
  const char *from = (const char *)p - AHEAD, *to = from + count * (tsi_count)size;
  while (to > from) __builtin_prefetch(to -= LINE, 0, 3);
}

#endif
