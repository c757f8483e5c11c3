/* Schur complements and solves with them, held against Gaussian elimination of dense matrices in double
 * precision: all scalars, methods and operations; and, of large ones, against ordinary solves with A. */
#include "tests/support/context.h"
#include "tests/support/subtests.h"
#include "tests/support/typed.h"
#include "tristar_save.h"
#include "tristar_schur.h"
#include "tristar_solve.h"
#include "tristar_stats.h"

enum { N = 48, MOST = 12, NRHS = 3 };

typedef struct problem {
  int n, count;
  bool scaled;
  number a[N][N]; /* the first index is the row */
  int64_t schur[MOST];
} problem;

/* Makes a sparse matrix with entries of size one. `definite`: positive definite. Else about a third of the
 * diagonal entries that are eliminated are zero, with a large entry beside them. */
static problem make_problem(const typed *t, tristar_symmetry symmetry, bool definite, uint64_t seed) {
  problem m = {.n = 20 + (int)(seed % 28), .count = 1 + (int)(seed % MOST)};
  bool last[N] = {false};
  for (int k = 0; k < m.count; k++) {
    int row = (int)((uint64_t)(k * 7 + 3) * (seed + 1) % (uint64_t)m.n);
    while (last[row]) row = (row + 1) % m.n;
    last[row] = true;
    m.schur[k] = row;
  }
  for (int i = 0; i < m.n; i++)
    for (int j = 0; j < m.n; j++) {
      const uint64_t at = (uint64_t)(i * N + j) * 977 + seed * 31337;
      if (i == j || (int)(next_random(&(uint64_t){at}) % (uint64_t)m.n) > 3) continue;
      m.a[i][j] = random_value(at);
      if (!t->is_complex) __imag__ m.a[i][j] = 0;
    }
  int zero = -1; /* the latest eliminated row without a diagonal entry */
  for (int i = 0; i < m.n; i++) {
    if (last[i]) continue;
    m.a[i][i] = definite ? 12 : 3 + i % 3;
    if (definite || i % 3 != 0) continue;
    m.a[i][i] = 0;
    if (zero >= 0) {
      m.a[i][zero] = 5;
      m.a[zero][i] = symmetry == TRISTAR_GENERAL ? 7 : 5;
      zero = -1;
    } else
      zero = i;
  }
  if (zero >= 0) m.a[zero][zero] = 4;
  for (int k = 0; k < m.count;
       k++) { /* every second diagonal entry of the complement is zero, with a large entry beside it */
    const int row = (int)m.schur[k];
    if (k % 2 == 0)
      m.a[row][row] = 2;
    else
      m.a[row][m.schur[k - 1]] = m.a[m.schur[k - 1]][row] = 30;
  }
  for (int i = 0; i < m.n && symmetry != TRISTAR_GENERAL; i++)
    for (int j = 0; j < i; j++) m.a[j][i] = mirrored(symmetry, m.a[i][j]);
  return m;
}

/* Exponents of two that scale row i and column j. */
static int row_exponent(const problem *m, int i) {
  return m->scaled ? i % 4 * 8 : 0;
}
static int column_exponent(const problem *m, tristar_symmetry symmetry, int j) {
  return !m->scaled ? 0 : symmetry != TRISTAR_GENERAL ? j % 4 * 8 : -(j % 3) * 12;
}

static void scale(problem *m, tristar_symmetry symmetry) {
  m->scaled = true;
  for (int i = 0; i < m->n; i++)
    for (int j = 0; j < m->n; j++)
      m->a[i][j] *= ldexp(1, row_exponent(m, i) + column_exponent(m, symmetry, j));
}

static number op_entry(const problem *m, tristar_op op, int i, int j) {
  return op == TRISTAR_N ? m->a[i][j] : op == TRISTAR_T ? m->a[j][i] : conj(m->a[j][i]);
}

/* b := a^-1 b by Gaussian elimination with partial pivoting, after the rows were equilibrated. */
static void eliminate(int n, number *a, int columns, number *b) {
  for (int i = 0; i < n; i++) {
    double largest = 0;
    for (int j = 0; j < n; j++) largest = fmax(largest, cabs(a[i * n + j]));
    for (int j = 0; j < n; j++) a[i * n + j] /= largest;
    for (int c = 0; c < columns; c++) b[i * columns + c] /= largest;
  }
  for (int k = 0; k < n; k++) {
    int best = k;
    for (int i = k; i < n; i++)
      if (cabs(a[i * n + k]) > cabs(a[best * n + k])) best = i;
    for (int j = 0; j < n; j++) {
      const number keep = a[k * n + j];
      a[k * n + j] = a[best * n + j];
      a[best * n + j] = keep;
    }
    for (int c = 0; c < columns; c++) {
      const number keep = b[k * columns + c];
      b[k * columns + c] = b[best * columns + c];
      b[best * columns + c] = keep;
    }
    for (int i = k + 1; i < n; i++) {
      const number l = a[i * n + k] / a[k * n + k];
      for (int j = k; j < n; j++) a[i * n + j] -= l * a[k * n + j];
      for (int c = 0; c < columns; c++) b[i * columns + c] -= l * b[k * columns + c];
    }
  }
  for (int k = n; k-- > 0;)
    for (int c = 0; c < columns; c++) {
      for (int j = k + 1; j < n; j++) b[k * columns + c] -= a[k * n + j] * b[j * columns + c];
      b[k * columns + c] /= a[k * n + k];
    }
}

/* A_SS - A_SI A_II^-1 A_IS, count x count, by rows. size: the scale of the rounding errors of each entry. */
static void true_schur(const problem *m, number *s, double *size) {
  const int rest = m->n - m->count;
  int other[N], at = 0;
  for (int i = 0; i < m->n; i++) {
    bool last = false;
    for (int k = 0; k < m->count; k++) last = last || m->schur[k] == i;
    if (!last) other[at++] = i;
  }
  OWNED number *a = xcalloc((size_t)(rest * rest), sizeof *a), *b = xcalloc((size_t)(rest * rest), sizeof *b);
  for (int i = 0; i < rest; i++) {
    for (int j = 0; j < rest; j++) a[i * rest + j] = m->a[other[i]][other[j]];
    b[i * rest + i] = 1;
  }
  eliminate(rest, a, rest, b);
  for (int i = 0; i < m->count; i++)
    for (int j = 0; j < m->count; j++) {
      number sum = m->a[m->schur[i]][m->schur[j]];
      double of_terms = cabs(sum);
      for (int k = 0; k < rest; k++)
        for (int l = 0; l < rest; l++) {
          const number term = m->a[m->schur[i]][other[k]] * b[k * rest + l] * m->a[other[l]][m->schur[j]];
          sum -= term;
          of_terms += cabs(term);
        }
      s[i * m->count + j] = sum;
      size[i * m->count + j] = of_terms;
    }
}

