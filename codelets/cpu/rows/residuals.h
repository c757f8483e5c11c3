/* Residuals and their bounds |op(A)| |x|, for one column or several at a time. For files that are compiled
 * for each scalar type. */
#pragma once

#include <math.h>
#include <string.h>

#include "codelets/cpu/base/scalar.h"
#include "codelets/cpu/rows/sparse.h"

#define TSI_COLUMNS_MOST 8 /* maximum number of columns at a time */

INLINE double magnitude(tsi_scalar x) {
  return (double)tsi_abs(x);
}

/* Returns the mirror image of a stored entry. */
INLINE tsi_scalar mirrored(tristar_symmetry symmetry, tsi_scalar a) {
  return symmetry == TRISTAR_SKEW_SYMMETRIC ? -a : symmetry == TRISTAR_HERMITIAN ? tsi_conj(a) : a;
}

/* fmin without a call: ignores NaN. */
INLINE double smaller(double x, double y) {
  return x < y || isnan(y) ? x : y;
}

/* r -= op(A) x and y += |op(A)| |x| for `width` columns at a time; size: |x|, not used for one column. All
 * arguments except the arrays are constants. The sums have the order of subtract_product and add_absolute. */
INLINE void subtract_and_bound(const tsi_sparse *a, const int width, const bool dot, const bool mirror,
                               const bool conjugate, const tsi_scalar *x, const double *size,
                               tsi_scalar *restrict r, double *restrict y) {
  const tsi_scalar *values = a->values;
#define SIZE(i, c) (width > 1 ? size[(ptrdiff_t)(i)*width + (c)] : magnitude(x[(ptrdiff_t)(i)*width + (c)]))
#define EACH_COLUMN(c) for (int c = 0; c < width; c++)
  for (tsi_index j = 0; j < a->n; j++) {
    const tsi_scalar *xj = x + (ptrdiff_t)j * width;
    tsi_scalar *rj = r + (ptrdiff_t)j * width, sum[TSI_COLUMNS_MOST] = {0};
    double *yj = y + (ptrdiff_t)j * width, total[TSI_COLUMNS_MOST] = {0};
    for (tsi_count p = a->ptr[j]; p < a->ptr[j + 1]; p++) {
      const tsi_index i = a->index[p];
      const tsi_scalar *xi = x + (ptrdiff_t)i * width;
      const double absolute = magnitude(values[p]);
      const bool image = mirror && i != j;
      tsi_scalar *ri = r + (ptrdiff_t)i * width;
      double *yi = y + (ptrdiff_t)i * width;
      tsi_scalar e = values[p], m = mirror ? mirrored(a->symmetry, e) : e;
      if (conjugate) {
        e = tsi_conj(e);
        m = tsi_conj(m);
      }
      if (dot)
        EACH_COLUMN(c) sum[c] += e * xi[c];
      else
        EACH_COLUMN(c) ri[c] -= e * xj[c];
      if (dot || image) EACH_COLUMN(c) total[c] += absolute * SIZE(i, c);
      if (!dot || image) EACH_COLUMN(c) yi[c] += absolute * SIZE(j, c);
      if (image && dot) EACH_COLUMN(c) ri[c] -= m * xj[c];
      if (image && !dot) EACH_COLUMN(c) sum[c] += m * xi[c];
    }
    if (dot || mirror) EACH_COLUMN(c) rj[c] -= sum[c];
    if (dot || mirror) EACH_COLUMN(c) yj[c] += total[c];
  }
}

INLINE void residuals_and_bounds(const tsi_sparse *a, tristar_op op, const int width, const tsi_scalar *x,
                                 const double *size, tsi_scalar *r, double *y) {
  const bool conjugate = TSI_COMPLEX && op == TRISTAR_C, dot = a->by_rows == (op == TRISTAR_N);
  memset(y, 0, (size_t)a->n * (size_t)width * sizeof *y);
  if (a->symmetry != TRISTAR_GENERAL)
    subtract_and_bound(a, width, dot, true, conjugate, x, size, r, y);
  else if (dot)
    subtract_and_bound(a, width, true, false, conjugate, x, size, r, y);
  else
    subtract_and_bound(a, width, false, false, conjugate, x, size, r, y);
}
