/* Supersteps of level sets: see row_chunks.h.
 *
 * Reads   the pattern, its level sets.   Writes  order, start, lane and count of a cut that has
 * room for n rows and as many chunks. */
#ifndef TSI_PARTITION_SUPERSTEPS_H
#define TSI_PARTITION_SUPERSTEPS_H

#include "partition/row_chunks.h"

/* Rows in the order in which a sweep takes them: level set by level set, as given inside each. first, levels
 * + 1: where each set begins. */
typedef struct tsi_level_sets {
  tsi_index levels;
  const tsi_index *level, *first, *row;
} tsi_level_sets;

/* Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_supersteps_cut(tsi_env *env, const tsi_lines *lines,
                                                  const tsi_row_options *options, const tsi_level_sets *sets,
                                                  tsi_row_cut *cut);
#define TSI_WIDE_SET 16 /* rows of a set inside a chunk that are sorted by their number of entries */
/* Rows of one set, where it has so many: those with as many entries come together, the order stays otherwise.
 * length: entries of row[k]; other: room for `count`. */
void tsi_sort_set(const tsi_index *length, tsi_index *other, tsi_index *row, tsi_index count);

#endif
