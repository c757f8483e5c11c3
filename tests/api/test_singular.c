/* Matrices that are singular to working precision are reported: by the factorization, or by the condition.
 * Graded matrices, which only look singular, are solved. The message names a row that depends on others. */
#include <float.h>

#include "tests/support/context.h"
#include "tests/support/subtests.h"
#include "tests/support/typed.h"
#include "tristar_schur.h"

enum { N_MAX = 400 };

/* A dense matrix, or that of a grid, in general storage. */
typedef struct matrix {
  int n;
  double a[N_MAX][N_MAX];
} matrix;

static matrix m;

static tristar_view make_view(const typed *t, int n, tristar_symmetry symmetry) {
  static int64_t ptr[N_MAX + 1];
  static int32_t index[N_MAX * N_MAX];
  static char values[N_MAX * N_MAX * sizeof(double _Complex)];
  int64_t at = 0;
  for (int j = 0; j < n; j++) {
    ptr[j] = at;
    for (int i = symmetry == TRISTAR_GENERAL ? 0 : j; i < n; i++) {
      if (m.a[i][j] == 0 && i != j) continue;
      put(t, values, at, m.a[i][j]);
      index[at++] = i;
    }
  }
  ptr[n] = at;
  return stored_view(TRISTAR_CSC, symmetry, t->scalar, n, n, ptr, index, values);
}

/* The Laplacian of a k x k grid without boundary conditions: rows sum to zero. */
static void neumann(int k) {
  memset(&m, 0, sizeof m);
  m.n = k * k;
  for (int i = 0; i < m.n; i++)
    for (int right = 0; right < 2; right++) {
      const int j = right ? i + 1 : i + k;
      if (right ? (i + 1) % k == 0 : j >= m.n) continue;
      m.a[i][i]++;
      m.a[j][j]++;
      m.a[i][j]--;
      m.a[j][i]--;
    }
}

static double uniform(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (double)(*state >> 11) * 0x1p-52 - 1;
}

/* B B^T with B n x (n - 1), or B C^T. */
static void low_rank(int n, bool symmetric, uint64_t seed) {
  static double b[N_MAX][N_MAX], c[N_MAX][N_MAX];
  memset(&m, 0, sizeof m);
  m.n = n;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < n - 1; k++) {
      b[i][k] = uniform(&seed);
      c[i][k] = symmetric ? b[i][k] : uniform(&seed);
    }
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      for (int k = 0; k < n - 1; k++) m.a[i][j] += b[i][k] * c[j][k];
  for (int i = 0; i < n && symmetric; i++)
    for (int j = 0; j < i; j++) m.a[i][j] = m.a[j][i];
}

static int refused, near_singular;

/* Small integers; one row is a multiple of another one, and one column if symmetric. */
static void dependent_integers(int n, bool symmetric, uint64_t seed) {
  memset(&m, 0, sizeof m);
  m.n = n;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      const bool there = i == j || next_random(&seed) % 100 < 55;
      const int value = (int)(next_random(&seed) % 9) - 4;
      if (there && value != 0 && !(symmetric && j > i)) m.a[i][j] = value;
      if (symmetric && j < i) m.a[j][i] = m.a[i][j];
    }
  const int row = (int)(next_random(&seed) % (uint64_t)n), other = (row + 1) % n;
  const double factor = 1 + (double)(next_random(&seed) % 2);
  for (int j = 0; j < n; j++) m.a[row][j] = factor * m.a[other][j];
  for (int i = 0; i < n && symmetric; i++) m.a[i][row] = factor * m.a[i][other];
}

/* Perturbed pivots hide that a matrix is singular. The factorization still detects it, in each type and
 * method. */
