/* Properties of a matrix computed from its factors: determinant (--determinant), inertia (--inertia), null
 * space (--null-space), diagonal of the inverse (--inverse-diagonal).
 *
 * Reads   the session's factor and plan.   Writes  the report, JSON, the session's failure; the files of
 * --null-space and --inverse-diagonal. */
#pragma once

#include "drivers/report/json.h"
#include "drivers/session/session.h"
#include "tristar_matrix.h"
#include "tristar_stats.h"

typedef struct tsi_pivots {
  bool found; /* the members that options request are set */
  tristar_determinant determinant;
  tristar_inertia inertia;
  int64_t null_vectors; /* -1: not searched for */
  double diagonal_s;    /* seconds for the diagonal of the inverse; 0: not computed */
} tsi_pivots;

/* Computes determinant and inertia, if requested. */
bool tsi_pivots_find(tsi_session *s, tsi_pivots *pivots);
/* Computes the null space and writes it to the file. Makes B consistent unless --rhs is given; uses X as
 * scratch. */
bool tsi_null_space_find(tsi_session *s, tristar_dense *b, const tristar_dense *x, tsi_pivots *pivots);
/* Writes the diagonal of the inverse to the file; tsi_inverse_diagonal_find computes it first. */
bool tsi_inverse_diagonal_write(tsi_session *s, const tristar_dense *diagonal);
bool tsi_inverse_diagonal_find(tsi_session *s, tsi_pivots *pivots);
void tsi_pivots_report(const tsi_session *s, const tsi_pivots *pivots);
void tsi_pivots_json(const tsi_session *s, const tsi_pivots *pivots, cJSON *object);
