/* Chooses the format and the way of a rectangle, after section 3.4 of Lu, Niu and Liu (Efficient Block
 * Algorithms for Parallel Sparse Triangular Solve, ICPP 2020). They choose GPU kernels by the entries per row
 * and the share of empty rows, with thresholds trained on many matrices. Here empty rows do not matter:
 * sweeps skip them (runtime/rows/block_sweep.h).
 *
 * tools/bench/train_kernels made the thresholds (block_thresholds.h), for each scalar type and instruction
 * set, on one core. They are constants of the program, so a choice, and with it the order of sums, depends
 * only on the matrix and the instruction set. */
#pragma once

#include "runtime/base/types.h"

typedef struct tsi_block_shape {
  tsi_index filled; /* number of rows with entries; other rows are skipped */
  tsi_count entries;
  tsi_index columns; /* width of the rectangle */
} tsi_block_shape;

typedef struct tsi_block_choice {
  bool narrow; /* columns in 16 bits */
  bool lanes;  /* with one right-hand side, 8 entries at once */
} tsi_block_choice;

/* isa: of the kernels (tsi_block_kernels); if it has no thresholds, those of "base" are used. */
tsi_block_choice tsi_block_choose(char scalar, const char *isa, const tsi_block_shape *shape);