static void check_dependent_integers(tristar_t *ts, const typed *t) {
  static const tristar_method methods[] = {TRISTAR_METHOD_AUTO, TRISTAR_METHOD_LU, TRISTAR_METHOD_LDLT};
  static const uint64_t rare[] = {23794, 23917, 27359,
                                  27679}; /* these seeds hide it best in single precision */
  for (uint64_t k = 1; k <= 300 + sizeof rare / sizeof *rare; k++) {
    const uint64_t seed = k <= 300 ? k : rare[k - 301];
    const bool symmetric = seed % 3 != 0;
    const tristar_method method = methods[symmetric ? seed / 3 % 3 : 0];
    dependent_integers(8 + (int)(seed % 8), symmetric, seed);
    const tristar_view v = make_view(t, m.n, TRISTAR_GENERAL);
    tristar_analysis_options o = DEFAULTS(tristar_analysis_options);
    tristar_analysis_t *an;
    tristar_factor_stats stats;
    o.method = method;
    o.matching = (tristar_matching)(seed % 2);
    o.singular = TRISTAR_SINGULAR_PERTURB;
    if (tristar_analyze(ts, &v, &o, &an) == TRISTAR_ERR_SINGULAR) continue; /* structurally singular */
    tristar_factor_t *f = NEW_FACTOR(an, v.values);
    tristar_factor_get_stats(f, &stats);
    CHECK_MSG(stats.judged && stats.singular, "type %c, seed %d: 1 / condition is %g", (char)t->scalar,
              (int)seed, stats.reciprocal_condition);
    tristar_factor_destroy(&f);
    tristar_analysis_destroy(&an);
  }
}

/* SINGULAR_REFUSE refuses the matrix, or factors it and reports its condition. SINGULAR_PERTURB always
 * factors it. */
static void check_singular(tristar_t *ts, const char *what, const typed *t, tristar_symmetry symmetry,
                           tristar_method method) {
  tristar_view v = make_view(t, m.n, symmetry);
  tristar_analysis_options o = DEFAULTS(tristar_analysis_options);
  tristar_factor_t *f;
  tristar_plan_t *p;
  double reciprocal;
  char message[400];
  o.method = method;
  tristar_analysis_t *an = NEW_ANALYSIS(ts, &v, &o);
  const tristar_status status = tristar_factor(an, v.values, &f);
  tristar_get_error(ts, message, sizeof message);
  if (status == TRISTAR_OK) {
    CHECK_OK(tristar_plan(f, NULL, &p));
    CHECK_OK(tristar_condition(p, &reciprocal));
    CHECK_MSG(reciprocal < 200 * t->roundoff, "%s of order %d, %c: 1 / condition is %g", what, m.n, t->scalar,
              reciprocal);
    near_singular++;
    tristar_plan_destroy(&p);
    tristar_factor_destroy(&f);
  } else {
    CHECK_MSG(status ==
                  (method == TRISTAR_METHOD_LLT ? TRISTAR_ERR_NOT_POSITIVE_DEFINITE : TRISTAR_ERR_SINGULAR),
              "%s: %s", what, message);
    CHECK_MSG(strstr(message, "of row ") != NULL, "%s: %s", what, message);
    refused++;
  }
  tristar_analysis_destroy(&an);
  if (method == TRISTAR_METHOD_LLT) return;
  o.singular = TRISTAR_SINGULAR_PERTURB;
  CHECK_OK(tristar_analyze(ts, &v, &o, &an));
  CHECK_OK(tristar_factor(an, v.values, &f));
  tristar_factor_destroy(&f);
  tristar_analysis_destroy(&an);
}

/* Entries of very different sizes, and well conditioned after scaling: the backward error is small, and x
 * is right. */
static void check_graded(tristar_t *ts, int n, double ratio, tristar_method method) {
  tristar_analysis_options o;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p;
  tristar_refine_result result;
  double b[N_MAX], x[N_MAX];
  memset(&m, 0, sizeof m);
  m.n = n;
  for (int i = 0; i < n; i++) {
    m.a[i][i] = 3 * pow(ratio, i);
    if (i > 0) m.a[i][i - 1] = m.a[i - 1][i] = pow(ratio, ratio < 1 ? i : i - 1);
  }
  for (int i = 0; i < n; i++) {
    b[i] = 0;
    for (int j = 0; j < n; j++) b[i] += m.a[i][j];
  }
  const tristar_view v =
      make_view(&typed_double, n, method == TRISTAR_METHOD_LU ? TRISTAR_GENERAL : TRISTAR_SYMMETRIC);
  tristar_analysis_options_init(&o);
  o.method = method;
  CHECK_OK(tristar_analyze(ts, &v, &o, &an));
  CHECK_OK(tristar_factor(an, v.values, &f));
  CHECK_OK(tristar_plan(f, NULL, &p));
  CHECK_OK(tristar_solve_refined(p, TRISTAR_N, 1, b, n, x, n, NULL, &result));
  for (int i = 0; i < n; i++)
    CHECK_MSG(fabs(x[i] - 1) < 1e-12, "graded by %g, method %d: x[%d] is %g", ratio, (int)method, i, x[i]);
}

