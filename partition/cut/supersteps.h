/* Supersteps of level sets: see row_chunks.h.
 *
 * Reads   the pattern, its level sets.   Writes  order, start, lane and count of a cut whose arrays are
 * allocated for n rows and n chunks. */
#pragma once

#include "partition/cut/row_chunks.h"

/* Rows in the order of a sweep: level set by level set, in the given order inside each. first, levels + 1:
 * the first row of each set. */
typedef struct tsi_level_sets {
  tsi_index levels;
  const tsi_index *first, *row;
  const tsi_index *entries; /* n: entries of each row, with the diagonal; NULL: the entries of its line */
} tsi_level_sets;

/* Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_supersteps_cut(tsi_env *env, const tsi_lines *lines,
                                                  const tsi_row_options *options, const tsi_level_sets *sets,
                                                  tsi_row_cut *cut);
/* A row of a set inside a chunk. */
typedef struct tsi_set_row {
  tsi_index row, entries, level; /* level: not used here. */
} tsi_set_row;
#define TSI_WIDE_SET 16 /* rows */
/* Sorts the rows of one set: in a wide set, rows with equally many entries become neighbours and keep their
 * order; a narrow set keeps its order. */
void tsi_sort_set(const tsi_set_row *set, tsi_index count, tsi_index *row);
