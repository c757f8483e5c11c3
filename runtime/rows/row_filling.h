/* The streams of a triangular matrix by rows are filled: see row_factor.h.
 *
 * Job. Move the entries of the lines to the rows of a sweep, in the order of the sweep: row after row where
 * the lines are these rows, column after column where they are the columns of these rows. Both are loops over
 * entries whose constants compilers know.
 *
 * Reads   the lines, the values, inverses and the cut of a tsi_row_factor.
 * Writes  row, ptr, index or offset, values and inverse of a tsi_row_arrays. */
#pragma once

#include "runtime/rows/row_factor.h"

#define TSI_ROW_NEAR UINT16_MAX /* distances that fit into an offset */

/* What an offset counts from: a column is its row, and the offset, less this (spmv.h). */
static inline tsi_index tsi_row_offset_base(bool backward) {
  return backward ? 0 : TSI_ROW_NEAR;
}

/* A stream that is made. */
typedef struct tsi_row_form {
  const tsi_row_factor *rows;
  bool backward;
  const tsi_row_cut *cut; /* whose order the rows have; NULL: as given */
  const tsi_index *place; /* the numbers of the given rows; NULL: their own */
} tsi_row_form;

static inline const tsi_index *tsi_row_order(const tsi_row_form *form) {
  return form->cut ? form->cut->order : NULL;
}

/* Room for the indices of all entries, and of those that are read ahead. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_row_allocate_indices(tsi_env *env, const tsi_row_form *form,
                                                        tsi_row_arrays *arrays);
/* Into arrays that are there; indices take the place of offsets where these do not fit. counted: n, how many
 * entries each given row has, where the lines are the columns of the rows; NULL: not known. Errors: MEMORY.
 */
TRISTAR_CHECKED tristar_status tsi_row_fill(tsi_env *env, const tsi_row_form *form, const tsi_index *counted,
                                            tsi_row_arrays *arrays);
