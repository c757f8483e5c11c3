/* Entries of a square matrix by lines (rows or columns), each with an item: its value, or the position of its
 * value.
 *
 * Job. Store the three arrays; exchange rows and columns by a counting sort.
 *
 * To fill a tsi_entries: tsi_entries_begin; count, ptr[j + 1]++ for each entry of line j;
 * tsi_entries_reserve; put each entry; tsi_entries_end.
 *
 * Reads   nothing else.   Writes  its own arrays.
 * Invariants: ptr ascends from 0; 0 <= index < n. */
#pragma once

#include "runtime/base/env.h"

typedef struct tsi_entries {
  tsi_index n;
  size_t bytes;     /* Bytes of an item: 4, 8 or 16; 0: there are no items. */
  tsi_count *ptr;   /* n + 1 */
  tsi_index *index; /* ptr[n] */
  void *item;       /* ptr[n]; NULL: no items */
} tsi_entries;

/* to[a] = from[b] for scalars of 4, 8 or 16 bytes; bytes is a constant where speed matters. */
static inline void tsi_copy_scalar(size_t bytes, void *to, tsi_count a, const void *from, tsi_count b) {
  switch (bytes) {
  case 4:
    memcpy((char *)to + 4 * a, (const char *)from + 4 * b, 4);
    break;
  case 8:
    memcpy((char *)to + 8 * a, (const char *)from + 8 * b, 8);
    break;
  default:
    memcpy((char *)to + 16 * a, (const char *)from + 16 * b, 16);
  }
}

/* Sets ptr to zero; the other arrays are not allocated yet. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_entries_begin(tsi_env *env, tsi_index n, size_t bytes, tsi_entries *out);
/* Converts numbers of entries, for line j in ptr[j + 1], to the positions of lines, and allocates the
 * entries. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_entries_reserve(tsi_env *env, tsi_entries *entries);
/* Allocates the entries if ptr already has the positions of lines. */
TRISTAR_CHECKED tristar_status tsi_entries_allocate(tsi_env *env, tsi_entries *entries);

/* Returns the position of the next entry of a line, and sets its index; the caller sets its item. */
static inline tsi_count tsi_entries_put(tsi_entries *entries, tsi_index line, tsi_index index) {
  const tsi_count at = entries->ptr[line]++;
  entries->index[at] = index;
  return at;
}
/* Called after all entries have been put. */
void tsi_entries_end(tsi_entries *entries);

void tsi_entries_finish(tsi_entries *entries);

/* Does each line ascend strictly? */
bool tsi_entries_ascend(const tsi_entries *entries);

/* Exchanges lines and indices: the entries of a new line have the order of their former lines. `to` has
 * arrays of the same size. */
void tsi_entries_transpose(const tsi_entries *from, tsi_entries *to);

/* Sorts each line by its indices; entries with equal indices keep their order. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_entries_sort(tsi_env *env, tsi_entries *entries);
