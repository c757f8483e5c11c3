/* Is the matrix of a session triangular, so that nothing has to be factored?
 *
 * Reads   a session that has read its matrix.   Writes  how the matrix is triangular. */
#pragma once

#include "drivers/session/session.h"

/* How a matrix is triangular. */
typedef struct tsi_found_triangle {
  tristar_shape shape;
  int64_t *row_order, *column_order; /* n; PERMUTED: else NULL. To be freed */
} tsi_found_triangle;

/* Does `tristar solve` solve with this matrix without factoring it? The matrix is then triangular, if need be
 * after permutations, the inverses of its diagonal entries are in range, and no option needs factors. solve,
 * info and plot share this decision. *found owns memory only where the result is true. */
bool tsi_goes_without_factors(const tsi_session *s, tsi_found_triangle *found);
/* The same question of `tristar bench`, which always factors: is the matrix such a triangle? */
bool tsi_is_triangle(tristar_t *ts, const tristar_view *view);
/* "lower triangular: nothing is factored" and the like. */
const char *tsi_triangle_text(const tsi_found_triangle *found);
void tsi_triangle_free(tsi_found_triangle *found);
