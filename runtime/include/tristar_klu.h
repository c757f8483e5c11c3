/* TriStar: solves with the factors of KLU (SuiteSparse). Link TriStar::tristar_klu, or pkg-config
 * tristar_klu.
 *
 *   numeric = klu_factor(ptr, row, values, symbolic, &common);
 *   tristar_import_klu(ts, TRISTAR_KLU, symbolic, numeric, &view, &factor);
 *   tristar_plan, tristar_solve ...                    symbolic and numeric may be freed
 *
 *   klu_refactor(ptr, row, values, symbolic, numeric, &common);            new values, same pivots
 *   tristar_reimport_klu(factor, TRISTAR_KLU, symbolic, numeric, &view);   plans go on with them
 */
#ifndef TRISTAR_KLU_H
#define TRISTAR_KLU_H

#include <klu.h>

#include "tristar.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The family of functions that made the objects: klu_factor, klu_z_factor, ... */
typedef enum tristar_klu {
  TRISTAR_KLU,   /* double, int: klu_symbolic, klu_numeric */
  TRISTAR_KLU_Z, /* double complex, int: klu_symbolic, klu_numeric */
  TRISTAR_KLU_L, /* double, SuiteSparse_long: klu_l_symbolic, klu_l_numeric */
  TRISTAR_KLU_ZL /* double complex, SuiteSparse_long: klu_l_symbolic, klu_l_numeric */
} tristar_klu;

/* Makes a factor of the L, U, permutations and row scaling in Symbolic and Numeric, which are read during the
 * call only. family must be right: the objects do not contain it, so a wrong one is not detected.
 *
 * With several blocks of the block triangular form, KLU keeps the part F above the diagonal blocks unchanged.
 * Here L^-1 F becomes part of U, by a sparse triangular solve for each column (Gilbert and Peierls 1988). So
 * U can be larger than in KLU.
 *
 * matrix (NULL: none) is the factored matrix, for refinement and condition estimates.
 *
 * Errors: those of tristar_import_supernodal; ARGUMENT (a NULL, or objects that do not belong together),
 * SINGULAR (a pivot is zero; the message names the column). */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_import_klu(tristar_t *ts, tristar_klu family,
                                                              const void *Symbolic, const void *Numeric,
                                                              const tristar_view *matrix,
                                                              tristar_factor_t **factor);

/* Imports new values: Numeric after klu_refactor. factor and its plans use them from the next solve on, see
 * tristar_reimport. If klu_factor has chosen other pivots, the result is STALE: call tristar_import_klu.
 * Wrong objects (NULL, a zero pivot) leave factor unchanged. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_reimport_klu(tristar_factor_t *factor, tristar_klu family,
                                                                const void *Symbolic, const void *Numeric,
                                                                const tristar_view *matrix);

#ifdef __cplusplus
}
#endif
#endif
