/* A binary heap of items with keys: the item with the largest key first, of equal keys the smallest item. The
 * caller allocates the entries. */
#pragma once

#include "runtime/base/types.h"

typedef struct tsi_keyed {
  double key;
  tsi_index item;
} tsi_keyed;

typedef struct tsi_heap {
  tsi_keyed *entry;
  tsi_index count;
} tsi_heap;

static inline bool tsi_comes_first(tsi_keyed a, tsi_keyed b) {
  return a.key > b.key || (a.key == b.key && a.item < b.item);
}

static inline void tsi_heap_push(tsi_heap *heap, double key, tsi_index item) {
  const tsi_keyed added = {key, item};
  tsi_index at = heap->count++;
  for (; at > 0 && tsi_comes_first(added, heap->entry[(at - 1) / 2]); at = (at - 1) / 2)
    heap->entry[at] = heap->entry[(at - 1) / 2];
  heap->entry[at] = added;
}

/* Removes and returns the first item. */
static inline tsi_keyed tsi_heap_pop(tsi_heap *heap) {
  const tsi_keyed first = heap->entry[0], last = heap->entry[--heap->count];
  tsi_index at = 0;
  for (tsi_index child = 1; child < heap->count; child = 2 * at + 1) {
    if (child + 1 < heap->count && tsi_comes_first(heap->entry[child + 1], heap->entry[child])) child++;
    if (!tsi_comes_first(heap->entry[child], last)) break;
    heap->entry[at] = heap->entry[child];
    at = child;
  }
  heap->entry[at] = last;
  return first;
}
