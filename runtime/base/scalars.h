/* Single scalars of a type that is known at run time only: for what is done once, or for few of them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "tristar.h"

static inline bool tsi_scalar_is_complex(char scalar) {
  return scalar == TRISTAR_COMPLEX_SINGLE || scalar == TRISTAR_COMPLEX_DOUBLE;
}

/* Real and imaginary part of entry i. */
static inline void tsi_scalar_read(char scalar, const void *array, size_t i, double part[2]) {
  const bool complex = tsi_scalar_is_complex(scalar);
  const size_t at = complex ? 2 * i : i;
  const bool single = scalar == TRISTAR_SINGLE || scalar == TRISTAR_COMPLEX_SINGLE;
  for (size_t k = 0; k < 2; k++)
    part[k] = k == 1 && !complex ? 0
              : single           ? (double)((const float *)array)[at + k]
                                 : ((const double *)array)[at + k];
}

static inline void tsi_scalar_write(char scalar, void *array, size_t i, const double part[2]) {
  const bool complex = tsi_scalar_is_complex(scalar);
  const size_t at = complex ? 2 * i : i;
  for (size_t k = 0; k < (complex ? 2 : 1); k++)
    if (scalar == TRISTAR_SINGLE || scalar == TRISTAR_COMPLEX_SINGLE)
      ((float *)array)[at + k] = (float)part[k];
    else
      ((double *)array)[at + k] = part[k];
}
