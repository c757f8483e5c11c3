/* Measures by dense products how well a tristar_factors satisfies row_scale A column_scale = L D U: for small
 * matrices. Checks that every entry is in its triangle and every order is a permutation. */
#pragma once

#include <complex.h>
#include <float.h>
#include <math.h>

#include "tests/support/check.h"
#include "tests/support/magnitude.h"
#include "tristar_triangle.h"

static inline double complex product_scalar(tristar_scalar scalar, const void *values, int64_t k) {
  switch (scalar) {
  case TRISTAR_SINGLE:
    return ((const float *)values)[k];
  case TRISTAR_DOUBLE:
    return ((const double *)values)[k];
  case TRISTAR_COMPLEX_SINGLE:
    return ((const float complex *)values)[k];
  default:
    return ((const double complex *)values)[k];
  }
}

static inline int64_t product_integer(int bits, const void *integers, int64_t k) {
  CHECK(bits == 32 || bits == 64);
  return bits == 32 ? ((const int32_t *)integers)[k] : ((const int64_t *)integers)[k];
}

static inline double complex *product_matrix(int64_t n) {
  double complex *a = calloc((size_t)(n * n + 1), sizeof *a);
  CHECK(a != NULL);
  return a;
}

/* Adds an entry of a triangle to the dense t (column-major). */
static inline void product_add(const tristar_triangle *triangle, int upper, int64_t n, int64_t i, int64_t j,
                               double complex value, double complex *t) {
  CHECK_MSG(i >= 0 && i < n && j >= 0 && j < n, "entry (%lld, %lld)", (long long)i, (long long)j);
  if (i == j && triangle->unit_diagonal) return;
  CHECK_MSG(upper ? i <= j : i >= j, "entry (%lld, %lld) is in the other triangle", (long long)i,
            (long long)j);
  t[i + j * n] += value;
}

static inline void product_lines(const tristar_factors *f, const tristar_triangle *triangle, int upper,
                                 double complex *t) {
  const int by_rows = triangle->format == TRISTAR_TRIANGLE_ROWS;
  for (int64_t line = 0; line < f->n; line++) {
    const int64_t begin = product_integer(triangle->ptr_bits, triangle->ptr, line);
    const int64_t end = triangle->end != NULL ? product_integer(triangle->ptr_bits, triangle->end, line)
                                              : product_integer(triangle->ptr_bits, triangle->ptr, line + 1);
    for (int64_t p = begin; p < end; p++) {
      const int64_t other = product_integer(triangle->index_bits, triangle->index, p);
      product_add(triangle, upper, f->n, by_rows ? line : other, by_rows ? other : line,
                  product_scalar(f->scalar, triangle->values, p), t);
    }
  }
}

static inline void product_supernodes(const tristar_factors *f, const tristar_triangle *triangle,
                                      double complex *t) {
  const int bits = triangle->index_bits;
  CHECK(product_integer(bits, triangle->first, 0) == 0);
  CHECK(product_integer(bits, triangle->first, triangle->supernodes) == f->n);
  for (int64_t s = 0; s < triangle->supernodes; s++) {
    const int64_t first = product_integer(bits, triangle->first, s);
    const int64_t width = product_integer(bits, triangle->first, s + 1) - first;
    const int64_t begin = product_integer(triangle->ptr_bits, triangle->ptr, s);
    const int64_t rows = product_integer(triangle->ptr_bits, triangle->ptr, s + 1) - begin;
    CHECK(width > 0 && rows >= width);
    for (int64_t c = 0; c < width; c++) {
      CHECK(product_integer(bits, triangle->index, begin + c) == first + c);
      for (int64_t r = c; r < rows; r++)
        product_add(triangle, 0, f->n, product_integer(bits, triangle->index, begin + r), first + c,
                    product_scalar(f->scalar, triangle->blocks[s], r + c * rows), t);
    }
  }
}

/* A triangle as a dense matrix. */
static inline double complex *product_dense(const tristar_factors *f, const tristar_triangle *triangle,
                                            int upper) {
  double complex *t = product_matrix(f->n);
  if (triangle->format == TRISTAR_TRIANGLE_SUPERNODES)
    product_supernodes(f, triangle, t);
  else
    product_lines(f, triangle, upper, t);
  if (triangle->unit_diagonal)
    for (int64_t k = 0; k < f->n; k++) t[k + k * f->n] = 1;
  return t;
}