/* Returns the smallest pivot of m with complete pivoting. Overwrites m. */
static double smallest_pivot(void) {
  double smallest = INFINITY;
  for (int k = 0; k < m.n; k++) {
    int row = k, column = k;
    for (int i = k; i < m.n; i++)
      for (int j = k; j < m.n; j++)
        if (fabs(m.a[i][j]) > fabs(m.a[row][column])) row = i, column = j;
    for (int j = 0; j < m.n; j++) {
      const double swap = m.a[k][j];
      m.a[k][j] = m.a[row][j];
      m.a[row][j] = swap;
    }
    for (int i = 0; i < m.n; i++) {
      const double swap = m.a[i][k];
      m.a[i][k] = m.a[i][column];
      m.a[i][column] = swap;
    }
    smallest = fmin(smallest, fabs(m.a[k][k]));
    for (int i = k + 1; i < m.n; i++)
      for (int j = m.n - 1; j >= k; j--) m.a[i][j] -= m.a[i][k] / m.a[k][k] * m.a[k][j];
  }
  return smallest;
}

/* R T C: T is a well conditioned band matrix with entries of order 1, R and C are diagonal. For each
 * scaling there are cases in which interchanges by the size of entries cancel a whole row. Returns 1 if the
 * matrix was factored and solved. */
static int check_scaled_band(tristar_t *ts, int n, int band, bool symmetric, tristar_method method,
                             uint64_t seed) {
  static double t[N_MAX][N_MAX];
  tristar_analysis_options o;
  tristar_analysis_t *an;
  tristar_factor_t *f;
  tristar_plan_t *p;
  tristar_refine_result result;
  double r[N_MAX], c[N_MAX];
  float b[N_MAX], x[N_MAX];
  memset(&m, 0, sizeof m);
  m.n = n;
  for (int i = 0; i < n; i++) {
    r[i] = ldexp(1, (int)(uniform(&seed) * 40));
    c[i] = symmetric ? r[i] : ldexp(1, (int)(uniform(&seed) * 40));
    b[i] = (float)(r[i] * uniform(&seed));
    for (int j = i - band < 0 ? 0 : i - band; j <= i; j++) {
      m.a[i][j] = uniform(&seed);
      m.a[j][i] = symmetric ? m.a[i][j] : uniform(&seed);
    }
  }
  memcpy(t, m.a, sizeof t);
  if (smallest_pivot() < 0.1) return 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) m.a[i][j] = r[i] * t[i][j] * c[j];
  const tristar_view v = make_view(&typed_single, n, symmetric ? TRISTAR_SYMMETRIC : TRISTAR_GENERAL);
  tristar_analysis_options_init(&o);
  o.method = method;
  CHECK_OK(tristar_analyze(ts, &v, &o, &an));
  CHECK_OK(tristar_factor(an, v.values, &f));
  CHECK_OK(tristar_plan(f, NULL, &p));
  CHECK_OK(tristar_solve_refined(p, TRISTAR_N, 1, b, n, x, n, NULL, &result));
  CHECK_MSG(result.backward_error < 1e-5, "band %d: backward error %g", band, result.backward_error);
  tristar_plan_destroy(&p);
  tristar_factor_destroy(&f);
  tristar_analysis_destroy(&an);
  return 1;
}

static void check_scaled_bands(tristar_t *ts) {
  const int matrices = TSI_TESTS_SANITIZED ? 3000 : 12000;
  int solved = 0;
  for (int k = 0; k < matrices; k++)
    solved += check_scaled_band(ts, 20 + k % 37, k % 3 ? 1 : 1 + k % 5, k % 2,
                                k % 8 == 1 ? TRISTAR_METHOD_LDLT : TRISTAR_METHOD_LU, (uint64_t)k);
  printf("%d scaled band matrices solved\n", solved);
  CHECK(solved > matrices / 12);
}

