/* Kernels for the parts of a block cut (partition/cut/blocks.h).
 *
 *   rectangle R   w[i] := w[i] - sum over j of R_ij w[j];               no row is a column
 *   triangle T    w[i] := (w[i] - sum over j of T_ij w[j]) / T_ii;      row by row: w[j] is already x
 *
 * Formats. Rows of a rectangle are consecutive (CSR). If many rows are empty, the others are listed (DCSR,
 * doubly compressed). Columns are rows of the workspace. If the rectangle is not too wide, they are 16-bit
 * offsets from its first column, which halves the bytes of indices.
 *
 * Ways. A row is summed entry by entry, or 8 entries at once in 8 lanes, which is faster for long rows. The
 * choice depends on the entries per row of a rectangle (block_choice.h). With several right-hand sides there
 * is one way. Formats do not change results: for a given way, the order of a sum is the order of the entries.
 *
 * Reads   the rectangle, rows of `stride` scalars (1, 2, 4 or a multiple of 8).   Writes  such rows. */
#pragma once

#include "runtime/base/types.h"

/* Maximum width for 16-bit columns. */
#define TSI_SHORT_COLUMNS 65536

/* A rectangle or triangle. Row k has the entries ptr[k] .. ptr[k+1]-1, without the diagonal. */
typedef struct tsi_rectangle {
  const tsi_count *ptr;
  const tsi_index *row;         /* rows of the workspace; NULL: row k is first_row + k */
  const tsi_index *column;      /* rows of the workspace; NULL: short_column is used */
  const uint16_t *short_column; /* columns minus first_column */
  const void *values;
  tsi_index first_row, first_column;
} tsi_rectangle;

typedef struct tsi_block_kernels {
  const char *isa;
  /* Rows first .. end-1. lanes: with one right-hand side, 8 entries at once. */
  void (*update)(const tsi_rectangle *rectangle, tsi_index first, tsi_index end, bool lanes, tsi_index stride,
                 void *workspace);
  /* The same rows of a triangle, in this order. inverse: 1 / T_ii, by rows of the workspace. */
  void (*solve)(const tsi_rectangle *triangle, tsi_index first, tsi_index end, bool lanes, tsi_index stride,
                const void *inverse, void *workspace);
} tsi_block_kernels;

/* Rows of a part, from 0 on, that are one unit of work. */
typedef struct tsi_block_chunk {
  tsi_rectangle rows;
  tsi_index count; /* number of rows */
  bool triangle, lanes;
} tsi_block_chunk;

/* A sweep over a block cut. */
typedef struct tsi_block_program {
  const tsi_block_kernels *kernels;
  const tsi_block_chunk *chunk;
  const void *inverse; /* inverses of the diagonal entries, by rows of the workspace */
} tsi_block_program;

static inline void tsi_block_run(const tsi_block_program *program, tsi_index c, tsi_index stride,
                                 void *workspace) {
  const tsi_block_chunk *chunk = &program->chunk[c];
  if (chunk->triangle)
    program->kernels->solve(&chunk->rows, 0, chunk->count, chunk->lanes, stride, program->inverse, workspace);
  else
    program->kernels->update(&chunk->rows, 0, chunk->count, chunk->lanes, stride, workspace);
}

/* As tsi_kernels_select. */
const tsi_block_kernels *tsi_block_kernels_select(char scalar, const char *isa);
