/* Which kernels of rows suit a triangle on a GPU: pure functions of the pattern, so that a choice, and with
 * it the order of sums, is the same on every device.
 *
 * The features and the thresholds of tsi_device_row_choose are those of Lu, Niu and Liu (Efficient Block
 * Algorithms for Parallel Sparse Triangular Solve, ICPP 2020, section 3.4), who trained them on many matrices
 * and a Titan RTX. Nobody has measured them here. */
#pragma once

#include "runtime/base/types.h"

#define TSI_ROW_THREADS_MAX 32 /* of a row: a warp of NVIDIA's, half a wavefront of AMD's */

typedef enum tsi_device_row_way {
  TSI_DEVICE_ROWS_AUTO,   /* as tsi_device_row_choose has it, for each triangle */
  TSI_DEVICE_ROWS_LEVELS, /* a phase for each level set */
  TSI_DEVICE_ROWS_FREE    /* one phase, rows wait for flags */
} tsi_device_row_way;

/* Threads of a row of so many entries: as many as it has, rounded up to a power of 2, at most
 * TSI_ROW_THREADS_MAX. So neighbouring rows are loaded as one piece, in one step of a warp. */
static inline int tsi_device_row_threads(tsi_count entries) {
  int threads = 1;
  while (threads < entries && threads < TSI_ROW_THREADS_MAX) threads *= 2;
  return threads;
}

/* For a triangle of at least one row: LEVELS where there are few level sets of short rows, else FREE. Level
 * sets cost a wait of the whole device each, flags one for each entry. entries: the diagonal is left aside.
 */
static inline tsi_device_row_way tsi_device_row_choose(tsi_index rows, tsi_count entries, tsi_index levels) {
  const double a_row = (double)entries / rows;
  const bool few = levels <= 20 || (a_row <= 1 && levels <= 100);
  return levels == 1 || (a_row <= 15 && few) ? TSI_DEVICE_ROWS_LEVELS : TSI_DEVICE_ROWS_FREE;
}
