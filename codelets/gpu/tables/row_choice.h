/* Chooses kernels of rows for a triangle on a GPU. The functions depend only on the pattern, so the choice,
 * and with it the order of sums, is the same on every device.
 *
 * The features and the thresholds of tsi_device_row_choose are from Lu, Niu and Liu (Efficient Block
 * Algorithms for Parallel Sparse Triangular Solve, ICPP 2020, section 3.4), who trained them on many matrices
 * and a Titan RTX. They have not been measured here. */
#pragma once

#include "runtime/base/types.h"

#define TSI_ROW_THREADS_MAX 32 /* maximum threads per row: a warp of NVIDIA, half a wavefront of AMD */

typedef enum tsi_device_row_way {
  TSI_DEVICE_ROWS_AUTO,   /* the choice of tsi_device_row_choose for each triangle */
  TSI_DEVICE_ROWS_LEVELS, /* a phase for each level set */
  TSI_DEVICE_ROWS_FREE    /* one phase, rows wait for flags */
} tsi_device_row_way;

/* Returns the threads for a row: its number of entries rounded up to a power of 2, at most
 * TSI_ROW_THREADS_MAX. So a warp loads neighbouring rows as one contiguous piece in one step. */
static inline int tsi_device_row_threads(tsi_count entries) {
  int threads = 1;
  while (threads < entries && threads < TSI_ROW_THREADS_MAX) threads *= 2;
  return threads;
}

/* Chooses for a triangle with at least one row: LEVELS if there are few level sets of short rows, else FREE.
 * Each level set costs a wait of the whole device; flags cost a wait for each entry. entries: without the
 * diagonal.
 */
static inline tsi_device_row_way tsi_device_row_choose(tsi_index rows, tsi_count entries, tsi_index levels) {
  const double a_row = (double)entries / rows;
  const bool few = levels <= 20 || (a_row <= 1 && levels <= 100);
  return levels == 1 || (a_row <= 15 && few) ? TSI_DEVICE_ROWS_LEVELS : TSI_DEVICE_ROWS_FREE;
}
