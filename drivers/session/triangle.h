/* Decides whether the matrix of a session is triangular, so that a solve needs no factorization.
 *
 * Reads   a session that has read its matrix.   Writes  the kind of triangle and its permutations. */
#pragma once

#include "drivers/session/session.h"

/* A triangular matrix: its shape and, if permuted, its permutations. */
typedef struct tsi_found_triangle {
  tristar_shape shape;
  int64_t *row_order, *column_order; /* n entries each if shape is PERMUTED, else NULL; owned */
} tsi_found_triangle;

/* Does `tristar solve` need no factorization of this matrix? Conditions: the matrix is triangular, perhaps
 * after permutations; the inverses of its diagonal entries are in range; no option needs factors. solve, info
 * and plot share this decision. *found owns memory only if the result is true. */
bool tsi_goes_without_factors(const tsi_session *s, tsi_found_triangle *found);
/* Is the matrix such a triangle? For `tristar bench`, which always factors. */
bool tsi_is_triangle(tristar_t *ts, const tristar_view *view);
/* Returns "lower triangular: nothing is factored" or a similar text. */
const char *tsi_triangle_text(const tsi_found_triangle *found);
void tsi_triangle_free(tsi_found_triangle *found);
