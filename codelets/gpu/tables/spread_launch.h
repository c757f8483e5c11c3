/* The launch of a solve with a sparse triangle whose rows are spread over several devices (after Xie et al.,
 * "Fast and scalable sparse triangular solver for multi-GPU based HPC architectures", ICPP 2021).
 *
 * A processing element (PE) solves its own rows. For a row of another PE it adds up the products with its own
 * x: a left sum, which stays in its heap. The owner of the row reads the left sums from the heaps of the
 * other PEs, without any message; a PE writes to its own heap only. In-degrees are flags: a left sum is
 * complete when its flag has reached the epoch of the solve. The lanes of a row poll one PE each, and add
 * their left sums by shuffles. A lane polls while its PE has open dependencies; with polls_all the lanes poll
 * all PEs until no PE has any, as a solver does that does not know which PEs matter to a row.
 *
 * Items are the left sums that a PE makes and the rows that it solves, in one order for all PEs: by level,
 * left sums first. An item waits for items before it in this order only, here or on other PEs. So any number
 * of warps on each PE comes to an end. A warp draws bundles: items that do not wait for each other.
 *
 * Sums have a fixed order: entries by lane, then left sums by PE, then lanes. So the bits depend on the plan,
 * not on the schedule.
 *
 * All pointers are the device's. */
#pragma once

#include "codelets/gpu/tables/device_tables.h"
#include "codelets/gpu/tables/heap.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TSI_SPREAD_SUMS, TSI_SPREAD_ROWS }; /* kinds of items */

#define TSI_SPREAD_LANES 32                   /* maximum number of lanes of a row */
#define TSI_SPREAD_PES (TSI_SPREAD_LANES + 1) /* a lane polls one PE */
#define TSI_SPREAD_BUNDLE 64                  /* items * lanes of a row, at most */

/* Items of one kind and level. */
typedef struct tsi_spread_bundle {
  tsi_index kind, first, items;
  tsi_index steps; /* maximum number of entries of a lane */
} tsi_spread_bundle;

typedef struct tsi_gpu_spread {
  tsi_device_call call; /* b, x: own rows; the workspace has x of own rows. No sweeps, no D */
  tsi_index threads;    /* lanes of a row: a power of two */
  tsi_index bundles;
  const tsi_spread_bundle *bundle;
  const tsi_index *row;    /* items: the own row, or the slot of the left sum */
  const tsi_index *begin;  /* items + 1: entries */
  const tsi_index *column; /* entries: own rows */
  const tsi_index *slot;   /* own rows x (PEs - 1): its left sum on each other PE; TSI_NONE: there is none */
  const void *values;      /* entries */
  const void *inverse;     /* own rows: of the diagonal */
  int32_t *ticket;         /* a counter, zero before a launch */
  bool polls_all;
  int32_t *polls;          /* a counter of flags that were read on other PEs */
  int32_t *flag;           /* own rows: the epoch of x */
  int32_t epoch;           /* of the solve: 1, 2, ... */
  tsi_symmetric_heap heap; /* flags: one for each slot; base: addresses of the device, in its memory */
  int64_t sums;            /* bytes from the start of the data of a heap to its left sums, rows of `stride` */
} tsi_gpu_spread;

/* stream: a cudaStream_t or hipStream_t. Returns at once: 0, or the error number of the device's runtime.
 * blocks 0: as many as are resident. */
typedef int tsi_gpu_spread_launch(const tsi_gpu_spread *spread, unsigned blocks, unsigned threads,
                                  void *stream);
tsi_gpu_spread_launch tsi_gpu_spread_s, tsi_gpu_spread_d, tsi_gpu_spread_c, tsi_gpu_spread_z;

#ifdef __cplusplus
}
#endif
