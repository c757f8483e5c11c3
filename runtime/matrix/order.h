/* Orders of rows and columns that the user passes, and matrices with permuted rows and columns.
 *
 * Reads   arrays of the user, a pattern and its values.   Writes  arrays of the caller. */
#pragma once

#include "runtime/matrix/pattern.h"

/* Is there an order other than 0, 1, 2, ...? */
bool tsi_order_is_given(int64_t n, const int64_t *order);

/* Verifies an order of 0 .. n-1. *at: the order as indices; *place: its inverse; n entries each. Both are
 * NULL if no order is given. The caller releases them, also after a failure. Errors: FORMAT (no permutation:
 * the message has the entry), MEMORY. */
TRISTAR_CHECKED tristar_status tsi_order_take(tsi_env *env, tsi_index n, const int64_t *order,
                                              const char *name, tsi_index **at, tsi_index **place);

/* Makes a GENERAL matrix: its entry (row[i], column[j]) is entry (i, j) of the given one. row or column NULL:
 * i or j stays. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_pattern_move(tsi_env *env, const tsi_pattern *from, const void *values,
                                                const tsi_index *row, const tsi_index *column,
                                                tsi_pattern **out, void **out_values);
