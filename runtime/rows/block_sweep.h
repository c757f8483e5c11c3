/* A sweep over a block cut with values: what one direction of a solve with a triangular matrix reads.
 *
 * Job. Cut a triangular matrix into triangles and rectangles (partition/cut/blocks.h), list their rows in
 * chunks for lanes (partition/cut/block_rows.h), choose the kernel of each chunk
 * (codelets/cpu/rows/block_choice.h), and lay the entries out as the kernels read them. Chunks may run in any
 * order in which each comes after those that it waits for: the bits of the result are those of their own
 * order, and depend on neither lanes nor what a chunk is worth.
 *
 * Reads   lines of the matrix, their values.
 * Writes  a tsi_block_sweep that owns its arrays; it does not change during solves.
 * Invariants
 *   - the arrays of a chunk hold its rows in their order, the entries of each as the pattern has them
 *   - entry[k], the k-th of all entries in the order of the chunks, is where its value stands among those
 * given */
#pragma once

#include "codelets/cpu/rows/blocks.h"
#include "partition/cut/block_rows.h"

typedef struct tsi_block_options {
  tsi_block_scheme scheme;
  tsi_index blocks;
  bool whole;      /* the order of rows, as of tsi_block_order */
  int lanes;       /* as of tsi_block_rows_create */
  tsi_count least; /* as of tsi_block_rows_create */
} tsi_block_options;

/* Defaults: rows ordered from the whole down. */
void tsi_block_options_init(tsi_block_options *options, tsi_block_scheme scheme, tsi_index blocks, int lanes);

typedef struct tsi_block_sweep {
  char scalar;
  size_t scalar_bytes;
  const tsi_block_kernels *kernels;
  tsi_block_cut *cut;
  tsi_block_rows *rows;   /* chunks: their lanes and waits */
  tsi_block_chunk *chunk; /* rows->count */
  tsi_index *row, *column;
  uint16_t *short_column;
  tsi_count *ptr, *entry;
  void *values;
} tsi_block_sweep;

/* lines: rows or columns of a lower triangular F, with whatever diagonal. backward: of the sweep with its
 * transpose. place[i], n: where row i is in the vectors of a solve; NULL: at i. The values are missing still.
 * isa: NULL, or as of tsi_kernels_select. Errors: ARGUMENT (no such instruction set), MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_block_sweep_create(tsi_env *env, const tsi_lines *lines, bool backward,
                                                      const tsi_block_options *options, char scalar,
                                                      const char *isa, const tsi_index *place,
                                                      tsi_block_sweep **out);

/* values: of the entries of the lines. */
void tsi_block_sweep_fill(tsi_block_sweep *sweep, const void *values);

/* To run chunks on vectors: in, b; out, x, when all have run. inverse: 1 over each diagonal entry, placed as
 * the rows are. */
static inline tsi_block_program tsi_block_sweep_program(const tsi_block_sweep *sweep, const void *inverse) {
  return (tsi_block_program){sweep->kernels, sweep->chunk, inverse};
}