/* New values are zero, which is refused. Later values are solved again. */
static void check_refactor(tristar_t *ts) {
  neumann(6);
  for (int i = 0; i < m.n; i++) m.a[i][i]++;
  const tristar_view v = make_view(&typed_double, m.n, TRISTAR_SYMMETRIC);
  const int64_t entries = ((const int64_t *)v.ptr)[m.n];
  double *values = xmalloc((size_t)entries * sizeof *values), b[36], x[36];
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &v, NULL);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NEW_FACTOR(an, v.values);
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NEW_PLAN(f, NULL);
  memset(values, 0, (size_t)entries * sizeof *values);
  CHECK(tristar_refactor(f, values) != TRISTAR_OK);
  CHECK_ERROR(ts, "of row ");
  for (int i = 0; i < 36; i++) b[i] = 1;
  CHECK(tristar_solve(p, TRISTAR_N, 1, b, 36, x, 36) == TRISTAR_ERR_STALE);
  CHECK_OK(tristar_refactor(f, v.values));
  CHECK_OK(tristar_solve(p, TRISTAR_N, 1, b, 36, x, 36));
  for (int i = 0; i < 36; i++) CHECK_MSG(fabs(x[i] - 1) < 1e-13, "x[%d] is %g", i, x[i]);
  free(values);
}

/* Skew-symmetric matrices of order 2 are perfectly conditioned, even with the smallest entries. */
static void check_tiniest(tristar_t *ts) {
  static const int32_t ptr[] = {0, 0, 1}, index[] = {0};
  for (int re = 0; re < 12; re++)
    for (int im = re == 0; im < 12; im++) {
      const double value[2] = {re * DBL_TRUE_MIN, im * DBL_TRUE_MIN};
      const tristar_view v = {
          TRISTAR_CSR, TRISTAR_SKEW_SYMMETRIC, TRISTAR_COMPLEX_DOUBLE, 2, 2, ptr, index, value, 32, 32, 0};
      tristar_factor_t *f;
      double reciprocal;
      tristar_analysis_t *an = NEW_ANALYSIS(ts, &v, NULL);
      const tristar_status status = tristar_factor(an, value, &f);
      tristar_analysis_destroy(&an);
      if (status != TRISTAR_OK) continue; /* the inverse of the entry overflows */
      tristar_plan_t *p = NEW_PLAN(f, NULL);
      CHECK_OK(tristar_condition(p, &reciprocal));
      CHECK_MSG(reciprocal <= 1 && reciprocal > 0.9, "%d + %d i: reciprocal condition %g", re, im,
                reciprocal);
      tristar_plan_destroy(&p);
      tristar_factor_destroy(&f);
    }
}

/* Four rows have entries only in the same three columns. The rounding errors of the pivots hide that, but
 * look harmless. Solves lose digits. */
static void check_hidden(tristar_t *ts) {
  static const double top[3][7] = {
      {-1.7315129, -0.290876091, 0.0472182333, -0.147376761, 14.8456354, -2.64370918, 0},
      {-0.290876091, 174.085724, 0.00317870406, 1.43372297, 202.491165, -7.46536016, -1.71675193},
      {0.0472182333, 0.00317870406, 0.00043483355, 0.00133778143, -0.662312806, -0.225305811, 0.00245642196}};
  const typed *t = &typed_single;
  float tame[49];
  memset(&m, 0, sizeof m);
  m.n = 7;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 7; j++) m.a[i][j] = m.a[j][i] = top[i][j];
  const tristar_view view = make_view(t, m.n, TRISTAR_GENERAL);
  const int64_t *ptr = view.ptr;
  const int32_t *index = view.index;
  for (int j = 0; j < m.n; j++)
    for (int64_t p = ptr[j]; p < ptr[j + 1]; p++) tame[p] = index[p] == j ? 14 : 1;
  tristar_view first = view;
  first.values = tame;
  for (int merge = 0; merge < 3; merge++) {
    tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
    options.method = TRISTAR_METHOD_LDLT;
    options.merge = (tristar_merge)merge;
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &first, &options);
    CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NEW_FACTOR(an, tame);
    const tristar_status status = tristar_refactor(f, view.values);
    CHECK_MSG(status == TRISTAR_ERR_SINGULAR || status == TRISTAR_ERR_STALE, "merge %d: %s", merge,
              tristar_status_name(status));
  }
}

