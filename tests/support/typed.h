/* The four scalar types for the tests: values of all types as double complex, products with a matrix and
 * backward errors in double, and the solves that every type, method and matrix must pass. */
#pragma once

#include <complex.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "tests/support/check.h"
#include "tests/support/magnitude.h"
#include "tests/support/random.h"
#include "tristar_matrix.h"
#include "tristar_stats.h"
#undef I

typedef double _Complex number;

typedef struct typed {
  tristar_scalar scalar;
  bool is_complex;
  bool is_single;
  double roundoff;
  size_t bytes;
} typed;

static const typed typed_single = {TRISTAR_SINGLE, false, true, FLT_EPSILON / 2, sizeof(float)};
static const typed typed_double = {TRISTAR_DOUBLE, false, false, DBL_EPSILON / 2, sizeof(double)};
static const typed typed_complex_single = {TRISTAR_COMPLEX_SINGLE, true, true, FLT_EPSILON / 2,
                                           sizeof(float _Complex)};
static const typed typed_complex_double = {TRISTAR_COMPLEX_DOUBLE, true, false, DBL_EPSILON / 2,
                                           sizeof(double _Complex)};

/* Real types drop the imaginary part. Values too large for a single type become infinite. */
static inline void put(const typed *t, void *array, int64_t i, number x) {
  switch (t->scalar) {
  case TRISTAR_SINGLE:
    ((float *)array)[i] = (float)creal(x);
    break;
  case TRISTAR_DOUBLE:
    ((double *)array)[i] = creal(x);
    break;
  case TRISTAR_COMPLEX_SINGLE:
    ((float _Complex *)array)[i] = (float _Complex)x;
    break;
  case TRISTAR_COMPLEX_DOUBLE:
    ((double _Complex *)array)[i] = x;
    break;
  }
}

static inline number get(const typed *t, const void *array, int64_t i) {
  switch (t->scalar) {
  case TRISTAR_SINGLE:
    return (double)((const float *)array)[i];
  case TRISTAR_DOUBLE:
    return ((const double *)array)[i];
  case TRISTAR_COMPLEX_SINGLE:
    return (number)((const float _Complex *)array)[i];
  default:
    return ((const double _Complex *)array)[i];
  }
}

/* A random number, both parts in [-1, 1). */
static inline number random_value(uint64_t seed) {
  double part[2];
  fill_random(part, 2, seed);
  number x = part[0];
  __imag__ x = part[1];
  return x;
}

/* Makes values of the view in type t; free them. Complex types have imaginary parts: small ones, Hermitian or
 * skew, for symmetric kinds, which stay definite; arbitrary ones for general matrices. */
static inline void *typed_values(const typed *t, const tristar_view *v) {
  const int64_t *ptr = v->ptr, entries = ptr[v->cols];
  const int32_t *index = v->index;
  const double *from = v->values;
  void *values = malloc((size_t)(entries > 0 ? entries : 1) * t->bytes);
  double imaginary;
  for (int64_t j = 0; j < v->cols; j++)
    for (int64_t p = ptr[j]; p < ptr[j + 1]; p++) {
      number x = from[p];
      fill_random(&imaginary, 1, (uint64_t)p + 9);
      if (t->is_complex && (v->symmetry == TRISTAR_GENERAL || index[p] != j))
        __imag__ x = 0.1 * imaginary * from[p];
      put(t, values, p, x);
    }
  return values;
}

/* Generates a matrix with values in type t. *view has the values; free them. symmetry: declared symmetry of a
 * symmetric kind in a complex type. */
static inline void *typed_matrix(tristar_t *ts, const char *kind, int64_t k, const typed *t,
                                 tristar_symmetry symmetry, tristar_matrix_t **matrix, tristar_view *view) {
  *view = generated_view(ts, kind, k, matrix);
  void *values = typed_values(t, view);
  if (t->is_complex && view->symmetry == TRISTAR_SYMMETRIC) view->symmetry = symmetry;
  view->scalar = t->scalar;
  view->values = values;
  return values;
}

enum { TYPED_DENSE_MOST = 107 };

/* Makes a regular matrix of triples of rows a, b, p; n is a multiple of 3. The permutation puts all a and b
 * first. Their diagonal blocks are singular, so their pivots are perturbed. a: n rows of n. */
static inline void typed_triples(int n, bool symmetric, number *a, int64_t *permutation) {
  int at = 0;
  memset(a, 0, (size_t)n * (size_t)n * sizeof *a);
  for (int k = 0; k < n; k += 3) {
    number *row = a + k * n, *second = row + n, *third = second + n;
    const int next = (k + 5) % n;
    row[k] = row[k + 1] = second[k] = second[k + 1] = third[k + 2] = 1;
    row[k + 2] = symmetric ? 0.5 : 0.4;
    third[k] = 0.5;
    third[next] = a[next * n + k + 2] = 0.125;
  }
  for (int turn = 0; turn < 2; turn++)
    for (int i = 0; i < n; i++)
      if ((i % 3 == 2) == turn) permutation[at++] = i;
}

