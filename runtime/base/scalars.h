/* Access to single scalars of a type that is known only at run time: for rare operations, or few scalars. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "tristar.h"

/* Number of doubles (or floats) of one value. */
static inline int tsi_scalar_width(tristar_scalar scalar) {
  return scalar == TRISTAR_COMPLEX_SINGLE || scalar == TRISTAR_COMPLEX_DOUBLE ? 2 : 1;
}
static inline bool tsi_scalar_is_single(char scalar) {
  return scalar == TRISTAR_SINGLE || scalar == TRISTAR_COMPLEX_SINGLE;
}

/* Real and imaginary part of entry i. */
static inline void tsi_scalar_read(char scalar, const void *array, size_t i, double part[2]) {
  const size_t width = (size_t)tsi_scalar_width((tristar_scalar)scalar);
  part[1] = 0;
  for (size_t k = 0; k < width; k++)
    part[k] = tsi_scalar_is_single(scalar) ? (double)((const float *)array)[width * i + k]
                                           : ((const double *)array)[width * i + k];
}

static inline void tsi_scalar_write(char scalar, void *array, size_t i, const double part[2]) {
  const size_t width = (size_t)tsi_scalar_width((tristar_scalar)scalar);
  for (size_t k = 0; k < width; k++)
    if (tsi_scalar_is_single(scalar))
      ((float *)array)[width * i + k] = (float)part[k];
    else
      ((double *)array)[width * i + k] = part[k];
}

/* Removes rounding errors from entry i, which is on the diagonal of a matrix of this symmetry, or of its
 * inverse: it is real, or zero. */
static inline void tsi_scalar_fix_diagonal(tristar_symmetry symmetry, char scalar, void *array, size_t i) {
  double part[2];
  if (symmetry != TRISTAR_HERMITIAN && symmetry != TRISTAR_SKEW_SYMMETRIC) return;
  tsi_scalar_read(scalar, array, i, part);
  if (symmetry == TRISTAR_SKEW_SYMMETRIC) part[0] = 0;
  part[1] = 0;
  tsi_scalar_write(scalar, array, i, part);
}
