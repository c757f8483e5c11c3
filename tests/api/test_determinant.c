/* Determinant and inertia, held against exact values: A = P L D L^H P^T or A = P L U Q with small integers, L
 * and U sparse and with known diagonals, so that every entry of A is an integer. All scalars and methods;
 * matrices scaled beyond the range of numbers of their determinants; singular matrices; values that a
 * matching was not found for; what is refused. */
#include "tests/support/context.h"
#include "tests/support/subtests.h"
#include "tests/support/typed.h"
#include "tristar_forecast.h"
#include "tristar_save.h"
#include "tristar_update.h"

enum { ORDER_MAX = 24 };

/* A dense matrix with det = value 2^exponent. */
typedef struct matrix {
  int n, exponent;
  number a[ORDER_MAX][ORDER_MAX];
  number value;
  int64_t positive, negative;
} matrix;

static number of_parts(double real, double imaginary) {
  number x = real;
  __imag__ x = imaginary;
  return x;
}

static int64_t below(uint64_t *seed, int64_t limit) {
  return (int64_t)(next_random(seed) % (uint64_t)limit);
}

/* Returns a small integer; it is complex if the type is. */
static number integer(const typed *t, uint64_t *seed) {
  number x = (double)(below(seed, 3) - 1);
  if (t->is_complex) __imag__ x = (double)(below(seed, 3) - 1);
  return x;
}

/* Makes a unit lower triangle with about one off-diagonal entry in a row. */
static void make_unit(const typed *t, int n, uint64_t *seed, number l[ORDER_MAX][ORDER_MAX]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) l[i][j] = i == j ? 1 : j < i && below(seed, n) == 0 ? integer(t, seed) : 0;
}

static void make_permutation(int n, uint64_t *seed, int *order, double *sign) {
  *sign = 1;
  for (int i = 0; i < n; i++) order[i] = i;
  for (int i = n - 1; i > 0; i--) {
    const int other = (int)below(seed, i + 1), keep = order[i];
    order[i] = order[other];
    order[other] = keep;
    if (other != i) *sign = -*sign;
  }
}

/* Sets a(rows[i], columns[j]) = (left D right)(i, j). */
static void multiply_out(matrix *m, number left[ORDER_MAX][ORDER_MAX], const number *d,
                         number right[ORDER_MAX][ORDER_MAX], const int *rows, const int *columns) {
  for (int i = 0; i < m->n; i++)
    for (int j = 0; j < m->n; j++) {
      number sum = 0;
      for (int k = 0; k < m->n; k++) sum += left[i][k] * d[k] * right[k][j];
      m->a[rows[i]][columns[j]] = sum;
    }
}

/* Makes a symmetric or Hermitian matrix. definite: D is positive. */
static void make_symmetric(const typed *t, bool hermitian, bool definite, uint64_t seed, matrix *m) {
  number l[ORDER_MAX][ORDER_MAX], image[ORDER_MAX][ORDER_MAX], d[ORDER_MAX];
  int order[ORDER_MAX];
  double sign;
  *m = (matrix){.n = 1 + (int)below(&seed, ORDER_MAX), .value = 1};
  make_unit(t, m->n, &seed, l);
  make_permutation(m->n, &seed, order, &sign);
  for (int k = 0; k < m->n; k++) {
    const double size = (double)(1 + below(&seed, 5));
    d[k] = definite || below(&seed, 2) ? size : -size;
    m->positive += creal(d[k]) > 0;
    m->negative += creal(d[k]) < 0;
    m->value *= d[k];
    for (int i = 0; i < m->n; i++) image[k][i] = hermitian ? conj(l[i][k]) : l[i][k];
  }
  multiply_out(m, l, d, image, order, order);
}

static void make_general(const typed *t, uint64_t seed, matrix *m) {
  number l[ORDER_MAX][ORDER_MAX], lower[ORDER_MAX][ORDER_MAX], u[ORDER_MAX][ORDER_MAX], d[ORDER_MAX];
  int rows[ORDER_MAX], columns[ORDER_MAX];
  double sign, other;
  *m = (matrix){.n = 1 + (int)below(&seed, ORDER_MAX)};
  make_unit(t, m->n, &seed, l);
  make_unit(t, m->n, &seed, lower);
  make_permutation(m->n, &seed, rows, &sign);
  make_permutation(m->n, &seed, columns, &other);
  m->value = sign * other;
  for (int k = 0; k < m->n; k++) {
    d[k] = (double)(1 + below(&seed, 5)) * (below(&seed, 2) ? 1 : -1);
    if (t->is_complex && below(&seed, 2)) d[k] *= of_parts(0, 1);
    m->value *= d[k];
    for (int i = 0; i < m->n; i++) u[k][i] = lower[i][k];
  }
  multiply_out(m, l, d, u, rows, columns);
}

/* Multiplies row i by 2^(up (i % 3)) and column j by 2^(right (j % 3)). All entries stay in range. */
static void scale(matrix *m, int up, int right) {
  for (int i = 0; i < m->n; i++)
    for (int j = 0; j < m->n; j++) {
      const int by = up * (i % 3) + right * (j % 3);
      m->a[i][j] = of_parts(ldexp(creal(m->a[i][j]), by), ldexp(cimag(m->a[i][j]), by));
    }
  for (int i = 0; i < m->n; i++) m->exponent += (up + right) * (i % 3);
}

static tristar_view make_view(const typed *t, const matrix *m, tristar_symmetry symmetry) {
  return typed_dense_view(t, m->n, m->a[0], ORDER_MAX, symmetry);
}