/* Condenses, solves with the library's complement, and expands. */
static void check_solve(const typed *t, const problem *m, const tristar_view *v, tristar_plan_t *plan,
                        const void *schur, tristar_op op, double tolerance) {
  const int n = m->n, count = m->count;
  char b[N * NRHS * sizeof(number)], y[sizeof b], x[sizeof b], g[MOST * NRHS * sizeof(number)], xs[sizeof g];
  number s[MOST * MOST], right[MOST * NRHS];
  for (int i = 0; i < n * NRHS; i++) put(t, b, i, random_value((uint64_t)i + 77));
  CHECK_OK(tristar_schur_condense(plan, op, NRHS, b, n, y, n, g, count));
  for (int i = 0; i < count; i++) {
    for (int j = 0; j < count; j++) {
      const number plain = get(t, schur, op == TRISTAR_N ? i + j * count : j + i * count);
      s[i * count + j] = op == TRISTAR_C ? conj(plain) : plain;
    }
    for (int c = 0; c < NRHS; c++) right[i * NRHS + c] = get(t, g, i + c * count);
  }
  eliminate(count, s, NRHS, right);
  for (int i = 0; i < count; i++)
    for (int c = 0; c < NRHS; c++) put(t, xs, i + c * count, right[i * NRHS + c]);
  CHECK_OK(tristar_schur_expand(plan, op, NRHS, y, n, xs, count, x, n));
  for (int c = 0; c < NRHS; c++) {
    for (int k = 0; k < count; k++) CHECK(get(t, x, m->schur[k] + c * n) == get(t, xs, k + c * count));
    for (int i = 0; i < n; i++) {
      number sum = -get(t, b, i + c * n);
      double of_terms = cabs(sum);
      for (int j = 0; j < n; j++) {
        const number term = op_entry(m, op, i, j) * get(t, x, j + c * n);
        sum += term;
        of_terms += cabs(term);
      }
      CHECK_MSG(cabs(sum) <= tolerance * of_terms, "op %c, row %d: residual %.2g of %.2g", (char)op, i,
                cabs(sum), of_terms);
    }
  }
  CHECK_OK(tristar_schur_expand(plan, op, NRHS, y, n, xs, count, y, n)); /* in place */
  CHECK(memcmp(x, y, (size_t)(n * NRHS) * t->bytes) == 0);
  CHECK_OK(tristar_schur_condense(plan, op, NRHS, b, n, b, n, xs, count));
  CHECK(memcmp(g, xs, (size_t)(count * NRHS) * t->bytes) == 0);
  (void)v;
}

static void check_problem(tristar_t *ts, const typed *t, tristar_symmetry symmetry, tristar_method method,
                          const problem *m, const problem *plain, tristar_inverse inverse) {
  const tristar_view v = typed_dense_view(t, m->n, m->a[0], N, symmetry);
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NULL;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NULL;
  char schur[MOST * MOST * sizeof(number)];
  number s[MOST * MOST];
  double size[MOST * MOST];
  options.method = method;
  options.inverse = inverse;
  options.schur = m->schur;
  options.schur_count = m->count;
  CHECK_OK(tristar_analyze(ts, &v, &options, &analysis));
  const tristar_status made = tristar_factor(analysis, v.values, &f);
  char text[300];
  tristar_get_error(ts, text, sizeof text);
  CHECK_MSG(made == TRISTAR_OK, "%c, symmetry %d, method %d, order %d, %d unknowns: %s", (char)t->scalar,
            (int)symmetry, (int)method, m->n, m->count, text);
  CHECK_OK(tristar_schur_get(f, schur, m->count));
  true_schur(plain, s, size);
  const double tolerance = 5e3 * t->roundoff;
  for (int i = 0; i < m->count; i++)
    for (int j = 0; j < m->count; j++) {
      const number stored = get(t, schur, i + j * m->count);
      const number got = stored * ldexp(1, -row_exponent(m, (int)m->schur[i]) -
                                               column_exponent(m, symmetry, (int)m->schur[j]));
      CHECK_MSG(cabs(got - s[i * m->count + j]) <= tolerance * size[i * m->count + j],
                "%c, entry (%d,%d) of %d: %.9g %+.9g i, expected %.9g %+.9g i", (char)t->scalar, i, j,
                m->count, creal(got), cimag(got), creal(s[i * m->count + j]), cimag(s[i * m->count + j]));
      if (symmetry != TRISTAR_GENERAL && symmetry != TRISTAR_SKEW_SYMMETRIC && method != TRISTAR_METHOD_LU)
        CHECK(stored == mirrored(symmetry, get(t, schur, j + i * m->count)));
    }
  CHECK_OK(tristar_plan(f, NULL, &plan));
  check_solve(t, m, &v, plan, schur, TRISTAR_N, 100 * tolerance);
  check_solve(t, m, &v, plan, schur, TRISTAR_T, 100 * tolerance);
  check_solve(t, m, &v, plan, schur, TRISTAR_C, 100 * tolerance);
}

static void check_kind(tristar_t *ts, const typed *t, tristar_symmetry symmetry, tristar_method method,
                       bool definite, bool scaled) {
  for (uint64_t seed = 1; seed <= 8; seed++) {
    problem m = make_problem(t, symmetry, definite, seed);
    const problem plain = m;
    if (scaled) scale(&m, symmetry);
    check_problem(ts, t, symmetry, method, &m, &plain, (tristar_inverse)(seed % 3));
  }
}

static void check_type(tristar_t *ts, const typed *t) {
  const tristar_symmetry hermitian = t->is_complex ? TRISTAR_HERMITIAN : TRISTAR_SYMMETRIC;
  for (int scaled = 0; scaled < (t->is_single ? 1 : 2); scaled++) {
    check_kind(ts, t, TRISTAR_GENERAL, TRISTAR_METHOD_LU, true, scaled);
    check_kind(ts, t, TRISTAR_GENERAL, TRISTAR_METHOD_AUTO, false, scaled);
    check_kind(ts, t, TRISTAR_SYMMETRIC, TRISTAR_METHOD_LDLT, false, scaled);
    check_kind(ts, t, hermitian, TRISTAR_METHOD_LDLT, false, scaled);
    check_kind(ts, t, hermitian, TRISTAR_METHOD_LLT, true, scaled);
    check_kind(ts, t, TRISTAR_SYMMETRIC, TRISTAR_METHOD_AUTO, true, scaled);
  }
}

/* ---- Large ones ---------------------------------------------------------------------------------------- */

enum { LARGE_COUNT = 600, SAMPLES = 3 };

