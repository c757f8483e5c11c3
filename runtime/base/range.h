/* Ranges of figures: see tristar_range. */
#pragma once

#include "tristar_stats.h"

/* Adds the value of worker or process k to the range of the values before it; k = 0: to a range of zeros. */
static inline void tsi_range_add(tristar_range *range, double value, int k) {
  range->total += value;
  range->mean = range->total / (k + 1);
  if (k == 0 || value < range->min) range->min = value;
  if (k == 0 || value > range->max) range->max = value;
}
