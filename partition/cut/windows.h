/* Windows of the given order, for one lane: see row_chunks.h.
 *
 * Reads   the pattern, by the rows of the sweep or by their columns.
 * Writes  order, start, lane, count and levels of a cut whose arrays are allocated for n rows and n chunks;
 * by columns also the number of entries of each row.
 * Invariants: chunk c has the next rows in the order of the sweep, sorted by the level sets inside it. The
 * weight of a window is about step_bytes, or several times as much if the sets of the first windows are
 * narrow and consecutive rows there differ in length. If sets are too narrow (rows_a_level), the function
 * ends early: then levels exceeds the limit, and order and entries are incomplete. */
#pragma once

#include "partition/cut/row_chunks.h"

/* Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_windows_cut(tsi_env *env, const tsi_lines *lines,
                                               const tsi_row_options *options, tsi_row_cut *cut);
