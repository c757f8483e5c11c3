/* Converts integers to int64_t in place, after a solver has written int into an array of int64_t. */
#pragma once

#include <stdint.h>
#include <string.h>

/* Converts the last integer first, so that no int is overwritten before it is read. */
static inline void tsi_widen(int64_t *integers, int64_t count) {
  for (int64_t k = count - 1; k >= 0; k--) {
    int value;
    memcpy(&value, (const char *)integers + (size_t)k * sizeof value, sizeof value);
    integers[k] = value;
  }
}
