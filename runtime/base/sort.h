/* Sorting of index lists, and searches in them. */
#pragma once

#include "runtime/base/types.h"

/* Sorts a list in place, ascending. */
void tsi_sort_indices(tsi_index *list, tsi_count count);
/* The same, and removes duplicates; returns the number of different ones. */
tsi_count tsi_sort_unique(tsi_index *list, tsi_count count);

/* Position of the first of the ascending numbers index[low .. high - 1] that is at least i; high: there is
 * none. */
static inline tsi_count tsi_lower_bound(const tsi_index *index, tsi_count low, tsi_count high, tsi_index i) {
  while (low < high) {
    const tsi_count middle = low + (high - low) / 2;
    if (index[middle] < i)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Position of i among the ascending numbers index[low .. high - 1], often at an end; TSI_NONE: there is none.
 */
static inline tsi_count tsi_find_sorted(const tsi_index *index, tsi_count low, tsi_count high, tsi_index i) {
  if (low == high) return TSI_NONE;
  if (index[low] >= i) return index[low] == i ? low : TSI_NONE;
  if (index[high - 1] <= i) return index[high - 1] == i ? high - 1 : TSI_NONE;
  const tsi_count at = tsi_lower_bound(index, low, high, i);
  return index[at] == i ? at : TSI_NONE;
}

/* Finds the range with i among count consecutive ranges, of which range k begins at begin[k]. i >= begin[0].
 */
tsi_index tsi_find_range(const tsi_index *begin, tsi_index count, tsi_index i);
