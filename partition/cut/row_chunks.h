/* Chunks of rows: a triangular matrix F without supernodes, cut for sweeps by rows.
 *
 * Job. Order the rows of a lower triangular F so that it stays lower triangular. Cut them into chunks of
 * consecutive rows, and assign each chunk to a lane, the work of one core. A sweep runs the rows of a chunk
 * one after the other. A chunk waits for the chunks with the columns of its entries. The ways are:
 *
 * - whole: all rows in the given order, in one chunk.
 * - levels: the lanes share each level set (rows that wait for rows of lower sets only; Anderson and Saad
 *   1989); consecutive sets that are too narrow to be shared are joined.
 * - blocks: consecutive rows in the given order, the blocks of a block cut (blocks.h).
 * - supersteps: a superstep joins level sets up to a weight. The lanes share its first set; a row of another
 *   set stays in the lane of the rows that it waits for. If these are in two lanes, the row belongs to a
 *   later phase of the superstep. So lanes wait for each other once per phase and not once per set (after
 *   GrowLocal, Boehnlein et al. 2025, and Naumov 2011). A set with many such rows begins a new superstep.
 *
 *   With one lane no waits are needed: chunks are windows of consecutive rows (windows.h).
 *
 * Inside a chunk rows are sorted by level set (of a window: the level sets inside it) and, in wide sets, by
 * their number of entries. Neighbours then do not wait for each other, which keeps the pipelines of a core
 * full. Loops over entries have the same length many times in a row, so the branches at their ends are
 * predicted. The entries of x that a window reads are close together if they are in the given order.
 *
 * Reads   the pattern by lines: rows of F, or columns of F, which are the rows of the backward sweep.
 * Writes  a tsi_row_cut, a tsi_chunks; they own their arrays.
 * Invariants (tsi_row_cut_check)
 *   - order is a permutation, and no row comes before a row that it waits for
 *   - chunks are not empty, and chunk c has the rows order[start[c]] .. order[start[c + 1] - 1]
 *   - 0 <= lane[c] < lanes */
#pragma once

#include "partition/cut/chunks.h"

/* The pattern of F by lines; entries on the diagonal are ignored. */
typedef struct tsi_lines {
  tsi_index n;
  const tsi_count *ptr;   /* n + 1 */
  const tsi_index *index; /* Of line j: at most j (rows of F), or at least j (columns). */
  bool columns;
} tsi_lines;

/* Line number k of a sweep whose rows are the lines. */
static inline tsi_index tsi_line_of(const tsi_lines *lines, tsi_index k) {
  return lines->columns ? lines->n - 1 - k : k;
}

/* The entries of line j, which ascends, without the diagonal. The diagonal is the last entry of a row, the
 * first entry of a column, or missing. */
static inline void tsi_lines_inner(const tsi_lines *lines, tsi_index j, tsi_count *first, tsi_count *end) {
  *first = lines->ptr[j];
  *end = lines->ptr[j + 1];
  if (*first == *end) return;
  if (lines->columns)
    *first += lines->index[*first] == j;
  else
    *end -= lines->index[*end - 1] == j;
}

/* For loops over lines row[0 .. count-1] in that order, before row[k]: prefetches the lines that follow soon.
 * Otherwise each line that is not in the order of memory costs a cache miss. */
static inline void tsi_lines_fetch(const tsi_lines *lines, const tsi_index *row, tsi_index k,
                                   tsi_index count) {
  enum { SOON = 8 };
  if (count - k > 2 * SOON) __builtin_prefetch(lines->ptr + row[k + 2 * SOON]);
  if (count - k <= SOON) return;
  const tsi_count *ptr = lines->ptr + row[k + SOON];
  __builtin_prefetch(lines->index + ptr[0]);
  __builtin_prefetch(lines->index + ptr[1] - 1); /* most lines are in one or two cache lines */
}

#define TSI_ROW_LANES 4096

/* A vector of more bytes does not stay in the caches of a core from one solve to the next. */
#define TSI_CACHED_VECTOR_BYTES 2e6

typedef enum tsi_row_way {
  TSI_ROWS_WHOLE,
  TSI_ROWS_LEVELS,
  TSI_ROWS_SUPERSTEPS,
  TSI_ROWS_COLUMN_BLOCKS, /* This and the following: ways of a block cut (blocks.h), which has chunks of its
                             own. */
  TSI_ROWS_ROW_BLOCKS,
  TSI_ROWS_RECURSIVE_BLOCKS
} tsi_row_way;

typedef struct tsi_row_options {
  tsi_row_way way;
  int lanes;                     /* At most TSI_ROW_LANES. */
  double entry_bytes, row_bytes; /* Bytes that a sweep moves for each entry and each row. */
  double step_bytes;             /* SUPERSTEPS: maximum bytes of a lane in a superstep. */
  tsi_index rows_a_level;        /* LEVELS, SUPERSTEPS: if level sets are smaller on average, way is WHOLE */
  tsi_index blocks;              /* Number of blocks of a block cut, at least 1; 0: no block cut. */
  bool across; /* LEVELS, SUPERSTEPS: lines are the columns of the sweep's rows, not its rows. */
} tsi_row_options;

/* Bytes that a sweep moves for this number of rows and entries. */
static inline double tsi_row_sweep_bytes(const tsi_row_options *options, tsi_index rows, tsi_count entries) {
  return options->row_bytes * rows + options->entry_bytes * (double)entries;
}

/* Defaults for a scalar type and a number of lanes. */
void tsi_row_options_init(tsi_row_options *options, tsi_row_way way, int lanes, size_t scalar_bytes);

typedef struct tsi_row_cut {
  tsi_row_way way;
  int lanes;
  bool lower;         /* The order was computed for the sweep of a lower triangle, not reversed from it. */
  tsi_index n, count; /* chunks */
  tsi_index levels;   /* level sets of F; with windows: the sum over all of them; WHOLE: 0 */
  tsi_index *start;   /* count + 1 */
  tsi_index *order;   /* n: the given row that becomes row k */
  tsi_index *lane;    /* count */
  tsi_index *entries; /* n: entries of each row of the sweep, if the cut counted them; otherwise NULL */
} tsi_row_cut;

/* Are chunks consecutive rows of one lane? */
static inline bool tsi_row_has_windows(const tsi_row_cut *cut) {
  return cut->way == TSI_ROWS_SUPERSTEPS && cut->lanes == 1;
}

/* level[i], n: the level set of each line, from 0 on, in the sweep whose rows are the lines. Returns the
 * number of level sets. */
tsi_index tsi_row_levels(const tsi_lines *lines, tsi_index *level);

/* level and levels: results of tsi_row_levels, if !across; level NULL: not computed yet. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_row_cut_create(tsi_env *env, const tsi_lines *lines,
                                                  const tsi_row_options *options, const tsi_index *level,
                                                  tsi_index levels, tsi_row_cut **out);
TRISTAR_CHECKED tristar_status tsi_row_cut_check(tsi_env *env, const tsi_row_cut *cut,
                                                 const tsi_lines *lines);

/* A tsi_symbolic for a triangular matrix by rows, without supernodes and panels: it has the order of the cut,
 * and numbers of entries, with the diagonal. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_row_symbolic_create(tsi_env *env, const tsi_row_cut *cut,
                                                       tsi_count entries, tsi_symbolic **out);

/* Chunks without panels or slices. lines: the lines of the given F. off: for each later chunk that reads x of
 * the chunk, the first row of that later chunk. Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_row_chunks_create(tsi_env *env, const tsi_lines *lines,
                                                     const tsi_row_cut *cut, tsi_chunks **out);