static tristar_status factor(tristar_t *ts, const tristar_view *v, tristar_method method,
                             tristar_singular singular, tristar_factor_t **out) {
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NULL;
  options.method = method;
  options.singular = singular;
  *out = NULL;
  const tristar_status status = tristar_analyze(ts, v, &options, &analysis);
  return status == TRISTAR_OK ? tristar_factor(analysis, v->values, out) : status;
}

static int computed, refused;

static void check_determinant(const typed *t, const matrix *m, const tristar_factor_t *f) {
  tristar_determinant d;
  const tristar_status status = tristar_factor_get_determinant(f, &d);
  if (status == TRISTAR_ERR_ACCURACY) {
    refused++;
    return;
  }
  CHECK_OK(status);
  computed++;
  const double tolerance = t->is_single ? 2e-3 : 1e-9, size = cabs(m->value);
  const number sign = of_parts(d.sign[0], d.sign[1]);
  CHECK_MSG(cabs(sign - m->value / size) < tolerance, "%c, order %d: sign %g %+g i, expected %g %+g i",
            (char)t->scalar, m->n, d.sign[0], d.sign[1], creal(m->value) / size, cimag(m->value) / size);
  const double logarithm = log(size) + m->exponent * log(2);
  CHECK_MSG(fabs(d.log_abs - logarithm) < tolerance * fmax(1, fabs(logarithm)),
            "%c, order %d: logarithm %.17g, expected %.17g", (char)t->scalar, m->n, d.log_abs, logarithm);
  const double largest = fmax(fabs(d.mantissa[0]), fabs(d.mantissa[1]));
  CHECK(largest >= 0.5 && largest < 1);
  const number value = of_parts(d.mantissa[0], d.mantissa[1]) * exp2((double)(d.exponent - m->exponent));
  CHECK(cabs(value - m->value) < 2 * tolerance * size);
}

static void check_inertia(const typed *t, const matrix *m, const tristar_factor_t *f) {
  tristar_inertia inertia;
  const tristar_status status = tristar_factor_get_inertia(f, &inertia);
  if (status == TRISTAR_ERR_ACCURACY) return;
  CHECK_OK(status);
  CHECK_MSG(inertia.positive == m->positive && inertia.negative == m->negative && inertia.zero == 0,
            "%c, order %d: %d positive, %d negative, %d zero, expected %d, %d, 0", (char)t->scalar, m->n,
            (int)inertia.positive, (int)inertia.negative, (int)inertia.zero, (int)m->positive,
            (int)m->negative);
}

/* Factors a symmetric matrix by three methods, stored as symmetric or as general. */
static void check_symmetric(tristar_t *ts, const typed *t, uint64_t seed) {
  static const tristar_method methods[] = {TRISTAR_METHOD_AUTO, TRISTAR_METHOD_LDLT, TRISTAR_METHOD_LU};
  const bool hermitian = !t->is_complex || seed % 2, definite = seed % 3 == 0;
  matrix m;
  make_symmetric(t, hermitian, definite, seed, &m);
  if (seed % 5 == 0) scale(&m, t->is_single ? 9 : 90, t->is_single ? 9 : 90);
  for (int k = 0; k < 3; k++) {
    const tristar_view v =
        make_view(t, &m, hermitian && t->is_complex ? TRISTAR_HERMITIAN : TRISTAR_SYMMETRIC);
    CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
    if (factor(ts, &v, methods[k], TRISTAR_SINGULAR_REFUSE, &f) == TRISTAR_ERR_SINGULAR) {
      refused++;
      continue;
    }
    CHECK(f != NULL);
    check_determinant(t, &m, f);
    tristar_inertia inertia;
    if (methods[k] != TRISTAR_METHOD_LU && hermitian)
      check_inertia(t, &m, f);
    else
      CHECK_STATUS(tristar_factor_get_inertia(f, &inertia), TRISTAR_ERR_UNSUPPORTED);
  }
}

static void check_general(tristar_t *ts, const typed *t, uint64_t seed) {
  matrix m;
  make_general(t, seed, &m);
  if (seed % 5 == 0) scale(&m, t->is_single ? 9 : 120, t->is_single ? -7 : 100);
  const tristar_view v = make_view(t, &m, TRISTAR_GENERAL);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
  if (factor(ts, &v, TRISTAR_METHOD_LU, TRISTAR_SINGULAR_REFUSE, &f) == TRISTAR_ERR_SINGULAR) {
    refused++;
    return;
  }
  CHECK(f != NULL);
  check_determinant(t, &m, f);
}

/* ---- Entries of any size ------------------------------------------------------------------------------- */

enum { GRADED_MOST = 7 };

/* Adds all products of the Leibniz formula to *sum, and their magnitudes to *size. `product` has the
 * factors of the rows before `row`; `taken` contains their columns. */
static void add_products(const matrix *m, int row, unsigned taken, long double product, long double *sum,
                         long double *size) {
  if (product == 0) return;
  if (row == m->n) {
    *sum += product;
    *size += fabsl(product);
    return;
  }
  for (int j = 0, sign = 1; j < m->n; j++) {
    if (taken >> j & 1) continue;
    add_products(m, row + 1, taken | 1u << j, sign * product * (long double)creal(m->a[row][j]), sum, size);
    sign = -sign;
  }
}

/* Each entry is a number near one times its own power of two, so no scaling of rows and columns makes them
 * equal. */
