/* A fingerprint of data: different data have the same number with probability 2^-64.
 *
 * Words of 8 bytes are mixed in one after the other, by multiplications with odd constants and shifts (the
 * finalizer of SplitMix64; Steele, Lea, Flood 2014). The number depends on the byte order of the machine. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t tsi_fingerprint_word(uint64_t seed, uint64_t word) {
  uint64_t x = seed + UINT64_C(0x9e3779b97f4a7c15) + word;
  x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
  return x ^ (x >> 31);
}

/* Fingerprint of `bytes` bytes, combined with seed. */
static inline uint64_t tsi_fingerprint(uint64_t seed, const void *data, size_t bytes) {
  const char *from = (const char *)data;
  uint64_t x = tsi_fingerprint_word(seed, bytes), word;
  for (; bytes >= sizeof word; bytes -= sizeof word, from += sizeof word) {
    memcpy(&word, from, sizeof word);
    x = tsi_fingerprint_word(x, word);
  }
  word = 0;
  if (bytes > 0) memcpy(&word, from, bytes);
  return tsi_fingerprint_word(x, word);
}
