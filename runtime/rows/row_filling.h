/* Filling the streams of a triangular matrix by rows: see row_factor.h.
 *
 * Job. Copy the entries of the lines to the rows of a sweep, in the order of the sweep: row after row if the
 * lines are these rows, column after column if they are the columns of these rows. Both are loops over
 * entries with compile-time constants.
 *
 * Reads   the lines, the values, inverses and the cut of a tsi_row_factor.
 * Writes  row, ptr, index or offset, values and inverse of a tsi_row_arrays. */
#pragma once

#include "runtime/rows/row_factor.h"

#define TSI_ROW_NEAR UINT16_MAX /* largest distance that fits into an offset */

/* Base of offsets: a column is its row plus the offset minus this base (spmv.h). */
static inline tsi_index tsi_row_offset_base(bool backward) {
  return backward ? 0 : TSI_ROW_NEAR;
}

/* A stream to be filled. */
typedef struct tsi_row_form {
  const tsi_row_factor *rows;
  bool backward;
  const tsi_row_cut *cut; /* the rows have its order; NULL: the given order */
  const tsi_index *place; /* numbers of the given rows; NULL: the same numbers */
} tsi_row_form;

static inline const tsi_index *tsi_row_order(const tsi_row_form *form) {
  return form->cut ? form->cut->order : NULL;
}

/* Allocates indices for all entries, and for entries that are read ahead. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_row_allocate_indices(tsi_env *env, const tsi_row_form *form,
                                                        tsi_row_arrays *arrays);
/* Fills existing arrays; if offsets do not fit, indices replace them. counted: n, number of entries of each
 * given row, if the lines are the columns of the rows; NULL: unknown. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_row_fill(tsi_env *env, const tsi_row_form *form, const tsi_index *counted,
                                            tsi_row_arrays *arrays);
