/* How the rows of a triangular matrix are cut: what PARTITION_AUTO is for one, and the cut itself.
 *
 * Job. Choose between supernodes (import.c) and ways of rows (partition/cut/row_chunks.h), by a look at the
 * lines as they were given; make the cut from the same lines.
 *
 * Reads   lines, the number of cores that share a sweep.   Writes  a cut, the caller's.
 * Invariants: the cut is the same whether the lines are rows or columns. */
#pragma once

#include "partition/cut/row_chunks.h"
#include "runtime/context/context.h"
#include "tristar_triangle.h"

typedef struct tsi_row_choice {
  bool supernodes; /* then the rest says nothing */
  bool any;        /* PARTITION_AUTO: the given order where the way does not pay */
  tsi_row_way way;
  int lanes; /* at most */
  size_t scalar_bytes;
} tsi_row_choice;

/* Errors: ARGUMENT (there is no such partition). */
TRISTAR_CHECKED tristar_status tsi_partition_check(tsi_env *env, tristar_partition partition);
/* The partition whose rows are cut that way. */
tristar_partition tsi_partition_of_way(tsi_row_way way);

/* PARTITION_AUTO on one core: SUPERSTEPS, which are windows there, or WHOLE. */
tsi_row_way tsi_row_way_of_one(tsi_index n, tsi_count entries, size_t scalar_bytes);
/* By the numbers of rows and entries alone. */
tsi_row_choice tsi_row_choose(tristar_t *ts, tsi_index n, tsi_count entries, size_t scalar_bytes,
                              tristar_partition partition);

/* One triangle of lines: line j has the entries begin[j] .. end[j] + more - 1, its diagonal entry included.
 */
typedef struct tsi_line_parts {
  tsi_index n;
  const tsi_count *begin, *end;
  tsi_count more; /* 0, or 1 where end[j] is the diagonal entry */
  const tsi_index *index;
  bool columns; /* as of tsi_lines */
} tsi_line_parts;

/* Does PARTITION_AUTO choose supernodes? Lines ascend: line j + 1 continues line j if it has its entries, but
 * for one end each. */
bool tsi_has_supernodes(const tsi_line_parts *lines);
/* By the lines, which ascend: PARTITION_AUTO looks for supernodes. */
void tsi_row_choice_look(const tsi_lines *lines, tsi_row_choice *choice);
/* The cut is found sooner from the rows of the sweep of solves with T itself than from their columns, the
 * lines, if they become rows on the way to it. */
bool tsi_row_choice_wants_rows(const tsi_row_choice *choice, const tsi_lines *lines);
/* Of rows, not supernodes. With PARTITION_AUTO for one core, if several would wait for each other too often.
 * For the sweep of solves with T itself, whose rows or their columns the lines are.
 * An order is found for one sweep, and reversed for that with the transpose, in which rows of a like length
 * no longer lie together. lower: T is. level, levels: of rows, see tsi_row_cut_create. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_row_choice_cut(tsi_env *env, const tsi_row_choice *choice,
                                                  const tsi_lines *lines, bool lower, const tsi_index *level,
                                                  tsi_index levels, tsi_row_cut **cut);
/* The cut of PARTITION_AUTO for one core. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_row_choice_cut_for_one(tsi_env *env, const tsi_lines *lines, bool lower,
                                                          size_t scalar_bytes, tsi_row_cut **cut);
