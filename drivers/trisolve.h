/* Solves with a triangle of a matrix, for `tristar trisolve`, and for `tristar solve` where the matrix is
 * one.
 *
 * Reads   a session that has read its matrix, B.   Writes  X, the report, JSON. */
#ifndef TSI_DRIVERS_TRISOLVE_H
#define TSI_DRIVERS_TRISOLVE_H

#include "drivers/session.h"

/* Are all entries of the matrix on one side of the diagonal, and is none of the diagonal zero or missing? No
 * if rows and columns have to be permuted first, nor if it has no rows. */
bool tsi_matrix_is_triangular(const tristar_view *view);

/* Solves with the triangle that --uplo names, or with the one that all entries are in. Closes the session and
 * gives the exit status. read: false if the matrix could not be read, which is told then. */
int tsi_trisolve(tsi_session *s, bool read);

#endif
