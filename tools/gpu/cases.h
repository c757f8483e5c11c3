/* The cases of gpu_check: a solve, or a sweep of one, by each kernel of the board, by one core and by peers,
 * and a product by rows, of one scalar type and number of right-hand sides; and the set-up of a sparse
 * approximate inverse of one scalar type.
 *
 * Reads   a session: the problem, the vectors, what the board is.
 * Writes  the session's report, a line a case; core_seconds. */
#pragma once

#include "tools/gpu/board.h"
#include "tools/gpu/problem.h"
#include "tools/gpu/report.h"

typedef struct session {
  gpu_board board;
  gpu_report report;
  tsi_index repeat;    /* a time is the median of so many */
  problem p;           /* of the stored type of the cases under way */
  csr stencil;         /* of the same type and order: what products and inverses are of */
  const char *scalars; /* of these cases */
  const typed *user;   /* of b and x */
  tsi_index nrhs;
  number *x, *y, *b;   /* n nrhs in the order of the factor: L y = b, L^T x = y */
  double core_seconds; /* of a solve by one core; 0: there is none */
} session;

/* All that there are for the session's scalars and nrhs. */
void gpu_cases_measure(session *s);
/* The rows of a sparse approximate inverse of the stencil, by the board and by one core. */
void gpu_cases_inverse(session *s);
