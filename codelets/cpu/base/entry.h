/* Entries of panels for solves with one right-hand side. They are stored as the scalars that a file is
 * compiled for. If TSI_STORED_S or TSI_STORED_B is defined, they are stored in a narrower format (stored.h):
 * floats, or bfloat16, the upper halves of floats. Loads widen them to scalars, without rounding.
 *
 *   tsi_entry          a stored entry
 *   value_of           its value as a scalar
 *   load_entries       loads 8 entries as a vector
 *   load_entries_reg   loads a register of entries */
#pragma once

#include "codelets/cpu/base/vector.h"

#if defined TSI_STORED_S || defined TSI_STORED_B

#define TSI_STORED 1
#if defined TSI_STORED_S
typedef float stored_real;
#else
typedef uint16_t stored_real;
#endif

#if TSI_COMPLEX
typedef struct tsi_entry {
  stored_real part[PARTS];
} tsi_entry;
#else
typedef stored_real tsi_entry;
#endif

INLINE tsi_real real_of(stored_real r) {
#if defined TSI_STORED_S
  return r;
#else
  const uint32_t bits = (uint32_t)r << 16;
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
#endif
}

INLINE tsi_scalar value_of(tsi_entry e) {
#if TSI_COMPLEX
  tsi_scalar value;
  __real__ value = real_of(e.part[0]);
  __imag__ value = real_of(e.part[1]);
  return value;
#else
  return real_of(e);
#endif
}

typedef float floats __attribute__((vector_size(LANES * 4), aligned(4), may_alias));

/* Loads LANES reals as floats. */
INLINE floats load_floats(const tsi_entry *p) {
#if defined TSI_STORED_S
  return *(const floats *)p;
#elif defined __SSE2__ && LANES == 8
  return (floats)_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i_u *)p)), 16);
#elif defined __SSE2__ && LANES == 4
  return (floats)_mm_unpacklo_epi16(_mm_setzero_si128(), _mm_loadl_epi64((const __m128i_u *)p));
#else
#define FLOAT_LANE(l) (float)real_of(((const stored_real *)p)[l])
  return (floats){EACH_LANE(FLOAT_LANE)};
#endif
}

/* Uses intrinsics, because gcc 12 splits conversions of its own vectors into halves in memory. */
INLINE reg load_entries_reg(const tsi_entry *p) {
#if defined __SSE2__ && LANES == 8
  return (reg)_mm512_cvtps_pd((__m256)load_floats(p));
#elif defined __SSE2__ && LANES == 4
  return (reg)_mm256_cvtps_pd((__m128)load_floats(p));
#else
  return __builtin_convertvector(load_floats(p), reg);
#endif
}

INLINE vec load_entries(const tsi_entry *p) {
  vec v;
  EACH_REG(r) v.r[r] = load_entries_reg(p + r * WIDE);
  return v;
}

#else

#define TSI_STORED 0
typedef tsi_scalar tsi_entry;

INLINE tsi_scalar value_of(tsi_entry e) {
  return e;
}
INLINE reg load_entries_reg(const tsi_entry *p) {
  return load_reg(p);
}
INLINE vec load_entries(const tsi_entry *p) {
  return load(p);
}

#endif
