/* Data that kernels prefetch on request of their callers, if it does not follow the data that they read. */
#pragma once

#include <stddef.h>

/* Data that is read next. The kernel prefetches it into the nearest cache while it works: `bytes` bytes for
 * each entry of the rectangle, upwards from `from`, or, transposed, downwards from there. */
typedef struct tsi_ahead {
  const void *from;
  ptrdiff_t bytes;
} tsi_ahead;
