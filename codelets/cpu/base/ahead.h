/* What kernels fetch ahead: as their callers choose, where it does not follow what they read. */
#pragma once

#include <stddef.h>

/* What a kernel fetches into the nearest cache while it works, as it is read next: `bytes` for each entry of
 * the rectangle, from `from` on, or, transposed, downwards from there. */
typedef struct tsi_ahead {
  const void *from;
  ptrdiff_t bytes;
} tsi_ahead;