static void make_graded(bool symmetric, int most, uint64_t *seed, matrix *m) {
  *m = (matrix){.n = 3 + (int)below(seed, GRADED_MOST - 2)};
  const int64_t share = 4 + below(seed, 7); /* number of nonzeros in ten entries */
  for (int i = 0; i < m->n; i++)
    for (int j = 0; j < (symmetric ? i + 1 : m->n); j++) {
      const int exponent = (int)below(seed, 2 * most + 1) - most;
      const double size = (1 + (double)below(seed, 1000) / 1000) * (below(seed, 2) ? 1 : -1);
      const bool stored = i == j || below(seed, 10) < share;
      m->a[i][j] = stored ? ldexp(size, exponent) : 0;
      if (symmetric) m->a[j][i] = m->a[i][j];
    }
}

/* Determinants are right or reported as inaccurate, although the scaling does not suit. */
static void check_graded(tristar_t *ts, bool symmetric, int most) {
  uint64_t seed = 1;
  int wrong = 0, unknown = 0;
  for (int k = 0; k < (TSI_TESTS_SANITIZED ? 300 : 3000); k++) {
    matrix m;
    tristar_determinant d;
    long double sum = 0, size = 0;
    make_graded(symmetric, most, &seed, &m);
    add_products(&m, 0, 0, 1, &sum, &size);
    if (fabsl(sum) < 1e-2L * size) continue; /* ill-conditioned */
    const tristar_view v = make_view(&typed_double, &m, symmetric ? TRISTAR_SYMMETRIC : TRISTAR_GENERAL);
    CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
    const tristar_method method = symmetric ? TRISTAR_METHOD_LDLT : TRISTAR_METHOD_LU;
    if (factor(ts, &v, method, TRISTAR_SINGULAR_REFUSE, &f) == TRISTAR_ERR_SINGULAR) {
      unknown++;
      continue;
    }
    const tristar_status status = tristar_factor_get_determinant(f, &d);
    unknown += status == TRISTAR_ERR_ACCURACY;
    if (status == TRISTAR_ERR_ACCURACY) continue;
    CHECK_OK(status);
    wrong += !(fabsl(ldexpl(d.mantissa[0], (int)d.exponent) - sum) <= 1e-10L * fabsl(sum));
  }
  CHECK_MSG(wrong == 0 && unknown <= 5, "symmetric %d, 2^+-%d: %d determinants are wrong, %d unknown",
            symmetric, most, wrong, unknown);
}

/* The Laplacian of `parts` paths of 7 vertices: `parts` eigenvalues are zero. sign -1: its negative. */
static void check_laplacian(tristar_t *ts, const typed *t, int parts, double sign) {
  matrix m = {.n = 7 * parts};
  for (int i = 0; i < m.n; i++) {
    m.a[i][i] = sign * (i % 7 == 0 || i % 7 == 6 ? 1 : 2);
    if (i % 7 == 0) continue;
    m.a[i][i - 1] = m.a[i - 1][i] = -sign;
  }
  const tristar_view v = make_view(t, &m, t->is_complex ? TRISTAR_HERMITIAN : TRISTAR_SYMMETRIC);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
  tristar_determinant d;
  tristar_inertia inertia;
  CHECK_OK(factor(ts, &v, TRISTAR_METHOD_LDLT, TRISTAR_SINGULAR_PERTURB, &f));
  CHECK_OK(tristar_factor_get_inertia(f, &inertia));
  CHECK_MSG(inertia.zero == parts && (sign > 0 ? inertia.negative : inertia.positive) == 0 &&
                inertia.positive + inertia.negative == 6 * parts,
            "%c, %d paths: %d positive, %d negative, %d zero", (char)t->scalar, parts, (int)inertia.positive,
            (int)inertia.negative, (int)inertia.zero);
  CHECK_OK(tristar_factor_get_determinant(f, &d));
  CHECK(d.mantissa[0] == 0 && d.mantissa[1] == 0 && d.exponent == 0 && d.sign[0] == 0 && isinf(d.log_abs));
}

/* ---- Refactorizations -----------------------------------------------------------------------------------
 */

enum { RENEWED_MOST = 8 };

static int renewed;

/* Makes a matrix of order n like make_symmetric or make_general; the first `zeros` entries of D are zero. */
static void make_other(const typed *t, bool symmetric, bool hermitian, int n, int zeros, uint64_t *seed,
                       matrix *m) {
  number l[ORDER_MAX][ORDER_MAX], r[ORDER_MAX][ORDER_MAX], other[ORDER_MAX][ORDER_MAX], d[ORDER_MAX];
  int rows[ORDER_MAX], columns[ORDER_MAX];
  double sign, of_columns;
  *m = (matrix){.n = n};
  make_unit(t, n, seed, l);
  make_unit(t, n, seed, other);
  make_permutation(n, seed, rows, &sign);
  make_permutation(n, seed, columns, &of_columns);
  m->value = symmetric ? 1 : sign * of_columns;
  for (int k = 0; k < n; k++) {
    d[k] = k < zeros ? 0 : (double)(1 + below(seed, 5)) * (below(seed, 2) ? 1 : -1);
    m->value *= d[k];
    m->positive += creal(d[k]) > 0;
    m->negative += creal(d[k]) < 0;
    for (int i = 0; i < n; i++) r[k][i] = !symmetric ? other[i][k] : hermitian ? conj(l[i][k]) : l[i][k];
  }
  multiply_out(m, l, d, r, rows, symmetric ? rows : columns);
}

/* Multiplies row i and column i by 2^e with a random |e| <= most; without symmetry only row i. */
static void change_units(matrix *m, bool symmetric, int most, uint64_t *seed) {
  for (int i = 0; i < m->n; i++) {
    const int e = (int)below(seed, 2 * most + 1) - most;
    for (int j = 0; j < m->n; j++) {
      m->a[i][j] *= ldexp(1, e);
      if (symmetric) m->a[j][i] *= ldexp(1, e);
    }
    m->exponent += symmetric ? 2 * e : e;
  }
}

