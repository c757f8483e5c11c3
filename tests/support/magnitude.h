/* The absolute value of a complex number: most of the time of a test that measures errors, if it is left to
 * cabs, which guards against overflow and underflow where there is none. */
#pragma once

#include <complex.h>
#include <math.h>
#undef I

/* |z|, as exact as cabs but for one rounding; of infinities and NaN what cabs has. */
static inline double magnitude(double _Complex z) {
  const double re = __real__ z, im = __imag__ z, square = re * re + im * im;
  if (im == 0) return fabs(re);
  return square > 1e-280 && square < 1e280 ? sqrt(square) : cabs(z);
}
