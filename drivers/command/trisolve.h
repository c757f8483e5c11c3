/* Solves with a triangle of a matrix, for `tristar trisolve`, and for `tristar solve` and `tristar info`
 * where the matrix is one.
 *
 * Reads   a session that has read its matrix, B.   Writes  X, the report, JSON. */
#ifndef TSI_DRIVERS_COMMAND_TRISOLVE_H
#define TSI_DRIVERS_COMMAND_TRISOLVE_H

#include "drivers/session/triangle.h"

/* Solves with the triangle that was found, or, found NULL, with the one that --uplo names, or with the one
 * that all entries are in. Closes the session, frees what was found, and gives the exit status. read: false
 * if the matrix could not be read, which is told then. */
int tsi_trisolve(tsi_session *s, bool read, const tsi_found_triangle *found);
/* `tristar info` of such a matrix: the plan of a solve, without one. Closes the session, frees *found,
 * returns the exit status. */
int tsi_trisolve_info(tsi_session *s, const tsi_found_triangle *found);

#endif