/* Writes all entries, or those of a triangle, including zeros. */
static void write_values(const typed *t, const matrix *m, bool triangle, void *values) {
  int64_t at = 0;
  for (int j = 0; j < m->n; j++)
    for (int i = triangle ? j : 0; i < m->n; i++) put(t, values, at++, m->a[i][j]);
}

static void check_figures(const typed *t, const matrix *m, bool has_inertia, const tristar_factor_t *f) {
  tristar_factor_stats stats;
  tristar_determinant d;
  const int64_t zero = m->n - m->positive - m->negative;
  CHECK_OK(tristar_factor_get_stats(f, &stats));
  CHECK_MSG(stats.singular == (zero > 0), "%c, order %d: singular %d, %d zeros in D", (char)t->scalar, m->n,
            stats.singular, (int)zero);
  if (zero == 0)
    check_determinant(t, m, f);
  else {
    CHECK_OK(tristar_factor_get_determinant(f, &d));
    CHECK(d.mantissa[0] == 0 && d.mantissa[1] == 0);
  }
  tristar_inertia inertia;
  if (!has_inertia || tristar_factor_get_inertia(f, &inertia) != TRISTAR_OK) return;
  CHECK_MSG(inertia.positive == m->positive && inertia.negative == m->negative && inertia.zero == zero,
            "%c, order %d: %d positive, %d negative, %d zero, expected %d, %d, %d", (char)t->scalar, m->n,
            (int)inertia.positive, (int)inertia.negative, (int)inertia.zero, (int)m->positive,
            (int)m->negative, (int)zero);
  renewed++;
}

/* Refactors values in other units than those of the analysis. The old matching and scaling may not suit the
 * new values, but a regular matrix must not be reported as singular. */
static void check_renewed(tristar_t *ts, const typed *t, uint64_t seed) {
  static int64_t ptr[RENEWED_MOST + 1];
  static int32_t index[RENEWED_MOST * RENEWED_MOST];
  static char values[RENEWED_MOST * RENEWED_MOST * sizeof(number)];
  const bool symmetric = seed % 3 > 0, hermitian = !t->is_complex || seed % 3 == 1, refuse = seed % 4 == 0;
  const int n = 2 + (int)(seed % (RENEWED_MOST - 1)), units = t->is_single ? 9 : 80;
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NULL;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
  int64_t at = 0;
  matrix m;
  for (int j = 0; j < n; j++) {
    ptr[j] = at;
    for (int i = symmetric ? j : 0; i < n; i++) index[at++] = i;
  }
  ptr[n] = at;
  const tristar_view v = stored_view(TRISTAR_CSC,
                                     !symmetric                   ? TRISTAR_GENERAL
                                     : t->is_complex && hermitian ? TRISTAR_HERMITIAN
                                                                  : TRISTAR_SYMMETRIC,
                                     t->scalar, n, n, ptr, index, values);
  options.method = symmetric ? TRISTAR_METHOD_LDLT : TRISTAR_METHOD_LU;
  options.singular = refuse ? TRISTAR_SINGULAR_REFUSE : TRISTAR_SINGULAR_PERTURB;
  make_other(t, symmetric, hermitian, n, 0, &seed, &m);
  write_values(t, &m, symmetric, values);
  CHECK_OK(tristar_analyze(ts, &v, &options, &analysis));
  CHECK_OK(tristar_factor(analysis, values, &f));
  for (int round = 0; round < 3; round++) {
    const int zeros = round == 2 ? 1 : 0;
    make_other(t, symmetric, hermitian, n, zeros, &seed, &m);
    change_units(&m, symmetric, units, &seed);
    write_values(t, &m, symmetric, values);
    const tristar_status status = tristar_refactor(f, values);
    CHECK_MSG(status == TRISTAR_OK ||
                  (zeros ? status == TRISTAR_ERR_SINGULAR /* the matrix may have a row of zeros */
                         : refuse && status == TRISTAR_ERR_STALE),
              "%c, order %d, round %d: %s", (char)t->scalar, n, round, tristar_status_name(status));
    if (status == TRISTAR_OK) check_figures(t, &m, symmetric && hermitian, f);
  }
}

/* L D L^T of integers of rank 6. A perturbed pivot inside the tree makes later pivots grow. The inertia
 * must not be taken from them. */
static void check_grown(tristar_t *ts) {
  enum { n = 8 };
  static const int ptr[n + 1] = {0, 7, 10, 14, 18, 22, 24, 26, 27};
  static const int row[] = {0, 2, 3, 4, 5, 6, 7, 1, 3, 4, 2, 4, 5, 6, 3, 5, 6, 7, 4, 5, 6, 7, 5, 6, 6, 7, 7};
  static const double a[] = {1, 1, -1, -2, -2, -1, 2,  1, -1, 2,  4,  2, -4, 1,
                             3, 1, -2, 3,  4,  2,  -2, 4, 4,  -1, -2, 4, -7};
  const tristar_view v = {TRISTAR_CSC, TRISTAR_SYMMETRIC, TRISTAR_DOUBLE, n, n, ptr, row, a, 32, 32, 0};
  for (int merge = 0; merge < 3; merge++) {
    tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
    tristar_inertia inertia;
    options.singular = TRISTAR_SINGULAR_PERTURB;
    options.merge = (tristar_merge)merge;
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NEW_ANALYSIS(ts, &v, &options);
    CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NEW_FACTOR(analysis, a);
    const tristar_status status = tristar_factor_get_inertia(f, &inertia);
    if (status == TRISTAR_ERR_ACCURACY) continue;
    CHECK_OK(status);
    CHECK_MSG(inertia.positive == 4 && inertia.negative == 2 && inertia.zero == 2, "merge %d: %d, %d, %d",
              merge, (int)inertia.positive, (int)inertia.negative, (int)inertia.zero);
  }
}

