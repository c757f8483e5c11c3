/* Allocation of large arrays in regions of huge pages that arrays share.
 *
 * Job. A solve streams through its arrays. Processors do not prefetch across the borders of pages. Each small
 * page costs a miss of the TLB. Its first write is a page fault, which takes longer than filling the page
 * (under some hypervisors 100 times). So arrays are allocated in huge pages (2 MB). An array of 1 MB with its
 * own pages would waste half of them, which the system clears nevertheless. So arrays share a region, and a
 * new array reuses the space of a freed one without new pages.
 *
 * Arrays from TSI_ARENA_LEAST to TSI_ARENA_MOST bytes are allocated in regions, best fit. The C library
 * allocates smaller ones; larger ones have their own pages. Empty regions are returned to the system, except
 * the latest one, which is kept for the next array until tsi_arena_trim.
 *
 * Reads and writes its own regions: one set for the process, guarded by one lock.
 * Invariants
 *   - free spans of a region are in ascending order, do not touch, and are not empty
 *   - spans begin and end at multiples of a granule (4 KB), and so do freed parts of arrays
 * With the address sanitizer the C library allocates each array, so that reads beyond its end are found. */
#pragma once

#include <stddef.h>

#define TSI_ARENA_LEAST ((size_t)32 << 10)
#define TSI_ARENA_MOST ((size_t)10 << 20)
#define TSI_ARENA_GRANULE ((size_t)4096)

typedef struct tsi_region tsi_region;

/* Allocates bytes > 0, aligned to a page. *region: to be passed to tsi_arena_free; NULL if the C library
 * allocated the array. Returns NULL if there is no memory. */
void *tsi_arena_allocate(size_t bytes, tsi_region **region);
void tsi_arena_free(void *block, size_t bytes, tsi_region *region);

/* Frees bytes begin .. end - 1 of an array, whole granules. They are not accessed any more, and are not freed
 * with the array. In an array of the C library they stay allocated, but the system takes their pages if it
 * can. */
void tsi_arena_free_part(void *block, size_t begin, size_t end, tsi_region *region);

/* Returns the kept region to the system. */
void tsi_arena_trim(void);

/* Counts the regions, and the bytes of arrays in them. */
void tsi_arena_count(size_t *regions, size_t *bytes);
