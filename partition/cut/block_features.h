/* What the parts of a block cut look like, and the order of rows that suits them.
 *
 * Job. The features by which a kernel is chosen for each part (Lu, Niu and Liu 2020, section 3.4): entries a
 * row and the share of rows without any for a rectangle, entries a row and level sets for a triangle. And the
 * order of section 3.3: rows of a triangle by their level sets within it, so that rows that can be solved at
 * the same time stand side by side, and a triangle may fall into few levels as what made its rows wait for
 * each other has gone into rectangles.
 *
 * Reads   a tsi_block_cut, the pattern by lines.
 * Writes  arrays of the caller. */
#pragma once

#include "partition/cut/blocks.h"

typedef struct tsi_block_features {
  tsi_count entries; /* the diagonal is left aside */
  tsi_index filled;  /* rows that have some */
  tsi_index levels;  /* of a triangle: level sets within it; of a rectangle: 0 */
} tsi_block_features;

/* features[p]: of each part of the cut. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_block_features_find(tsi_env *env, const tsi_block_cut *cut,
                                                       const tsi_lines *lines, tsi_block_features *features);

/* level[i], n: the level set of each row within its block. block: of tsi_block_owners. */
void tsi_block_levels(const tsi_lines *lines, const tsi_index *block, tsi_index *level);

/* Parts have rows, so nothing is divided by 0. */
static inline double tsi_block_part_rows(const tsi_block_part *part) {
  return (double)part->end_row - part->first_row;
}
static inline double tsi_block_entries_a_row(const tsi_block_part *part, const tsi_block_features *f) {
  return (double)f->entries / tsi_block_part_rows(part);
}
static inline double tsi_block_empty_share(const tsi_block_part *part, const tsi_block_features *f) {
  return 1 - (double)f->filled / tsi_block_part_rows(part);
}
/* Of a triangle only. */
static inline double tsi_block_rows_a_level(const tsi_block_part *part, const tsi_block_features *f) {
  return tsi_block_part_rows(part) / (double)f->levels;
}

/* order[k], n: the given row that comes as k-th. Rows stay in their block and come there level by level, rows
 * of a level as they were given; the order is triangular again, and the cut fits it. whole: before that all
 * rows are ordered by their levels in F, and with the recursive scheme those of each half, and of each half
 * of these, by their levels in it, so that blocks have other rows than those given. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_block_order(tsi_env *env, const tsi_block_cut *cut, const tsi_lines *lines,
                                               bool whole, tsi_index *order);