/* The matrix of check_grown, and three rows whose diagonal is zero, which an analysis without values does not
 * see. So a second analysis, with the values, finds that the matrix is structurally singular. The message has
 * its status. */
static void check_second_failure(tristar_t *ts) {
  enum { n = 11 };
  static const int ptr[n + 1] = {0, 7, 10, 14, 18, 22, 24, 26, 27, 29, 31, 32};
  static const int row[] = {0, 2, 3, 4, 5, 6, 7, 1, 3, 4, 2, 4, 5,  6, 3,  5,
                            6, 7, 4, 5, 6, 7, 5, 6, 6, 7, 7, 8, 10, 9, 10, 10};
  static const double a[] = {1,  1, -1, -2, -2, -1, 2, 1,  -1, 2, 4,  2, -4, 1, 3, 1,
                             -2, 3, 4,  2,  -2, 4,  4, -1, -2, 4, -7, 0, 1,  0, 1, 0};
  tristar_view v = {TRISTAR_CSC, TRISTAR_SYMMETRIC, TRISTAR_DOUBLE, n, n, ptr, row, NULL, 32, 32, 0};
  int unknown = 0;
  for (int merge = 0; merge < 3; merge++) {
    tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
    tristar_inertia inertia;
    options.method = TRISTAR_METHOD_LDLT;
    options.singular = TRISTAR_SINGULAR_PERTURB;
    options.merge = (tristar_merge)merge;
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NEW_ANALYSIS(ts, &v, &options);
    CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NEW_FACTOR(analysis, a);
    const tristar_status status = tristar_factor_get_inertia(f, &inertia);
    if (status == TRISTAR_OK) continue;
    unknown++;
    CHECK_ERROR(ts, "a second factorization, with a matching and delayed pivots, did not help: it returned "
                    "TRISTAR_ERR_SINGULAR");
  }
  CHECK(unknown > 0);
}

/* A symmetric integer matrix of order 12 and rank 10. In the natural order a row of the last block consists
 * of rounding errors. It must not be in a pivot of order 2, which would also change the sign of the other
 * row. */
static void check_null_row(tristar_t *ts) {
  enum { n = 12 };
  static const int a[n][n] = {
      {4, 1, -1, 2, 0, 0, -1, 0, 5, 0, 2, -2},   {1, -2, 5, 0, 0, 0, 0, 0, 0, 0, 1, -11},
      {-1, 5, 1, 4, 0, 2, 0, -5, -5, 0, -5, -1}, {2, 0, 4, 3, 4, 0, -2, -1, 0, -1, -1, -9},
      {0, 0, 0, 4, 4, 0, 0, 0, 0, -4, -4, 4},    {0, 0, 2, 0, 0, -1, 0, 0, -4, 0, 0, -4},
      {-1, 0, 0, -2, 0, 0, -4, -5, 4, 0, 1, 1},  {0, 0, -5, -1, 0, 0, -5, -5, 1, 0, 1, 10},
      {5, 0, -5, 0, 0, -4, 4, 1, 5, -2, 5, 7},   {0, 0, 0, -1, -4, 0, 0, 0, -2, -1, 1, 1},
      {2, 1, -5, -1, -4, 0, 1, 1, 5, 1, 3, 7},   {-2, -11, -1, -9, 4, -4, 1, 10, 7, 1, 7, 3}};
  number dense_a[n * n];
  for (int i = 0; i < n * n; i++) dense_a[i] = a[i / n][i % n];
  const tristar_view v = typed_dense_view(&typed_double, n, dense_a, n, TRISTAR_SYMMETRIC);
  int known = 0;
  for (int matching = 0; matching < 3; matching++) {
    tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
    tristar_inertia inertia;
    options.method = TRISTAR_METHOD_LDLT;
    options.ordering = TRISTAR_ORDERING_NATURAL;
    options.matching = (tristar_matching)matching;
    options.singular = TRISTAR_SINGULAR_PERTURB;
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NEW_ANALYSIS(ts, &v, &options);
    CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NEW_FACTOR(analysis, v.values);
    const tristar_status status = tristar_factor_get_inertia(f, &inertia);
    if (status == TRISTAR_ERR_ACCURACY) continue;
    CHECK_OK(status);
    CHECK_MSG(inertia.positive == 4 && inertia.negative == 6 && inertia.zero == 2, "matching %d: %d, %d, %d",
              matching, (int)inertia.positive, (int)inertia.negative, (int)inertia.zero);
    known++;
  }
  CHECK(known > 0);
}

