/* TriStar: solves with the factors of CHOLMOD (SuiteSparse). Link TriStar::tristar_cholmod, or pkg-config
 * tristar_cholmod.
 *
 *   cholmod_factor *l = cholmod_analyze(a, &common);   or any other way to a factor with values
 *   cholmod_factorize(a, l, &common);
 *   tristar_import_cholmod(ts, l, &view, &factor);
 *   tristar_plan, tristar_solve ...                    l may be freed
 */
#ifndef TRISTAR_CHOLMOD_H
#define TRISTAR_CHOLMOD_H

#include <cholmod.h>

#include "tristar.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes a factor of L: supernodal L L^T, simplicial L L^T or L D L^T, packed or not, columns in any order;
 * int or long; real, complex or zomplex; double or, where CHOLMOD has it, single. A zomplex factor becomes
 * one of complex scalars, as b and x are then. L is read during the call only.
 *
 * matrix (NULL: none) is the matrix that L was computed from, for refinement and condition estimates:
 * the argument of CHOLMOD; A A^T (or of its columns F) if CHOLMOD factored that for an unsymmetric A; A +
 * beta I with beta.
 *
 * Errors: those of tristar_import_supernodal; ARGUMENT (L or factor is NULL, L is symbolic: without values),
 * NOT_POSITIVE_DEFINITE (L L^T that stopped at a pivot that is not positive), SINGULAR (L D L^T that met a
 * zero in D); the message names the column. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_import_cholmod(tristar_t *ts, const cholmod_factor *L,
                                                                  const tristar_view *matrix,
                                                                  tristar_factor_t **factor);

/* New values: L is factored anew (cholmod_factorize, cholmod_updown) from a matrix of the same pattern.
 * factor and its plans solve with them from the next solve on, see tristar_reimport; a wrong L
 * (NULL, symbolic, stopped) leaves factor unchanged. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_reimport_cholmod(tristar_factor_t *factor,
                                                                    const cholmod_factor *L,
                                                                    const tristar_view *matrix);

#ifdef __cplusplus
}
#endif
#endif