/* A view of a small dense matrix: compressed columns, without zeros off the diagonal; of a symmetric kind the
 * lower triangle. a: n rows with the leading dimension ld. The view is valid until the next call. */
static inline tristar_view typed_dense_view(const typed *t, int n, const number *a, int ld,
                                            tristar_symmetry symmetry) {
  static int64_t ptr[TYPED_DENSE_MOST + 1];
  static int32_t index[TYPED_DENSE_MOST * TYPED_DENSE_MOST];
  static char values[TYPED_DENSE_MOST * TYPED_DENSE_MOST * sizeof(number)];
  int64_t at = 0;
  CHECK(n <= TYPED_DENSE_MOST);
  for (int j = 0; j < n; j++) {
    ptr[j] = at;
    for (int i = symmetry == TRISTAR_GENERAL ? 0 : j; i < n; i++) {
      if (a[i * ld + j] == 0 && i != j) continue;
      put(t, values, at, a[i * ld + j]);
      index[at++] = i;
    }
  }
  ptr[n] = at;
  return stored_view(TRISTAR_CSC, symmetry, t->scalar, n, n, ptr, index, values);
}

/* Returns the mirror image of a stored off-diagonal entry. */
static inline number mirrored(tristar_symmetry symmetry, number a) {
  return symmetry == TRISTAR_HERMITIAN ? conj(a) : symmetry == TRISTAR_SKEW_SYMMETRIC ? -a : a;
}

/* y = op(A) x, and size = |op(A)| |x|, in double. The view: compressed columns, 64-bit ptr, 32-bit index. */
static inline void multiply(const typed *t, const tristar_view *v, tristar_op op, const number *x, number *y,
                            double *size) {
  const int64_t *ptr = v->ptr, n = v->rows;
  const int32_t *index = v->index;
  for (int64_t i = 0; i < n; i++) y[i] = size[i] = 0;
  for (int64_t j = 0; j < n; j++)
    for (int64_t p = ptr[j]; p < ptr[j + 1]; p++)
      for (int image = 0; image < (v->symmetry != TRISTAR_GENERAL && index[p] != j ? 2 : 1); image++) {
        int64_t row = image ? j : index[p], col = image ? index[p] : j;
        number a = get(t, v->values, p);
        if (image) a = mirrored(v->symmetry, a);
        if (op != TRISTAR_N) {
          const int64_t swap = row;
          row = col;
          col = swap;
          if (op == TRISTAR_C) a = conj(a);
        }
        y[row] += a * x[col];
        size[row] += magnitude(a) * magnitude(x[col]);
      }
}

/* The denominator of a backward error, recomputed here in double:
 *   COMPONENTWISE  (|op(A)| |x| + |b|)_i in every row
 *   DOCUMENTED     as defined in tristar.h: rows where this is only rounding errors have another one */
typedef enum typed_measure { COMPONENTWISE, DOCUMENTED } typed_measure;

/* The scaling g of the unknowns, as the factors chose it, and |op(A)| g. */
typedef struct typed_weights {
  double *g, *row_sum, *plain_sum; /* g, |op(A)| g, |op(A)| times ones */
} typed_weights;

/* Returns the maximum over i of |b - op(A) x|_i divided by this measure, for one column. w: not read if
 * COMPONENTWISE. */
static inline double error_of(const typed *t, const tristar_view *v, tristar_op op, const void *b,
                              const void *x, int64_t column, typed_measure measure, const typed_weights *w) {
  const int64_t n = v->rows;
  OWNED number *wide = calloc((size_t)n, sizeof *wide), *y = malloc((size_t)n * sizeof *y);
  double *size = malloc((size_t)n * sizeof *size), worst = 0, largest = 0, plain = 0;
  CHECK(n >= 0 && wide != NULL && y != NULL && size != NULL);
  for (int64_t i = 0; i < n; i++) {
    wide[i] = get(t, x, i + column * n);
    if (measure == DOCUMENTED) largest = fmax(largest, magnitude(wide[i]) / w->g[i]);
    plain = fmax(plain, magnitude(wide[i]));
  }
  multiply(t, v, op, wide, y, size);
  for (int64_t i = 0; i < n; i++) {
    const number bi = get(t, b, i + column * n);
    double bound = size[i] + magnitude(bi);
    if (measure == DOCUMENTED) {
      const double norm = fmin(w->row_sum[i] * largest, w->plain_sum[i] * plain);
      if (bound < fmin(1000 * (double)n * 2 * t->roundoff, 1e-3) * (norm + magnitude(bi)))
        bound = size[i] + norm;
    }
    worst = larger_error(worst, magnitude(bi - y[i]) / bound);
  }
  free(size);
  return worst;
}

