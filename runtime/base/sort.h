/* Sorting of index lists, and a search in them. */
#ifndef TSI_RUNTIME_BASE_SORT_H
#define TSI_RUNTIME_BASE_SORT_H

#include "runtime/base/types.h"

/* Ascending, in place. */
void tsi_sort_indices(tsi_index *list, tsi_count count);
/* The same, each once; returns how many they are. */
tsi_count tsi_sort_unique(tsi_index *list, tsi_count count);

/* Of count ranges that follow each other, range k from begin[k] on: the one that has i. i >= begin[0]. */
tsi_index tsi_find_range(const tsi_index *begin, tsi_index count, tsi_index i);

#endif