/* Single factors round away what decides the sign of the last pivot of L D L^T. */
static void check_single_factors(tristar_t *ts) {
  enum { ROWS = 6 };
  int counted = 0;
  for (int k = 0; k < 300; k++) {
    const double d = k % 2 ? 1e-8 : -1e-8;
    matrix m = {.n = ROWS};
    double l[ROWS][ROWS] = {{0}};
    for (int i = 0; i < ROWS; i++)
      for (int j = 0; j <= i; j++)
        l[i][j] = i == j ? 1 : fmod((k + 1) * 0.6180339887498949 * (i * ROWS + j + 1), 1) - 0.5;
    for (int i = 0; i < ROWS; i++)
      for (int j = 0; j < ROWS; j++)
        for (int q = 0; q < ROWS; q++) m.a[i][j] += l[i][q] * (q == ROWS - 1 ? d : 1) * l[j][q];
    const tristar_view v = make_view(&typed_double, &m, TRISTAR_SYMMETRIC);
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NULL;
    CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
    tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
    tristar_inertia inertia;
    options.method = TRISTAR_METHOD_LDLT;
    options.single_factors = 1;
    options.matching = k % 4 < 2 ? TRISTAR_MATCHING_OFF : TRISTAR_MATCHING_AUTO;
    CHECK_OK(tristar_analyze(ts, &v, &options, &analysis));
    if (tristar_factor(analysis, v.values, &f) != TRISTAR_OK) continue;
    CHECK_OK(tristar_factor_get_inertia(f, &inertia));
    CHECK_MSG(inertia.positive == ROWS - (d < 0) && inertia.negative == (d < 0) && inertia.zero == 0,
              "%d: %d, %d, %d", k, (int)inertia.positive, (int)inertia.negative, (int)inertia.zero);
    counted++;
  }
  CHECK_MSG(counted > 150, "%d inertias", counted);
}

/* Factors in double precision show the sign of the last pivot of a nearly singular matrix. */
static void check_nearly_singular(tristar_t *ts) {
  for (int negative = 0; negative < 2; negative++) {
    const matrix m = {.n = 2, .a = {{1, 1}, {1, negative ? 1 - 3e-15 : 1 + 3e-15}}};
    const tristar_view v = make_view(&typed_double, &m, TRISTAR_SYMMETRIC);
    tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
    tristar_inertia inertia;
    options.method = TRISTAR_METHOD_LDLT;
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NEW_ANALYSIS(ts, &v, &options);
    CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NEW_FACTOR(analysis, v.values);
    CHECK_OK(tristar_factor_get_inertia(f, &inertia));
    CHECK_MSG(inertia.positive == 2 - negative && inertia.negative == negative && inertia.zero == 0,
              "%d: %d, %d, %d", negative, (int)inertia.positive, (int)inertia.negative, (int)inertia.zero);
  }
}

