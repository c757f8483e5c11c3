/* Where large arrays lie: regions of huge pages that arrays share.
 *
 * Job. A solve streams through its arrays: processors do not prefetch across the borders of pages, each small
 * page costs a miss of the TLB, and a fault when it is written for the first time, which takes longer than to
 * fill it (under some hypervisors 100 times). So arrays are made of huge pages (2 MB). An array of 1 MB with
 * pages of its own would waste half of them, which are cleared all the same: arrays share a region, and what
 * one gives back the next one takes, without new pages.
 *
 * Arrays from TSI_ARENA_LEAST to TSI_ARENA_MOST bytes lie in regions, best fit; smaller ones are the C
 * library's, larger ones have pages of their own. A region that is empty is given back to the system, all but
 * the latest, which waits for the next array until tsi_arena_trim.
 *
 * Reads and writes its own regions: one set for the process, guarded by one lock.
 * Invariants
 *   - spans of a region that are free are in ascending order, do not touch, and are not empty
 *   - spans begin and end at multiples of a granule (4 KB), as do parts of arrays that are given back
 * With the address sanitizer each array is the C library's, so that what reads past one is found. */
#pragma once

#include <stddef.h>

#define TSI_ARENA_LEAST ((size_t)32 << 10)
#define TSI_ARENA_MOST ((size_t)10 << 20)
#define TSI_ARENA_GRANULE ((size_t)4096)

typedef struct tsi_region tsi_region;

/* bytes > 0, aligned to a page; *region is for tsi_arena_free, and NULL where the array is the C library's.
 * NULL: no memory. */
void *tsi_arena_allocate(size_t bytes, tsi_region **region);
void tsi_arena_free(void *block, size_t bytes, tsi_region *region);

/* Gives bytes begin .. end - 1 of an array back, whole granules: nobody reads or writes them again, and they
 * are not given with the array. An array of the C library's keeps them, but the system takes their pages
 * where it can. */
void tsi_arena_free_part(void *block, size_t begin, size_t end, tsi_region *region);

/* Gives the region that waits back to the system. */
void tsi_arena_trim(void);

/* What regions there are, and the bytes in them that arrays have. */
void tsi_arena_count(size_t *regions, size_t *bytes);
