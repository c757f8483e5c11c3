/* Storage of a sparse matrix for products: see codelets/cpu/rows/sliced.h.
 *
 * Job. Choose the given order or the order by length for each window of rows, and the storage of its columns
 * for each slice. The criterion is the number of bytes that a product reads. Write the columns and values.
 *
 * Reads   lines of entries that ascend strictly, rows of the matrix.   Writes  arrays of its own.
 * Invariants: the choice depends only on the pattern and on the bytes of a scalar of the vectors; so narrow
 * values do not change the bits of a product. */
#pragma once

#include "codelets/cpu/rows/sliced.h"
#include "runtime/matrix/entries.h"

/* bytes: of a scalar of the vectors. narrow: values will be stored in half of these bytes. The result has no
 * values yet. Call tsi_slices_finish also after a failure. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_slices_make(tsi_env *env, const tsi_entries *rows, size_t bytes,
                                               bool narrow, tsi_sliced *out);
/* values: of the entries of the rows of a window, in their order, with the type of the vectors. */
void tsi_slices_fill(const tsi_sliced *a, tsi_index window, const tsi_count *ptr, const void *values);
/* Number of values for tsi_slices_fill. */
tsi_count tsi_slices_window_entries(const tsi_sliced *a, tsi_index window, const tsi_count *ptr);
/* Makes and fills slices from rows whose items are the values. */
TRISTAR_CHECKED tristar_status tsi_slices_take(tsi_env *env, const tsi_entries *rows, bool narrow,
                                               tsi_sliced *out);
void tsi_slices_finish(tsi_sliced *a);

/* Bytes that a product reads, without vectors. */
size_t tsi_slices_bytes(const tsi_sliced *a);

/* Do the entries agree with the rows? Errors: INTERNAL (the message has the first broken invariant). */
TRISTAR_CHECKED tristar_status tsi_slices_check(tsi_env *env, const tsi_sliced *a, const tsi_entries *rows);