/* The determinant of a matrix without rows is 1; a factor without values has none. */
static void check_edges(tristar_t *ts) {
  const tristar_method methods[] = {TRISTAR_METHOD_AUTO, TRISTAR_METHOD_LLT, TRISTAR_METHOD_LDLT};
  const matrix empty = {.n = 0};
  matrix m = {.n = 1, .a = {{-3}}};
  tristar_view v = make_view(&typed_double, &empty, TRISTAR_SYMMETRIC);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
  tristar_determinant d;
  tristar_inertia inertia;
  for (int k = 0; k < 3; k++) {
    CLEANUP(tristar_factor_destroy) tristar_factor_t *none = NULL;
    CHECK_OK(factor(ts, &v, methods[k], TRISTAR_SINGULAR_REFUSE, &none));
    CHECK_OK(tristar_factor_get_determinant(none, &d));
    CHECK(d.mantissa[0] == 0.5 && d.exponent == 1 && d.sign[0] == 1 && d.log_abs == 0);
    CHECK_OK(tristar_factor_get_inertia(none, &inertia));
    CHECK(inertia.positive == 0 && inertia.negative == 0 && inertia.zero == 0);
  }
  v = make_view(&typed_double, &m, TRISTAR_SYMMETRIC);
  CHECK_OK(factor(ts, &v, TRISTAR_METHOD_LDLT, TRISTAR_SINGULAR_REFUSE, &f));
  CHECK_OK(tristar_factor_get_inertia(f, &inertia));
  CHECK(inertia.positive == 0 && inertia.negative == 1);
  CHECK_STATUS(tristar_factor_get_inertia(f, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_factor_get_determinant(f, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_refactor(f, (const double[]){NAN}), TRISTAR_ERR_NOT_FINITE);
  CHECK_STATUS(tristar_factor_get_determinant(f, &d), TRISTAR_ERR_STALE);
  CHECK_STATUS(tristar_factor_get_inertia(f, &inertia), TRISTAR_ERR_STALE);
}

/* Computes the determinant by elimination with complete pivoting; 0 if a pivot is below 1e-6. */
static long double dense_determinant(const matrix *m) {
  static long double a[ORDER_MAX][ORDER_MAX];
  long double product = 1;
  for (int i = 0; i < m->n; i++)
    for (int j = 0; j < m->n; j++) a[i][j] = (long double)creal(m->a[i][j]);
  for (int k = 0; k < m->n; k++) {
    int row = k, column = k;
    for (int i = k; i < m->n; i++)
      for (int j = k; j < m->n; j++)
        if (fabsl(a[i][j]) > fabsl(a[row][column])) row = i, column = j;
    if (fabsl(a[row][column]) < 1e-6L) return 0;
    if ((row != k) != (column != k)) product = -product;
    for (int j = 0; j < m->n; j++) {
      const long double kept = a[k][j];
      a[k][j] = a[row][j];
      a[row][j] = kept;
    }
    for (int i = 0; i < m->n; i++) {
      const long double kept = a[i][k];
      a[i][k] = a[i][column];
      a[i][column] = kept;
    }
    product *= a[k][k];
    for (int i = k + 1; i < m->n; i++)
      for (int j = m->n - 1; j >= k; j--) a[i][j] -= a[i][k] / a[k][k] * a[k][j];
  }
  return product;
}

/* Adjacency matrices of graphs. Their diagonal is zero, so pivots of the factors are perturbed. */
static int check_graph(tristar_t *ts, uint64_t seed) {
  static matrix m;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
  tristar_determinant d;
  tristar_inertia inertia;
  m = (matrix){.n = 12 + (int)below(&seed, ORDER_MAX - 11)};
  const int64_t edges = 2 + below(&seed, 4);
  for (int i = 0; i < m.n; i++)
    for (int j = 0; j < i; j++) m.a[i][j] = m.a[j][i] = below(&seed, m.n) < edges;
  const long double truth = dense_determinant(&m);
  if (!(fabsl(truth) > 0)) return 0;
  const tristar_view v = make_view(&typed_double, &m, TRISTAR_SYMMETRIC);
  CHECK_OK(factor(ts, &v, TRISTAR_METHOD_AUTO, TRISTAR_SINGULAR_REFUSE, &f));
  CHECK_OK(tristar_factor_get_determinant(f, &d));
  CHECK_OK(tristar_factor_get_inertia(f, &inertia));
  CHECK(fabsl(ldexp(d.mantissa[0], (int)d.exponent) - truth) <= 1e-9L * fabsl(truth));
  CHECK(inertia.positive + inertia.negative == m.n && (inertia.negative % 2 > 0) == (truth < 0));
  return 1;
}

/* det of a symmetric matrix with the entries (0,0), (1,0), (2,0), (1,1), (2,1), (2,2), and the sum of the
 * sizes of its terms. */
static long double det_of_three(const double *a, long double *terms) {
  const long double product[] = {(long double)a[0] * a[3] * a[5], -(long double)a[0] * a[4] * a[4],
                                 -(long double)a[1] * a[1] * a[5], 2 * (long double)a[1] * a[4] * a[2],
                                 -(long double)a[2] * a[2] * a[3]};
  long double sum = 0;
  *terms = 0;
  for (int k = 0; k < 5; k++) {
    sum += product[k];
    *terms += fabsl(product[k]);
  }
  return sum;
}

/* Factors of L D L^T that are known but lose digits give a determinant even if no memory is left to factor
 * once more. */
static void check_scarce_memory(tristar_t *ts, const tristar_factor_t *f) {
  double scale[3];
  tristar_factor_stats stats;
  tristar_determinant found;
  CHECK_OK(tristar_factor_get_stats(f, &stats));
  CHECK_OK(tristar_factor_get_order(f, NULL, NULL, scale, NULL));
  for (int i = 0; i < 3; i++) scale[i] = fabs(scale[i]);
  const double spread = fmax(scale[0], fmax(scale[1], scale[2])) / fmin(scale[0], fmin(scale[1], scale[2]));
  if (stats.singular || stats.perturbed_pivots > 0 || !(spread < ldexp(1, 19))) return;
  CHECK_OK(tristar_limit_memory(ts, bytes_held(ts)));
  CHECK_OK(tristar_factor_get_determinant(f, &found));
  CHECK_OK(tristar_limit_memory(ts, 0));
}

/* New values make pivots weak: tiny diagonal entries. Then a change of low rank follows. */
static void check_weak_pivots(tristar_t *ts, tristar_method method, uint64_t state) {
  static const int64_t ptr[] = {0, 3, 5, 6};
  static const int32_t index[] = {0, 1, 2, 1, 2, 2}, w_ptr[] = {0, 3};
  static const double of_lu[] = {1.28e-22, 0.0174, 0.509, -1.018e-10, -0.482, -2.44e-23},
                      of_ldlt[] = {1, 2, -1, 2, 1, -3};
  const double *first = method == TRISTAR_METHOD_LU ? of_lu : of_ldlt;
  double a[6], w[3];
  const tristar_view v = stored_view(TRISTAR_CSC, TRISTAR_SYMMETRIC, TRISTAR_DOUBLE, 3, 3, ptr, index, first);
  const tristar_view of_w = {TRISTAR_CSC, TRISTAR_GENERAL, TRISTAR_DOUBLE, 3, 1, w_ptr, index, w, 32, 32, 0};
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  options.method = method;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &v, &options);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NEW_FACTOR(an, first);
  for (int e = 0; e < 6; e++) a[e] = (double)(below(&state, 2001) - 1000) / 1024;
  if (method == TRISTAR_METHOD_LDLT) a[0] = ldexp(1, -30 - (int)below(&state, 40));
  a[3] = ldexp(-1, -30 - (int)below(&state, 40));
  a[5] = ldexp(-1, -30 - (int)below(&state, 40));
  if (below(&state, 2) == 0) a[4] = 0;
  for (int turn = 0; turn < (method == TRISTAR_METHOD_LDLT ? 2 : 1); turn++) {
    tristar_determinant found;
    long double terms;
    if (turn == 0) {
      const tristar_status renewed_now = tristar_refactor(f, a);
      if (renewed_now == TRISTAR_ERR_STALE) break; /* these values need another matching */
      CHECK_OK(renewed_now);
    } else {
      for (int i = 0; i < 3; i++) w[i] = (double)(1 + below(&state, 3));
      for (int e = 0, j = 0; j < 3; j++)
        for (int i = j; i < 3; i++, e++) a[e] += w[i] * w[j];
      CHECK_OK(tristar_update_low_rank(f, &of_w, 0, NULL));
    }
    const long double expected = det_of_three(a, &terms);
    const tristar_status status = tristar_factor_get_determinant(f, &found);
    if (method == TRISTAR_METHOD_LDLT) check_scarce_memory(ts, f);
    if (!(fabsl(expected) > 1e-3L * terms) || status == TRISTAR_ERR_ACCURACY) continue;
    CHECK_OK(status);
    const long double error = ldexpl(found.mantissa[0], (int)found.exponent) - expected;
    CHECK_MSG(fabsl(error) <= 2e-12L * terms, "method %d, turn %d: det %Lg, error %Lg", (int)method, turn,
              expected, error);
  }
}

/* Rounding to single precision makes Cholesky succeed, although one eigenvalue is negative. */
static void check_single_cholesky(tristar_t *ts) {
  static const int32_t ptr[] = {0, 2, 3}, index[] = {0, 1, 1};
  int made = 0;
  for (int k = 3; k < 60; k++) {
    const double c = 1.0 / k, values[] = {1, c, c * c - 1e-11};
    const tristar_view v = {
        TRISTAR_CSC, TRISTAR_SYMMETRIC, TRISTAR_DOUBLE, 2, 2, ptr, index, values, 32, 32, 0};
    tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
    tristar_inertia inertia;
    options.method = TRISTAR_METHOD_LLT;
    options.single_factors = 1;
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &v, &options);
    CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
    if (tristar_factor(an, values, &f) != TRISTAR_OK) continue;
    CHECK_OK(tristar_factor_get_inertia(f, &inertia));
    CHECK(inertia.positive == 1 && inertia.negative == 1 && inertia.zero == 0);
    made++;
  }
  CHECK_MSG(made > 5, "%d factors", made);
}

