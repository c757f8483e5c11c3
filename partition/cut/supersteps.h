/* Supersteps of level sets: see row_chunks.h.
 *
 * Reads   the pattern, its level sets.   Writes  order, start, lane and count of a cut that has
 * room for n rows and as many chunks. */
#pragma once

#include "partition/cut/row_chunks.h"

/* Rows in the order in which a sweep takes them: level set by level set, as given inside each. first, levels
 * + 1: where each set begins. */
typedef struct tsi_level_sets {
  tsi_index levels;
  const tsi_index *first, *row;
  const tsi_index *entries; /* n: of each row, the diagonal included; NULL: those of the lines */
} tsi_level_sets;

/* Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_supersteps_cut(tsi_env *env, const tsi_lines *lines,
                                                  const tsi_row_options *options, const tsi_level_sets *sets,
                                                  tsi_row_cut *cut);
/* A row of a set inside a chunk. */
typedef struct tsi_set_row {
  tsi_index row, entries, level; /* level: not looked at here */
} tsi_set_row;
#define TSI_WIDE_SET 16 /* rows */
/* The rows of one set. Where it is wide, those with as many entries come together, the order stays otherwise.
 */
void tsi_sort_set(const tsi_set_row *set, tsi_index count, tsi_index *row);
