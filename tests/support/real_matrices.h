/* Matrices from files in every type that can hold them. A real one becomes truly complex by a phase for each
 * row and column (unit-modulus diagonals D, E): D A E; symmetric ones D A D and, Hermitian, D A D^H; A skew,
 * D A D. */
#pragma once

#include "tests/support/typed.h"

static inline number phase(int64_t k) {
  double angle;
  fill_random(&angle, 1, (uint64_t)k * 7919 + 3);
  number z = cos(4 * angle);
  __imag__ z = sin(4 * angle);
  return z;
}

/* Returns the factor of entry (i, j) of a real matrix. */
static inline number phases(tristar_symmetry symmetry, int64_t i, int64_t j) {
  if (symmetry == TRISTAR_GENERAL) return phase(i) * phase(j + 1000000);
  if (symmetry != TRISTAR_HERMITIAN) return phase(i) * phase(j);
  return i == j ? 1 : phase(i) * conj(phase(j));
}

/* Converts the values of `from`, double or complex double, to the type t; free them. */
static inline void *real_values(const typed *t, const tristar_view *from, tristar_symmetry symmetry) {
  const bool is_complex = from->scalar == TRISTAR_COMPLEX_DOUBLE;
  const int64_t *ptr = from->ptr;
  const int32_t *index = from->index;
  void *values = malloc((size_t)(ptr[from->cols] + 1) * t->bytes);
  CHECK(values != NULL);
  for (int64_t j = 0; j < from->cols; j++)
    for (int64_t p = ptr[j]; p < ptr[j + 1]; p++) {
      number a = get(is_complex ? &typed_complex_double : &typed_double, from->values, p);
      if (t->is_complex && !is_complex) a *= phases(symmetry, index[p], j);
      put(t, values, p, a);
    }
  return values;
}
