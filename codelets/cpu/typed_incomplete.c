/* Incomplete factors on a given pattern, and diagonals: see incomplete.h. */
#include "codelets/cpu/incomplete.h"

#include <float.h>
#include <math.h>

#include "codelets/cpu/scalar.h"

#if defined TSI_SCALAR_S || defined TSI_SCALAR_C
#define TINY FLT_MIN
#else
#define TINY DBL_MIN
#endif

static tsi_breakdown_kind judge(tsi_scalar pivot) {
  if (!isfinite(tsi_re(pivot)) || !isfinite(tsi_im(pivot))) return TSI_BREAKDOWN_NOT_FINITE;
  return tsi_abs(pivot) < TINY ? TSI_BREAKDOWN_ZERO : TSI_BREAKDOWN_NONE;
}

/* ---- Diagonals ----------------------------------------------------------------------------------------- */

static tsi_breakdown invert(tsi_index n, const void *diagonal, void *inverse) {
  const tsi_scalar *from = diagonal;
  tsi_scalar *to = inverse;
  for (tsi_index i = 0; i < n; i++) {
    const tsi_breakdown_kind kind = judge(from[i]);
    if (kind != TSI_BREAKDOWN_NONE) return (tsi_breakdown){kind, i};
    to[i] = 1 / from[i];
  }
  return (tsi_breakdown){TSI_BREAKDOWN_NONE, n};
}

static void scale(tsi_index n, const void *dv, bool conjugate, void *xv) {
  const tsi_scalar *d = dv;
  tsi_scalar *x = xv;
  for (tsi_index i = 0; i < n; i++) x[i] *= conjugate ? tsi_conj(d[i]) : d[i];
}

static void conjugate(tsi_index n, void *xv) {
  tsi_scalar *x = xv;
  for (tsi_index i = 0; TSI_COMPLEX && i < n; i++) x[i] = tsi_conj(x[i]);
}

extern const tsi_incomplete_kernels TSI_TYPED(tsi_incomplete_kernels);
const tsi_incomplete_kernels TSI_TYPED(tsi_incomplete_kernels) = {
    .invert = invert,
    .scale = scale,
    .conjugate = conjugate,
};
