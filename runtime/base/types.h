/* Integer types of the library and overflow-checked arithmetic on them.
 *
 * Three kinds of integers never mix silently:
 *   tsi_index   a row, column, supernode or chunk number        (32 bits, at most 2^31 - 2)
 *   tsi_count   a number of entries or an offset into entries   (64 bits, at most 2^63 - 2)
 *   size_t      a number of bytes
 * tsi_to_index converts to the narrower type, and returns whether the value fits. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int32_t tsi_index;
typedef int64_t tsi_count;

#define TSI_INDEX_MAX (INT32_MAX - 1)
#define TSI_COUNT_MAX (INT64_MAX - 1) /* one more can still be counted */
#define TSI_NONE ((tsi_index)-1)      /* no such row, parent, owner, ... */

/* Bytes of a cache line; every allocation is aligned to it. */
#define TSI_CACHE_LINE 64

/* *out = a * b (or a + b); false on overflow, and then *out must not be used. */
static inline bool tsi_size_mul(size_t a, size_t b, size_t *out) {
  return !__builtin_mul_overflow(a, b, out);
}
static inline bool tsi_size_add(size_t a, size_t b, size_t *out) {
  return !__builtin_add_overflow(a, b, out);
}
static inline bool tsi_count_mul(tsi_count a, tsi_count b, tsi_count *out) {
  return !__builtin_mul_overflow(a, b, out);
}
static inline bool tsi_count_add(tsi_count a, tsi_count b, tsi_count *out) {
  return !__builtin_add_overflow(a, b, out);
}

/* *out = a; false if a is negative or beyond TSI_INDEX_MAX. */
static inline bool tsi_to_index(int64_t a, tsi_index *out) {
  *out = (tsi_index)a;
  return a >= 0 && a <= TSI_INDEX_MAX;
}

static inline tsi_index tsi_index_min(tsi_index a, tsi_index b) {
  return a < b ? a : b;
}
static inline tsi_index tsi_index_max(tsi_index a, tsi_index b) {
  return a > b ? a : b;
}
static inline tsi_count tsi_count_min(tsi_count a, tsi_count b) {
  return a < b ? a : b;
}
static inline tsi_count tsi_count_max(tsi_count a, tsi_count b) {
  return a > b ? a : b;
}
/* They return b if an argument is NaN, and are inline, unlike calls of fmin and fmax. */
static inline double tsi_double_min(double a, double b) {
  return a < b ? a : b;
}
static inline double tsi_double_max(double a, double b) {
  return a > b ? a : b;
}
