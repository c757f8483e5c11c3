/* Sorting of index lists: see sort.h. */
#include "runtime/base/sort.h"

#include <stdlib.h>

static int compare(const void *a, const void *b) {
  const tsi_index x = *(const tsi_index *)a, y = *(const tsi_index *)b;
  return (x > y) - (x < y);
}

void tsi_sort_indices(tsi_index *list, tsi_count count) {
  if (count > 1) qsort(list, (size_t)count, sizeof *list, compare);
}
