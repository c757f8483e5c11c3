/* Which format and way suit a rectangle: after section 3.4 of Lu, Niu and Liu (Efficient Block Algorithms for
 * Parallel Sparse Triangular Solve, ICPP 2020), who choose kernels of a GPU by entries a row and the share of
 * empty rows, with thresholds from a training on many matrices. Empty rows are no part of a choice here:
 * sweeps leave them out (runtime/rows/block_sweep.h).
 *
 * The thresholds (block_thresholds.h) come from tools/bench/train_kernels, for each scalar type and
 * instruction set, on one core. They are constants of the program, so that a choice, and with it the order of
 * sums, depends on the matrix and the instruction set only. */
#pragma once

#include "runtime/base/types.h"

typedef struct tsi_block_shape {
  tsi_index filled; /* rows that have entries: the others are left out */
  tsi_count entries;
  tsi_index columns; /* the width */
} tsi_block_shape;

typedef struct tsi_block_choice {
  bool narrow; /* columns in 16 bits */
  bool lanes;  /* with one right-hand side, 8 entries at once */
} tsi_block_choice;

/* isa: of the kernels (tsi_block_kernels); one without thresholds has those of "base". */
tsi_block_choice tsi_block_choose(char scalar, const char *isa, const tsi_block_shape *shape);