/* Wilkinson's matrix: ones on the diagonal and in the last column, -1 below the diagonal. Pivots grow to
 * 2^(n-1), but the condition is n, so it must not be reported as singular. */
static void check_growth(tristar_t *ts, const typed *t) {
  static const int orders[] = {20, 40, 56, 64, 70, 71, 80, 100};
  for (size_t k = 0; k < sizeof orders / sizeof *orders; k++) {
    const int n = orders[k];
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
    CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
    OWNED number *a = xcalloc((size_t)(n * n), sizeof *a);
    for (int i = 0; i < n; i++) {
      for (int j = 0; j < i; j++) a[i * n + j] = -1;
      a[i * n + i] = a[i * n + n - 1] = 1;
    }
    const tristar_view v = typed_dense_view(t, n, a, n, TRISTAR_GENERAL);
    CHECK_OK(tristar_analyze(ts, &v, NULL, &an));
    const tristar_status status = tristar_factor(an, v.values, &f);
    CHECK_MSG(status == TRISTAR_OK || status == TRISTAR_ERR_ACCURACY, "order %d: %s", n,
              tristar_status_name(status));
    CHECK(n > 20 || t->is_single || status == TRISTAR_OK);
    if (status == TRISTAR_OK) CHECK_OK(tristar_refactor(f, v.values));
  }
}

/* Symmetric integers, except that row 1 is twice row 0, and its diagonal differs by 2^-k. Both rows are
 * eliminated before the Schur complement, and pivots are perturbed. Refined solves compute the complement,
 * or plain solves are accurate enough. */
static void check_perturbed_schur(tristar_t *ts) {
  int refined = 0, kept = 0;
  for (uint64_t first = 1; first <= 400; first++) {
    enum { ORDER = 16, LEFT = 3 };
    static const int64_t schur[LEFT] = {13, 14, 15};
    uint64_t seed = first;
    double b[ORDER] = {0}, y[ORDER], x[ORDER], known[ORDER], g[LEFT], worst = 0;
    tristar_analysis_options o = DEFAULTS(tristar_analysis_options);
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
    CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
    CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NULL;
    memset(&m, 0, sizeof m);
    for (int i = 0; i < ORDER; i++)
      for (int j = 0; j <= i; j++)
        if (i == j || next_random(&seed) % 4 == 0)
          m.a[i][j] = m.a[j][i] = (double)(next_random(&seed) % 9) - 4 + (i == j ? 6 : 0);
    for (int j = 0; j < ORDER; j++) m.a[1][j] = m.a[j][1] = 2 * m.a[0][j];
    m.a[0][1] = m.a[1][0] = 2 * m.a[0][0];
    m.a[1][1] = 4 * m.a[0][0] + ldexp(1, -10 - (int)(next_random(&seed) % 24));
    for (int j = 0; j < ORDER; j++) {
      known[j] = (double)(next_random(&seed) % 9) - 4;
      for (int i = 0; i < ORDER; i++) b[i] += m.a[i][j] * known[j];
    }
    const tristar_view v = make_view(&typed_double, ORDER, TRISTAR_SYMMETRIC);
    o.singular = TRISTAR_SINGULAR_PERTURB;
    o.schur = schur;
    o.schur_count = LEFT;
    CHECK_OK(tristar_analyze(ts, &v, &o, &an));
    tristar_factor_stats stats;
    CHECK_OK(tristar_factor(an, v.values, &f));
    CHECK_OK(tristar_factor_get_stats(f, &stats));
    refined += stats.schur_refined;
    kept += !stats.schur_refined;
    CHECK_OK(tristar_plan(f, NULL, &p));
    CHECK_OK(tristar_schur_condense(p, TRISTAR_N, 1, b, ORDER, y, ORDER, g, LEFT));
    CHECK_OK(tristar_schur_expand(p, TRISTAR_N, 1, y, ORDER, known + ORDER - LEFT, LEFT, x, ORDER));
    for (int i = 0; i < ORDER; i++) worst = fmax(worst, fabs(x[i] - known[i]));
    CHECK_MSG(worst <= 4e-3, "seed %d: x differs by %g", (int)first, worst);
  }
  printf("%d Schur complements by refined solves, %d by the factorization\n", refined, kept);
  CHECK(refined > 0 && kept > 0);
}

