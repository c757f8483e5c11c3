/* Features of the parts of a block cut, and an order of rows that improves them.
 *
 * Job. Compute the features that decide the kernel of each part (Lu, Niu and Liu 2020, section 3.4): for a
 * rectangle, entries per row and the share of empty rows; for a triangle, entries per row and level sets.
 * Compute the order of section 3.3: the rows of a triangle by their level sets within it. Rows that can be
 * solved at the same time become neighbours. A triangle may have few level sets, as rectangles contain the
 * entries that made its rows wait for each other.
 *
 * Reads   a tsi_block_cut, the pattern by lines.
 * Writes  arrays of the caller. */
#pragma once

#include "partition/cut/blocks.h"

typedef struct tsi_block_features {
  tsi_count entries; /* Entries of the part, without the diagonal. */
  tsi_index filled;  /* Rows with entries. */
  tsi_index levels;  /* Triangle: level sets within it; rectangle: 0. */
} tsi_block_features;

/* features[p]: the features of part p of the cut. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_block_features_find(tsi_env *env, const tsi_block_cut *cut,
                                                       const tsi_lines *lines, tsi_block_features *features);

/* level[i], n: the level set of each row within its block. block: the result of tsi_block_owners. */
void tsi_block_levels(const tsi_lines *lines, const tsi_index *block, tsi_index *level);

/* Parts have rows, so no division by 0 occurs. */
static inline double tsi_block_part_rows(const tsi_block_part *part) {
  return (double)part->end_row - part->first_row;
}
static inline double tsi_block_entries_a_row(const tsi_block_part *part, const tsi_block_features *f) {
  return (double)f->entries / tsi_block_part_rows(part);
}
static inline double tsi_block_empty_share(const tsi_block_part *part, const tsi_block_features *f) {
  return 1 - (double)f->filled / tsi_block_part_rows(part);
}
/* For triangles only. */
static inline double tsi_block_rows_a_level(const tsi_block_part *part, const tsi_block_features *f) {
  return tsi_block_part_rows(part) / (double)f->levels;
}

/* order[k], n: the given row that becomes row k. Rows stay in their block and are sorted by level; rows of a
 * level keep their order. The order is triangular again, and the cut fits it. whole: before that, all rows
 * are ordered by their levels in F; with the recursive scheme also the rows of each half, and of each half of
 * these, by their levels in it. So blocks have other rows than before. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_block_order(tsi_env *env, const tsi_block_cut *cut, const tsi_lines *lines,
                                               bool whole, tsi_index *order);