/* A = L L^T - delta e_1 e_1^T with ones on the diagonal of L and -1 below it: the determinant is 1 - delta
 * (1 + (4^(n-1) - 1) / 3), and no pivot of single factors is small. */
static void make_hidden(int n, double delta, matrix *m) {
  *m = (matrix){.n = n, .value = 1 - delta * (1 + (ldexp(1, 2 * n - 2) - 1) / 3), .positive = n};
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) m->a[i][j] = i == j ? i + 1 : (i < j ? i : j) - 1;
  m->a[0][0] -= delta;
  if (creal(m->value) > 0) return;
  m->positive--;
  m->negative++;
}

/* Rounding A to single precision can change the sign of its determinant, also in loaded factors. */
static void check_rounded_matrices(tristar_t *ts) {
  static const tristar_method methods[] = {TRISTAR_METHOD_LLT, TRISTAR_METHOD_LDLT, TRISTAR_METHOD_LU};
  const char *path = "test_determinant.tristar";
  int made = 0;
  for (int k = 0; k < 3 * 3 * 8; k++) {
    const int n = 9 + k / 9;
    matrix m;
    make_hidden(n, ldexp(1, 4 - 2 * n - k / 3 % 3), &m);
    const tristar_view v = make_view(&typed_double, &m, TRISTAR_SYMMETRIC);
    tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
    options.method = methods[k % 3];
    options.single_factors = 1;
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NEW_ANALYSIS(ts, &v, &options);
    CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL, *loaded = NULL;
    if (tristar_factor(analysis, v.values, &f) != TRISTAR_OK) continue;
    CHECK_OK(tristar_factor_save(f, path));
    CHECK_OK(tristar_factor_load(ts, path, &loaded));
    const tristar_factor_t *both[] = {f, loaded};
    for (int which = 0; which < 2; which++) {
      tristar_determinant d;
      CHECK_OK(tristar_factor_get_determinant(both[which], &d));
      const double value = ldexp(d.mantissa[0], (int)d.exponent), expected = creal(m.value);
      CHECK_MSG(fabs(value - expected) < 1e-3 * fabs(expected), "order %d, method %d: %.17g, expected %.17g",
                n, (int)methods[k % 3], value, expected);
      if (methods[k % 3] != TRISTAR_METHOD_LU) check_inertia(&typed_double, &m, both[which]);
    }
    made++;
  }
  remove(path);
  CHECK_MSG(made > 40, "%d factors", made);
}

int main(void) {
  static const typed *const types[] = {&typed_single, &typed_double, &typed_complex_single,
                                       &typed_complex_double};
  tristar_t *ts = open_without_starpu(true);
  for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
    for (uint64_t seed = 1; seed <= 300; seed++) check_symmetric(ts, types[k], seed);
    for (uint64_t seed = 1; seed <= 300; seed++) check_general(ts, types[k], seed);
    for (int parts = 1; parts <= 3; parts++) {
      check_laplacian(ts, types[k], parts, 1);
      check_laplacian(ts, types[k], parts, -1);
    }
    for (uint64_t seed = 1; seed <= 300; seed++) check_renewed(ts, types[k], seed);
  }
  for (int most = 50; most <= 100; most += 50) {
    check_graded(ts, false, most);
    check_graded(ts, true, most);
  }
  check_grown(ts);
  check_second_failure(ts);
  for (uint64_t seed = 1; seed <= 300; seed++) {
    check_weak_pivots(ts, TRISTAR_METHOD_LU, seed);
    check_weak_pivots(ts, TRISTAR_METHOD_LDLT, seed);
  }
  check_null_row(ts);
  int graphs = 0;
  for (uint64_t seed = 1; seed <= 200; seed++) graphs += check_graph(ts, seed);
  CHECK_MSG(graphs > 60, "%d regular graphs", graphs);
  check_single_factors(ts);
  check_single_cholesky(ts);
  check_rounded_matrices(ts);
  check_nearly_singular(ts);
  check_edges(ts);
  printf("%d determinants, %d matrices refused, %d inertias of renewed values\n", computed, refused, renewed);
  CHECK(computed > 3500 && refused < 600 && renewed > 1000);
  tristar_destroy(&ts);
  return 0;
}