/* A_II is singular. The complement exists only if column 3 of A_IS is in its range, so if its second entry
 * is twice the first one. */
static void check_no_complement(tristar_t *ts) {
  enum { ORDER = 5, LEFT = 2 };
  static const int64_t schur[LEFT] = {4, 3};
  static const double rows[3][3] = {{1, -1, 0}, {2, -2, 0}, {-1, 1, 1}};
  for (int within = 0; within < 2; within++) {
    tristar_analysis_options o = DEFAULTS(tristar_analysis_options);
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
    CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
    memset(&m, 0, sizeof m);
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++) m.a[i][j] = rows[i][j];
    m.a[0][3] = within ? -2 : 0;
    m.a[1][3] = -4;
    m.a[3][3] = m.a[4][4] = 1;
    const tristar_view v = make_view(&typed_double, ORDER, TRISTAR_GENERAL);
    o.singular = TRISTAR_SINGULAR_PERTURB;
    o.schur = schur;
    o.schur_count = LEFT;
    CHECK_OK(tristar_analyze(ts, &v, &o, &an));
    CHECK_STATUS(tristar_factor(an, v.values, &f), within ? TRISTAR_OK : TRISTAR_ERR_ACCURACY);
  }
}

/* The Laplacian of a star with thousands of leaves. In the row of the hub, rounding errors of a product with
 * the null vector are large. b = A x, and solutions are x plus a constant. */
static void check_star(tristar_t *ts, const typed *t, tristar_method method) {
  enum { N = 5000, HUB = N - 1, COLUMNS = 24 };
  static int64_t ptr[N + 1];
  static int32_t index[3 * N];
  static char values[3 * N * sizeof(number)], b[N * sizeof(number)], x[N * sizeof(number)];
  static double wanted[N];
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  const bool general = method == TRISTAR_METHOD_LU;
  int64_t at = 0;
  for (int j = 0; j < N; j++) {
    ptr[j] = at;
    for (int i = general && j == HUB ? 0 : j; i < N; i += j == HUB ? 1 : HUB - j) {
      put(t, values, at, i != j ? -1 : j == HUB ? HUB : 1);
      index[at++] = i;
    }
  }
  ptr[N] = at;
  const tristar_view v = stored_view(TRISTAR_CSC, general ? TRISTAR_GENERAL : TRISTAR_SYMMETRIC, t->scalar, N,
                                     N, ptr, index, values);
  options.method = method;
  options.singular = TRISTAR_SINGULAR_PERTURB;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &v, &options);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NEW_FACTOR(an, values);
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(f, NULL);
  for (int c = 0; c < COLUMNS; c++) {
    double sum = 0, worst = 0;
    for (int j = 0; j < N; j++) wanted[j] = creal(random_value((uint64_t)(c * N + j)));
    for (int j = 0; j < HUB; j++) {
      put(t, b, j, wanted[j] - wanted[HUB]);
      sum += wanted[j] - wanted[HUB];
    }
    put(t, b, HUB, -sum);
    CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, b, N, x, N));
    for (int j = 0; j < HUB; j++)
      worst = fmax(worst, cabs(get(t, x, j) - get(t, x, HUB) - (wanted[j] - wanted[HUB])));
    CHECK_MSG(worst < 100 * t->roundoff, "column %d: error %g", c, worst);
  }
}

/* Right-hand sides with entries of very different sizes, most of them without a solution. Refinement
 * reports convergence if and only if the backward error is within the tolerance. */