/* Replaces L by L D. */
static inline void product_diagonal(const tristar_factors *f, double complex *l) {
  for (int64_t k = 0; k < f->n; k++)
    for (int64_t i = 0; i < f->n; i++) l[i + k * f->n] *= product_scalar(f->scalar, f->diagonal, k);
}

/* U: as given, or the transpose or conjugate transpose of L. */
static inline double complex *product_upper(const tristar_factors *f, const double complex *l) {
  const int64_t n = f->n;
  if (f->method == TRISTAR_METHOD_LU) return product_dense(f, &f->upper, 1);
  double complex *u = product_matrix(n);
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = 0; i < n; i++) u[i + j * n] = f->hermitian ? conj(l[j + i * n]) : l[j + i * n];
  return u;
}

static inline double complex *product_view(const tristar_view *a) {
  double complex *t = product_matrix(a->cols);
  for (int64_t line = 0; line < a->cols; line++)
    for (int64_t p = product_integer(a->ptr_bits, a->ptr, line);
         p < product_integer(a->ptr_bits, a->ptr, line + 1); p++) {
      const int64_t other = product_integer(a->index_bits, a->index, p - a->base) - a->base;
      const int64_t i = a->format == TRISTAR_CSC ? other : line, j = a->format == TRISTAR_CSC ? line : other;
      const double complex value = product_scalar(a->scalar, a->values, p - a->base);
      t[i + j * a->cols] += value;
      if (i == j || a->symmetry == TRISTAR_GENERAL) continue;
      t[j + i * a->cols] += a->symmetry == TRISTAR_SYMMETRIC   ? value
                            : a->symmetry == TRISTAR_HERMITIAN ? conj(value)
                                                               : -value;
    }
  return t;
}

/* order[k], or k. */
static inline int64_t product_order(const int64_t *order, int64_t k) {
  return order != NULL ? order[k] : k;
}

static inline void product_check_order(const int64_t *order, int64_t n) {
  OWNED char *seen = calloc((size_t)n + 1, 1);
  for (int64_t k = 0; k < n; k++) {
    const int64_t i = product_order(order, k);
    CHECK_MSG(i >= 0 && i < n && !seen[i], "order[%lld] = %lld", (long long)k, (long long)i);
    seen[i] = 1;
  }
}

/* max |row_scale A column_scale - L D U| / max (|L D| |U|), for A = matrix. */
static inline double factors_product_error(const tristar_factors *f, const tristar_view *matrix) {
  const int64_t n = f->n;
  double complex *a = product_view(matrix), *l = product_dense(f, &f->lower, 0), *u = product_upper(f, l);
  double worst = 0, largest = 0;
  CHECK(matrix->rows == n && matrix->cols == n);
  product_check_order(f->row_order, n);
  product_check_order(f->column_order, n);
  if (f->method == TRISTAR_METHOD_LDLT) product_diagonal(f, l);
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = 0; i < n; i++) {
      const int64_t r = product_order(f->row_order, i), c = product_order(f->column_order, j);
      const double scale =
          (f->row_scale != NULL ? f->row_scale[r] : 1) * (f->column_scale != NULL ? f->column_scale[c] : 1);
      double complex sum = 0;
      double absolute = 0;
      for (int64_t k = 0; k < n; k++) {
        sum += l[i + k * n] * u[k + j * n];
        absolute += magnitude(l[i + k * n]) * magnitude(u[k + j * n]);
      }
      const double error = magnitude(scale * a[r + c * n] - sum);
      worst = larger_error(worst, error);
      largest = fmax(largest, absolute);
    }
  free(a);
  free(l);
  free(u);
  return worst / largest;
}

/* Fails unless the view satisfies its equation to roundoff. */
static inline void check_factors_product(const tristar_factors *f, const tristar_view *matrix) {
  const int single = f->scalar == TRISTAR_SINGLE || f->scalar == TRISTAR_COMPLEX_SINGLE;
  const double error = factors_product_error(f, matrix), roundoff = single ? FLT_EPSILON : DBL_EPSILON;
  CHECK_MSG(error <= 100 * roundoff, "max |R A C - L D U| is %.2e of max |L D| |U|", error);
}
