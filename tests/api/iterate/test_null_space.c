/* Null spaces: of graph Laplacians with several parts, of products of integer matrices of known rank, scaled
 * by powers of two, of circulant matrices, and of regular ones. The vectors are orthonormal, A v is zero but
 * for rounding errors, and their number is known. All scalars, A and its transposes. */
#include "tests/support/context.h"
#include "tests/support/subtests.h"
#include "tests/support/typed.h"
#include "tristar_solve.h"

enum { ORDER_MAX = TYPED_DENSE_MOST, MOST = 12 };

typedef struct matrix {
  int n;
  number a[ORDER_MAX][ORDER_MAX];
} matrix;

static tristar_view make_view(const typed *t, const matrix *m, tristar_symmetry symmetry) {
  return typed_dense_view(t, m->n, m->a[0], ORDER_MAX, symmetry);
}

static int64_t below(uint64_t *seed, int64_t limit) {
  return (int64_t)(next_random(seed) % (uint64_t)limit);
}

/* The Laplacian of `parts` paths. */
static void make_paths(int parts, int length, matrix *m) {
  *m = (matrix){.n = parts * length};
  for (int i = 0; i < m->n; i++) {
    const bool first = i % length == 0, last = i % length == length - 1;
    m->a[i][i] = 2 - first - last;
    if (!first) m->a[i][i - 1] = m->a[i - 1][i] = -1;
  }
}

/* B C of small integers; B has `rank` columns and C `rank` rows. Symmetric: B B^H. */
static void make_product(const typed *t, int n, int rank, bool symmetric, uint64_t seed, matrix *m) {
  number b[ORDER_MAX][ORDER_MAX], c[ORDER_MAX][ORDER_MAX];
  *m = (matrix){.n = n};
  for (int i = 0; i < n; i++)
    for (int k = 0; k < rank; k++) {
      b[i][k] = (double)(below(&seed, 7) - 3);
      c[i][k] = (double)(below(&seed, 7) - 3);
      if (t->is_complex) __imag__ b[i][k] = (double)(below(&seed, 7) - 3);
      if (symmetric) c[i][k] = conj(b[i][k]);
    }
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      for (int k = 0; k < rank; k++) m->a[i][j] += b[i][k] * c[j][k];
}

/* The same, with a small order and a rank that is certain: each row of B, and each column of C, has a one
 * where the later ones have zeros. */
static void make_small(const typed *t, int n, int rank, uint64_t seed, matrix *m) {
  number b[ORDER_MAX][ORDER_MAX], c[ORDER_MAX][ORDER_MAX];
  const int row = (int)below(&seed, n), column = (int)below(&seed, n);
  *m = (matrix){.n = n};
  for (int i = 0; i < n; i++)
    for (int k = 0; k < rank; k++) {
      b[i][k] = i < k ? 0 : i == k ? 1 : (double)(below(&seed, 7) - 3);
      c[i][k] = i < k ? 0 : i == k ? 1 : (double)(below(&seed, 7) - 3);
      if (t->is_complex && i > k) __imag__ b[i][k] = (double)(below(&seed, 7) - 3);
    }
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      for (int k = 0; k < rank; k++) m->a[(i + row) % n][(j + column) % n] += b[i][k] * c[j][k];
}

/* A circulant matrix of prime order whose rows sum to zero. Its null space consists of the vectors with
 * equal entries. */
static void make_circulant(int n, uint64_t seed, matrix *m) {
  const int second = 1 + (int)below(&seed, n - 1), third = 1 + (int)below(&seed, n - 1);
  *m = (matrix){.n = n};
  for (int i = 0; i < n; i++) {
    m->a[i][i] += 1;
    m->a[i][(i + second) % n] += 1;
    m->a[i][(i + third) % n] -= 2;
  }
}

/* Scales rows and columns by powers of two between 2^-spread and 2^spread. */
static void scale(matrix *m, int spread, uint64_t seed) {
  int row[ORDER_MAX], column[ORDER_MAX];
  for (int i = 0; i < m->n; i++) row[i] = (int)below(&seed, 2 * spread + 1) - spread;
  for (int i = 0; i < m->n; i++) column[i] = (int)below(&seed, 2 * spread + 1) - spread;
  for (int i = 0; i < m->n; i++)
    for (int j = 0; j < m->n; j++) m->a[i][j] *= ldexp(1, row[i] + column[j]);
}

