/* Sorting of index lists. */
#ifndef TSI_RUNTIME_BASE_SORT_H
#define TSI_RUNTIME_BASE_SORT_H

#include "runtime/base/types.h"

/* Ascending, in place. */
void tsi_sort_indices(tsi_index *list, tsi_count count);
/* The same, each once; returns how many they are. */
tsi_count tsi_sort_unique(tsi_index *list, tsi_count count);

#endif
