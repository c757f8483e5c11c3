/* The rows of a block cut, part by part, in chunks for lanes: what a solve works through.
 *
 * Job. List the rows of each part with their entries in it. A row of a triangle is finished there,
 * x = inverse (b - sum); a row of a rectangle that has entries in it is updated, b = b - sum. Cut each part
 * into chunks: those of a rectangle share its rows, those of a triangle the rows of a level set, or, where
 * sets are too narrow to be shared, one chunk has several. Each chunk has a lane, what one core works
 * through, and a list of the chunks that it must wait for; worked through in their order they need not wait
 * at all.
 *
 * Reads   a tsi_block_cut, the pattern in its order.
 * Writes  a tsi_block_pattern, a tsi_block_rows; they own their arrays.
 * Invariants (tsi_block_rows_check)
 *   - every entry below the diagonal is listed once, with a row that it is of; every row is finished once
 *   - a row is not updated after it is finished
 *   - chunks have rows, and these are of one part
 *   - a chunk waits for the latest chunk before it that wrote a row of its own, and for those that finished
 * the columns that it reads; or it has finished them itself, before */
#pragma once

#include "partition/cut/blocks.h"

/* Rows of F in another order: each ascending, without the diagonal. */
typedef struct tsi_block_pattern {
  tsi_lines lines;         /* by rows, of the arrays below */
  tsi_count *ptr, *source; /* source: where each entry stands in the lines that were given */
  tsi_index *index;
} tsi_block_pattern;

/* lines: rows or columns of F as it is given; order: as of tsi_block_order, NULL: as given. Errors: MEMORY.
 */
TRISTAR_CHECKED tristar_status tsi_block_pattern_create(tsi_env *env, const tsi_lines *lines,
                                                        const tsi_index *order, tsi_block_pattern **out);

/* order[k]: the given row that comes as k-th, in which F is lower triangular; in and out: the rows of the
 * cut's blocks are then ordered as tsi_block_order has it. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_block_reorder(tsi_env *env, const tsi_block_cut *cut,
                                                 const tsi_lines *lines, bool whole, tsi_index *order);

typedef struct tsi_block_rows {
  tsi_index n, count; /* chunks */
  int lanes;
  tsi_index *part, *lane; /* count */
  tsi_count *start;       /* count + 1: into row and ptr */
  tsi_index *row;         /* in the order of the pattern */
  tsi_count *ptr;         /* into column and entry: listed rows + 1 */
  tsi_index *column;
  tsi_count *entry;    /* of the pattern: into its index and source */
  tsi_count *wait_ptr; /* count + 1 */
  tsi_index *wait;     /* chunks, earlier ones, each once */
} tsi_block_rows;

/* lanes: at least 1. least: entries and rows, together, of which a chunk is worth a wait: no rows are shared
 * where chunks would have less. Errors: MEMORY, TOO_LARGE (more chunks than an index can count). */
TRISTAR_CHECKED tristar_status tsi_block_rows_create(tsi_env *env, const tsi_block_cut *cut,
                                                     const tsi_block_pattern *pattern, int lanes,
                                                     tsi_count least, tsi_block_rows **out);
TRISTAR_CHECKED tristar_status tsi_block_rows_check(tsi_env *env, const tsi_block_rows *rows,
                                                    const tsi_block_cut *cut,
                                                    const tsi_block_pattern *pattern);
