/* Products with a sparse matrix whose rows are stored in slices, 8 at a time (Monakov et al. 2010; Kreutzer
 * et al. 2014: SELL-C-sigma with C = 8).
 *
 * A slice has entries in groups of 8. Across: lane l of group k is entry k of row l of the slice. Along: the
 * slice is one row, and lane l of group k is its entry 8 k + l. Lanes beyond the end of a row hold zero, and
 * the column of an entry of the row. Each slice has the shortest possible storage of columns:
 *
 *   RUN     8 rows with the same columns, each shifted by one against the row before: column of the first
 *           lane of each group
 *   SHIFT   8 rows with the same columns, shifted against each other in another way: the shifts, and the
 *           column of the first lane of each group
 *   SHORT   16-bit offsets from `base`
 *   LONG    columns
 *
 * Windows are blocks of TSI_WINDOW_ROWS rows, and the unit of work. Slices of a window may take rows in the
 * order of their lengths (sigma); then their numbers are listed.
 *
 * Reads   a matrix, x.   Writes  y.
 * Invariants (tsi_slices_check)
 *   - each entry is in one lane; empty rows are in slices without groups
 *   - a row's sum depends only on its slice: across, entry by entry; along, lane by lane */
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
  tsi_index row;  /* its first row; if listed: position of its rows in the list */
  tsi_index base; /* SHORT: column of offset 0 */
  tsi_index groups;
  uint8_t kind, rows; /* tsi_slice_kind; 1 to 8 */
  bool along, listed;
} tsi_slice;

/* Start of the slices of a window, of their groups and of their columns. */
typedef struct tsi_slice_window {
  tsi_index slice;
  tsi_count group, word;
} tsi_slice_window;

typedef struct tsi_sliced {
  tsi_index rows, windows;
  size_t bytes;             /* bytes of a scalar of x and y */
  bool narrow;              /* values have the single type, x and y the double type */
  tsi_slice_window *window; /* windows + 1 */
  tsi_slice *slice;
  tsi_index *word; /* columns; a word holds two 16-bit ones */
  tsi_index *row;  /* the list */
  void *values;
} tsi_sliced;

/* Returns the number of words for the columns of a slice. */
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
   * Values are read once for up to 4 columns; the bits of a column do not depend on the other columns. */
  void (*multiply)(const tsi_sliced *a, tsi_index window, int64_t columns, const void *x, int64_t ldx,
                   void *y, int64_t ldy);
} tsi_sliced_kernels;

/* As tsi_kernels_select. */
const tsi_sliced_kernels *tsi_sliced_kernels_select(char scalar, const char *isa);