static void check_stop(tristar_t *ts) {
  enum { N = 7 };
  static const double rows[N][N] = {{0, 2, 1, 2, 2, -1, 1},    {-2, 3},           {-2, 0, -3},
                                    {4, -4, 4, -4, -4, 2, -2}, {-1, 0, 0, 0, -3}, {2, 0, 0, 0, 0, 2.25},
                                    {3, 0, 0, 0, 0, 0, -2}};
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p;
  tristar_analysis_options o = DEFAULTS(tristar_analysis_options);
  o.singular = TRISTAR_SINGULAR_PERTURB;
  memset(&m, 0, sizeof m);
  m.n = N;
  for (int i = 0; i < N; i++) memcpy(m.a[i], rows[i], sizeof rows[i]);
  const tristar_view v = make_view(&typed_double, N, TRISTAR_GENERAL);
  CHECK_OK(tristar_analyze(ts, &v, &o, &an));
  CHECK_OK(tristar_factor(an, v.values, &f));
  CHECK_OK(tristar_plan(f, NULL, &p));
  for (int k = 0; k < 100; k++) {
    double b[N], x[N];
    tristar_refine_result result;
    for (int i = 0; i < N; i++) b[i] = ldexp(i % 2 ? 1 : -1, i * k * 37 % 101 - 50);
    CHECK_OK(tristar_solve_refined(p, TRISTAR_N, 1, b, N, x, N, NULL, &result));
    CHECK_MSG((result.stop == TRISTAR_STOP_CONVERGED) == (result.backward_error <= 2 * DBL_EPSILON),
              "right-hand side %d: stop %d, backward error %g", k, (int)result.stop, result.backward_error);
  }
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  static const tristar_method symmetric[] = {TRISTAR_METHOD_AUTO, TRISTAR_METHOD_LLT, TRISTAR_METHOD_LDLT};
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(false);
  for (int k = 2; k <= 20; k += 3) {
    neumann(k);
    for (int method = 0; method < 3; method++)
      RUN(check_singular(ts, "Neumann", &typed_double, TRISTAR_SYMMETRIC, symmetric[method]));
    RUN(check_singular(ts, "Neumann", &typed_single, TRISTAR_SYMMETRIC, TRISTAR_METHOD_AUTO));
    RUN(check_singular(ts, "Neumann", &typed_complex_double, TRISTAR_GENERAL, TRISTAR_METHOD_LU));
  }
  for (uint64_t seed = 1; seed <= 60; seed++) {
    low_rank(2 + (int)seed % 40, seed % 2, seed);
    RUN(check_singular(ts, "low rank", seed % 3 ? &typed_double : &typed_complex_double,
                       seed % 2 ? TRISTAR_SYMMETRIC : TRISTAR_GENERAL,
                       seed % 2 ? TRISTAR_METHOD_LDLT : TRISTAR_METHOD_LU));
  }
  printf("%d refused, %d found singular by the condition\n", refused, near_singular);
  CHECK_TOTAL(refused > near_singular, "%d refused, %d found singular by the condition", refused,
              near_singular);
  for (int k = 0; k < 7; k++) {
    static const double ratios[] = {1, 0.1, 1e-3, 1e-5, 1e-7, 1e3, 1e6};
    RUN(check_graded(ts, 9, ratios[k], TRISTAR_METHOD_AUTO));
    RUN(check_graded(ts, 12, ratios[k], TRISTAR_METHOD_LU));
    RUN(check_graded(ts, 12, ratios[k], TRISTAR_METHOD_LDLT));
    RUN(check_graded(ts, 12, ratios[k], TRISTAR_METHOD_LLT));
  }
  RUN(check_scaled_bands(ts));
  RUN(check_dependent_integers(ts, &typed_single));
  RUN(check_dependent_integers(ts, &typed_double));
  RUN(check_dependent_integers(ts, &typed_complex_single));
  RUN(check_dependent_integers(ts, &typed_complex_double));
  RUN(check_refactor(ts));
  RUN(check_growth(ts, &typed_single));
  RUN(check_growth(ts, &typed_double));
  RUN(check_growth(ts, &typed_complex_single));
  RUN(check_hidden(ts));
  RUN(check_tiniest(ts));
  RUN(check_perturbed_schur(ts));
  RUN(check_no_complement(ts));
  for (int k = 0; k < 2; k++) {
    const tristar_method method = k == 0 ? TRISTAR_METHOD_LU : TRISTAR_METHOD_LDLT;
    RUN(check_star(ts, &typed_single, method));
    RUN(check_star(ts, &typed_complex_single, method));
    RUN(check_star(ts, &typed_double, method));
  }
  RUN(check_stop(ts));
  return 0;
}
