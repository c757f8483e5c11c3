/* Entries of a square matrix by lines (rows or columns), each with an item: its value, or where that is.
 *
 * Job. Hold the three arrays; exchange rows and columns by a counting sort.
 *
 * To fill one: tsi_entries_begin; count, ptr[j + 1]++ for each entry of line j; tsi_entries_reserve; put each
 * entry; tsi_entries_end.
 *
 * Reads   nothing else.   Writes  its own arrays.
 * Invariants: ptr ascends from 0; 0 <= index < n. */
#pragma once

#include "runtime/base/env.h"

typedef struct tsi_entries {
  tsi_index n;
  size_t bytes;     /* of an item: 4, 8 or 16; 0: there are none */
  tsi_count *ptr;   /* n + 1 */
  tsi_index *index; /* ptr[n] */
  void *item;       /* ptr[n]; NULL: none */
} tsi_entries;

/* to[a] = from[b]: scalars of 4, 8 or 16 bytes, a constant where it matters. */
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

/* ptr is zero, the other arrays are not there yet. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_entries_begin(tsi_env *env, tsi_index n, size_t bytes, tsi_entries *out);
/* From numbers of entries, that of line j in ptr[j + 1], to where lines begin, and room for them. Errors:
 * MEMORY. */
TRISTAR_CHECKED tristar_status tsi_entries_reserve(tsi_env *env, tsi_entries *entries);
/* The same, where ptr tells already where lines begin. */
TRISTAR_CHECKED tristar_status tsi_entries_allocate(tsi_env *env, tsi_entries *entries);

/* The place of the next entry of a line, whose index is set; its item is the caller's to set. */
static inline tsi_count tsi_entries_put(tsi_entries *entries, tsi_index line, tsi_index index) {
  const tsi_count at = entries->ptr[line]++;
  entries->index[at] = index;
  return at;
}
/* All entries have been put. */
void tsi_entries_end(tsi_entries *entries);

void tsi_entries_finish(tsi_entries *entries);

/* Does each line ascend strictly? */
bool tsi_entries_ascend(const tsi_entries *entries);

/* Lines become what indices were: the entries of each come in the order of the lines that they were in. `to`
 * has arrays for as many. */
void tsi_entries_transpose(const tsi_entries *from, tsi_entries *to);

/* Sorts each line by its indices; of equal ones the first stays first. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_entries_sort(tsi_env *env, tsi_entries *entries);