/* S (A^-1 e_k)_S = (e_k)_S. The complement has several panels and is cut into tiles. */
static void check_large(tristar_t *ts, const char *kind, int64_t size, tristar_method method,
                        tristar_ordering ordering) {
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *matrix = NULL;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NULL, *whole = NULL;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL, *of_whole = NULL;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NULL;
  const tristar_view v = generated_view(ts, kind, size, &matrix);
  const int64_t n = v.rows;
  int64_t schur[LARGE_COUNT];
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  OWNED double *s = xcalloc(LARGE_COUNT * LARGE_COUNT, sizeof *s), *x = xcalloc((size_t)n, sizeof *x);
  for (int k = 0; k < LARGE_COUNT; k++) schur[k] = (n - 1 - k * (n / LARGE_COUNT)) % n;
  options.method = method;
  options.ordering = ordering;
  CHECK_OK(tristar_analyze(ts, &v, &options, &whole));
  options.schur = schur;
  options.schur_count = LARGE_COUNT;
  CHECK_OK(tristar_analyze(ts, &v, &options, &analysis));
  CHECK_OK(tristar_factor(analysis, v.values, &f));
  CHECK_OK(tristar_refactor(f, v.values));
  CHECK_OK(tristar_schur_get(f, s, LARGE_COUNT));
  CHECK_OK(tristar_factor(whole, v.values, &of_whole));
  CHECK_OK(tristar_plan(of_whole, NULL, &plan));
  for (int sample = 0; sample < SAMPLES; sample++) {
    const int k = sample * (LARGE_COUNT - 1) / (SAMPLES - 1);
    for (int64_t i = 0; i < n; i++) x[i] = i == schur[k];
    CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, x, n, x, n));
    for (int i = 0; i < LARGE_COUNT; i++) {
      double sum = 0, terms = 0;
      for (int j = 0; j < LARGE_COUNT; j++) {
        sum += s[i + j * LARGE_COUNT] * x[schur[j]];
        terms += fabs(s[i + j * LARGE_COUNT] * x[schur[j]]);
      }
      CHECK_MSG(fabs(sum - (i == k)) <= 1e-10 * (terms + 1), "column %d, row %d: %g", k, i, sum);
    }
  }
}

/* ---- What is refused ----------------------------------------------------------------------------------- */

static tristar_status analyze(tristar_t *ts, const tristar_view *v, const int64_t *schur, int64_t count,
                              tristar_analysis_t **out) {
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  options.schur = schur;
  options.schur_count = count;
  return tristar_analyze(ts, v, &options, out);
}

