/* Chunks of rows: a triangular matrix F without supernodes, cut for sweeps that go row by row.
 *
 * Job. Order the rows of a lower triangular F so that it stays lower triangular, cut them into chunks of
 * consecutive rows, and give each chunk a lane: what one core works through. A sweep works through the rows
 * of a chunk one after the other; a chunk waits for the chunks of the rows that its own have entries in.
 * These ways:
 *
 * - whole: all rows as they are given, in one chunk.
 * - levels: each level set (rows that wait for rows of lower sets only; Anderson and Saad 1989) by itself,
 *   shared by the lanes; sets too narrow to be shared come together.
 * - blocks: consecutive rows as they are given, the blocks of a block cut (blocks.h).
 * - supersteps: as many level sets together as a superstep may weigh. The first one is shared by the lanes; a
 *   row of the others stays in the lane of the rows that it waits for. One that waits for two lanes belongs
 * to a later phase of the superstep, so that lanes wait for each other once a phase and not once a set (after
 * GrowLocal, Boehnlein et al. 2025, and Naumov 2011). A set that mostly would, begins a new one.
 *
 *   With one lane there is nobody to wait for: chunks are windows of consecutive rows (windows.h).
 *
 * Inside a chunk rows come by level set (of the window: those that they have among themselves) and, in wide
 * sets, by their number of entries: neighbours do not wait for each other, which keeps the pipelines of a
 * core full, and loops over entries have the same length many times in a row, so that their ends are
 * foreseen. What a window reads of x lies close together, where the given order had it so.
 *
 * Reads   the pattern by lines: rows of F, or columns of F, which are the rows of the backward sweep.
 * Writes  a tsi_row_cut, a tsi_chunks; they own their arrays.
 * Invariants (tsi_row_cut_check)
 *   - order is a permutation, and no row comes before one that it waits for
 *   - chunks are not empty, and a chunk holds rows order[start[c]] .. order[start[c + 1] - 1]
 *   - 0 <= lane[c] < lanes */
#pragma once

#include "partition/cut/chunks.h"

/* The pattern of F by lines; entries on the diagonal are left aside. */
typedef struct tsi_lines {
  tsi_index n;
  const tsi_count *ptr;   /* n + 1 */
  const tsi_index *index; /* of line j: up to j (rows of F), or from j on (columns) */
  bool columns;
} tsi_lines;

/* The k-th line that a sweep takes which has the lines as its rows. */
static inline tsi_index tsi_line_of(const tsi_lines *lines, tsi_index k) {
  return lines->columns ? lines->n - 1 - k : k;
}

/* The entries of line j, which ascends, that are not on the diagonal: the last one of a row, the first one of
 * a column, or missing. */
static inline void tsi_lines_inner(const tsi_lines *lines, tsi_index j, tsi_count *first, tsi_count *end) {
  *first = lines->ptr[j];
  *end = lines->ptr[j + 1];
  if (*first == *end) return;
  if (lines->columns)
    *first += lines->index[*first] == j;
  else
    *end -= lines->index[*end - 1] == j;
}

/* While lines row[0 .. count-1] are visited in that order and row[k] is next: fetches what comes soon. Lines
 * in another order than that of memory cost a miss of the cache each otherwise. */
static inline void tsi_lines_fetch(const tsi_lines *lines, const tsi_index *row, tsi_index k,
                                   tsi_index count) {
  enum { SOON = 8 };
  if (count - k > 2 * SOON) __builtin_prefetch(lines->ptr + row[k + 2 * SOON]);
  if (count - k <= SOON) return;
  const tsi_count *ptr = lines->ptr + row[k + SOON];
  __builtin_prefetch(lines->index + ptr[0]);
  __builtin_prefetch(lines->index + ptr[1] - 1); /* most lines are in one line of the cache, or in two */
}

#define TSI_ROW_LANES 4096

/* A vector of more bytes is not kept in the caches of a core from one solve to the next. */
#define TSI_CACHED_VECTOR_BYTES 2e6

typedef enum tsi_row_way {
  TSI_ROWS_WHOLE,
  TSI_ROWS_LEVELS,
  TSI_ROWS_SUPERSTEPS,
  TSI_ROWS_COLUMN_BLOCKS, /* this and the following: of a block cut (blocks.h), which has chunks of its own */
  TSI_ROWS_ROW_BLOCKS,
  TSI_ROWS_RECURSIVE_BLOCKS
} tsi_row_way;

typedef struct tsi_row_options {
  tsi_row_way way;
  int lanes;                     /* at most TSI_ROW_LANES */
  double entry_bytes, row_bytes; /* that a sweep moves for each */
  double step_bytes;             /* SUPERSTEPS: what a lane of a superstep may weigh */
  tsi_index rows_a_level; /* LEVELS, SUPERSTEPS: with fewer rows a level set on average the way is WHOLE */
  tsi_index blocks;       /* of a block cut: how many, at least 1; 0: it is none */
  bool across;            /* LEVELS, SUPERSTEPS: lines are the columns of the sweep's rows, not its rows */
} tsi_row_options;

/* That a sweep moves for so many rows with so many entries. */
static inline double tsi_row_sweep_bytes(const tsi_row_options *options, tsi_index rows, tsi_count entries) {
  return options->row_bytes * rows + options->entry_bytes * (double)entries;
}

/* Defaults for a scalar type and so many lanes. */
void tsi_row_options_init(tsi_row_options *options, tsi_row_way way, int lanes, size_t scalar_bytes);

typedef struct tsi_row_cut {
  tsi_row_way way;
  int lanes;
  bool lower;         /* the order was found for the sweep of a lower triangle, not reversed from it */
  tsi_index n, count; /* chunks */
  tsi_index levels;   /* level sets of F; of windows: those of each, added up; WHOLE: 0, not counted */
  tsi_index *start;   /* count + 1 */
  tsi_index *order;   /* n: the given row that comes as k-th */
  tsi_index *lane;    /* count */
  tsi_index *entries; /* n: of each row of the sweep, as they were counted on the way; NULL: they were not */
} tsi_row_cut;

/* Chunks are consecutive rows, of one lane. */
static inline bool tsi_row_has_windows(const tsi_row_cut *cut) {
  return cut->way == TSI_ROWS_SUPERSTEPS && cut->lanes == 1;
}

/* level[i], n: the level set of each line, from 0 on, in the sweep that it is a row of. Gives how many there
 * are. */
tsi_index tsi_row_levels(const tsi_lines *lines, tsi_index *level);

/* level: as of tsi_row_levels, and how many, not across; NULL: not known yet. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_row_cut_create(tsi_env *env, const tsi_lines *lines,
                                                  const tsi_row_options *options, const tsi_index *level,
                                                  tsi_index levels, tsi_row_cut **out);
TRISTAR_CHECKED tristar_status tsi_row_cut_check(tsi_env *env, const tsi_row_cut *cut,
                                                 const tsi_lines *lines);

/* No supernodes, no panels: what a tsi_symbolic holds of a triangular matrix by rows is its order, which is
 * that of the cut, and its numbers of entries, the diagonal included. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_row_symbolic_create(tsi_env *env, const tsi_row_cut *cut,
                                                       tsi_count entries, tsi_symbolic **out);

/* Chunks without panels or slices. lines: of F as it was given. off-rows: of each later chunk that reads x of
 * the chunk, its first row, for all of them. Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_row_chunks_create(tsi_env *env, const tsi_lines *lines,
                                                     const tsi_row_cut *cut, tsi_chunks **out);
