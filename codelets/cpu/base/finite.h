/* Tests whether numbers are finite by sums, so that the loop has no exit and can be vectorized. */
#pragma once

#include "codelets/cpu/base/scalar.h"
#include "runtime/base/types.h"

/* Are all numbers finite? The difference of a number and itself is 0 if the number is finite, else NaN. */
INLINE bool tsi_are_finite(tsi_count count, const tsi_scalar *from) {
  enum { LANES = 8, PARTS = sizeof(tsi_scalar) / sizeof(tsi_real) };
  const tsi_real *part = (const tsi_real *)from;
  const tsi_count parts = count * PARTS;
  tsi_real sum[LANES] = {0}, all = 0;
  tsi_count p = 0;
  for (; p + LANES <= parts; p += LANES)
    for (int l = 0; l < LANES; l++) sum[l] += part[p + l] - part[p + l];
  for (; p < parts; p++) all += part[p] - part[p];
  for (int l = 0; l < LANES; l++) all += sum[l];
  return all == 0;
}
