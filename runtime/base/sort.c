/* Sorts index lists, and searches them: see sort.h. */
#include "runtime/base/sort.h"

#include <stdlib.h>

static int compare(const void *a, const void *b) {
  const tsi_index x = *(const tsi_index *)a, y = *(const tsi_index *)b;
  return (x > y) - (x < y);
}

/* Lists up to this long are sorted by insertion. */
#define SHORT 24

static void insert_each(tsi_index *list, tsi_count count) {
  for (tsi_count k = 1; k < count; k++) {
    const tsi_index next = list[k];
    tsi_count to = k;
    for (; to > 0 && list[to - 1] > next; to--) list[to] = list[to - 1];
    list[to] = next;
  }
}

static tsi_index middle_of(tsi_index a, tsi_index b, tsi_index c) {
  if (a > b) return middle_of(b, a, c);
  return b <= c ? b : a > c ? a : c;
}

/* Divides a list. Returns the start of the second part, whose entries are not below any entry of the first
 * part: at least 1 and at most count - 1 (Hoare 1962). */
static tsi_count part(tsi_index *list, tsi_count count) {
  const tsi_index pivot = middle_of(list[0], list[count / 2], list[count - 1]);
  tsi_count i = -1, j = count;
  for (;;) {
    do i++;
    while (list[i] < pivot);
    do j--;
    while (list[j] > pivot);
    if (i >= j) return j + 1;
    const tsi_index swapped = list[i];
    list[i] = list[j];
    list[j] = swapped;
  }
}

/* Sorts by parts, without a call for each comparison as in qsort. A list that was divided badly `turns` times
 * is sorted by qsort. */
static void sort_parts(tsi_index *list, tsi_count count, int turns) {
  for (; count > SHORT && turns > 0; turns--) {
    const tsi_count first = part(list, count);
    const bool less = first < count - first; /* the smaller part */
    sort_parts(less ? list : list + first, less ? first : count - first, turns - 1);
    if (less) list += first;
    count = less ? count - first : first;
  }
  if (count <= SHORT)
    insert_each(list, count);
  else
    qsort(list, (size_t)count, sizeof *list, compare);
}

void tsi_sort_indices(tsi_index *list, tsi_count count) {
  int turns = 0; /* twice the logarithm */
  for (tsi_count left = count; left > 0; left /= 2) turns += 2;
  sort_parts(list, count, turns);
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
