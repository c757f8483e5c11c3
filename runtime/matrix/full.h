/* The user's matrix in full: both triangles of a symmetric kind, by rows or columns.
 *
 * Reads   a tsi_pattern.   Writes  entries, which own their arrays.
 * Invariants of full rows (tsi_full_rows_check)
 *   - those of entries.h; columns of a row ascend strictly
 *   - the item of an entry, a tsi_count, is the entry of the pattern that it is, or, complemented, the one
 *     whose mirror image it is: what `gather` of the kernels (sparse.h) reads. A GENERAL pattern by rows has
 *     no items: its entries are the same */
#pragma once

#include "runtime/matrix/entries.h"
#include "runtime/matrix/pattern.h"

/* Are full rows the lines of the pattern? */
static inline bool tsi_full_is_pattern(const tsi_pattern *pattern) {
  return pattern->by_rows && pattern->symmetry == TRISTAR_GENERAL;
}

/* symmetric: of a GENERAL pattern too, entries above the diagonal stand for both, and those below count for
 * nothing. After a failure tsi_entries_finish is to be called all the same. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_full_rows(tsi_env *env, const tsi_pattern *pattern, bool symmetric,
                                             tsi_entries *out);
/* to: values of the entries first .. first + count - 1 of full rows; `values` belong to the pattern's
 * entries. symmetry: of mirror images. */
void tsi_full_gather(const tsi_pattern *pattern, const tsi_entries *rows, tristar_symmetry symmetry,
                     tsi_count first, tsi_count count, const void *values, void *to);
/* rows: not of a symmetric wish. Errors: INTERNAL names the first invariant that is broken. */
TRISTAR_CHECKED tristar_status tsi_full_rows_check(tsi_env *env, const tsi_pattern *pattern,
                                                   const tsi_entries *rows);

/* By columns, rows ascending. values: of the pattern; items are that part of them, the same for mirror
 * images; NULL: there are none. After a failure tsi_entries_finish is to be called all the same. Errors:
 * MEMORY. */
TRISTAR_CHECKED tristar_status tsi_full_columns(tsi_env *env, const tsi_pattern *pattern, const void *values,
                                                tsi_part part, tsi_entries *out);