/* Returns max_i |op(A) (x - y)|_i / (|op(A)| |x|)_i of two vectors: a few roundoffs if both solve one system.
 */
static inline double distance_of(const typed *t, const tristar_view *v, tristar_op op, const void *x,
                                 const void *y) {
  const int64_t n = v->rows;
  OWNED number *a = xcalloc((size_t)n, sizeof *a), *product = xcalloc((size_t)n, sizeof *product);
  OWNED double *size = xcalloc((size_t)n, sizeof *size), *moved = xcalloc((size_t)n, sizeof *moved);
  double worst = 0;
  for (int64_t i = 0; i < n; i++) a[i] = get(t, x, i);
  multiply(t, v, op, a, product, size);
  for (int64_t i = 0; i < n; i++) a[i] -= get(t, y, i);
  multiply(t, v, op, a, product, moved);
  for (int64_t i = 0; i < n; i++)
    if (!(magnitude(product[i]) == 0)) worst = larger_error(worst, magnitude(product[i]) / size[i]);
  return worst;
}

/* Makes the weights; release them with free_weights. */
static inline typed_weights make_weights(const typed *t, const tristar_view *v, tristar_op op,
                                         const tristar_factor_t *f) {
  const size_t n = (size_t)v->rows;
  typed_weights w = {malloc(n * sizeof *w.g), malloc(n * sizeof *w.row_sum), malloc(n * sizeof *w.plain_sum)};
  OWNED number *g = malloc(n * sizeof *g), *y = malloc(n * sizeof *y);
  CHECK(w.g != NULL && w.row_sum != NULL && w.plain_sum != NULL && g != NULL && y != NULL);
  CHECK_OK(
      tristar_factor_get_order(f, NULL, NULL, op == TRISTAR_N ? NULL : w.g, op == TRISTAR_N ? w.g : NULL));
  for (size_t i = 0; i < n; i++) g[i] = w.g[i];
  multiply(t, v, op, g, y, w.row_sum);
  for (size_t i = 0; i < n; i++) g[i] = 1;
  multiply(t, v, op, g, y, w.plain_sum);
  return w;
}

static inline void free_weights(typed_weights *w) {
  free(w->g);
  free(w->row_sum);
  free(w->plain_sum);
}

static const tristar_op typed_ops[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};
static const int64_t typed_counts[] = {1, 3, 17};
enum { TYPED_OPS = 3, TYPED_COUNTS = 3, TYPED_COLUMNS = 17 };

/* Makes right-hand sides: `columns` columns of n numbers; free them. */
static inline void *make_some_rhs(const typed *t, int64_t n, int64_t columns) {
  void *b = xmalloc((size_t)(columns * n) * t->bytes + 1);
  double re, im;
  for (int64_t i = 0; i < columns * n; i++) {
    fill_random(&re, 1, (uint64_t)i);
    fill_random(&im, 1, (uint64_t)i + 1000000);
    number z = re;
    __imag__ z = im;
    put(t, b, i, z);
  }
  return b;
}

/* Makes right-hand sides for the solves below: TYPED_COLUMNS columns. */
static inline void *make_rhs(const typed *t, int64_t n) {
  return make_some_rhs(t, n, TYPED_COLUMNS);
}

/* The largest backward errors over N, T, C and 1, 3, 17 right-hand sides. NaN counts as the largest. */
typedef struct typed_errors {
  double reported;   /* by the library */
  double recomputed; /* here */
  tristar_op op;     /* operation with the largest recomputed error */
  int column, count;
} typed_errors;

/* Solves with the defaults of refinement. */
static inline typed_errors worst_errors(const typed *t, const tristar_view *v, const tristar_factor_t *f,
                                        tristar_plan_t *p, const void *b, typed_measure measure) {
  const int64_t n = v->rows;
  OWNED char *x = malloc(TYPED_COLUMNS * (size_t)n * t->bytes);
  typed_errors worst = {0, 0, TRISTAR_N, 0, 0};
  CHECK(x != NULL);
  for (int o = 0; o < TYPED_OPS; o++) {
    const tristar_op op = typed_ops[o];
    typed_weights w = {NULL, NULL, NULL};
    if (measure == DOCUMENTED) w = make_weights(t, v, op, f);
    for (int c = 0; c < TYPED_COUNTS; c++) {
      tristar_refine_result result;
      CHECK_OK(tristar_solve_refined(p, op, typed_counts[c], b, n, x, n, NULL, &result));
      worst.reported = larger_error(worst.reported, result.backward_error);
      for (int64_t k = 0; k < typed_counts[c]; k++) {
        const double error = error_of(t, v, op, b, x, k, measure, &w);
        if (!(error <= worst.recomputed) && !isnan(worst.recomputed))
          worst = (typed_errors){worst.reported, error, op, (int)k, (int)typed_counts[c]};
      }
    }
    free_weights(&w);
  }
  return worst;
}
