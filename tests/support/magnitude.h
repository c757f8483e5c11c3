/* A fast absolute value of a complex number. Tests that measure errors would spend most of their time in
 * cabs, which guards against overflow and underflow. */
#pragma once

#include <complex.h>
#include <math.h>
#undef I

/* Returns |z|, with one rounding error more than cabs; for infinities and NaN the result of cabs. */
static inline double magnitude(double _Complex z) {
  const double re = __real__ z, im = __imag__ z, square = re * re + im * im;
  if (im == 0) return fabs(re);
  return square > 1e-280 && square < 1e280 ? sqrt(square) : cabs(z);
}