static void check_lists(tristar_t *ts) {
  const int64_t outside[] = {1, 4}, negative[] = {-1}, twice[] = {2, 0, 2}, all[] = {0, 1, 2, 3};
  number a[16] = {0};
  tristar_analysis_t *analysis;
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  for (int i = 0; i < 4; i++) a[5 * i] = 1;
  const tristar_view v = typed_dense_view(&typed_double, 4, a, 4, TRISTAR_SYMMETRIC);
  CHECK_STATUS(analyze(ts, &v, outside, 2, &analysis), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(analyze(ts, &v, negative, 1, &analysis), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(analyze(ts, &v, twice, 3, &analysis), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(analyze(ts, &v, all, 4, &analysis), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(analyze(ts, &v, all, 0, &analysis), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(analyze(ts, &v, NULL, 1, &analysis), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(analyze(ts, &v, all, -1, &analysis), TRISTAR_ERR_ARGUMENT);
  options.schur = all;
  options.schur_count = 1;
  options.leaf_parts = 2;
  CHECK_STATUS(tristar_analyze(ts, &v, &options, &analysis), TRISTAR_ERR_UNSUPPORTED);
}

/* A_II is singular: by its structure, or by its values. */
static void check_singular(tristar_t *ts, tristar_symmetry symmetry, bool by_values) {
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NULL;
  tristar_factor_t *f;
  const int64_t schur[] = {2};
  number a[16] = {0};
  a[0] = 2, a[1] = a[4] = 2, a[5] = by_values ? 2 : 1, a[15] = 1;   /* rows 0, 1 and 3 */
  a[2] = a[8] = 1, a[6] = a[9] = 3, a[10] = 1, a[11] = a[14] = 1;   /* row 2 */
  if (!by_values) a[0] = a[1] = a[4] = a[15] = 0, a[7] = a[13] = 1; /* row 0 has column 2 only */
  const tristar_view v = typed_dense_view(&typed_double, 4, a, 4, symmetry);
  const tristar_status status = analyze(ts, &v, schur, 1, &analysis);
  if (!by_values) {
    CHECK(status == TRISTAR_ERR_SINGULAR);
    return;
  }
  CHECK_OK(status);
  CHECK_STATUS(tristar_factor(analysis, v.values, &f), TRISTAR_ERR_SINGULAR);
}

/* A_II is the Laplacian of a connected graph without boundary conditions: its rows sum to zero. A_IS is in
 * its range, so solves with A_II leave no residual. */
static void make_floating(problem *m, bool symmetric, uint64_t seed) {
  number a[N][N] = {{0}};
  const int rest = 3 + (int)(next_random(&seed) % 20);
  *m = (problem){.n = rest + 1 + (int)(next_random(&seed) % 4)};
  m->count = m->n - rest;
  for (int i = 1; i < rest; i++)
    for (int j = 0; j < i; j++) {
      if (j < i - 1 && next_random(&seed) % (uint64_t)rest > 1) continue;
      const double weight = 0.1 + (double)(float)(next_random(&seed) % 1000) / 900;
      a[i][j] = a[j][i] = -(double)(float)weight;
      a[i][i] -= a[i][j], a[j][j] -= a[i][j];
    }
  for (int k = rest; k < m->n; k++) {
    const int of_range = (int)(next_random(&seed) % (uint64_t)rest); /* a column of A_II */
    for (int i = 0; i < rest; i++) {
      a[i][k] = a[i][of_range];
      a[k][i] = symmetric ? a[i][k] : random_value(seed + (uint64_t)i);
      __imag__ a[k][i] = 0;
    }
    a[k][k] = 5;
  }
  for (int i = 0; i < m->n; i++) /* reverses the order of rows and columns */
    for (int j = 0; j < m->n; j++) m->a[m->n - 1 - i][m->n - 1 - j] = a[i][j];
  for (int k = 0; k < m->count; k++) m->schur[k] = k;
}

/* Rounding errors can make the pivots of a singular A_II look regular. PERTURB accepts such a factor if its
 * solves are accurate. */
static void check_floating(tristar_t *ts, tristar_symmetry symmetry, tristar_singular singular) {
  const bool refuse = singular == TRISTAR_SINGULAR_REFUSE;
  int accepted = 0;
  for (uint64_t seed = 1; seed <= 1500; seed++) {
    problem m;
    tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
    tristar_factor_stats stats;
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NULL;
    CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
    make_floating(&m, symmetry == TRISTAR_SYMMETRIC, seed);
    const tristar_view v = typed_dense_view(&typed_double, m.n, m.a[0], N, symmetry);
    options.schur = m.schur;
    options.schur_count = m.count;
    options.singular = singular;
    CHECK_OK(tristar_analyze(ts, &v, &options, &analysis));
    const tristar_status status = tristar_factor(analysis, v.values, &f);
    CHECK(status == TRISTAR_OK || status == (refuse ? TRISTAR_ERR_SINGULAR : TRISTAR_ERR_ACCURACY));
    accepted += status == TRISTAR_OK;
    if (status != TRISTAR_OK) continue;
    CHECK_OK(tristar_factor_get_stats(f, &stats));
    CHECK_MSG(stats.solve_error <= cbrt(DBL_EPSILON), "the error of a trial is %g", stats.solve_error);
  }
  CHECK_MSG(!refuse || accepted == 0, "%d complements of singular A_II", accepted);
}

/* A skew-symmetric A_II of odd order is singular; one of even order need not be. */
static void check_skew(tristar_t *ts) {
  const int64_t schur[] = {4, 2};
  number a[25] = {0};
  for (int i = 0; i < 5; i++)
    for (int j = 0; j < 5; j++) a[5 * i + j] = (i - j) * (1 + i * j % 3);
  for (int even = 0; even < 2; even++) {
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NULL;
    CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
    const tristar_view v = typed_dense_view(&typed_double, 5, a, 5, TRISTAR_SKEW_SYMMETRIC);
    const tristar_status status = analyze(ts, &v, schur, even ? 1 : 2, &analysis);
    CHECK(status == (even ? TRISTAR_OK : TRISTAR_ERR_SINGULAR));
    if (!even) CHECK_ERROR(ts, "schur leaves 3 rows of a skew-symmetric matrix");
    if (even) CHECK_OK(tristar_factor(analysis, v.values, &f));
  }
}

/* A plan may store the factor of a complement in a narrower format, although trial solves with A cannot judge
 * the format. */
static void check_storage(tristar_t *ts) {
  const int64_t schur[] = {4};
  number a[25] = {0};
  for (int i = 0; i < 5; i++)
    for (int j = 0; j < 5; j++) a[5 * i + j] = i == j ? 8 : (i + 2 * j) % 3;
  const tristar_view v = typed_dense_view(&typed_double, 5, a, 5, TRISTAR_GENERAL);
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NULL;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NULL;
  options.storage = TRISTAR_STORAGE_SINGLE;
  CHECK_OK(analyze(ts, &v, schur, 1, &analysis));
  CHECK_OK(tristar_factor(analysis, v.values, &f));
  CHECK_OK(tristar_plan(f, &options, &plan));
}

/* A_II is regular with condition 170, but LU without a matching finds a zero pivot. */
static void check_matched(tristar_t *ts) {
  enum { n = 16 };
  static const int ptr[n + 1] = {0, 4, 11, 14, 17, 20, 25, 29, 31, 36, 38, 43, 46, 51, 54, 56, 58};
  static const int row[] = {0, 2,  5,  9, 1,  3,  6, 7, 8,  12, 13, 0, 2, 12, 3, 12, 15, 0,  4, 7,
                            1, 3,  5,  9, 11, 4,  6, 9, 15, 7,  13, 1, 5, 7,  8, 12, 9,  12, 2, 4,
                            9, 10, 14, 3, 4,  11, 2, 3, 7,  12, 13, 5, 8, 13, 2, 14, 0,  15};
  static const double a[] = {-2, 2, 3,  -1, -3, 1,  3, 1,  3,  -2, -1, 1,  -1, 1,  -2, 1,  -2, -2, 2, -1,
                             -1, 3, -1, -2, -2, 1,  1, 1,  -1, -1, -1, -1, -1, -3, -3, 2,  -2, -2, 1, 2,
                             3,  2, -3, 3,  -3, -3, 1, -1, 3,  3,  1,  -3, -3, -3, -2, -2, 0,  0};
  const tristar_view v = {TRISTAR_CSC, TRISTAR_GENERAL, TRISTAR_DOUBLE, n, n, ptr, row, a, 32, 32, 0};
  const int64_t schur[] = {n - 1};
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NULL;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
  tristar_factor_stats stats;
  CHECK_OK(analyze(ts, &v, schur, 1, &analysis));
  CHECK_OK(tristar_factor(analysis, a, &f));
  CHECK_OK(tristar_factor_get_stats(f, &stats));
  CHECK_MSG(stats.perturbed_pivots == 0, "%d perturbed pivots", (int)stats.perturbed_pivots);
  CHECK_OK(tristar_refactor(f, a));
}

/* Multiplies the rows and columns of the complement by powers of two. A_II is unchanged. */
static void scale_kept(problem *m, tristar_symmetry symmetry, int most, int *row, int *column) {
  for (int k = 0; k < m->count; k++) {
    row[k] = (k * 37 + 11) % (2 * most + 1) - most;
    column[k] = symmetry != TRISTAR_GENERAL ? row[k] : (k * 53 + 29) % (2 * most + 1) - most;
    for (int j = 0; j < m->n; j++) m->a[m->schur[k]][j] *= ldexp(1, row[k]);
    for (int i = 0; i < m->n; i++) m->a[i][m->schur[k]] *= ldexp(1, column[k]);
  }
}

static void compute_schur(tristar_t *ts, const typed *t, const problem *m, tristar_symmetry symmetry,
                          char *s) {
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NULL;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
  const tristar_view v = typed_dense_view(t, m->n, m->a[0], N, symmetry);
  CHECK_OK(analyze(ts, &v, m->schur, m->count, &analysis));
  CHECK_OK(tristar_factor(analysis, v.values, &f));
  CHECK_OK(tristar_schur_get(f, s, m->count));
}

/* The scaling of A_II does not depend on the units of the complement. So the complement has the same bits,
 * in these units. */
static void check_units(tristar_t *ts, const typed *t, tristar_symmetry symmetry, bool definite) {
  for (uint64_t seed = 1; seed <= 6; seed++) {
    problem m = make_problem(t, symmetry, definite, seed);
    char plain[16 * MOST * MOST], scaled[16 * MOST * MOST];
    int row[MOST], column[MOST];
    compute_schur(ts, t, &m, symmetry, plain);
    scale_kept(&m, symmetry, t->is_single ? 18 : 200, row, column);
    compute_schur(ts, t, &m, symmetry, scaled);
    for (int j = 0; j < m.count; j++)
      for (int i = 0; i < m.count; i++) {
        const number was = get(t, plain, j * m.count + i), is = get(t, scaled, j * m.count + i);
        CHECK_MSG(is == was * ldexp(1, row[i] + column[j]), "entry (%d,%d) of problem %d", i, j, (int)seed);
      }
  }
}

/* A_II is diagonal, with entries of very different sizes, also in the other blocks. */
static void check_diagonal(tristar_t *ts, tristar_method method) {
  static const int ptr[] = {0, 1, 3, 5, 6, 7}, row[] = {0, 1, 4, 2, 3, 3, 4};
  static const double a[] = {0x1p-29, 0x1.cp-30, 0x1.4p27, -0x1p29, 0x1.2p32, -0x1.8p30, 0x1.4p31};
  static const int64_t schur[] = {1, 2, 3};
  const tristar_view v = {TRISTAR_CSC, TRISTAR_SYMMETRIC, TRISTAR_DOUBLE, 5, 5, ptr, row, a, 32, 32, 0};
  for (int matching = 0; matching < 3; matching++) {
    tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NULL;
    CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
    double s[9];
    options.method = method;
    options.matching = (tristar_matching)matching;
    options.schur = schur;
    options.schur_count = 3;
    CHECK_OK(tristar_analyze(ts, &v, &options, &analysis));
    CHECK_OK(tristar_factor(analysis, a, &f));
    CHECK_OK(tristar_schur_get(f, s, 3));
    CHECK(s[0] == a[1] - a[2] * a[2] / a[6] && s[4] == a[3] && s[5] == a[4] && s[8] == a[5]);
  }
}

/* A_II is skew-symmetric with condition 1.1: x_I solves its equations up to rounding errors. */
static void check_expanded(tristar_t *ts) {
  enum { n = 6, count = 2 };
  static const int ptr[] = {0, 1, 4, 5, 6, 6, 6}, row[] = {1, 2, 4, 5, 5, 4};
  static const double a[] = {-12224924.434222877, -1.5034266188562592e-05, -18750948727.038696,
                             5195.8052569679458,  2717988.9251961298,      -2.1224058612556979e-14};
  static const double b[n] = {.3, -.7, .2, .5, -.4, .9}, x_s[count] = {.6, -.8};
  static const int64_t schur[count] = {3, 4};
  const tristar_view v = {TRISTAR_CSC, TRISTAR_SKEW_SYMMETRIC, TRISTAR_DOUBLE, n, n, ptr, row, a, 32, 32, 0};
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NULL;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NULL;
  CHECK_OK(analyze(ts, &v, schur, count, &analysis));
  CHECK_OK(tristar_factor(analysis, a, &f));
  CHECK_OK(tristar_plan(f, NULL, &plan));
  for (int transposed = 0; transposed < 2; transposed++) {
    const tristar_op op = transposed ? TRISTAR_T : TRISTAR_N;
    const double sign = transposed ? -1 : 1;
    double x[n], g[count], residual[n], size = 0;
    CHECK_OK(tristar_schur_condense(plan, op, 1, b, n, x, n, g, count));
    CHECK_OK(tristar_schur_expand(plan, op, 1, x, n, x_s, count, x, n));
    memcpy(residual, b, sizeof residual);
    for (int j = 0; j < n; j++)
      for (int p = ptr[j]; p < ptr[j + 1]; p++) {
        residual[row[p]] -= sign * a[p] * x[j];
        residual[j] += sign * a[p] * x[row[p]];
        size = fmax(size, fabs(a[p]) * fmax(fabs(x[j]), fabs(x[row[p]])));
      }
    for (int i = 0; i < n; i++)
      CHECK_MSG(i == 3 || i == 4 || fabs(residual[i]) <= 1e-13 * size, "row %d: %.1e", i, residual[i] / size);
  }
}

/* A_II is upper bidiagonal, and the scales of its rows and columns differ widely. Rows of op(A) x = b with
 * small terms keep their digits, also with new values. */
static void check_far_units(tristar_t *ts, const typed *t, bool renewed) {
  static const double diagonal[] = {0.5, 1, 0.4, 0.8, 0.6, 1,    1,   0.02, 1,
                                    0.5, 1, 0.3, 1,   0.5, 0.06, 0.1, 1,    0.4},
                      beside[] = {2e6, 1e2, 1e2, 8,   1e2, 2e4, 2e1, 6e1, 4e3,
                                  8,   3e2, 2e1, 2e6, 4,   3e8, 4,   7e4},
                      right[] = {0, 0, 0, 25.3, 1.86, 32768, 2, 64, 1, 0, 0, 35.8, 7.56e6, 1.69, 0, 12, 3, 0};
  const problem far = {.n = 18, .count = 1, .schur = {2}};
  problem m = far, first = far;
  char b[N * sizeof(number)], y[sizeof b], x[sizeof b], g[sizeof(number)], xs[sizeof g];
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NULL;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NULL;
  for (int i = 0; i < m.n; i++) {
    first.a[i][i] = 2;
    m.a[i][i] = diagonal[i];
    if (i + 1 < m.n) first.a[i][i + 1] = 1, m.a[i][i + 1] = beside[i];
  }
  const tristar_view old = typed_dense_view(t, m.n, renewed ? first.a[0] : m.a[0], N, TRISTAR_GENERAL);
  CHECK_OK(analyze(ts, &old, m.schur, 1, &analysis));
  CHECK_OK(tristar_factor(analysis, old.values, &f));
  if (renewed) {
    const tristar_view v = typed_dense_view(t, m.n, m.a[0], N, TRISTAR_GENERAL);
    CHECK_OK(tristar_refactor(f, v.values));
  }
  CHECK_OK(tristar_plan(f, NULL, &plan));
  put(t, xs, 0, 1);
  for (int transposed = 0; transposed < 2; transposed++) {
    const tristar_op op = transposed ? TRISTAR_T : TRISTAR_N;
    for (int i = 0; i < m.n; i++) put(t, b, i, right[i]);
    CHECK_OK(tristar_schur_condense(plan, op, 1, b, m.n, y, m.n, g, 1));
    CHECK_OK(tristar_schur_expand(plan, op, 1, y, m.n, xs, 1, x, m.n));
    for (int i = 0; i < m.n; i++) {
      number sum = -get(t, b, i);
      double of_terms = cabs(sum);
      for (int j = 0; j < m.n; j++) {
        sum += op_entry(&m, op, i, j) * get(t, x, j);
        of_terms += cabs(op_entry(&m, op, i, j) * get(t, x, j));
      }
      CHECK_MSG(i == 2 || cabs(sum) <= 100 * t->roundoff * of_terms, "op %c, row %d: residual %.2g of %.2g",
                (char)op, i, cabs(sum), of_terms);
    }
  }
}

/* Triples of rows a, b, p. The block of a and b is singular. p makes A_II regular, but is eliminated later,
 * in another supernode. `regular`: the block is regular. */
static void make_triples(problem *m, const typed *t, tristar_symmetry symmetry, bool regular) {
  *m = (problem){.n = 39, .count = 3, .schur = {36, 37, 38}}; /* row 38 has only a diagonal entry */
  for (int i = 0; i < m->n; i++) m->a[i][i] = 1;
  for (int a = 0; a < 36; a += 3) {
    const int b = a + 1, p = a + 2, next = (a + 5) % 36;
    m->a[a][b] = m->a[b][a] = 1;
    m->a[b][b] = regular ? 2 : 1;
    m->a[a][p] = symmetry == TRISTAR_GENERAL ? 0.4 : 0.5;
    m->a[p][a] = 0.5;
    if (t->is_complex) __imag__ m->a[p][a] = 0.25;
    m->a[p][next] = m->a[next][p] = 0.125;
    for (int k = a; k <= p; k++) m->a[36 + a % 2][k] = m->a[k][36 + a % 2] = k - a - 0.75;
  }
  for (int i = 0; i < m->n && symmetry != TRISTAR_GENERAL; i++)
    for (int j = 0; j < i; j++) m->a[j][i] = mirrored(symmetry, m->a[i][j]);
}

static void check_triples(const typed *t, const problem *m, const tristar_factor_t *f, bool refined,
                          double times) {
  char schur[MOST * MOST * sizeof(number)];
  number s[MOST * MOST];
  double size[MOST * MOST];
  tristar_factor_stats stats;
  CHECK_OK(tristar_factor_get_stats(f, &stats));
  CHECK((stats.perturbed_pivots > 0) == refined && stats.schur_refined == refined && !stats.singular);
  CHECK_OK(tristar_schur_get(f, schur, m->count));
  true_schur(m, s, size);
  for (int i = 0; i < m->count; i++)
    for (int j = 0; j < m->count; j++) {
      const number got = get(t, schur, i + j * m->count) / times, expected = s[i * m->count + j];
      CHECK_MSG(cabs(got - expected) <= 500 * t->roundoff * size[i * m->count + j], "%c: %.9g, not %.9g",
                (char)t->scalar, creal(got), creal(expected));
    }
}

/* Makes an ordering in which the block of each triple is eliminated before p. */
static void order_triples(const problem *m, int64_t *permutation) {
  int64_t at = 0;
  for (int turn = 0; turn < 2; turn++)
    for (int i = 0; i < m->n; i++)
      if ((i % 3 == 2 || i >= 36) == turn) permutation[at++] = i;
}

enum { COLUMNS = 20, BAD = 3 };

/* Column BAD of these `count` rows has failed: it has only NaN, and the message names it. */
static void check_bad_column(tristar_t *ts, const typed *t, int64_t count, const void *rows) {
  CHECK_ERROR(ts, ", 3) of ");
  for (int64_t i = 0; i < count; i++) CHECK(isnan(creal(get(t, rows, BAD * count + i))));
}

/* All columns except BAD are equal up to rounding errors. */
static void check_good_columns(const typed *t, int64_t count, const void *rows, const void *expected) {
  for (int64_t k = 0; k < COLUMNS * count; k++) {
    const number a = get(t, rows, k), b = get(t, expected, k);
    CHECK_MSG(k / count == BAD || cabs(a - b) <= 1e3 * t->roundoff * (cabs(b) + 10), "%.9g, not %.9g",
              creal(a), creal(b));
  }
}

/* One column is not finite. The others are condensed, and expanded in place, as if they were alone. */
static void check_other_columns(tristar_t *ts, const typed *t, const problem *m, tristar_plan_t *plan) {
  const int64_t n = m->n, count = m->count;
  const size_t bytes = (size_t)n * t->bytes, bytes_s = (size_t)count * t->bytes;
  char b[COLUMNS * N * sizeof(number)], y[sizeof b], x[sizeof b], in_place[sizeof b];
  char g[COLUMNS * MOST * sizeof(number)], x_s[sizeof g];
  for (int64_t k = 0; k < COLUMNS * n; k++) put(t, b, k, (double)(k % 7) - 2.5);
  for (size_t c = 0; c < COLUMNS; c++) {
    char *one = g + c * bytes_s;
    CHECK_OK(tristar_schur_condense(plan, TRISTAR_N, 1, b + c * bytes, n, y + c * bytes, n, one, count));
    CHECK_OK(tristar_schur_expand(plan, TRISTAR_N, 1, y + c * bytes, n, one, count, x + c * bytes, n));
  }
  for (int64_t k = 0; k < n; k += 19) { /* rows 0, 19, and 38, which has no other entries */
    const number kept = get(t, b, BAD * n + k);
    put(t, b, BAD * n + k, NAN);
    CHECK_STATUS(tristar_schur_condense(plan, TRISTAR_N, COLUMNS, b, n, in_place, n, x_s, count),
                 TRISTAR_ERR_NOT_FINITE);
    check_bad_column(ts, t, count, x_s);
    check_good_columns(t, count, x_s, g);
    put(t, b, BAD * n + k, kept);
  }
  for (int64_t k = 0; k <= count; k++) { /* NaN in y, or in x_s */
    memcpy(in_place, y, COLUMNS * bytes);
    memcpy(x_s, g, COLUMNS * bytes_s);
    if (k == count)
      put(t, in_place, BAD * n, NAN);
    else
      put(t, x_s, BAD * count + k, NAN);
    CHECK_STATUS(tristar_schur_expand(plan, TRISTAR_N, COLUMNS, in_place, n, x_s, count, in_place, n),
                 TRISTAR_ERR_NOT_FINITE);
    check_bad_column(ts, t, n, in_place);
    check_good_columns(t, n, in_place, x);
  }
}

/* Column 2 of g is infinite. The solve for column 5 does not reach the accuracy of the plan. The first
 * failure is returned, column 2 has only NaN, and column 5 the best values. */
static void check_two_failures(tristar_t *ts, const typed *t, const problem *m, tristar_factor_t *f) {
  const int64_t n = m->n, count = m->count;
  char b[COLUMNS * N * sizeof(number)], x[sizeof b], g[COLUMNS * MOST * sizeof(number)];
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NULL;
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  options.accuracy = 1e-30;
  CHECK_OK(tristar_plan(f, &options, &plan));
  memset(b, 0, sizeof b);
  for (int64_t i = 0; i < n; i++) put(t, b, 5 * n + i, random_value((uint64_t)i + 5));
  CHECK_STATUS(tristar_schur_condense(plan, TRISTAR_N, COLUMNS, b, n, x, n, g, count), TRISTAR_ERR_ACCURACY);
  CHECK_ERROR(ts, "column 5 of g");
  put(t, b, 2 * n + 38, INFINITY);
  CHECK_STATUS(tristar_schur_condense(plan, TRISTAR_N, COLUMNS, b, n, x, n, g, count),
               TRISTAR_ERR_NOT_FINITE);
  CHECK_ERROR(ts, ", 2) of g");
  for (int64_t k = 0; k < COLUMNS * count; k++)
    CHECK(k / count == 2 ? isnan(creal(get(t, g, k))) : isfinite(cabs(get(t, g, k))));
  memset(g, 0, sizeof g);
  put(t, g, 2 * count + 2, NAN);
  put(t, b, 2 * n + 38, 0);
  CHECK_STATUS(tristar_schur_expand(plan, TRISTAR_N, COLUMNS, b, n, g, count, b, n), TRISTAR_ERR_NOT_FINITE);
  CHECK_ERROR(ts, ", 2) of x");
  for (int64_t k = 0; k < COLUMNS * n; k++)
    CHECK(k / n == 2 ? isnan(creal(get(t, b, k))) : isfinite(cabs(get(t, b, k))));
}

/* Pivots of a regular A_II are perturbed. Refined solves compute its complement, condense and expand, also
 * for new values while these need it. */
static void check_perturbed(tristar_t *ts, const typed *t, tristar_symmetry symmetry, tristar_method method,
                            tristar_matching matching) {
  const tristar_op ops[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};
  problem m, twice, good;
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NULL;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NULL;
  char schur[MOST * MOST * sizeof(number)];
  int64_t permutation[N];
  make_triples(&m, t, symmetry, false);
  make_triples(&good, t, symmetry, true);
  twice = m;
  for (int k = 0; k < N * N; k++) twice.a[k / N][k % N] *= 2;
  order_triples(&m, permutation);
  options.ordering = TRISTAR_ORDERING_USER;
  options.permutation = permutation;
  options.merge = TRISTAR_MERGE_NONE;
  options.method = method;
  options.matching = matching;
  options.schur = m.schur;
  options.schur_count = m.count;
  const tristar_view v = typed_dense_view(t, m.n, m.a[0], N, symmetry);
  CHECK_OK(tristar_analyze(ts, &v, &options, &analysis));
  CHECK_OK(tristar_factor(analysis, v.values, &f));
  CHECK_OK(tristar_plan(f, NULL, &plan));
  check_triples(t, &m, f, true, 1);
  CHECK_OK(tristar_schur_get(f, schur, m.count));
  for (int o = 0; o < 3; o++) check_solve(t, &m, &v, plan, schur, ops[o], 500 * t->roundoff);
  check_other_columns(ts, t, &m, plan);
  check_two_failures(ts, t, &m, f);
  const tristar_view v2 = typed_dense_view(t, m.n, twice.a[0], N, symmetry);
  CHECK_OK(tristar_refactor(f, v2.values));
  check_triples(t, &m, f, true, 2);
  const tristar_view v3 = typed_dense_view(t, m.n, good.a[0], N, symmetry);
  CHECK_OK(tristar_refactor(f, v3.values));
  check_triples(t, &good, f, false, 1);
  CHECK_OK(tristar_schur_get(f, schur, m.count));
  for (int o = 0; o < 3; o++) check_solve(t, &good, &v3, plan, schur, ops[o], 500 * t->roundoff);
  check_other_columns(ts, t, &good, plan);
}

/* Makes the values of triples, but rows 0 and 1 of A_II are equal, and zero outside their block. */
static void *make_dependent(const typed *t, const tristar_view *v) {
  const int64_t *ptr = v->ptr;
  const int32_t *row = v->index;
  char *values = xmalloc((size_t)ptr[v->cols] * t->bytes);
  memcpy(values, v->values, (size_t)ptr[v->cols] * t->bytes);
  for (int64_t j = 0; j < 36; j++)
    for (int64_t p = ptr[j]; p < ptr[j + 1]; p++)
      if (row[p] < 36 && (row[p] < 2) != (j < 2)) put(t, values, p, 0);
  return values;
}

/* New values have pivots that are exactly zero. In a regular A_II they are perturbed, and refined solves
 * are used. An A_II with dependent rows is singular, and the factor has no values. Later values are
 * accepted. */
static void check_zero_pivots(tristar_t *ts, const typed *t, tristar_symmetry symmetry,
                              tristar_method method) {
  problem good, zero;
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NULL;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NULL;
  char schur[MOST * MOST * sizeof(number)], vector[N * sizeof(number)];
  int64_t permutation[N];
  make_triples(&good, t, symmetry, true);
  make_triples(&zero, t, symmetry, false);
  order_triples(&good, permutation);
  options.ordering = TRISTAR_ORDERING_USER;
  options.permutation = permutation;
  options.merge = TRISTAR_MERGE_NONE;
  options.method = method;
  options.matching = TRISTAR_MATCHING_OFF;
  options.schur = good.schur;
  options.schur_count = good.count;
  tristar_view v = typed_dense_view(t, good.n, good.a[0], N, symmetry);
  CHECK_OK(tristar_analyze(ts, &v, &options, &analysis));
  CHECK_OK(tristar_factor(analysis, v.values, &f));
  CHECK_OK(tristar_plan(f, NULL, &plan));
  memset(vector, 0, sizeof vector);
  for (int round = 0; round < 2; round++) {
    check_triples(t, &good, f, false, 1);
    v = typed_dense_view(t, good.n, zero.a[0], N, symmetry);
    CHECK_OK(tristar_refactor(f, v.values));
    check_triples(t, &zero, f, true, 1);
    CHECK_OK(tristar_schur_get(f, schur, good.count));
    check_solve(t, &zero, &v, plan, schur, TRISTAR_N, 500 * t->roundoff);
    OWNED void *dependent = make_dependent(t, &v);
    CHECK_STATUS(tristar_refactor(f, dependent), TRISTAR_ERR_SINGULAR);
    CHECK_STATUS(tristar_schur_get(f, schur, good.count), TRISTAR_ERR_STALE);
    CHECK_STATUS(
        tristar_schur_condense(plan, TRISTAR_N, 1, vector, good.n, vector, good.n, schur, good.count),
        TRISTAR_ERR_STALE);
    CHECK_STATUS(tristar_schur_expand(plan, TRISTAR_N, 1, vector, good.n, schur, good.count, vector, good.n),
                 TRISTAR_ERR_STALE);
    if (round == 1) { /* refined again, directly after the failure */
      v = typed_dense_view(t, good.n, zero.a[0], N, symmetry);
      CHECK_OK(tristar_refactor(f, v.values));
      check_triples(t, &zero, f, true, 1);
    }
    v = typed_dense_view(t, good.n, good.a[0], N, symmetry);
    CHECK_OK(tristar_refactor(f, v.values));
  }
  check_triples(t, &good, f, false, 1);
  CHECK_OK(tristar_schur_get(f, schur, good.count));
  check_solve(t, &good, &v, plan, schur, TRISTAR_N, 500 * t->roundoff);
}

static int write_nothing(void *arg, const void *data, size_t bytes) {
  (void)arg, (void)data, (void)bytes;
  return 0;
}

/* The complement of [1e-300 1e10; 1e10 1] is beyond the range of double, and so is g for b = [1 0]. */
static void check_overflow(tristar_t *ts, tristar_method method) {
  const int64_t ptr[] = {0, 2, 4}, schur[] = {1};
  const int32_t row[] = {0, 1, 0, 1};
  const double value[] = {1e-300, 1e10, 1e10, 1}, b[] = {1, 0};
  double s, y[2];
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NULL;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NULL;
  tristar_analysis_options options;
  tristar_view v;
  tristar_view_init(&v);
  v.format = TRISTAR_CSC;
  v.scalar = TRISTAR_DOUBLE;
  v.rows = v.cols = 2;
  v.ptr = ptr, v.index = row, v.values = value;
  v.ptr_bits = 64, v.index_bits = 32;
  tristar_analysis_options_init(&options);
  options.method = method;
  options.schur = schur;
  options.schur_count = 1;
  CHECK_OK(tristar_analyze(ts, &v, &options, &analysis));
  CHECK_OK(tristar_factor(analysis, value, &f));
  CHECK_OK(tristar_plan(f, NULL, &plan));
  CHECK_STATUS(tristar_schur_get(f, &s, 1), TRISTAR_ERR_NOT_FINITE);
  CHECK_STATUS(tristar_schur_condense(plan, TRISTAR_N, 1, b, 2, y, 2, &s, 1), TRISTAR_ERR_NOT_FINITE);
}

static void check_refused(tristar_t *ts) {
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *matrix = NULL;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NULL, *plain = NULL;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL, *whole = NULL;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NULL, *of_whole = NULL;
  const int64_t schur[] = {3, 1};
  double x[16] = {0}, s[4];
  tristar_determinant determinant;
  tristar_inertia inertia;
  int64_t count;
  const tristar_view v = generated_view(ts, "s2d9pt", 4, &matrix);
  CHECK_OK(analyze(ts, &v, schur, 2, &analysis));
  CHECK_OK(tristar_factor(analysis, v.values, &f));
  CHECK_OK(tristar_plan(f, NULL, &plan));
  CHECK_STATUS(tristar_solve(plan, TRISTAR_N, 1, x, 16, x, 16), TRISTAR_ERR_UNSUPPORTED);
  CHECK_STATUS(tristar_solve_with(plan, NULL, 1, x, x, NULL), TRISTAR_ERR_UNSUPPORTED);
  CHECK_STATUS(tristar_condition(plan, s), TRISTAR_ERR_UNSUPPORTED);
  CHECK_STATUS(tristar_null_space(plan, TRISTAR_N, 1, x, 16, &count), TRISTAR_ERR_UNSUPPORTED);
  CHECK_STATUS(tristar_factor_get_determinant(f, &determinant), TRISTAR_ERR_UNSUPPORTED);
  CHECK_STATUS(tristar_factor_get_inertia(f, &inertia), TRISTAR_ERR_UNSUPPORTED);
  CHECK_STATUS(tristar_factor_write(f, write_nothing, NULL), TRISTAR_ERR_UNSUPPORTED);
  CHECK_STATUS(tristar_analysis_write(analysis, write_nothing, NULL), TRISTAR_ERR_UNSUPPORTED);
  CHECK_STATUS(tristar_schur_get(f, s, 1), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_schur_get(f, NULL, 2), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_schur_condense(plan, TRISTAR_N, 1, x, 15, x, 16, s, 2), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_schur_condense(plan, TRISTAR_N, -1, x, 16, x, 16, s, 2), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_schur_condense(plan, (tristar_op)0, 1, x, 16, x, 16, s, 2), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_schur_condense(plan, TRISTAR_N, 1, x, 16, x, 17, s, 2), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_schur_expand(plan, TRISTAR_N, 1, x, 16, s, 2, x, 17), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_schur_expand(plan, TRISTAR_N, 1, x, 16, s, 1, x, 16), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_schur_expand(plan, TRISTAR_N, 1, x, 16, NULL, 2, x, 16), TRISTAR_ERR_ARGUMENT);
  CHECK_OK(analyze(ts, &v, NULL, 0, &plain));
  CHECK_OK(tristar_factor(plain, v.values, &whole));
  CHECK_OK(tristar_plan(whole, NULL, &of_whole));
  CHECK_STATUS(tristar_schur_get(whole, s, 2), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_schur_condense(of_whole, TRISTAR_N, 1, x, 16, x, 16, s, 2), TRISTAR_ERR_ARGUMENT);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  const typed *const types[] = {&typed_double, &typed_complex_double, &typed_single, &typed_complex_single};
  CLEANUP(close_context) tristar_t *serial = open_without_starpu(true);
  CLEANUP(close_context) tristar_t *ts = open_with_starpu(2, true);
  for (int k = 0; k < 4; k++) RUN_ONE_THREAD(check_type(serial, types[k]));
  RUN(check_large(ts, "poisson3d7", 14, TRISTAR_METHOD_LLT, TRISTAR_ORDERING_METIS));
  RUN(check_large(ts, "convdiff3d", 12, TRISTAR_METHOD_LU, TRISTAR_ORDERING_AUTO));
  RUN_ONE_THREAD(check_large(serial, "poisson3d7", 12, TRISTAR_METHOD_LDLT, TRISTAR_ORDERING_AMD));
  RUN_ONE_THREAD(check_lists(serial));
  for (int by_values = 0; by_values < 2; by_values++) {
    RUN_ONE_THREAD(check_singular(serial, TRISTAR_SYMMETRIC, by_values));
    RUN_ONE_THREAD(check_singular(serial, TRISTAR_GENERAL, by_values));
  }
  RUN_ONE_THREAD(check_floating(serial, TRISTAR_SYMMETRIC, TRISTAR_SINGULAR_REFUSE));
  RUN_ONE_THREAD(check_floating(serial, TRISTAR_SYMMETRIC, TRISTAR_SINGULAR_PERTURB));
  RUN_ONE_THREAD(check_floating(serial, TRISTAR_GENERAL, TRISTAR_SINGULAR_REFUSE));
  RUN_ONE_THREAD(check_floating(serial, TRISTAR_GENERAL, TRISTAR_SINGULAR_PERTURB));
  RUN_ONE_THREAD(check_skew(serial));
  RUN_ONE_THREAD(check_storage(serial));
  RUN_ONE_THREAD(check_matched(serial));
  for (int definite = 0; definite < 2; definite++) {
    RUN_ONE_THREAD(check_units(serial, &typed_double, TRISTAR_SYMMETRIC, definite));
    RUN_ONE_THREAD(check_units(serial, &typed_complex_double, TRISTAR_HERMITIAN, definite));
    RUN_ONE_THREAD(check_units(serial, &typed_complex_single, TRISTAR_GENERAL, definite));
  }
  RUN_ONE_THREAD(check_diagonal(serial, TRISTAR_METHOD_AUTO));
  RUN_ONE_THREAD(check_diagonal(serial, TRISTAR_METHOD_LU));
  RUN_ONE_THREAD(check_diagonal(serial, TRISTAR_METHOD_LDLT));
  RUN_ONE_THREAD(check_expanded(serial));
  for (int renewed = 0; renewed < 2; renewed++) {
    RUN_ONE_THREAD(check_far_units(serial, &typed_double, renewed));
    RUN_ONE_THREAD(check_far_units(serial, &typed_complex_double, renewed));
  }
  for (int matching = 0; matching < 3; matching++)
    for (int k = 0; k < 4; k++) {
      const typed *t = types[k];
      if (TSI_TESTS_SANITIZED && t != &typed_double && t != &typed_complex_single) continue;
      const tristar_symmetry mirrored_as = t->is_complex ? TRISTAR_HERMITIAN : TRISTAR_SYMMETRIC;
      const tristar_matching by = (tristar_matching)matching;
      RUN_ONE_THREAD(check_perturbed(serial, t, TRISTAR_GENERAL, TRISTAR_METHOD_LU, by));
      RUN_ONE_THREAD(check_perturbed(serial, t, mirrored_as, TRISTAR_METHOD_LU, by));
      RUN_ONE_THREAD(check_perturbed(serial, t, mirrored_as, TRISTAR_METHOD_LDLT, by));
    }
  for (int k = 0; k < 4; k++) {
    const tristar_symmetry mirrored_as = types[k]->is_complex ? TRISTAR_HERMITIAN : TRISTAR_SYMMETRIC;
    RUN_ONE_THREAD(check_zero_pivots(serial, types[k], TRISTAR_GENERAL, TRISTAR_METHOD_LU));
    RUN_ONE_THREAD(check_zero_pivots(serial, types[k], mirrored_as, TRISTAR_METHOD_LDLT));
  }
  RUN_ONE_THREAD(check_overflow(serial, TRISTAR_METHOD_LU));
  RUN_ONE_THREAD(check_overflow(serial, TRISTAR_METHOD_LDLT));
  RUN_ONE_THREAD(check_refused(serial));
  return 0;
}
