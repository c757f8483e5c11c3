/* Windows of the given order, of one lane: see row_chunks.h.
 *
 * Reads   the pattern, by the rows of the sweep or by their columns.
 * Writes  order, start, lane, count and levels of a cut that has room for n rows and as many chunks; by
 * columns also how many entries each row has, which is counted on the way.
 * Invariants: chunk c holds the next rows in the order of the sweep, by the level sets that they have among
 * themselves. Windows weigh a step; several, where the sets of the first ones are narrow and rows of other
 * lengths follow each other there. Where sets are too narrow (rows_a_level) it ends as soon as this shows:
 * the levels so far tell it, and rows are neither all there nor counted. */
#pragma once

#include "partition/cut/row_chunks.h"

/* Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_windows_cut(tsi_env *env, const tsi_lines *lines,
                                               const tsi_row_options *options, tsi_row_cut *cut);
