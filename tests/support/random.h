/* Deterministic pseudo-random numbers for the tests: the same on every machine. */
#pragma once

#include <stdint.h>

static inline uint64_t next_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

/* Entries in [-1, 1). */
static inline void fill_random(double *x, int64_t count, uint64_t seed) {
  uint64_t state = seed;
  for (int64_t i = 0; i < count; i++) x[i] = (double)next_random(&state) / 1073741824.0 - 1.0;
}
