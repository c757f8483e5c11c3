/* Where a solver with int writes into an array of int64_t: turns its integers into the int64_t meant. */
#pragma once

#include <stdint.h>
#include <string.h>

/* In place, from the last to the first: an int is never overwritten before it is read. */
static inline void tsi_widen(int64_t *integers, int64_t count) {
  for (int64_t k = count - 1; k >= 0; k--) {
    int value;
    memcpy(&value, (const char *)integers + (size_t)k * sizeof value, sizeof value);
    integers[k] = value;
  }
}
