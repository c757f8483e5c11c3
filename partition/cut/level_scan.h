/* The level set of each row of a sweep and its number of entries, computed from the columns alone, without
 * the rows.
 *
 * Job. Visit the columns in the order of the sweep. When the column of row i is visited, the level of row i
 * is final: all rows that it waits for have been visited, and each has raised the level of the rows that wait
 * for it. So row i now raises the levels of the rows with an entry in its column.
 *
 * Reads   the columns.   Writes  one word for each row, in an array of the caller that is zero at the
 * beginning.
 * Invariant: when row i is visited, its word and the value carried from the row before determine its level
 * and its entries. */
#pragma once

#include "partition/cut/row_chunks.h"

/* The state of a row in one word, which is read and written at once. High half: 1 + the highest level of the
 * visited rows that it waits for, or 0. Low half: the number of its entries seen so far. */
typedef uint64_t tsi_level_scan;

static inline tsi_index tsi_level_scan_level(tsi_level_scan of) {
  return (tsi_index)(of >> 32);
}

static inline tsi_index tsi_level_scan_entries(tsi_level_scan of) {
  return (tsi_index)(uint32_t)of;
}

/* Passed from a row to the next one, which mostly waits for it, in registers: a value written to memory could
 * be read only some time later. */
typedef struct tsi_level_scan_next {
  tsi_index level;   /* Minimum level of the next row; 0 if it does not wait for this one. */
  tsi_index entries; /* Entries of the next row, from this one. */
} tsi_level_scan_next;

/* Returns the level of row i, at least `least`, and raises the level of the rows in line i, which wait for
 * it. *entries: the number of entries of the row, with the diagonal. columns: lines->columns, as a
 * constant. */
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
