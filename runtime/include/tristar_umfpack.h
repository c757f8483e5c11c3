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
 * family must be the right one: Numeric does not tell, so a wrong one cannot be noticed. b and x are double,
 * or interleaved double complex also where UMFPACK was given separate imaginary parts.
 *
 * matrix (NULL: none) is the matrix that was factored, for refinement and condition estimates.
 *
 * Errors: those of tristar_import_supernodal; ARGUMENT (a NULL, or UMFPACK does not take Numeric for one of
 * its objects), RECTANGULAR, SINGULAR (U has zeros on its diagonal; the message gives the number of the
 * others). */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_import_umfpack(tristar_t *ts, tristar_umfpack family,
                                                                  const void *Numeric,
                                                                  const tristar_view *matrix,
                                                                  tristar_factor_t **factor);

/* New values: Numeric is of a matrix with the same pattern. factor and its plans solve with them from the
 * next solve on, see tristar_reimport. UMFPACK chooses its pivots anew each time; when it chooses others,
 * this gives STALE, and the factors need tristar_import_umfpack. If Numeric itself is at fault (NULL,
 * singular), factor stays as it was. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_reimport_umfpack(tristar_factor_t *factor,
                                                                    tristar_umfpack family,
                                                                    const void *Numeric,
                                                                    const tristar_view *matrix);

#ifdef __cplusplus
}
#endif
#endif
