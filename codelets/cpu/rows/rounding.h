/* When a row of A x counts as a rounding error, for backward errors (sparse.h). */
#pragma once

#include "codelets/cpu/rows/sparse.h"

/* Returns the share of the norm of a row below which |A| |x| + |b| is a rounding error. */
static inline double tsi_rounding_share(int64_t n, double epsilon) {
  return tsi_smaller(1000 * (double)n * epsilon, 1e-3);
}

/* Sizes of the entries of a vector. */
typedef struct tsi_range {
  double least, largest;
} tsi_range;

/* Can a row be a rounding error? Its norm is at most the sum of the row times max |x_j|, and |A| |x| is at
 * least this sum times min |x_j|, with or without weights of the columns. So it cannot if the ratio of these
 * two sizes exceeds the share; the factor 2 is for rounding. */
static inline bool tsi_range_has_rounding(const tsi_range *x, int64_t n, double epsilon) {
  return !(x->least > 2 * tsi_rounding_share(n, epsilon) * x->largest);
}
