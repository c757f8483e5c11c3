/* Orders of rows and columns that a user gives, and matrices whose rows and columns are moved.
 *
 * Reads   arrays of the user, a pattern and its values.   Writes  arrays that are the caller's. */
#pragma once

#include "runtime/matrix/pattern.h"

/* Is there an order, other than 0, 1, 2, ...? */
bool tsi_order_is_given(int64_t n, const int64_t *order);

/* Checks an order of 0 .. n-1. *at: the same as indices, *place: its inverse, both n; both NULL if none is
 * given; to be released, also after a failure. Errors: FORMAT (no permutation: the message names the entry),
 * MEMORY. */
TRISTAR_CHECKED tristar_status tsi_order_take(tsi_env *env, tsi_index n, const int64_t *order,
                                              const char *name, tsi_index **at, tsi_index **place);

/* A GENERAL matrix whose entry (row[i], column[j]) is the entry (i, j) of another; row or column NULL: i, j.
 * Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_pattern_move(tsi_env *env, const tsi_pattern *from, const void *values,
                                                const tsi_index *row, const tsi_index *column,
                                                tsi_pattern **out, void **out_values);
