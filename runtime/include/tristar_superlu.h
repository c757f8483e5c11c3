/* TriStar: solves with the factors of SuperLU (the sequential library), of any of its four types. Link
 * TriStar::tristar_superlu, or pkg-config tristar_superlu.
 *
 *   dgssvx(&options, &A, perm_c, perm_r, etree, equed, R, C, &L, &U, ...);
 *   tristar_superlu from = {.L = &L, .U = &U, .perm_r = perm_r, .perm_c = perm_c,
 *                           .equed = equed[0], .R = R, .C = C};
 *   tristar_import_superlu(ts, &from, &factor);
 *   tristar_plan, tristar_solve ...                                L, U and the rest may be freed
 */
#ifndef TRISTAR_SUPERLU_H
#define TRISTAR_SUPERLU_H

#include <slu_ddefs.h>

#include "tristar.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The factors, Pr diag(R) A diag(C) Pc = L U, as dgssvx, dgssv and their kin of the other types return them.
 * Set to {0}, then fill in what there is: L, U, perm_r and perm_c after dgssv.
 *
 * A is a matrix in columns (SLU_NC). Of a matrix in rows (SLU_NR) SuperLU factors the transpose, and so the
 * imported factor is one of the transpose: solve with TRISTAR_T instead of TRISTAR_N. Incomplete factors
 * (dgsisx) are taken as well. */
typedef struct tristar_superlu {
  const SuperMatrix *L, *U;   /* SLU_SC and SLU_NC; Dtype is the scalar type. */
  const int *perm_r, *perm_c; /* n entries each. */
  char equed;                 /* 'N', 'R', 'C' or 'B'; 0 means 'N'. */
  const void *R, *C;          /* If equed needs them: n float (SLU_S, SLU_C) or double (SLU_D, SLU_Z) each. */
  const tristar_view *matrix; /* A without scaling, for refinement and condition estimates. NULL: none. */
} tristar_superlu;

/* Makes a factor of the factors of SuperLU, which are read during the call only. Errors: those of
 * tristar_import_supernodal; ARGUMENT also if types or sizes do not agree, UNSUPPORTED if L is not SLU_SC or
 * U not SLU_NC. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_import_superlu(tristar_t *ts, const tristar_superlu *from,
                                                                  tristar_factor_t **factor);

/* New values: the factors of a matrix with the same pattern, as from dgssvx with SamePattern_SameRowPerm.
 * factor and its plans solve with them from the next solve on, see tristar_reimport. SuperLU still pivots
 * where it must. If it then fills other entries, the result is STALE: call tristar_import_superlu. Wrong
 * fields of *from leave factor unchanged. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_reimport_superlu(tristar_factor_t *factor,
                                                                    const tristar_superlu *from);

#ifdef __cplusplus
}
#endif
#endif
