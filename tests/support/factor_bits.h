/* The bits of a factor, for tests that compare factors. */
#pragma once

#include <string.h>

#include "runtime/factor/factor.h"
#include "tests/support/check.h"

/* Returns all arrays of a factor in one array; free it. */
static inline char *bits_of(const tristar_factor_t *factor, size_t *size) {
  const tristar_analysis_t *an = factor->analysis;
  const size_t stream = (size_t)an->panel_values[an->panels->count] * factor->scalar_bytes;
  const size_t n = (size_t)an->pattern->n;
  const struct {
    const void *at;
    size_t size;
  } part[] = {{factor->lower, stream},
              {factor->upper, stream},
              {factor->pivots, n * sizeof(tsi_index)},
              {factor->inverse, 2 * n * factor->scalar_bytes}};
  char *bits = malloc(2 * stream + n * (sizeof(tsi_index) + 2 * factor->scalar_bytes) + 1);
  CHECK(bits);
  *size = 0;
  for (int k = 0; k < 4; k++) {
    if (part[k].at == NULL) continue;
    memcpy(bits + *size, part[k].at, part[k].size);
    *size += part[k].size;
  }
  return bits;
}
