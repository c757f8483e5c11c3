/* Prefetches of the factor. Memory is read fastest strictly upwards or strictly downwards, line by line; this
 * holds for prefetches, too. Upwards, the processor itself prefetches the long columns of wide panels.
 * Downwards, and in narrow panels, each read also prefetches the data AHEAD bytes further on. Beyond the end
 * of the factor this has no effect. */
#pragma once

#include "codelets/cpu/base/ahead.h"
#include "codelets/cpu/base/vector.h"

#define AHEAD 2048
#define LINE 64
#define COLUMNS_LINES 17 /* maximum number of lines that fetch_behind_columns prefetches */

/* Prefetches the lines AHEAD bytes behind the `count` scalars from p on, upwards. */
INLINE void fetch_behind(const void *p, tsi_count count, size_t size) {
  const char *from = (const char *)p + AHEAD, *to = from + count * (tsi_count)size;
  for (; from < to; from += LINE) __builtin_prefetch(from, 0, 3);
}

/* Prefetches the lines AHEAD bytes before them, downwards. */
INLINE void fetch_before(const void *p, tsi_count count, size_t size) {
  const char *from = (const char *)p - AHEAD, *to = from + count * (tsi_count)size;
  while (to > from) __builtin_prefetch(to -= LINE, 0, 3);
}

/* Prefetch the lines of the next `count` entries of *ahead, upwards or downwards, and advance *ahead. */
INLINE void fetch_next(tsi_ahead *ahead, ptrdiff_t count) {
  const char *from = ahead->from, *to = from + count * ahead->bytes;
  for (; from < to; from += LINE) __builtin_prefetch(from, 0, 3);
  ahead->from = to;
}
INLINE void fetch_previous(tsi_ahead *ahead, ptrdiff_t count) {
  const char *to = ahead->from, *from = to - count * ahead->bytes;
  ahead->from = from;
  while (to > from) __builtin_prefetch(to -= LINE, 0, 3);
}

/* fetch_behind for `columns` columns of a row block; columns is a constant. It is unrolled, because the
 * processor could not predict the length of a loop. In narrower panels and shorter row blocks it prefetches
 * too much. */
INLINE void fetch_behind_columns(const int columns, const tsi_scalar *p) {
  const char *from = (const char *)p + AHEAD;
  const int bytes = columns * B * (int)sizeof *p;
  UNROLL for (int line = 0; line < COLUMNS_LINES; line++) if (line * LINE < bytes)
      __builtin_prefetch(from + line * LINE, 0, 3);
}

/* fetch_before in the same way. */
INLINE void fetch_before_columns(const int columns, const tsi_scalar *p) {
  const char *to = (const char *)p - AHEAD;
  const int bytes = columns * B * (int)sizeof *p;
  UNROLL for (int line = 0; line < COLUMNS_LINES; line++) if (line * LINE < bytes)
      __builtin_prefetch(to - (line + 1) * LINE, 0, 3);
}
