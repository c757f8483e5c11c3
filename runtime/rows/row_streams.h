/* The streams of a triangular matrix by rows, and what else is made of its lines: see row_factor.h.
 *
 * Job. Make the arrays of one sweep, which row_filling.h fills: rows in the order of the cut, or as they are
 * given; numbered as they are given, or as the cut orders them; their entries in the order of the sweep;
 * 16-bit distances where all columns are near; runs of rows of the same length.
 *
 * Reads   the lines, the values, inverses and the cut of a tsi_row_factor.
 * Writes  array[k] and sweep[k] of it, and the numbers of rows, under the caller's lock. */
#ifndef TSI_RUNTIME_ROWS_ROW_STREAMS_H
#define TSI_RUNTIME_ROWS_ROW_STREAMS_H

#include "runtime/rows/row_factor.h"

/* sweep[backward + 2 plain], with the values that there are now. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_row_stream_make(tsi_env *env, tsi_row_factor *rows, bool backward,
                                                   bool plain);
/* Frees the arrays of sweep[k]. */
void tsi_row_stream_release(tsi_env *env, tsi_row_factor *rows, int k);

TRISTAR_CHECKED static inline tristar_status tsi_row_scalars(tsi_env *env, const tsi_row_factor *rows,
                                                             tsi_count count, void **out) {
  return tsi_allocate(env, (size_t)count, rows->scalar_bytes, __func__, __FILE__, __LINE__, out);
}

/* place[i], n: where given row i is in the order of the cut. */
static inline void tsi_row_places(const tsi_row_cut *cut, tsi_index *place) {
  for (tsi_index r = 0; r < cut->n; r++) place[cut->order[r]] = r;
}

#endif
