/* Sorts index lists, and searches them: see sort.h. */
#include "runtime/base/sort.h"

#include <stdlib.h>

static int compare(const void *a, const void *b) {
  const tsi_index x = *(const tsi_index *)a, y = *(const tsi_index *)b;
  return (x > y) - (x < y);
}

/* Lists up to this long are sorted faster here than by qsort, which calls a function for each comparison. */
#define SHORT 24

static void insert_each(tsi_index *list, tsi_count count) {
  for (tsi_count k = 1; k < count; k++) {
    const tsi_index next = list[k];
    tsi_count to = k;
    for (; to > 0 && list[to - 1] > next; to--) list[to] = list[to - 1];
    list[to] = next;
  }
}

void tsi_sort_indices(tsi_index *list, tsi_count count) {
  if (count <= SHORT)
    insert_each(list, count);
  else
    qsort(list, (size_t)count, sizeof *list, compare);
}

tsi_count tsi_sort_unique(tsi_index *list, tsi_count count) {
  tsi_count kept = 0;
  tsi_sort_indices(list, count);
  for (tsi_count k = 0; k < count; k++)
    if (k == 0 || list[k] != list[kept - 1]) list[kept++] = list[k];
  return kept;
}

tsi_index tsi_find_range(const tsi_index *begin, tsi_index count, tsi_index i) {
  tsi_index low = 0, high = count;
  while (high - low > 1) {
    const tsi_index middle = low + (high - low) / 2;
    if (begin[middle] <= i)
      low = middle;
    else
      high = middle;
  }
  return low;
}