static number entry(const matrix *m, tristar_op op, int i, int j) {
  return op == TRISTAR_N ? m->a[i][j] : op == TRISTAR_T ? m->a[j][i] : conj(m->a[j][i]);
}

/* Checks that `count` basis vectors are orthonormal and that A v is small in each row. */
static void check_basis(const typed *t, const matrix *m, tristar_op op, const void *basis, int64_t ld,
                        int64_t count) {
  const double tolerance = t->is_single ? 2e-4 : 2e-11;
  for (int64_t k = 0; k < count; k++) {
    double most = 0, left = 0;
    for (int i = 0; i < m->n; i++) {
      number sum = 0;
      double size = 0;
      for (int j = 0; j < m->n; j++) {
        sum += entry(m, op, i, j) * get(t, basis, j + k * ld);
        size += cabs(entry(m, op, i, j)) * cabs(get(t, basis, j + k * ld));
      }
      most = fmax(most, size);
      left = fmax(left, cabs(sum));
    }
    CHECK_MSG(left <= tolerance * most, "%c, order %d: A v is %g times |A| |v|", (char)t->scalar, m->n,
              left / most);
    for (int64_t other = 0; other <= k; other++) {
      number sum = other == k ? -1 : 0;
      for (int i = 0; i < m->n; i++) sum += conj(get(t, basis, i + other * ld)) * get(t, basis, i + k * ld);
      CHECK_MSG(cabs(sum) < 100 * t->roundoff, "%c, order %d: vectors %d and %d", (char)t->scalar, m->n,
                (int)other, (int)k);
    }
  }
}

static int found, refused, unclear;

/* far: the sizes of columns differ widely. */
static void check(tristar_t *ts, const typed *t, const matrix *m, tristar_symmetry symmetry, int dimensions,
                  bool far) {
  static char basis[MOST * (ORDER_MAX + 3) * sizeof(number)];
  const tristar_view v = make_view(t, m, symmetry);
  const int64_t ld = m->n + 3;
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NULL;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NULL;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NULL;
  options.singular = TRISTAR_SINGULAR_PERTURB;
  tristar_status status = tristar_analyze(ts, &v, &options, &analysis);
  if (status == TRISTAR_OK) status = tristar_factor(analysis, v.values, &factor);
  if (status != TRISTAR_OK) {
    CHECK_STATUS(status, TRISTAR_ERR_SINGULAR);
    refused++;
    return;
  }
  CHECK_OK(tristar_plan(factor, NULL, &plan));
  for (const char *op = "NTC"; *op; op++) {
    int64_t count = -1;
    status = tristar_null_space(plan, (tristar_op)*op, MOST, basis, ld, &count);
    if (status == TRISTAR_ERR_ACCURACY) {
      CHECK(count == 0);
      unclear++;
      continue;
    }
    CHECK_OK(status);
    CHECK_MSG(count == dimensions, "%c, order %d: %d dimensions, expected %d", (char)t->scalar, m->n,
              (int)count, dimensions);
    check_basis(t, m, (tristar_op)*op, basis, ld, count);
    found++;
    if (dimensions == 0) continue;
    status = tristar_null_space(plan, (tristar_op)*op, dimensions - 1, basis, ld, &count);
    CHECK_MSG(status == TRISTAR_ERR_ARGUMENT || ((t->is_single || far) && status == TRISTAR_ERR_ACCURACY),
              "%c, order %d: status %d for %d of %d dimensions", (char)t->scalar, m->n, (int)status,
              dimensions - 1, dimensions);
    CHECK(count == 0);
  }
}

