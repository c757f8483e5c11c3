/* A sweep over a block cut with values: the data that one direction of a solve with a triangular matrix
 * reads.
 *
 * Job. Cut a triangular matrix into triangles and rectangles (partition/cut/blocks.h), list their rows in
 * chunks for lanes (partition/cut/block_rows.h), and choose the kernel of each chunk
 * (codelets/cpu/rows/block_choice.h). Store the entries in the order in which the kernels read them. Chunks
 * may run in any order that respects their waits. The bits of the result do not depend on this order, nor on
 * lanes or the division into chunks.
 *
 * Reads   lines of the matrix, their values.
 * Writes  a tsi_block_sweep that owns its arrays; it does not change during solves.
 * Invariants
 *   - the arrays of a chunk hold its rows in their order, with the entries of each in the order of the
 *     pattern
 *   - entry[k] is the position of the k-th of all entries, in the order of the chunks, among the given values
 */
#pragma once

#include "codelets/cpu/rows/blocks.h"
#include "partition/cut/block_rows.h"

typedef struct tsi_block_options {
  tsi_block_scheme scheme;
  tsi_index blocks;
  bool whole;      /* order of rows, as in tsi_block_order */
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
  tsi_block_rows *rows;   /* chunks, with their lanes and waits */
  tsi_block_chunk *chunk; /* rows->count */
  tsi_index *row, *column;
  uint16_t *short_column;
  tsi_count *ptr, *entry;
  void *values;
} tsi_block_sweep;

/* lines: rows or columns of a lower triangular F, with any diagonal. backward: for the sweep with its
 * transpose. place[i], n: position of row i in the vectors of a solve; NULL: i. The values are not set yet.
 * isa: NULL, or as in tsi_kernels_select. Errors: ARGUMENT (no such instruction set), MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_block_sweep_create(tsi_env *env, const tsi_lines *lines, bool backward,
                                                      const tsi_block_options *options, char scalar,
                                                      const char *isa, const tsi_index *place,
                                                      tsi_block_sweep **out);

/* Sets the values. values: of the entries of the lines. */
void tsi_block_sweep_fill(tsi_block_sweep *sweep, const void *values);

/* Program to run chunks on vectors: in, b; out, x, when all have run. inverse: 1 / each diagonal entry, at
 * the positions of the rows. */
static inline tsi_block_program tsi_block_sweep_program(const tsi_block_sweep *sweep, const void *inverse) {
  return (tsi_block_program){sweep->kernels, sweep->chunk, inverse};
}
