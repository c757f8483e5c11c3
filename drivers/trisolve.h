/* Solves with a triangle of a matrix, for `tristar trisolve`, and for `tristar solve` where the matrix is
 * one.
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

/* Is the matrix triangular, if need be after permutations, with no zero on the diagonal? No if it has no
 * rows. Only then there is something to be freed. */
bool tsi_find_triangle(const tsi_session *s, tsi_found_triangle *found);

/* Solves with the triangle that was found, or, found NULL, with the one that --uplo names, or with the one
 * that all entries are in. Closes the session, frees what was found, and gives the exit status. read: false
 * if the matrix could not be read, which is told then. */
int tsi_trisolve(tsi_session *s, bool read, const tsi_found_triangle *found);

#endif