static void check_type(tristar_t *ts, const typed *t) {
  static matrix m;
  const tristar_symmetry symmetric = t->is_complex ? TRISTAR_HERMITIAN : TRISTAR_SYMMETRIC;
  for (int parts = 1; parts <= 6; parts++) {
    make_paths(parts, 8, &m);
    check(ts, t, &m, symmetric, parts, false);
    check(ts, t, &m, TRISTAR_GENERAL, parts, false);
  }
  for (uint64_t seed = 1; seed <= 60; seed++) {
    const int n = 6 + (int)(seed % 20), lost = (int)(seed % 5);
    make_product(t, n, n - lost, true, seed, &m);
    if (lost > 0) check(ts, t, &m, symmetric, lost, false);
    make_product(t, n, n - lost, false, seed, &m);
    if (seed % 3 == 0) scale(&m, 6, seed);
    if (lost > 0) check(ts, t, &m, TRISTAR_GENERAL, lost, false);
    for (int i = 0; i < n; i++) m.a[i][i] += ldexp(1, 10) * cabs(m.a[i][i]) + 4096;
    if (seed % 3 != 0) check(ts, t, &m, TRISTAR_GENERAL, 0, false);
  }
}

/* The sizes of columns differ widely. Vectors that are orthonormal in the scaling of the factors are nearly
 * parallel in the user's units. */
static void check_far_units(tristar_t *ts, const typed *t) {
  static matrix m;
  for (uint64_t seed = 1; seed <= 100; seed++) {
    const int n = 6 + (int)(seed % 20), lost = 1 + (int)(seed % 4);
    make_product(t, n, n - lost, false, seed, &m);
    scale(&m, t->is_single ? 12 : 60, seed);
    check(ts, t, &m, TRISTAR_GENERAL, lost, true);
  }
}

/* Returns the largest |A v|_i / (|A| |v|)_i. Terms may be below the range of double. */
static long double worst_row(const matrix *m, tristar_op op, const double *v) {
  long double worst = 0;
  for (int i = 0; i < m->n; i++) {
    long double sum = 0, size = 0;
    for (int j = 0; j < m->n; j++) {
      const long double term = (long double)creal(entry(m, op, i, j)) * v[j];
      sum += term;
      size += fabsl(term);
    }
    if (fabsl(sum) > worst * size) worst = fabsl(sum) / size;
  }
  return worst;
}

/* Units differ by up to 2^1000. Some null vectors need entries below the range of double and are uncertain.
 * Returned vectors must be right in every row, and none may be missing. */
static void check_range(tristar_t *ts, int spread, double unit) {
  static matrix m;
  double basis[MOST * ORDER_MAX];
  int right = 0, wrong = 0;
  for (uint64_t seed = 1; seed <= 1000; seed++) {
    const int n = 5 + (int)(seed % 14), lost = 2 + (int)(seed % 3);
    make_small(&typed_double, n, n - lost, seed, &m);
    scale(&m, spread, seed);
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) m.a[i][j] *= unit;
    const tristar_view v = make_view(&typed_double, &m, TRISTAR_GENERAL);
    tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NULL;
    CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NULL;
    CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NULL;
    options.singular = TRISTAR_SINGULAR_PERTURB;
    if (tristar_analyze(ts, &v, &options, &analysis) != TRISTAR_OK) continue; /* structurally singular */
    if (tristar_factor(analysis, v.values, &factor) != TRISTAR_OK) continue;
    CHECK_OK(tristar_plan(factor, NULL, &plan));
    for (int k = 0; k < 2; k++) {
      const tristar_op op = k ? TRISTAR_T : TRISTAR_N;
      int64_t count;
      const tristar_status status = tristar_null_space(plan, op, MOST, basis, n, &count);
      if (status == TRISTAR_ERR_ACCURACY) continue;
      CHECK_OK(status);
      right++;
      bool fails = count != lost;
      for (int64_t c = 0; c < count; c++) fails = fails || !(worst_row(&m, op, basis + c * n) <= 1e-7L);
      wrong += fails;
    }
  }
  CHECK_MSG(wrong == 0 && right > 300, "units of 2^+-%d, times %g: %d of %d null spaces are wrong", spread,
            unit, wrong, right);
}

/* Perturbed pivots in the middle of a small matrix: the factors contain little of its null space. */
static void check_small(tristar_t *ts, const typed *t) {
  static matrix m;
  for (uint64_t seed = 1; seed <= (TSI_TESTS_SANITIZED ? 200 : 2000); seed++) {
    const int n = 4 + (int)(seed % 5), lost = 1 + (int)(seed % 3);
    const int before = unclear;
    make_small(t, n, n - lost, seed, &m);
    check(ts, t, &m, TRISTAR_GENERAL, lost, false);
    CHECK_MSG(unclear == before, "%c, order %d, seed %d: not clear", (char)t->scalar, n, (int)seed);
  }
}

