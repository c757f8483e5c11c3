/* The cases of gpu_check, for one scalar type and number of right-hand sides: a solve or one sweep by each
 * kernel of the board, by one core and by peers; a product by rows. For one scalar type: the set-up of a
 * sparse approximate inverse.
 *
 * Reads   a session: the problem, the vectors, the properties of the board.
 * Writes  the session's report, a line for each case; core_seconds. */
#pragma once

#include "tools/gpu/board.h"
#include "tools/gpu/problem.h"
#include "tools/gpu/report.h"

typedef struct session {
  gpu_board board;
  gpu_report report;
  tsi_index repeat;    /* number of runs; the time is their median */
  problem p;           /* of the stored type of the current cases */
  csr stencil;         /* of the same type and order: matrix of products and inverses */
  const char *scalars; /* of these cases */
  const typed *user;   /* type of b and x */
  tsi_index nrhs;
  number *x, *y, *b;   /* n nrhs in the order of the factor: L y = b, L^T x = y */
  double core_seconds; /* time of a solve by one core; 0: not measured */
} session;

/* Measures all cases for the session's scalars and nrhs. */
void gpu_cases_measure(session *s);
/* Measures the rows of a sparse approximate inverse of the stencil, on the board and on one core. */
void gpu_cases_inverse(session *s);
