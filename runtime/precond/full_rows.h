/* The rows of the user's matrix in full, both triangles, for incomplete factorizations.
 *
 * Reads   a tsi_pattern.   Writes  its own arrays.
 * Invariants: columns of a row ascend strictly; each row has an entry on the diagonal. place[q] is the entry
 * of the pattern that entry q is, or, complemented, the one whose mirror image it is. */
#ifndef TSI_RUNTIME_PRECOND_FULL_ROWS_H
#define TSI_RUNTIME_PRECOND_FULL_ROWS_H

#include "codelets/cpu/incomplete.h"
#include "runtime/matrix/pattern.h"
#include "tristar_precond.h"

typedef struct tsi_full_rows {
  tsi_factor_rows a; /* its values are NULL */
  tsi_count *place;  /* a.ptr[n] */
} tsi_full_rows;

/* symmetric: of a GENERAL pattern too, entries above the diagonal stand for both, and those below count for
 * nothing. Errors: SINGULAR (the message names a row without a diagonal entry), MEMORY. */
TRISTAR_CHECKED tristar_status tsi_full_rows_create(tsi_env *env, const tsi_pattern *pattern, bool symmetric,
                                                    tsi_full_rows *out);
void tsi_full_rows_finish(tsi_env *env, tsi_full_rows *rows);

/* Nothing but the factors that tristar_precond makes of a matrix, of kind ILU, ILUT, IC or ICT; to be
 * finished with tsi_factor_rows_finish, also after a failure. Errors: as there. */
TRISTAR_CHECKED tristar_status tsi_incomplete_factors(tristar_t *ts, const tristar_view *view,
                                                      const tristar_precond_options *options,
                                                      tsi_factor_rows *factors);

/* Errors: INTERNAL (a broken invariant of incomplete.h). */
TRISTAR_CHECKED tristar_status tsi_factor_rows_check(tsi_env *env, const tsi_factor_rows *rows);
/* Frees all arrays. */
void tsi_factor_rows_finish(tsi_env *env, tsi_factor_rows *rows);

#endif
