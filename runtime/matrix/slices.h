/* Storage of a sparse matrix for products: see codelets/cpu/rows/sliced.h.
 *
 * Job. Choose for each window of rows between their own order and that by length, and for each slice how its
 * columns are stored, by the bytes that a product has to read; put columns and values there.
 *
 * Reads   lines of entries that ascend strictly, rows of the matrix.   Writes  arrays of its own.
 * Invariants: what is chosen depends on the pattern and the bytes of a scalar of the vectors alone: narrow
 * values do not change the bits of a product. */
#pragma once

#include "codelets/cpu/rows/sliced.h"
#include "runtime/matrix/entries.h"

/* bytes: of a scalar of the vectors; narrow: values are to be stored in half of that. There are no values
 * yet. out: to be finished, also after a failure. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_slices_make(tsi_env *env, const tsi_entries *rows, size_t bytes,
                                               bool narrow, tsi_sliced *out);
/* values: of the entries of the rows of a window, in their order, of the type of the vectors. */
void tsi_slices_fill(const tsi_sliced *a, tsi_index window, const tsi_count *ptr, const void *values);
/* How many these are. */
tsi_count tsi_slices_window_entries(const tsi_sliced *a, tsi_index window, const tsi_count *ptr);
/* Both, of rows whose items are the values. */
TRISTAR_CHECKED tristar_status tsi_slices_take(tsi_env *env, const tsi_entries *rows, bool narrow,
                                               tsi_sliced *out);
void tsi_slices_finish(tsi_sliced *a);

/* What a product reads, but for vectors. */
size_t tsi_slices_bytes(const tsi_sliced *a);

/* Are they those of the rows? Errors: INTERNAL names the first invariant that is broken. */
TRISTAR_CHECKED tristar_status tsi_slices_check(tsi_env *env, const tsi_sliced *a, const tsi_entries *rows);
