/* The user's matrix in full: both triangles of a symmetric kind, by rows or columns.
 *
 * Reads   a tsi_pattern.   Writes  entries, which own their arrays.
 * Invariants of full rows (tsi_full_rows_check)
 *   - the invariants of entries.h; columns of a row ascend strictly
 *   - the item of an entry, a tsi_count, is its entry of the pattern, or the complement of the entry of which
 *     it is the mirror image: the format that `gather` of the kernels (sparse.h) reads. A GENERAL pattern by
 *     rows has no items: its entries are the same */
#pragma once

#include "runtime/matrix/entries.h"
#include "runtime/matrix/pattern.h"

/* Are the full rows the lines of the pattern? */
static inline bool tsi_full_is_pattern(const tsi_pattern *pattern) {
  return pattern->by_rows && pattern->symmetry == TRISTAR_GENERAL;
}

/* symmetric: also in a GENERAL pattern, entries above the diagonal represent both triangles, and entries
 * below are ignored. Call tsi_entries_finish also after a failure. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_full_rows(tsi_env *env, const tsi_pattern *pattern, bool symmetric,
                                             tsi_entries *out);
/* Writes the values of the entries first .. first + count - 1 of full rows to `to`. `values` belong to the
 * pattern's entries. symmetry: of mirror images. */
void tsi_full_gather(const tsi_pattern *pattern, const tsi_entries *rows, tristar_symmetry symmetry,
                     tsi_count first, tsi_count count, const void *values, void *to);
/* rows: made with symmetric = false. Errors: INTERNAL (the message has the first broken invariant). */
TRISTAR_CHECKED tristar_status tsi_full_rows_check(tsi_env *env, const tsi_pattern *pattern,
                                                   const tsi_entries *rows);

/* By columns, rows ascending. values: of the pattern. Items are this part of the values, the same for mirror
 * images; NULL: no items. Call tsi_entries_finish also after a failure. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_full_columns(tsi_env *env, const tsi_pattern *pattern, const void *values,
                                                tsi_part part, tsi_entries *out);
