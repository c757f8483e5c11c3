/* Random unsymmetric matrices of the type TSI_SCALAR_* whose large entries are far from the diagonal, for the
 * tests of adapters, and the comparison of two solutions of one system. */
#pragma once

#include <float.h>
#include <math.h>

#include "codelets/cpu/base/scalar.h"
#include "tests/support/check.h"
#include "tests/support/magnitude.h"
#include "tests/support/random.h"

#if defined TSI_SCALAR_S || defined TSI_SCALAR_C
#define ROUNDOFF (FLT_EPSILON / 2)
#else
#define ROUNDOFF (DBL_EPSILON / 2)
#endif
#if defined TSI_SCALAR_S
#define TRISTAR_SCALAR TRISTAR_SINGLE
#elif defined TSI_SCALAR_D
#define TRISTAR_SCALAR TRISTAR_DOUBLE
#elif defined TSI_SCALAR_C
#define TRISTAR_SCALAR TRISTAR_COMPLEX_SINGLE
#else
#define TRISTAR_SCALAR TRISTAR_COMPLEX_DOUBLE
#endif

#define PER_LINE 4

/* n lines (columns or rows) with PER_LINE entries each. */
typedef struct unsymmetric {
  int n, decades;
  int *ptr, *index;
  tsi_scalar *value;
  tristar_view view;
} unsymmetric;

/* Returns the index of the entry of line j that makes the matrix nonsingular; n must not be a multiple of 7.
 */
static inline int far_entry(int n, int j) {
  return (int)((7 * (int64_t)j + 3) % n);
}

static inline tsi_scalar random_scalar(uint64_t *state) {
  const double re = (double)next_random(state) / 1073741824.0 - 1.0;
  const double im = (double)next_random(state) / 1073741824.0 - 1.0;
  tsi_scalar x = (tsi_scalar)re;
#if TSI_COMPLEX
  __imag__ x = (tsi_real)im;
#else
  (void)im;
#endif
  return x;
}

/* An entry with index i in line j has the scale weight(i) / weight(j). */
static inline double weight(const unsymmetric *m, int i) {
  return m->decades > 0 ? pow(10, i % m->decades) : 1;
}

/* far: added to the far entries; decades: range of the scales of rows and columns, in powers of 10. */
static inline void unsymmetric_create(tristar_format format, int n, double far, int decades, uint64_t seed,
                                      unsymmetric *m) {
  uint64_t state = seed;
  *m = (unsymmetric){.n = n, .decades = decades};
  m->ptr = calloc((size_t)n + 1, sizeof *m->ptr);
  m->index = calloc((size_t)(n * PER_LINE), sizeof *m->index);
  m->value = calloc((size_t)(n * PER_LINE), sizeof *m->value);
  CHECK(m->ptr != NULL && m->index != NULL && m->value != NULL);
  for (int j = 0; j < n; j++) {
    m->ptr[j + 1] = m->ptr[j] + PER_LINE;
    for (int k = 0; k < PER_LINE;
         k++) { /* distinct: the far entry, then others at growing distance from it */
      const int step =
          k == 0 ? 0 : k * (n / PER_LINE) - (int)(next_random(&state) % (uint64_t)(n / PER_LINE));
      const int i = (far_entry(n, j) + step) % n, p = m->ptr[j] + k;
      m->index[p] = i;
      m->value[p] =
          (random_scalar(&state) + (tsi_real)(k == 0 ? far : 0)) * (tsi_real)(weight(m, i) / weight(m, j));
    }
  }
  m->view =
      (tristar_view){format, TRISTAR_GENERAL, TRISTAR_SCALAR, n, n, m->ptr, m->index, m->value, 32, 32, 0};
}

static inline void unsymmetric_destroy(unsymmetric *m) {
  free(m->ptr);
  free(m->index);
  free(m->value);
}

static inline void random_vectors(tsi_scalar *x, int64_t count, uint64_t seed) {
  uint64_t state = seed;
  for (int64_t i = 0; i < count; i++) x[i] = random_scalar(&state);
}

/* Returns |op(A) x - b| / (PER_LINE |y| + |b|) in the maximum norm, after rows and columns were scaled to
 * equal size; b NULL: zero. */
static inline double residual(const unsymmetric *m, tristar_op op, const tsi_wide *x, const tsi_scalar *y,
                              const tsi_scalar *b) {
  const int n = m->n, by_index = (m->view.format == TRISTAR_CSC) == (op == TRISTAR_N);
  double _Complex *product = calloc((size_t)n, sizeof *product);
  double worst = 0, size_x = 0, size_b = 0;
  CHECK(product != NULL);
  for (int line = 0; line < n; line++)
    for (int p = m->ptr[line]; p < m->ptr[line + 1]; p++) {
      const int row = by_index ? m->index[p] : line, column = by_index ? line : m->index[p];
      const double _Complex a = op == TRISTAR_C ? tsi_conj(m->value[p]) : m->value[p];
      product[row] += a * x[column];
    }
  for (int i = 0; i < n; i++) {
    const double w = weight(m, i), row_scale = by_index ? w : 1 / w, column_scale = by_index ? 1 / w : w;
    const double error = magnitude(product[i] - (b != NULL ? b[i] : 0)) / row_scale;
    worst = larger_error(worst, error);
    size_x = fmax(size_x, magnitude((double _Complex)y[i]) * column_scale);
    if (b != NULL) size_b = fmax(size_b, magnitude((double _Complex)b[i]) / row_scale);
  }
  free(product);
  return worst / (PER_LINE * size_x + size_b);
}

/* Checks that the columns of x solve op(A) x = b with a small backward error. */
static inline void check_residuals(const unsymmetric *m, tristar_op op, int64_t nrhs, const tsi_scalar *b,
                                   const tsi_scalar *x) {
  OWNED tsi_wide *wide = calloc((size_t)m->n, sizeof *wide);
  CHECK(wide != NULL);
  for (int64_t k = 0; k < nrhs; k++, b += m->n, x += m->n) {
    for (int i = 0; i < m->n; i++) wide[i] = x[i];
    const double error = residual(m, op, wide, x, b);
    CHECK_MSG(error < 1000 * ROUNDOFF, "op %c, solution %d of %d: backward error %g", op, (int)k + 1,
              (int)nrhs, error);
  }
}

/* Checks that the columns of x and y are equal up to roundoff: op(A) (x - y) is small compared to |op(A)|
 * |x|. */
static inline void check_same_solutions(const unsymmetric *m, tristar_op op, int64_t nrhs,
                                        const tsi_scalar *x, const tsi_scalar *y) {
  OWNED tsi_wide *wide = calloc((size_t)m->n, sizeof *wide);
  CHECK(wide != NULL);
  for (int64_t k = 0; k < nrhs; k++, x += m->n, y += m->n) {
    for (int i = 0; i < m->n; i++) wide[i] = (tsi_wide)x[i] - (tsi_wide)y[i];
    const double error = residual(m, op, wide, x, NULL);
    CHECK_MSG(error < 1000 * ROUNDOFF, "op %c, solution %d of %d: the solutions are %g apart", op, (int)k + 1,
              (int)nrhs, error);
  }
}
