/* TriStar: solves with the factors of SuperLU_DIST (7 or later), of a grid of one process or of many. Link
 * TriStar::tristar_superlu_dist, or pkg-config tristar_superlu_dist.
 *
 *   pdgssvx(&options, &A, &ScalePermstruct, b, ldb, nrhs, &grid, &LUstruct, ...);
 *   tristar_import_superlu_dist_d(ts, n, &LUstruct, &ScalePermstruct, &grid, NULL, &factor);
 *   tristar_plan, tristar_solve ...                                LUstruct and the rest may be freed
 */
#ifndef TRISTAR_SUPERLU_DIST_H
#define TRISTAR_SUPERLU_DIST_H

#include <superlu_ddefs.h>
#include <superlu_sdefs.h>
#include <superlu_zdefs.h>

#include "tristar.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes a factor of the result of pdgssvx (psgssvx, pzgssvx) in LUstruct and ScalePermstruct,
 *
 *   Pc Pr diag(R) A diag(C) Pc^T = L U,
 *
 * which is read during the call only. n: the order of A. matrix (NULL: none) is A, for refinement and
 * condition estimates: not the arrays that pdgssvx was given, it scales and permutes them.
 *
 * Of a grid of more than one process the call is collective over the grid: its process 0 (grid->iam) gets the
 * whole factor, the others have *factor = NULL; only process 0 passes a matrix, and only it allocates:
 * meanwhile the factors twice. For a grid of one process MPI is not called. After pdgssvx3d layer 0 of the
 * grid (grid3d->zscp.Iam == 0) has the factors: its processes call this with &grid3d->grid2d.
 *
 * Errors: those of tristar_import_supernodal; of a grid the same on all processes, the message where it
 * failed: RUNTIME (MPI), TOO_LARGE (a block of more values than MPI counts). Errors that
 * no message can carry (ts or grid is NULL, a process outside the grid) must be the same on all processes. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_import_superlu_dist_s(
    tristar_t *ts, int64_t n, const sLUstruct_t *LUstruct, const sScalePermstruct_t *ScalePermstruct,
    const gridinfo_t *grid, const tristar_view *matrix, tristar_factor_t **factor);
/* The same for double. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_import_superlu_dist_d(
    tristar_t *ts, int64_t n, const dLUstruct_t *LUstruct, const dScalePermstruct_t *ScalePermstruct,
    const gridinfo_t *grid, const tristar_view *matrix, tristar_factor_t **factor);
/* The same for double complex. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_import_superlu_dist_z(
    tristar_t *ts, int64_t n, const zLUstruct_t *LUstruct, const zScalePermstruct_t *ScalePermstruct,
    const gridinfo_t *grid, const tristar_view *matrix, tristar_factor_t **factor);

/* New values: the factors of a matrix with the same pattern, as from pdgssvx with SamePattern_SameRowPerm.
 * factor and its plans solve with them from the next solve on, see tristar_reimport. Wrong arguments
 * leave factor unchanged. For a grid of more than one process collective as the import; factor is
 * NULL on other processes than 0. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_reimport_superlu_dist_s(
    tristar_factor_t *factor, int64_t n, const sLUstruct_t *LUstruct,
    const sScalePermstruct_t *ScalePermstruct, const gridinfo_t *grid, const tristar_view *matrix);
/* The same for double. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_reimport_superlu_dist_d(
    tristar_factor_t *factor, int64_t n, const dLUstruct_t *LUstruct,
    const dScalePermstruct_t *ScalePermstruct, const gridinfo_t *grid, const tristar_view *matrix);
/* The same for double complex. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_reimport_superlu_dist_z(
    tristar_factor_t *factor, int64_t n, const zLUstruct_t *LUstruct,
    const zScalePermstruct_t *ScalePermstruct, const gridinfo_t *grid, const tristar_view *matrix);

#ifdef __cplusplus
}
#endif
#endif
