/* Sparse right-hand sides and chosen rows, for solves of `tristar solve` along paths of the DAG.
 *
 * Reads   B: its rows of zeros are skipped; the file of --rows, compressed or not: numbers of rows from 1 on,
 *         separated by white space. Text after % or # in a line is a comment.
 * Writes  compact arrays of the given rows and of the requested rows; a compact X.
 * Invariant: rows ascend in `given`; `requested` has the order of the file. No row is repeated. */
#pragma once

#include "drivers/session/rhs.h"
#include "tristar_matrix.h"
#include "tristar_solve.h"

typedef struct tsi_paths {
  bool used;                  /* B has rows of zeros, or --rows is given; else all rows, b and x unused */
  int64_t *given, *requested; /* numbers of rows from 0; NULL: all rows */
  int64_t given_rows, requested_rows;
  tristar_dense b, x; /* the given rows of B, the requested rows of X */
  double share;       /* share of the factor's bytes that the latest solve read */
} tsi_paths;

/* Reads a file of row numbers in 1 .. rows. once: a repeated number is an error. *list receives the numbers,
 * counted from 0; free it. */
bool tsi_rows_read(tsi_session *s, const char *path, int64_t rows, bool once, int64_t **list, int64_t *count);
/* Finds the rows of zeros in B and reads the file of --rows. */
bool tsi_paths_make(tsi_session *s, const tristar_dense *b, tsi_paths *paths);
/* Returns the options of a solve with paths->b and paths->x, or with the whole B and X if paths are not used.
 */
tristar_solve_options tsi_paths_options(tristar_op op, const tsi_paths *paths);
/* paths->x = the requested rows of the whole X. */
void tsi_paths_select(const tristar_dense *x, tsi_paths *paths);
void tsi_paths_free(tsi_paths *paths);
