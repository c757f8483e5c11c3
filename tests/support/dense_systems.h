/* Small dense systems for the tests of refinement and of error bounds: entries that are exact in every type,
 * well and ill conditioned, scaled by powers of two. */
#pragma once

#include <complex.h>
#include <math.h>
#include <stdbool.h>

#include "tests/support/check.h"
#include "tests/support/random.h"
#undef I

typedef long double _Complex number;
enum { N_MAX = 12 };

/* A dense matrix, and the powers of two by which its rows and columns are scaled. */
typedef struct dense {
  const char *name;
  int n;
  number a[N_MAX][N_MAX];
  int row_exponent[N_MAX], column_exponent[N_MAX];
} dense;

static inline bool is_single(tristar_scalar scalar) {
  return scalar == TRISTAR_SINGLE || scalar == TRISTAR_COMPLEX_SINGLE;
}
static inline bool is_complex(tristar_scalar scalar) {
  return scalar == TRISTAR_COMPLEX_SINGLE || scalar == TRISTAR_COMPLEX_DOUBLE;
}

static inline void put(tristar_scalar scalar, void *array, int i, number x) {
  if (scalar == TRISTAR_SINGLE)
    ((float *)array)[i] = (float)creall(x);
  else if (scalar == TRISTAR_DOUBLE)
    ((double *)array)[i] = (double)creall(x);
  else if (scalar == TRISTAR_COMPLEX_SINGLE)
    ((float _Complex *)array)[i] = (float _Complex)x;
  else
    ((double _Complex *)array)[i] = (double _Complex)x;
}
static inline number get(tristar_scalar scalar, const void *array, int i) {
  if (scalar == TRISTAR_SINGLE) return (long double)((const float *)array)[i];
  if (scalar == TRISTAR_DOUBLE) return (long double)((const double *)array)[i];
  if (scalar == TRISTAR_COMPLEX_SINGLE) return (number)((const float _Complex *)array)[i];
  return (number)((const double _Complex *)array)[i];
}

static inline number power_of_i(int k) {
  number i = 0, power = 1;
  __imag__ i = 1;
  for (k %= 4; k > 0; k--) power *= i;
  return power;
}

/* The Hilbert matrix times the least common multiple of its denominators: all entries are integers. */
static inline dense hilbert(int n) {
  dense m = {.name = "Hilbert", .n = n};
  int64_t multiple = 1;
  for (int64_t k = 2; k < 2 * n; k++) {
    int64_t a = multiple, b = k;
    while (b) {
      const int64_t c = a % b;
      a = b;
      b = c;
    }
    multiple = multiple / a * k;
  }
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) m.a[i][j] = (long double)(multiple / (i + j + 1));
  return m;
}

/* Small integers and a dominant diagonal. */
static inline dense dominant(int n) {
  dense m = {.name = "dominant", .n = n};
  uint64_t state = 5;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      m.a[i][j] = (long double)((int)(next_random(&state) % 17) - 8 + (i == j ? 20 * n : 0));
  return m;
}

/* Multiplies entries by unit phases: entry (j, k) by i^(j + k), or, conjugate, by i^(j - k). A symmetric m
 * stays symmetric, or becomes Hermitian. */
static inline void turn(dense *m, bool conjugate) {
  for (int j = 0; j < m->n; j++)
    for (int k = 0; k < m->n; k++) m->a[j][k] *= power_of_i(j * j + (conjugate ? 3 : 1) * k * k);
}

static inline void scale(dense *m, int rows, int columns) {
  for (int i = 0; i < m->n; i++) {
    m->row_exponent[i] = rows * ((i * 7) % 5 - 2);
    m->column_exponent[i] = columns * ((i * 3) % 7 - 3);
  }
  for (int i = 0; i < m->n; i++)
    for (int j = 0; j < m->n; j++) m->a[i][j] *= ldexpl(1, m->row_exponent[i] + m->column_exponent[j]);
}

static inline number entry(const dense *m, tristar_op op, int i, int j) {
  const number a = op == TRISTAR_N ? m->a[i][j] : m->a[j][i];
  return op == TRISTAR_C ? conjl(a) : a;
}

/* op(A)^-1 by Gauss-Jordan elimination with row exchanges. */
static inline void invert(const dense *m, tristar_op op, number inverse[N_MAX][N_MAX]) {
  number a[N_MAX][2 * N_MAX];
  const int n = m->n;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < 2 * n; j++) a[i][j] = j < n ? entry(m, op, i, j) : i == j - n;
  for (int k = 0; k < n; k++) {
    int pivot = k;
    for (int i = k; i < n; i++)
      if (cabsl(a[i][k]) > cabsl(a[pivot][k])) pivot = i;
    for (int j = 0; j < 2 * n; j++) {
      const number swap = a[k][j];
      a[k][j] = a[pivot][j];
      a[pivot][j] = swap;
    }
    const number d = a[k][k];
    for (int j = 0; j < 2 * n; j++) a[k][j] /= d;
    for (int i = 0; i < n; i++) {
      const number factor = a[i][k];
      for (int j = 0; i != k && j < 2 * n; j++) a[i][j] -= factor * a[k][j];
    }
  }
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) inverse[i][j] = a[i][j + n];
}

/* Makes a view in compressed columns; of symmetric kinds only the lower triangle. Release it with free_view.
 */
static inline tristar_view make_view(const dense *m, tristar_scalar scalar, tristar_symmetry symmetry) {
  int32_t *ptr = malloc((N_MAX + 1) * sizeof *ptr), *index = malloc(N_MAX * N_MAX * sizeof *index);
  void *values = malloc(N_MAX * N_MAX * sizeof(double _Complex));
  int32_t at = 0;
  for (int j = 0; j < m->n; j++) {
    ptr[j] = at;
    for (int i = symmetry == TRISTAR_GENERAL ? 0 : j; i < m->n; i++) {
      put(scalar, values, at, m->a[i][j]);
      index[at++] = i;
    }
  }
  ptr[m->n] = at;
  const tristar_view v = {TRISTAR_CSC, symmetry, scalar, m->n, m->n, ptr, index, values, 32, 32, 0};
  return v;
}
static inline void free_view(tristar_view *v) {
  free((void *)(uintptr_t)v->ptr);
  free((void *)(uintptr_t)v->index);
  free((void *)(uintptr_t)v->values);
}

static inline void make_plan(tristar_t *ts, const tristar_view *v, tristar_method method, int single_factors,
                             tristar_factor_t **f, tristar_plan_t **p) {
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  options.method = method;
  options.single_factors = single_factors;
  options.singular = TRISTAR_SINGULAR_PERTURB;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, v, &options);
  CHECK_OK(tristar_factor(an, v->values, f));
  CHECK_OK(tristar_plan(*f, NULL, p));
}
