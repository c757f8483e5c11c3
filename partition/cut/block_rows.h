/* The rows of a block cut, part by part, in chunks for lanes: the work of a solve.
 *
 * Job. List the rows of each part with their entries in it. A triangle finishes its rows, x = inverse (b -
 * sum); a rectangle updates its rows that have entries in it, b = b - sum. Cut each part into chunks: the
 * lanes share the rows of a rectangle, or of each level set of a triangle. If sets are too narrow to be
 * shared, one chunk contains several. Each chunk has a lane, the work of one core, and a list of the chunks
 * that it must wait for. If chunks run in their order, no waits are needed.
 *
 * Reads   a tsi_block_cut, the pattern in its order.
 * Writes  a tsi_block_pattern, a tsi_block_rows; they own their arrays.
 * Invariants (tsi_block_rows_check)
 *   - every entry below the diagonal is listed once, with its row; every row is finished once
 *   - a row is not updated after it is finished
 *   - chunks have rows, all of one part
 *   - a chunk waits for the latest earlier chunk that wrote one of its rows, and for the chunks that finished
 *     the columns that it reads; or it has finished these columns itself, before it reads them */
#pragma once

#include "partition/cut/blocks.h"

/* Rows of F in another order: each ascending, without the diagonal. */
typedef struct tsi_block_pattern {
  tsi_lines lines;         /* By rows; points to the arrays below. */
  tsi_count *ptr, *source; /* source: position of each entry in the given lines. */
  tsi_index *index;
} tsi_block_pattern;

/* lines: rows or columns of the given F. order: the result of tsi_block_order; NULL: the given order. Errors:
 * MEMORY. */
TRISTAR_CHECKED tristar_status tsi_block_pattern_create(tsi_env *env, const tsi_lines *lines,
                                                        const tsi_index *order, tsi_block_pattern **out);

/* order[k]: the given row that becomes row k; F is lower triangular in this order. On return the rows of the
 * cut's blocks are ordered as by tsi_block_order. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_block_reorder(tsi_env *env, const tsi_block_cut *cut,
                                                 const tsi_lines *lines, bool whole, tsi_index *order);

typedef struct tsi_block_rows {
  tsi_index n, count; /* chunks */
  int lanes;
  tsi_index *part, *lane; /* count */
  tsi_count *start;       /* count + 1: positions in row and ptr */
  tsi_index *row;         /* Rows in the order of the pattern. */
  tsi_count *ptr;         /* Listed rows + 1: positions in column and entry. */
  tsi_index *column;
  tsi_count *entry;    /* Entry of the pattern: a position in its index and source. */
  tsi_count *wait_ptr; /* count + 1 */
  tsi_index *wait;     /* Chunks, earlier ones, each once. */
} tsi_block_rows;

/* lanes: at least 1. least: entries and rows, together, of the smallest chunk that is worth a wait; rows are
 * not shared if chunks would be smaller. Errors: MEMORY, TOO_LARGE (the number of chunks exceeds an
 * index). */
TRISTAR_CHECKED tristar_status tsi_block_rows_create(tsi_env *env, const tsi_block_cut *cut,
                                                     const tsi_block_pattern *pattern, int lanes,
                                                     tsi_count least, tsi_block_rows **out);
TRISTAR_CHECKED tristar_status tsi_block_rows_check(tsi_env *env, const tsi_block_rows *rows,
                                                    const tsi_block_cut *cut,
                                                    const tsi_block_pattern *pattern);
