/* View of a cholmod_factor as tristar_factors: P A P^T = L L^T, L L^H, L D L^T or L D L^H.
 *
 * Reads   the cholmod_factor. Its values are copied only if they are zomplex.
 * Writes  a tristar_factors that points into the cholmod_factor and into tsi_cholmod. Both must outlive it.
 *         Not checked here: the indices; tristar_import_supernodal checks them. */
#pragma once

#include "tristar_cholmod.h"
#include "tristar_triangle.h"

/* Arrays that the view needs in addition to those of CHOLMOD. */
typedef struct tsi_cholmod {
  int64_t *order;      /* Permutation, n entries. */
  const void **blocks; /* Dense blocks of a supernodal factor. */
  char *ends;          /* Simplicial factor: the end of each column, as integers of CHOLMOD's type. */
  char *values;        /* Zomplex factor: real and imaginary parts interleaved. */
  char *diagonal;      /* L D L^T: the n scalars of D. */
} tsi_cholmod;

/* *work must be all zero. The caller releases it, also after a failure. */
TRISTAR_CHECKED tristar_status tsi_cholmod_factors(tristar_t *ts, const cholmod_factor *L,
                                                   const tristar_view *matrix, tsi_cholmod *work,
                                                   tristar_factors *factors);
void tsi_cholmod_release(tsi_cholmod *work);
