/* Products with a sparse matrix whose rows are stored in slices, 8 at a time (Monakov et al. 2010; Kreutzer
 * et al. 2014: SELL-C-sigma with C = 8).
 *
 * A slice has entries in groups of 8, with a value each. Across: lane l of group k is entry k of row l of the
 * slice. Along: the slice is one row, and lane l of group k its entry 8 k + l. Lanes beyond the end of a row
 * hold zero, and the column of an entry of theirs. How columns are stored is chosen for each slice, the
 * shortest that can tell them:
 *
 *   RUN     8 rows, each the one before moved by one column: the column of the first lane of each group
 *   SHIFT   8 rows that are moved against each other in any other way: by how much, and the same
 *   SHORT   16-bit offsets from `base`
 *   LONG    columns
 *
 * Windows are blocks of TSI_WINDOW_ROWS rows, and the unit of work. In a window slices may take rows in the
 * order of their lengths (sigma); then their numbers are listed.
 *
 * Reads   a matrix, x.   Writes  y.
 * Invariants (tsi_slices_check)
 *   - each entry is in one lane; empty rows are in slices without groups
 *   - a row's sum depends on its slice alone: across, entry by entry; along, lane by lane */
#pragma once

#include "runtime/base/types.h"

#define TSI_SLICE_ROWS 8
#define TSI_WINDOW_ROWS 1024

typedef enum tsi_slice_kind {
  TSI_SLICE_RUN,
  TSI_SLICE_SHIFT,
  TSI_SLICE_SHORT,
  TSI_SLICE_LONG
} tsi_slice_kind;

typedef struct tsi_slice {
  tsi_index row;  /* the first one; listed: where its rows are in the list */
  tsi_index base; /* SHORT */
  tsi_index groups;
  uint8_t kind, rows; /* tsi_slice_kind; 1 to 8 */
  bool along, listed;
} tsi_slice;

/* Where the slices of a window begin, their groups, and their columns. */
typedef struct tsi_slice_window {
  tsi_index slice;
  tsi_count group, word;
} tsi_slice_window;

typedef struct tsi_sliced {
  tsi_index rows, windows;
  size_t bytes;             /* of a scalar of x and y */
  bool narrow;              /* values are of the single type, x and y of the double one */
  tsi_slice_window *window; /* windows + 1 */
  tsi_slice *slice;
  tsi_index *word; /* columns; 16-bit ones two in a word */
  tsi_index *row;  /* the list */
  void *values;
} tsi_sliced;

/* Words that the columns of a slice take. */
static inline tsi_count tsi_slice_words(const tsi_slice *s) {
  switch ((tsi_slice_kind)s->kind) {
  case TSI_SLICE_RUN:
    return s->groups;
  case TSI_SLICE_SHIFT:
    return TSI_SLICE_ROWS + (tsi_count)s->groups;
  case TSI_SLICE_SHORT:
    return TSI_SLICE_ROWS / 2 * (tsi_count)s->groups;
  case TSI_SLICE_LONG:
    break;
  }
  return TSI_SLICE_ROWS * (tsi_count)s->groups;
}

typedef struct tsi_sliced_kernels {
  const char *isa;
  /* y[c ldy + i] = (A x_c)[i] for the rows i of a window and columns c < columns, x_c from x[c ldx] on.
   * Values are read once for up to 4 columns; each has the bits that it has alone. */
  void (*multiply)(const tsi_sliced *a, tsi_index window, int64_t columns, const void *x, int64_t ldx,
                   void *y, int64_t ldy);
} tsi_sliced_kernels;

/* As tsi_kernels_select. */
const tsi_sliced_kernels *tsi_sliced_kernels_select(char scalar, const char *isa);
