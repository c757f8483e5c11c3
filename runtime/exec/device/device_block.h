/* One block of memory for all arrays of device tables: it is copied to a device as one. */
#pragma once

#include "runtime/base/types.h"

/* The next array of a block: its address if the block exists, else NULL. Adds its size to *bytes in both
 * cases. */
static inline void *tsi_block_take(char *block, size_t *bytes, tsi_count count, size_t size) {
  void *place = block ? block + *bytes : NULL;
  *bytes += ((size_t)count * size + TSI_CACHE_LINE - 1) / TSI_CACHE_LINE * TSI_CACHE_LINE;
  return place;
}

/* Sets an array of the tables and a pointer to write its `count` elements. block and bytes are variables. */
#define TSI_TAKE(to, array, count) ((array) = (to) = tsi_block_take(block, &bytes, (count), sizeof *(to)))

/* An array for a check that it is in the block, at a multiple of a cache line. */
typedef struct tsi_block_array {
  const char *name;
  const void *at;
  size_t bytes;
} tsi_block_array;

/* The first of `count` arrays that is not; count: there is none. */
static inline size_t tsi_block_find_outside(const void *block, size_t bytes, const tsi_block_array *array,
                                            size_t count) {
  size_t k = 0;
  for (; k < count; k++) {
    const size_t at = (size_t)((const char *)array[k].at - (const char *)block);
    if ((const char *)array[k].at < (const char *)block || at % TSI_CACHE_LINE != 0 ||
        at + array[k].bytes > bytes)
      break;
  }
  return k;
}
