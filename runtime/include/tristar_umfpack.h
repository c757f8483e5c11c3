/* TriStar: solves with the factors of UMFPACK (SuiteSparse). Link TriStar::tristar_umfpack, or pkg-config
 * tristar_umfpack.
 *
 *   umfpack_di_numeric(ptr, row, values, symbolic, &numeric, control, info);
 *   tristar_import_umfpack(ts, TRISTAR_UMFPACK_DI, numeric, &view, &factor);
 *   tristar_plan, tristar_solve ...                                  numeric may be freed
 */
#ifndef TRISTAR_UMFPACK_H
#define TRISTAR_UMFPACK_H

#include <umfpack.h>

#include "tristar.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The family of functions that made a Numeric object: umfpack_di_numeric, ... */
typedef enum tristar_umfpack {
  TRISTAR_UMFPACK_DI, /* double, int */
  TRISTAR_UMFPACK_DL, /* double, SuiteSparse_long */
  TRISTAR_UMFPACK_ZI, /* double complex, int */
  TRISTAR_UMFPACK_ZL  /* double complex, SuiteSparse_long */
} tristar_umfpack;

/* Makes a factor of the L, U, permutations and row scaling in Numeric, which is read during the call only.
 * family must be right: Numeric does not contain it, so a wrong one is not detected. b and x are double, or
 * interleaved double complex, also if UMFPACK has separate imaginary parts.
 *
 * matrix (NULL: none) is the factored matrix, for refinement and condition estimates.
 *
 * Errors: those of tristar_import_supernodal; ARGUMENT (NULL, or UMFPACK rejects Numeric), RECTANGULAR,
 * SINGULAR (U has zeros on its diagonal; the message has the number of nonzeros there). */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_import_umfpack(tristar_t *ts, tristar_umfpack family,
                                                                  const void *Numeric,
                                                                  const tristar_view *matrix,
                                                                  tristar_factor_t **factor);

/* Imports new values: Numeric of a matrix with the same pattern. factor and its plans use them from the next
 * solve on, see tristar_reimport. UMFPACK chooses pivots each time. If they differ, the result is STALE: call
 * tristar_import_umfpack. A wrong Numeric (NULL, singular) leaves factor unchanged. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_reimport_umfpack(tristar_factor_t *factor,
                                                                    tristar_umfpack family,
                                                                    const void *Numeric,
                                                                    const tristar_view *matrix);

#ifdef __cplusplus
}
#endif
#endif
