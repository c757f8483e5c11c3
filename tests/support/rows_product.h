/* A product with rows of a matrix, against a plain loop in a wider type. For tests that are compiled for each
 * scalar type: TSI_SCALAR_. */
#pragma once

#include <math.h>

#include "codelets/cpu/base/scalar.h"
#include "runtime/matrix/slices.h"
#include "tests/support/check.h"

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define LETTER (*TEXT(TSI_LETTER))
#if defined TSI_SCALAR_S || defined TSI_SCALAR_C
#define ROUNDOFF 6e-8
#else
#define ROUNDOFF 1.2e-16
#endif

static double size_of(tsi_scalar x) {
  return hypot((double)tsi_re(x), (double)tsi_im(x));
}

/* Checks y = A x, up to `more` roundings more than a row has entries; items of e are the values. Rows with a
 * NaN in their products must be NaN. isa: of the kernels, for messages. */
static void check_rows_product(const tsi_entries *e, const tsi_scalar *x, const tsi_scalar *y, int more,
                               const char *isa) {
  for (tsi_index i = 0; i < e->n; i++) {
    tsi_wide sum = 0;
    double size = 0;
    for (tsi_count k = e->ptr[i]; k < e->ptr[i + 1]; k++) {
      const tsi_scalar value = ((tsi_scalar *)e->item)[k];
      sum += (tsi_wide)value * (tsi_wide)x[e->index[k]];
      size += size_of(value) * size_of(x[e->index[k]]);
    }
    if (isnan(size))
      CHECK_MSG(isnan(tsi_re(y[i])), "row %d met no NaN", i);
    else
      CHECK_MSG(size_of(y[i] - (tsi_scalar)sum) <=
                    (double)(e->ptr[i + 1] - e->ptr[i] + more) * ROUNDOFF * size,
                "%s, row %d: %g off", isa, i, size_of(y[i] - (tsi_scalar)sum));
  }
}
