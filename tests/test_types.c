/* {s, d, c, z} x {LLT, LDLT, LU; Hermitian and complex symmetric} x {N, T, C} x {1, 3, 17 right-hand sides}:
 * the backward error after refinement is below 100 units of roundoff, the residual is recomputed here in
 * double, in place gives the same bits, and engines agree. */
#include <complex.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "tests/check.h"
#include "tests/random.h"
#undef I

typedef double _Complex number;

/* A matrix in double complex and the same in its own type; general storage, both triangles. */
typedef struct typed {
  tristar_scalar scalar;
  bool is_complex;
  double roundoff;
  size_t bytes;
} typed;

static const typed types[] = {{TRISTAR_SINGLE, false, FLT_EPSILON / 2, sizeof(float)},
                              {TRISTAR_DOUBLE, false, DBL_EPSILON / 2, sizeof(double)},
                              {TRISTAR_COMPLEX_SINGLE, true, FLT_EPSILON / 2, sizeof(float _Complex)},
                              {TRISTAR_COMPLEX_DOUBLE, true, DBL_EPSILON / 2, sizeof(double _Complex)}};

static void put(const typed *t, void *array, int64_t i, number x) {
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
static number get(const typed *t, const void *array, int64_t i) {
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

/* Values of the view in type t. Complex types: Hermitian and skew imaginary parts for symmetric kinds that
 * stay definite (small imaginary parts), arbitrary ones for general matrices. */
static void *make_values(const typed *t, const tristar_view *v) {
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

/* op(A) x, and |op(A)| |x|, in double. symmetry: HERMITIAN for stored triangles. */
static void multiply(const typed *t, const tristar_view *v, tristar_op op, const number *x, number *y,
                     double *size) {
  const int64_t *ptr = v->ptr, n = v->rows;
  const int32_t *index = v->index;
  for (int64_t i = 0; i < n; i++) y[i] = size[i] = 0;
  for (int64_t j = 0; j < n; j++)
    for (int64_t p = ptr[j]; p < ptr[j + 1]; p++)
      for (int image = 0; image < (v->symmetry != TRISTAR_GENERAL && index[p] != j ? 2 : 1); image++) {
        int64_t row = image ? j : index[p], col = image ? index[p] : j;
        number a = get(t, v->values, p);
        if (image && v->symmetry == TRISTAR_HERMITIAN) a = conj(a);
        if (op != TRISTAR_N) {
          const int64_t swap = row;
          row = col;
          col = swap;
          if (op == TRISTAR_C) a = conj(a);
        }
        y[row] += a * x[col];
        size[row] += cabs(a) * cabs(x[col]);
      }
}

static double error_of(const typed *t, const tristar_view *v, tristar_op op, const void *b, const void *x,
                       int64_t column) {
  const int64_t n = v->rows;
  number *wide = malloc((size_t)n * sizeof *wide), *y = malloc((size_t)n * sizeof *y);
  double *size = malloc((size_t)n * sizeof *size), worst = 0;
  for (int64_t i = 0; i < n; i++) wide[i] = get(t, x, i + column * n);
  multiply(t, v, op, wide, y, size);
  for (int64_t i = 0; i < n; i++) {
    const number bi = get(t, b, i + column * n);
    const double e = cabs(bi - y[i]) / (size[i] + cabs(bi));
    if (!(e <= worst)) worst = e;
  }
  free(wide);
  free(y);
  free(size);
  return worst;
}

static void check_solves(const typed *t, const tristar_view *v, const char *what, tristar_factor_t *f,
                         tristar_engine engine, char *reference) {
  static const tristar_op ops[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};
  static const int64_t counts[] = {1, 3, 17};
  const int64_t n = v->rows;
  const size_t bytes = 17 * (size_t)n * t->bytes;
  char *b = malloc(bytes), *x = malloc(bytes);
  tristar_plan_options options;
  tristar_plan_t *p;
  double re, im, reciprocal;
  tristar_plan_options_init(&options);
  options.engine = engine;
  options.chunk_bytes_max = 20000;
  CHECK_OK(tristar_plan(f, &options, &p));
  for (int64_t i = 0; i < 17 * n; i++) {
    fill_random(&re, 1, (uint64_t)i);
    fill_random(&im, 1, (uint64_t)i + 1000000);
    number z = re;
    __imag__ z = im;
    put(t, b, i, z);
  }
  for (int o = 0; o < 3; o++)
    for (int c = 0; c < 3; c++) {
      const size_t used = (size_t)(counts[c] * n) * t->bytes;
      tristar_refine_result result;
      char *kept = reference + (size_t)(3 * o + c) * bytes;
      CHECK_OK(tristar_solve_refined(p, ops[o], counts[c], b, n, x, n, NULL, &result));
      CHECK_MSG(result.backward_error < 100 * t->roundoff, "%s %c %c: backward error %g", what, t->scalar,
                ops[o], result.backward_error);
      for (int64_t k = 0; k < counts[c]; k++)
        CHECK_MSG(error_of(t, v, ops[o], b, x, k) < 100 * t->roundoff, "%s %c %c, %d of %d: %g", what,
                  t->scalar, ops[o], (int)k, (int)counts[c], error_of(t, v, ops[o], b, x, k));
      memcpy(x, b, used);
      CHECK_OK(tristar_solve(p, ops[o], counts[c], x, n, x, n));
      if (engine == TRISTAR_ENGINE_SERIAL) memcpy(kept, x, used);
      CHECK_MSG(memcmp(kept, x, used) == 0, "%s %c %c: other bits", what, t->scalar, ops[o]);
    }
  CHECK_OK(tristar_condition(p, &reciprocal));
  CHECK_MSG(reciprocal > 1e-9 && reciprocal <= 1, "%s %c: condition %g", what, t->scalar, reciprocal);
  tristar_plan_destroy(&p);
  free(b);
  free(x);
}

/* symmetry: what a symmetric kind is declared as in a complex type. */
static void check(tristar_t *ts, const char *kind, int64_t k, const typed *t, tristar_method method,
                  tristar_symmetry symmetry) {
  tristar_matrix_t *m;
  tristar_view v;
  tristar_analysis_options options;
  tristar_analysis_t *an;
  tristar_factor_t *f;
  tristar_analysis_stats stats;
  CHECK_OK(tristar_matrix_generate(ts, kind, k, &m));
  tristar_matrix_view(m, &v);
  void *values = make_values(t, &v);
  if (t->is_complex && v.symmetry == TRISTAR_SYMMETRIC) v.symmetry = symmetry;
  v.scalar = t->scalar;
  v.values = values;
  tristar_analysis_options_init(&options);
  options.method = method;
  CHECK_OK(tristar_analyze(ts, &v, &options, &an));
  CHECK_OK(tristar_factor(an, values, &f));
  tristar_analysis_get_stats(tristar_factor_analysis(f), &stats);
  if (method != TRISTAR_METHOD_AUTO)
    CHECK(stats.method == method);
  else if (v.symmetry != TRISTAR_GENERAL) {
    const bool plain = v.symmetry == TRISTAR_SYMMETRIC && t->is_complex;
    CHECK(stats.method == (plain ? TRISTAR_METHOD_LDLT : TRISTAR_METHOD_LLT));
  }
  char *reference = malloc(9 * 17 * (size_t)v.rows * t->bytes);
  check_solves(t, &v, kind, f, TRISTAR_ENGINE_SERIAL, reference);
  check_solves(t, &v, kind, f, TRISTAR_ENGINE_TASKS, reference);
  free(reference);
  tristar_factor_destroy(&f);
  tristar_analysis_destroy(&an);
  tristar_matrix_destroy(&m);
  free(values);
}

int main(void) {
  tristar_config config;
  tristar_memory_stats memory;
  tristar_t *ts;
  tristar_config_init(&config);
  config.check = 1;
  CHECK_OK(tristar_create(&config, &ts));
  static const tristar_method methods[] = {TRISTAR_METHOD_AUTO, TRISTAR_METHOD_LDLT, TRISTAR_METHOD_LU};
  for (size_t t = 0; t < sizeof types / sizeof *types; t++)
    for (int m = 0; m < 3; m++)
      for (int symmetric = 0; symmetric < (types[t].is_complex ? 2 : 1); symmetric++) {
        const tristar_symmetry symmetry = symmetric ? TRISTAR_SYMMETRIC : TRISTAR_HERMITIAN;
        check(ts, "s2d9pt", 14, &types[t], methods[m], symmetry);
        check(ts, "poisson3d7", 7, &types[t], methods[m], symmetry);
        check(ts, "elasticity3d", 3, &types[t], methods[m], symmetry);
        if (methods[m] != TRISTAR_METHOD_AUTO)
          check(ts, "maxwell3d", 3, &types[t], methods[m], symmetry); /* indefinite */
        if (methods[m] == TRISTAR_METHOD_LDLT || symmetric) continue;
        check(ts, "convdiff3d", 7, &types[t], methods[m], symmetry);
        check(ts, "circuit", 200, &types[t], methods[m], symmetry);
      }
  tristar_memory(ts, &memory);
  CHECK_MSG(memory.current_bytes == 0, "%zu bytes leaked", memory.current_bytes);
  tristar_destroy(&ts);
  return 0;
}
