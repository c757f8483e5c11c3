/* Blocks: a lower triangular matrix cut into triangles on its diagonal and rectangles below them.
 *
 * Job. The block algorithms of Lu, Niu and Liu (Efficient Block Algorithms for Parallel Sparse Triangular
 * Solve, ICPP 2020). The rows are cut into blocks of about equal size. Each block has a TRIANGLE: the entries
 * of its rows in its own columns. Solved in order, the triangles compute x block by block. All other entries
 * are in RECTANGLES: a rectangle multiplies its entries by x of its columns and subtracts the sums from b of
 * its rows. There is one rectangle between consecutive triangles; three schemes choose it:
 *
 *   column      all rows below, the columns of the block before: each x is read once, b is updated often
 *   row         the rows of the block after, all columns before: each b is updated once, x is read often
 *   recursive   the lower half of the rows, the columns of the upper half; each half is cut likewise
 *
 * Reads   the pattern by lines (row_chunks.h), for the checks only: a cut depends on n and the number of
 *         blocks.
 * Writes  a tsi_block_cut; it owns its arrays.
 * Invariants (tsi_block_cut_check)
 *   - block k has the rows start[k] .. start[k + 1] - 1, at least one; there are no more blocks than rows
 *   - the triangles are the blocks in their order
 *   - a rectangle comes after the triangles of its columns, and before the triangles of its rows
 *   - every entry below the diagonal is in exactly one part */
#pragma once

#include "partition/cut/row_chunks.h"

typedef enum tsi_block_scheme { TSI_BLOCKS_COLUMN, TSI_BLOCKS_ROW, TSI_BLOCKS_RECURSIVE } tsi_block_scheme;

/* The scheme of a block cut: way is TSI_ROWS_COLUMN_BLOCKS or a later one. */
static inline tsi_block_scheme tsi_block_scheme_of(tsi_row_way way) {
  return way == TSI_ROWS_COLUMN_BLOCKS ? TSI_BLOCKS_COLUMN
         : way == TSI_ROWS_ROW_BLOCKS  ? TSI_BLOCKS_ROW
                                       : TSI_BLOCKS_RECURSIVE;
}

typedef enum tsi_block_kind { TSI_BLOCK_TRIANGLE, TSI_BLOCK_RECTANGLE } tsi_block_kind;

/* Rows first_row .. end_row - 1 of columns first_column .. end_column - 1. A triangle has equal row and
 * column ranges. */
typedef struct tsi_block_part {
  tsi_block_kind kind;
  tsi_index first_row, end_row, first_column, end_column;
} tsi_block_part;

typedef struct tsi_block_cut {
  tsi_block_scheme scheme;
  tsi_index n, blocks;
  tsi_index *start;     /* blocks + 1 */
  tsi_index count;      /* Number of parts: 2 blocks - 1, or 0. */
  tsi_block_part *part; /* in the order of the solve: triangle k is part 2 k */
} tsi_block_cut;

/* Runs the code for row i and column j of each entry below the diagonal, lines ascending. */
#define TSI_FOR_EACH_BELOW(lines, i, j, ...)                                                                 \
  for (tsi_index line_ = 0; line_ < (lines)->n; line_++)                                                     \
    for (tsi_count entry_ = (lines)->ptr[line_]; entry_ < (lines)->ptr[line_ + 1]; entry_++) {               \
      const tsi_index other_ = (lines)->index[entry_];                                                       \
      const tsi_index i = (lines)->columns ? other_ : line_, j = (lines)->columns ? line_ : other_;          \
      if (i != j) __VA_ARGS__;                                                                               \
    }

/* The number of blocks for which b and x of a block fill about half of a cache of 256 kB: a power of 2, at
 * least 2, so that there is a rectangle. */
tsi_index tsi_block_default(tsi_index n, size_t scalar_bytes);

/* blocks: at least 1. If there are fewer rows, each row is a block. Errors: ARGUMENT, TOO_LARGE (more than
 * 2^30 blocks), MEMORY. */
TRISTAR_CHECKED tristar_status tsi_block_cut_create(tsi_env *env, tsi_index n, tsi_block_scheme scheme,
                                                    tsi_index blocks, tsi_block_cut **out);
/* Takes O(log n) time for each entry and part. */
TRISTAR_CHECKED tristar_status tsi_block_cut_check(tsi_env *env, const tsi_block_cut *cut,
                                                   const tsi_lines *lines);

/* block[i], n: the block of each row. */
void tsi_block_owners(const tsi_block_cut *cut, tsi_index *block);
/* The part with the entries of rows of block i in columns of block j <= i. Takes constant time, or
 * (recursive) the logarithm of the number of blocks. */
tsi_index tsi_block_part_of(const tsi_block_cut *cut, tsi_index i, tsi_index j);

/* Traffic of vectors for a dense triangle, in scalars of one right-hand side. A triangle updates the b of its
 * rows once (and makes it x); a rectangle updates the b of its rows once and loads the x of its columns once.
 * With p blocks of equal size, a power of two:
 *
 *               triangles   rectangles: b updated   rectangles: x loaded
 *   column      n           n (p - 1) / 2           n (p - 1) / p
 *   row         n           n (p - 1) / p           n (p - 1) / 2
 *   recursive   n           n log2(p) / 2           n log2(p) / 2
 *
 * So with 4, 16 and 256 blocks, b is updated 2.5 n, 8.5 n and 128.5 n times by columns, 2 n, 3 n and 5 n
 * times recursively (triangles + updated: Table 1 of the paper). Loads do not include the x that a triangle
 * reads of its own rows; to include them, add triangles. */
typedef struct tsi_block_traffic {
  tsi_count triangles;       /* rows of triangles */
  tsi_count updated, loaded; /* rows and columns of rectangles */
} tsi_block_traffic;
tsi_block_traffic tsi_block_cut_traffic(const tsi_block_cut *cut);
