/* A symmetric heap: memory of the same size and layout on each of several processing elements (PEs). Every PE
 * can write to the heaps of all. The host's side is runtime/mpi/oneside/oneside.h; kernels use the same
 * structure.
 *
 * Layout of the heap of a PE, in bytes from its start: tsi_heap_control, then `flags` flags from
 * TSI_HEAP_FLAGS on, then data from tsi_heap_data(flags) on, a multiple of 64.
 *
 * Flags hold epochs. A flag has one writer; its epochs ascend, and a wait ends at the awaited epoch or a
 * later one. So flags are never cleared.
 *
 * Memory order. A put writes data, then stores the flag with release order. A wait loads the flag with
 * acquire order. So the data of a put is visible after the wait for its flag.
 *
 * All addresses are valid for the reader of the structure: kernels receive a copy with device addresses. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The first failure that a PE received. `stopped` is not 0 once the other members are set. */
typedef struct tsi_heap_control {
  int32_t claimed; /* not 0: a PE writes the other members, or has written them */
  int32_t stopped;
  int32_t by;                /* the PE whose wait failed */
  int32_t peer, flag, epoch; /* the PE, flag and epoch that it waited for */
} tsi_heap_control;

#define TSI_HEAP_FLAGS 64

typedef struct tsi_symmetric_heap {
  int32_t pe, pes;
  int32_t flags;
  char **base; /* pes: the heap of each PE */
} tsi_symmetric_heap;

static inline size_t tsi_heap_data(int32_t flags) {
  return (TSI_HEAP_FLAGS + (size_t)flags * sizeof(int32_t) + 63) / 64 * 64;
}

/* Returns the epoch so many runs later; negative: earlier. Epochs wrap around. */
static inline int32_t tsi_heap_epoch(int32_t epoch, int32_t runs) {
  return (int32_t)((uint32_t)epoch + (uint32_t)runs);
}
/* Has a flag that holds `seen` reached the epoch? */
static inline int tsi_heap_reached(int32_t seen, int32_t epoch) {
  return (int32_t)((uint32_t)seen - (uint32_t)epoch) >= 0;
}
