/* What a cholmod_factor holds, as tristar_factors: P A P^T = L L^T, L L^H, L D L^T or L D L^H.
 *
 * Reads   the cholmod_factor; its values are not copied, but for zomplex ones.
 * Writes  a tristar_factors that points into the cholmod_factor and into tsi_cholmod, so both must outlive
 * it. Not checked here: the indices; tristar_import_supernodal does that. */
#pragma once

#include "tristar_cholmod.h"
#include "tristar_triangle.h"

/* What the view needs beside the arrays of CHOLMOD. */
typedef struct tsi_cholmod {
  int64_t *order;      /* n: the permutation */
  const void **blocks; /* supernodal: the dense blocks */
  char *ends;          /* simplicial: where each column ends, integers of CHOLMOD's type */
  char *values;        /* zomplex: real and imaginary parts side by side */
  char *diagonal;      /* L D L^T: D, n scalars */
} tsi_cholmod;

/* *work must be all zero; release it whatever the status. */
TRISTAR_CHECKED tristar_status tsi_cholmod_factors(tristar_t *ts, const cholmod_factor *L,
                                                   const tristar_view *matrix, tsi_cholmod *work,
                                                   tristar_factors *factors);
void tsi_cholmod_release(tsi_cholmod *work);
