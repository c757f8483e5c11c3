/* The cut of the rows of a triangular matrix, and the choice of PARTITION_AUTO.
 *
 * Job. Choose between supernodes (import.c) and ways of rows (partition/cut/row_chunks.h), by inspecting the
 * given lines; cut the same lines.
 *
 * Reads   lines, the number of cores that share a sweep.   Writes  a cut, which the caller owns.
 * Invariants: the cut does not depend on whether the lines are rows or columns. */
#pragma once

#include "partition/cut/row_chunks.h"
#include "runtime/context/context.h"
#include "tristar_triangle.h"

typedef struct tsi_row_choice {
  bool supernodes; /* then the other fields are not used */
  bool any;        /* PARTITION_AUTO: use the given order if the way is not worth it */
  tsi_row_way way;
  int lanes; /* largest number of lanes */
  size_t scalar_bytes;
} tsi_row_choice;

/* Checks that this partition exists. Errors: ARGUMENT. */
TRISTAR_CHECKED tristar_status tsi_partition_check(tsi_env *env, tristar_partition partition);
/* The partition that cuts rows in this way. */
tristar_partition tsi_partition_of_way(tsi_row_way way);

/* PARTITION_AUTO on one core: SUPERSTEPS, which are windows there, or WHOLE. */
tsi_row_way tsi_row_way_of_one(tsi_index n, tsi_count entries, size_t scalar_bytes);
/* Chooses by the numbers of rows and entries only. */
tsi_row_choice tsi_row_choose(tristar_t *ts, tsi_index n, tsi_count entries, size_t scalar_bytes,
                              tristar_partition partition);

/* One triangle of lines: line j has the entries begin[j] .. end[j] + more - 1, with its diagonal entry. */
typedef struct tsi_line_parts {
  tsi_index n;
  const tsi_count *begin, *end;
  tsi_count more; /* 0, or 1 if end[j] is the diagonal entry */
  const tsi_index *index;
  bool columns; /* as in tsi_lines */
} tsi_line_parts;

/* Whether PARTITION_AUTO chooses supernodes. Lines ascend. Line j + 1 continues line j if both have the same
 * entries, except for one at an end of each. */
bool tsi_has_supernodes(const tsi_line_parts *lines);
/* Chooses by the lines, which ascend: PARTITION_AUTO searches for supernodes. */
void tsi_row_choice_look(const tsi_lines *lines, tsi_row_choice *choice);
/* Whether it is faster to turn the lines, which are columns, into rows of the sweep with T, and to cut these
 * rows. */
bool tsi_row_choice_needs_rows(const tsi_row_choice *choice, const tsi_lines *lines);
/* Cuts rows for the sweep of solves with T; the lines are its rows or columns. No supernodes. With
 * PARTITION_AUTO cuts for one core if several cores would wait for each other too often. The sweep with the
 * transpose uses the reversed order, in which rows of similar length are no longer contiguous. lower: T is
 * lower triangular. level, levels: of rows, see tsi_row_cut_create. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_row_choice_cut(tsi_env *env, const tsi_row_choice *choice,
                                                  const tsi_lines *lines, bool lower, const tsi_index *level,
                                                  tsi_index levels, tsi_row_cut **cut);
/* The cut of PARTITION_AUTO for one core. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_row_choice_cut_for_one(tsi_env *env, const tsi_lines *lines, bool lower,
                                                          size_t scalar_bytes, tsi_row_cut **cut);
