/* The scalar type that a kernel file is compiled for. The build defines exactly one of TSI_SCALAR_S, _D, _C
 * and _Z.
 *
 *   tsi_scalar   float, double, float _Complex, double _Complex
 *   tsi_real     its real type
 *   TSI_EPSILON  twice the unit roundoff of tsi_real
 *   TSI_COMPLEX  0 or 1
 *   tsi_wide     double or double _Complex
 *   tsi_wider    type of the next wider precision: double (_Complex) for single types, else long double
 *                (_Complex)
 *   TSI_TYPED(f) f_s, f_d, f_c or f_z */
#pragma once

#include <complex.h>
#include <float.h>
#undef I

#if defined TSI_SCALAR_S
typedef float tsi_real;
#define TSI_EPSILON FLT_EPSILON
typedef float tsi_scalar;
#define TSI_COMPLEX 0
#define TSI_LETTER s
#elif defined TSI_SCALAR_D
typedef double tsi_real;
#define TSI_EPSILON DBL_EPSILON
typedef double tsi_scalar;
#define TSI_COMPLEX 0
#define TSI_LETTER d
#elif defined TSI_SCALAR_C
typedef float tsi_real;
#define TSI_EPSILON FLT_EPSILON
typedef float _Complex tsi_scalar;
#define TSI_COMPLEX 1
#define TSI_LETTER c
#elif defined TSI_SCALAR_Z
typedef double tsi_real;
#define TSI_EPSILON DBL_EPSILON
typedef double _Complex tsi_scalar;
#define TSI_COMPLEX 1
#define TSI_LETTER z
#else
#error "one of TSI_SCALAR_S, TSI_SCALAR_D, TSI_SCALAR_C, TSI_SCALAR_Z must be defined"
#endif

/* A function that must be inlined, so that its body is compiled for constant arguments. */
#define INLINE static inline __attribute__((always_inline))

/* The double type of the same kind. */
#if TSI_COMPLEX
typedef double _Complex tsi_wide;
#else
typedef double tsi_wide;
#endif

/* Type for sums that need more digits than the scalar type. */
#if defined TSI_SCALAR_S
typedef double tsi_wider;
#elif defined TSI_SCALAR_D
typedef long double tsi_wider;
#elif defined TSI_SCALAR_C
typedef double _Complex tsi_wider;
#else
typedef long double _Complex tsi_wider;
#endif

#define TSI_PASTE_(a, b) a##_##b
#define TSI_PASTE(a, b) TSI_PASTE_(a, b)
#define TSI_TYPED(name) TSI_PASTE(name, TSI_LETTER)
#define TSI_TEXT_(name) #name
#define TSI_TEXT(name) TSI_TEXT_(name)
#define TSI_LETTER_CHAR (*TSI_TEXT(TSI_LETTER)) /* 's', 'd', 'c' or 'z' */

/* Real and imaginary part, conjugate, absolute value, in the scalar's own precision. */
#if defined TSI_SCALAR_S
#define tsi_abs(x) fabsf(x)
#elif defined TSI_SCALAR_D
#define tsi_abs(x) fabs(x)
#elif defined TSI_SCALAR_C
#define tsi_abs(x) cabsf(x)
#else
#define tsi_abs(x) cabs(x)
#endif
#if TSI_COMPLEX
#define tsi_re(x) __real__(x)
#define tsi_im(x) __imag__(x)
#define tsi_conj(x) (~(x)) /* the compiler's operator, also for float _Complex */
#else
#define tsi_re(x) (x)
#define tsi_im(x) ((tsi_real)0)
#define tsi_conj(x) (x)
#endif

/* sum += a x, by components, because the compiler's own product checks for NaN. */
INLINE void tsi_add_product(tsi_scalar *sum, tsi_scalar a, tsi_scalar x) {
#if TSI_COMPLEX
  __real__ *sum += __real__ a * __real__ x - __imag__ a * __imag__ x;
  __imag__ *sum += __real__ a * __imag__ x + __imag__ a * __real__ x;
#else
  *sum += a * x;
#endif
}
