/* Sparse right-hand sides and chosen rows: what `tristar solve` reads and solves along the paths of the DAG.
 *
 * Reads   B, of which rows of zeros need not be given; the file of --rows, compressed or not: numbers of
 * rows, the first one is 1, separated by white space; what follows % or # in a line is a comment. Writes
 * compact arrays of the rows given and of the rows wanted; a compact X. Invariant: rows ascend in `given`,
 * stand as in the file in `wanted`; each at most once. */
#pragma once

#include "drivers/session/rhs.h"
#include "tristar_matrix.h"
#include "tristar_solve.h"

typedef struct tsi_paths {
  bool used;               /* some rows are zero, or some are wanted: the members below are set */
  int64_t *given, *wanted; /* NULL: all rows */
  int64_t given_rows, wanted_rows;
  tristar_dense b, x; /* compact */
  double share;       /* of the factor's bytes, of the latest solve */
} tsi_paths;

/* Reads a file of numbers of rows, 1 .. rows; once: each at most once. *list, to be freed: they, from 0. */
bool tsi_rows_read(tsi_session *s, const char *path, int64_t rows, bool once, int64_t **list, int64_t *count);
/* Looks for rows of zeros in B and reads the file of --rows. */
bool tsi_paths_make(tsi_session *s, const tristar_dense *b, tsi_paths *paths);
/* How paths->b and paths->x are solved with; where they are not used, b and x. */
tristar_solve_options tsi_paths_options(tristar_op op, const tsi_paths *paths);
/* paths->x = the wanted rows of the whole X. */
void tsi_paths_select(const tristar_dense *x, tsi_paths *paths);
void tsi_paths_free(tsi_paths *paths);
