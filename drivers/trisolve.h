/* Solves with a triangle of a matrix, for `tristar trisolve`, and for `tristar solve` and `tristar info`
 * where the matrix is one.
 *
 * Reads   a session that has read its matrix, B.   Writes  X, the report, JSON. */
#ifndef TSI_DRIVERS_TRISOLVE_H
#define TSI_DRIVERS_TRISOLVE_H

#include "drivers/session.h"

/* How a matrix is triangular. */
typedef struct tsi_found_triangle {
  tristar_shape shape;
  int64_t *row_order, *column_order; /* n; PERMUTED: else NULL. To be freed */
} tsi_found_triangle;

/* Does `tristar solve` solve with this matrix without factoring it? The matrix is then triangular, if need be
 * after permutations, has no zero on the diagonal, and no option asks for factors. solve, info and plot share
 * this decision. *found owns memory only where the result is true. */
bool tsi_goes_without_factors(const tsi_session *s, tsi_found_triangle *found);
/* The same question of `tristar bench`, which always factors: is the matrix such a triangle? */
bool tsi_is_triangle(tristar_t *ts, const tristar_view *view);
/* "lower triangular: nothing is factored" and the like. */
const char *tsi_triangle_text(const tsi_found_triangle *found);
void tsi_triangle_free(tsi_found_triangle *found);

/* Solves with the triangle that was found, or, found NULL, with the one that --uplo names, or with the one
 * that all entries are in. Closes the session, frees what was found, and gives the exit status. read: false
 * if the matrix could not be read, which is told then. */
int tsi_trisolve(tsi_session *s, bool read, const tsi_found_triangle *found);
/* `tristar info` of such a matrix: the plan of a solve, without one. Closes the session, frees *found,
 * returns the exit status. */
int tsi_trisolve_info(tsi_session *s, const tsi_found_triangle *found);

#endif