/* A third of the pivots is perturbed: the factors do not contain the null space of a larger matrix. */
static void check_circulant(tristar_t *ts, const typed *t) {
  static matrix m;
  for (uint64_t seed = 1; seed <= 20; seed++) {
    make_circulant(ORDER_MAX, seed, &m);
    check(ts, t, &m, TRISTAR_GENERAL, 1, false);
  }
}

/* A singular value of 1e-3 beside two zeros: the rounding errors of null vectors are much larger than eps. */
static void check_near(tristar_t *ts) {
  static const int8_t rows[10][10] = {{4, 3, 0, -3, 0, 8, 3, 4, 0, 0},   {3, 14, 0, -5, 12, 2, -2, -1, 3, 6},
                                      {0, 0, 5, 0, 5, -5, 0, -5, 0, 0},  {-3, -5, 0, 5, -4, -2, 2, 1, 0, 0},
                                      {0, 12, 5, -4, 3, 0, -4, 0, 0, 4}, {8, 2, -5, -2, 0, 15, 3, 7, 0, 0},
                                      {3, -2, 0, 2, -4, 3, -4, 0, 0, 0}, {4, -1, -5, 1, 0, 7, 0, 3, 0, 0},
                                      {0, 3, 0, 0, 0, 0, 0, 0, 5, 4},    {0, 6, 0, 0, 4, 0, 0, 0, 4, 5}};
  static matrix m;
  const int before = unclear;
  m.n = 10;
  for (int i = 0; i < 10; i++)
    for (int j = 0; j < 10; j++) m.a[i][j] = rows[i][j];
  check(ts, &typed_double, &m, TRISTAR_SYMMETRIC, 2, false);
  check(ts, &typed_double, &m, TRISTAR_GENERAL, 2, false);
  CHECK(unclear == before);
}

static void check_edges(tristar_t *ts) {
  const matrix empty = {.n = 0};
  const tristar_view v = make_view(&typed_double, &empty, TRISTAR_GENERAL);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NULL;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NULL;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NULL;
  int64_t count = -1;
  CHECK_OK(tristar_analyze(ts, &v, NULL, &analysis));
  CHECK_OK(tristar_factor(analysis, v.values, &factor));
  CHECK_OK(tristar_plan(factor, NULL, &plan));
  CHECK_OK(tristar_null_space(plan, TRISTAR_N, 0, NULL, 1, &count));
  CHECK(count == 0);
  CHECK_STATUS(tristar_null_space(plan, TRISTAR_N, -1, NULL, 1, &count), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_null_space(plan, TRISTAR_N, 0, NULL, 0, &count), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_null_space(plan, (tristar_op)'X', 0, NULL, 1, &count), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_null_space(plan, TRISTAR_N, 0, NULL, 1, NULL), TRISTAR_ERR_ARGUMENT);
}

int main(void) {
  static const typed *const types[] = {&typed_single, &typed_double, &typed_complex_single,
                                       &typed_complex_double};
  tristar_t *ts = open_without_starpu(true);
  for (size_t k = 0; k < sizeof types / sizeof *types; k++) check_type(ts, types[k]);
  printf("%d null spaces; %d not clear, %d matrices refused\n", found, unclear, refused);
  CHECK(found > 1700 && unclear < 20 && refused < 20);
  check_far_units(ts, &typed_single);
  check_far_units(ts, &typed_double);
  check_range(ts, 400, 1);
  check_range(ts, 500, 1);
  check_range(ts, 90, 0x1p-800);
  check_small(ts, &typed_double);
  check_small(ts, &typed_complex_double);
  check_circulant(ts, &typed_double);
  check_circulant(ts, &typed_complex_double);
  check_near(ts);
  check_edges(ts);
  printf("%d null spaces; %d not clear, %d matrices refused\n", found, unclear, refused);
  tristar_destroy(&ts);
  return 0;
}
