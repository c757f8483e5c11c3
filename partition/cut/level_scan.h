/* What the columns of a sweep's rows tell of these: the level set of each row, and how many entries it has,
 * found without the rows.
 *
 * Job. Columns are visited in the order of the sweep. When the one of row i is, all that row i waits for has
 * told it its level; then it tells its own to the rows that have an entry in it.
 *
 * Reads   the columns.   Writes  a word for each row, the caller's, zero at the beginning.
 * Invariant: when row i is visited, its word and what was carried from the row before hold all that is to be
 * known of it. */
#pragma once

#include "partition/cut/row_chunks.h"

/* What is known of a row, in one word, which is read and written at once: one more than the highest level of
 * the rows that it waits for, or 0; and below that how many entries of it were seen. */
typedef uint64_t tsi_level_scan;

static inline tsi_index tsi_level_scan_level(tsi_level_scan of) {
  return (tsi_index)(of >> 32);
}

static inline tsi_index tsi_level_scan_entries(tsi_level_scan of) {
  return (tsi_index)(uint32_t)of;
}

/* What goes from a row to the one behind it, which mostly waits for it, by no way through memory: what is
 * written there is there to be read only some time later. */
typedef struct tsi_level_scan_next {
  tsi_index level;   /* at least so much; 0 if the row behind does not wait */
  tsi_index entries; /* of the row behind */
} tsi_level_scan_next;

/* The level of row i, at least `least`; line i tells it to the rows that wait for it. entries: how many the
 * row has, the diagonal included. columns, a constant: as of the lines. */
static inline __attribute__((always_inline)) tsi_index tsi_level_scan_row(
    const tsi_lines *lines, tsi_level_scan *scan, tsi_index i, tsi_index least, tsi_level_scan_next *next,
    tsi_index *entries, const bool columns) {
  const tsi_index *index = lines->index;
  const tsi_level_scan of = scan[i];
  const tsi_index own = tsi_index_max(tsi_index_max(tsi_level_scan_level(of), next->level), least);
  tsi_count first = lines->ptr[i], end = lines->ptr[i + 1];
  const bool diagonal = first < end && index[columns ? first : end - 1] == i;
  first += diagonal && columns;
  end -= diagonal && !columns;
  const bool waits = first < end && index[columns ? first : end - 1] == (columns ? i + 1 : i - 1);
  first += waits && columns;
  end -= waits && !columns;
  *entries = tsi_level_scan_entries(of) + next->entries + diagonal;
  *next = (tsi_level_scan_next){waits ? own + 1 : 0, waits};
  for (tsi_count e = first; e < end; e++) {
    tsi_level_scan *later = &scan[index[e]];
    const tsi_level_scan was = *later;
    const uint32_t level = (uint32_t)tsi_index_max(tsi_level_scan_level(was), own + 1);
    *later = (uint64_t)level << 32 | ((uint32_t)was + 1);
  }
  return own;
}
