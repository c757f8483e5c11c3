/* Chunks of rows: a triangular matrix F without supernodes, cut for sweeps that go row by row.
 *
 * Job. Order the rows of a lower triangular F so that it stays lower triangular, and cut them into chunks of
 * consecutive rows. A sweep works through the rows of a chunk one after the other and reads those before them
 * that they have entries in; so a chunk waits for the chunks of these. Three ways:
 *
 *   blocks   consecutive rows, as they are given: what a row reads was written a short time before
 *   levels   level by level: of each level set (rows that wait for rows of lower levels only; Anderson and
 * Saad 1989) as many chunks as there are workers, at most; level sets too narrow to be cut come together in
 * one chunk whole    all rows, in one chunk: a chain
 *
 * A cut says what it costs: the bytes of its heaviest path, a chunk counted with those that a task is worth.
 *
 * Reads   the pattern by lines: rows of F, or columns of F.
 * Writes  a tsi_row_cut, a tsi_chunks; they own their arrays.
 * Invariants (tsi_row_cut_check)
 *   - order is a permutation, and no row comes before one that it waits for
 *   - chunks are not empty, and a chunk holds rows order[start[c]] .. order[start[c + 1] - 1] */
#ifndef TSI_PARTITION_ROW_CHUNKS_H
#define TSI_PARTITION_ROW_CHUNKS_H

#include "partition/chunks.h"

/* The pattern of F by lines; entries on the diagonal are left aside. */
typedef struct tsi_lines {
  tsi_index n;
  const tsi_count *ptr;   /* n + 1 */
  const tsi_index *index; /* of line j: up to j (rows of F), or from j on (columns) */
  bool columns;
} tsi_lines;

typedef enum tsi_row_way { TSI_ROWS_WHOLE, TSI_ROWS_BLOCKS, TSI_ROWS_LEVELS } tsi_row_way;

typedef struct tsi_row_weights {
  double entry, row; /* bytes that a sweep moves for each */
  double task;       /* bytes that could be moved while a task starts */
  int workers;
} tsi_row_weights;

typedef struct tsi_row_cut {
  tsi_row_way way;
  tsi_index n, count; /* chunks */
  tsi_index *start;   /* count + 1 */
  tsi_index *order;   /* n: the given row that comes as k-th */
  double bytes, critical;
} tsi_row_cut;

/* level[i], n: the level set of each row, from 0 on. Gives how many there are. */
tsi_index tsi_row_levels(const tsi_lines *lines, tsi_index *level);

/* rows: of a block, at least 1; BLOCKS only. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_row_cut_create(tsi_env *env, const tsi_lines *lines,
                                                  const tsi_row_weights *weights, tsi_row_way way,
                                                  tsi_index rows, tsi_row_cut **out);
void tsi_row_cut_destroy(tsi_env *env, tsi_row_cut **cut);
TRISTAR_CHECKED tristar_status tsi_row_cut_check(tsi_env *env, const tsi_row_cut *cut,
                                                 const tsi_lines *lines);

/* No supernodes, no panels: what a tsi_symbolic holds of a triangular matrix by rows is its order, which is
 * that of the cut, and its numbers of entries, the diagonal included. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_row_symbolic_create(tsi_env *env, const tsi_row_cut *cut,
                                                       tsi_count entries, tsi_symbolic **out);

/* Chunks without panels or slices. lines: of F in the order of the cut, start its chunks. off-rows: those of
 * later chunks that have an entry in a row of the chunk. Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_row_chunks_create(tsi_env *env, const tsi_lines *lines, tsi_index count,
                                                     const tsi_index *start, tsi_chunks **out);

#endif
