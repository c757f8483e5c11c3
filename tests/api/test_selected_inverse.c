/* Chosen entries of inverses, held against A X = I: all scalars and methods, by the recursion and by unit
 * vectors, with matchings and scalings. */
#include "tests/support/context.h"
#include "tests/support/subtests.h"
#include "tests/support/typed.h"
#include "tristar_forecast.h"
#include "tristar_inverse.h"
#include "tristar_schur.h"
#include "tristar_stats.h"

typedef struct system_of {
  tristar_view v;
  tristar_analysis_t *analysis;
  tristar_factor_t *factor;
  tristar_plan_t *plan;
} system_of;

static void destroy(system_of *s) {
  tristar_plan_destroy(&s->plan);
  tristar_factor_destroy(&s->factor);
  tristar_analysis_destroy(&s->analysis);
}

static void make(tristar_t *ts, const tristar_view *v, const tristar_analysis_options *options,
                 system_of *s) {
  *s = (system_of){.v = *v};
  CHECK_OK(tristar_analyze(ts, v, options, &s->analysis));
  CHECK_OK(tristar_factor(s->analysis, v->values, &s->factor));
  CHECK_OK(tristar_plan(s->factor, NULL, &s->plan));
}

/* Returns the whole inverse, column-major, computed by refined solves. */
static void *invert(const typed *t, const system_of *s) {
  const int64_t n = s->v.rows;
  void *b = xcalloc((size_t)(n * n), t->bytes), *x = xcalloc((size_t)(n * n), t->bytes);
  for (int64_t i = 0; i < n; i++) put(t, b, i * (n + 1), 1);
  CHECK_OK(tristar_solve_refined(s->plan, TRISTAR_N, n, b, n, x, n, NULL, NULL));
  free(b);
  return x;
}

/* Entry (i, j) must be right up to rounding errors relative to row i and column j of the inverse. */
static void check_entry(const typed *t, const void *inverse, int64_t n, int64_t i, int64_t j, number got,
                        const double *row, const double *column) {
  const number expected = get(t, inverse, i + j * n);
  const double size = cabs(expected) + sqrt(row[i] * column[j]);
  CHECK_MSG(cabs(got - expected) <= 1e4 * t->roundoff * size,
            "%c, entry (%d,%d): %.9g %+.9g i, not %.9g %+.9g i", (char)t->scalar, (int)i, (int)j, creal(got),
            cimag(got), creal(expected), cimag(expected));
}

/* The diagonal is real or zero if the symmetry requires it. */
static void check_diagonal(const system_of *s, number got) {
  CHECK(s->v.symmetry != TRISTAR_HERMITIAN || cimag(got) == 0);
  CHECK(s->v.symmetry != TRISTAR_SKEW_SYMMETRIC || cabs(got) == 0);
}

static void check_system(const typed *t, const system_of *s) {
  const int64_t n = s->v.rows, *ptr = s->v.ptr;
  const int32_t *index = s->v.index;
  OWNED void *inverse = invert(t, s), *diagonal = xcalloc((size_t)n, t->bytes),
             *values = xcalloc((size_t)ptr[n], t->bytes), *all = xcalloc((size_t)(n * n), t->bytes);
  OWNED int64_t *rows = xcalloc((size_t)(n * n), sizeof *rows),
                *columns = xcalloc((size_t)(n * n), sizeof *columns);
  OWNED double *row = xcalloc((size_t)n, sizeof *row), *column = xcalloc((size_t)n, sizeof *column);
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = 0; i < n; i++) {
      const double size = cabs(get(t, inverse, i + j * n));
      row[i] = fmax(row[i], size);
      column[j] = fmax(column[j], size);
      rows[i + j * n] = i;
      columns[i + j * n] = j;
    }
  CHECK_OK(tristar_inverse_diagonal(s->plan, diagonal));
  for (int64_t i = 0; i < n; i++) {
    check_entry(t, inverse, n, i, i, get(t, diagonal, i), row, column);
    check_diagonal(s, get(t, diagonal, i));
  }
  const tristar_op ops[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};
  for (int o = 0; o < 3; o++) {
    CHECK_OK(tristar_inverse_pattern(s->plan, ops[o], values));
    for (int64_t j = 0; j < n; j++)
      for (int64_t p = ptr[j]; p < ptr[j + 1]; p++) {
        const number got = get(t, values, p);
        if (index[p] == j) check_diagonal(s, got);
        if (ops[o] == TRISTAR_N)
          check_entry(t, inverse, n, index[p], j, got, row, column);
        else
          check_entry(t, inverse, n, j, index[p], ops[o] == TRISTAR_C ? conj(got) : got, row, column);
      }
  }
  CHECK_OK(tristar_inverse_entries(s->plan, n * n, rows, columns, all));
  for (int64_t k = 0; k < n * n; k++)
    check_entry(t, inverse, n, rows[k], columns[k], get(t, all, k), row, column);
  CHECK_OK(tristar_inverse_entries(s->plan, 1, &rows[n / 2], &columns[3 * n],
                                   all)); /* computed by a solve with a unit vector */
  check_entry(t, inverse, n, n / 2, 3, get(t, all, 0), row, column);
}

/* Checks a model problem of a few hundred rows. */
static void check_model(tristar_t *ts, const typed *t, const char *kind, int64_t size,
                        tristar_symmetry symmetry, tristar_method method, tristar_inverse inverse,
                        tristar_merge merge) {
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *matrix = NULL;
  CLEANUP(destroy) system_of s;
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  tristar_view v;
  OWNED void *values = typed_matrix(ts, kind, size, t, symmetry, &matrix, &v);
  options.method = method;
  options.inverse = inverse;
  options.merge = merge;
  make(ts, &v, &options, &s);
  check_system(t, &s);
}

/* The number of rows is even, so the matrix is regular. */
static void check_skew(tristar_t *ts, const typed *t) {
  enum { M = 30 };
  static number a[M][M];
  CLEANUP(destroy) system_of s;
  memset(a, 0, sizeof a);
  for (int j = 0; j < M; j++)
    for (int i = j + 1; i < M; i++) {
      if (i > j + 1 && (i * 7 + j * 3) % 5 > 0) continue;
      a[i][j] = random_value((uint64_t)(i * M + j)) + (i == j + 1 ? 3 : 0);
      if (!t->is_complex) __imag__ a[i][j] = 0;
    }
  const tristar_view v = typed_dense_view(t, M, a[0], M, TRISTAR_SKEW_SYMMETRIC);
  make(ts, &v, NULL, &s);
  check_system(t, &s);
}

static void check_type(tristar_t *ts, const typed *t) {
  const tristar_symmetry hermitian = t->is_complex ? TRISTAR_HERMITIAN : TRISTAR_SYMMETRIC;
  check_model(ts, t, "s2d9pt", 14, hermitian, TRISTAR_METHOD_LLT, TRISTAR_INVERSE_DIAGONAL,
              TRISTAR_MERGE_RELAXED);
  check_model(ts, t, "poisson3d7", 6, hermitian, TRISTAR_METHOD_LDLT, TRISTAR_INVERSE_NONE,
              TRISTAR_MERGE_NONE);
  check_model(ts, t, "poisson3d7", 6, TRISTAR_SYMMETRIC, TRISTAR_METHOD_LDLT, TRISTAR_INVERSE_DIAGONAL,
              TRISTAR_MERGE_FUNDAMENTAL);
  check_model(ts, t, "convdiff3d", 6, TRISTAR_GENERAL, TRISTAR_METHOD_LU, TRISTAR_INVERSE_PARTITIONED,
              TRISTAR_MERGE_RELAXED);
  if (!t->is_single)
    check_model(ts, t, "kkt3d", 4, TRISTAR_SYMMETRIC, TRISTAR_METHOD_AUTO, TRISTAR_INVERSE_DIAGONAL,
                TRISTAR_MERGE_RELAXED);
  check_skew(ts, t);
}

/* Permuted rows make a matching necessary, so the factor has no entries at the diagonal of the inverse.
 * Rows and columns are scaled. */
static void check_matched(tristar_t *ts, const typed *t) {
  enum { N = 40 };
  number a[N][N] = {{0}};
  CLEANUP(destroy) system_of s;
  for (int i = 0; i < N; i++) {
    const int row = (i * 7 + 3) % N;
    a[row][i] = ldexp(4 + i % 3, i % 5);
    a[row][(i + 1) % N] = 1;
    a[row][(i * 5) % N] += random_value((uint64_t)i);
    if (!t->is_complex)
      for (int j = 0; j < N; j++) __imag__ a[row][j] = 0;
  }
  const tristar_view v = typed_dense_view(t, N, a[0], N, TRISTAR_GENERAL);
  make(ts, &v, NULL, &s);
  check_system(t, &s);
}

/* Separators that are wider than a panel. */
static void check_wide(tristar_t *ts, tristar_method method) {
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *matrix = NULL;
  CLEANUP(destroy) system_of s;
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  const tristar_view v =
      generated_view(ts, method == TRISTAR_METHOD_LU ? "convdiff3d" : "poisson3d7", 20, &matrix);
  const int64_t n = v.rows;
  options.method = method;
  make(ts, &v, &options, &s);
  OWNED double *diagonal = xcalloc((size_t)n, sizeof *diagonal), *x = xcalloc((size_t)n, sizeof *x);
  CHECK_OK(tristar_inverse_diagonal(s.plan, diagonal));
  for (int64_t i = 0; i < n; i += n / 7) {
    memset(x, 0, (size_t)n * sizeof *x);
    x[i] = 1;
    CHECK_OK(tristar_solve(s.plan, TRISTAR_N, 1, x, n, x, n));
    CHECK_MSG(fabs(x[i] - diagonal[i]) <= 1e-11 * fabs(x[i]), "row %d: %.17g, not %.17g", (int)i, diagonal[i],
              x[i]);
  }
}

/* The inverse of R A C (R and C are powers of two) is as accurate as that of A, however much the units
 * differ. */
static void check_units(tristar_t *ts, int far) {
  enum { N = 60 };
  for (uint64_t seed = 1; seed <= 20; seed++) {
    uint64_t state = seed;
    number a[N * N] = {0};
    double plain[N], diagonal[N];
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++)
        if (i == j)
          a[i * N + j] = 5;
        else if (abs(i - j) == 1 || next_random(&state) % 30 == 0)
          a[i * N + j] = (double)(next_random(&state) % 200) / 100 - 1;
    int exponent[2][N];
    for (int side = 0; side < 2; side++)
      for (int i = 0; i < N; i++)
        exponent[side][i] = (int)(next_random(&state) % (unsigned)(2 * far + 1)) - far;
    for (int scaled = 0; scaled < 2; scaled++) {
      CLEANUP(destroy) system_of s;
      for (int i = 0; i < N * N && scaled; i++) a[i] *= ldexp(1, exponent[0][i / N] + exponent[1][i % N]);
      const tristar_view v = typed_dense_view(&typed_double, N, a, N, TRISTAR_GENERAL);
      make(ts, &v, NULL, &s);
      CHECK_OK(tristar_inverse_diagonal(s.plan, scaled ? diagonal : plain));
    }
    for (int i = 0; i < N; i++) {
      const double expected = ldexp(plain[i], -exponent[0][i] - exponent[1][i]);
      CHECK_MSG(fabs(diagonal[i] - expected) <= 1e-12 * fabs(expected), "units 2^+-%d, entry %d: %g, not %g",
                far, i, diagonal[i], expected);
    }
  }
}

/* Symmetric matrices of nearly equal entries: some pivots are tiny, and later ones grow. The inverse is
 * right or refused. */
static void check_growth(tristar_t *ts, tristar_merge merge) {
  enum { N = 20 };
  int right = 0;
  for (uint64_t seed = 1; seed <= 1500; seed++) {
    uint64_t state = seed;
    const int n = 4 + (int)(next_random(&state) % 16);
    const double near = ldexp(1, -(int)(next_random(&state) % 25));
    number a[N * N] = {0};
    double diagonal[N], largest = 0, error = 0;
    tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
    CLEANUP(destroy) system_of s = {.plan = NULL};
    for (int j = 0; j < n; j++)
      for (int i = j; i < n; i++)
        if (i == j || next_random(&state) % 3 > 0) a[i * N + j] = 1 + near * creal(random_value(state));
    const tristar_view v = typed_dense_view(&typed_double, n, a, N, TRISTAR_SYMMETRIC);
    s.v = v;
    options.merge = merge;
    CHECK_OK(tristar_analyze(ts, &v, &options, &s.analysis));
    if (tristar_factor(s.analysis, v.values, &s.factor) != TRISTAR_OK) continue; /* singular */
    CHECK_OK(tristar_plan(s.factor, NULL, &s.plan));
    const tristar_status status = tristar_inverse_diagonal(s.plan, diagonal);
    if (status == TRISTAR_ERR_ACCURACY) continue;
    CHECK_OK(status);
    OWNED double *inverse = invert(&typed_double, &s);
    for (int i = 0; i < n * n; i++) largest = fmax(largest, fabs(inverse[i]));
    if (largest > 200) continue; /* ill-conditioned */
    for (int i = 0; i < n; i++) error = fmax(error, fabs(diagonal[i] - inverse[i * (n + 1)]));
    CHECK_MSG(error <= 1e-7 * largest, "system %d: error %g", (int)seed, error / largest);
    right++;
  }
  CHECK_MSG(right > 900, "only %d systems", right);
}

static int cancel(void *arg, const tristar_progress_point *point) {
  *(double *)arg = point->share;
  return 1;
}

/* Rows a and b of each triple a, b, p are eliminated first, and their block is singular. So pivots are
 * perturbed, and refined solves compute the entries. */
static void check_perturbed(tristar_t *ts, const typed *t, tristar_symmetry symmetry, tristar_method method) {
  enum { N = 60 };
  static number a[N][N];
  CLEANUP(destroy) system_of s;
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  tristar_plan_stats stats;
  int64_t permutation[N];
  double share = -1;
  typed_triples(N, symmetry != TRISTAR_GENERAL, a[0], permutation);
  for (int k = 0; k < N && t->is_complex; k += 3) __imag__ a[k + 2][k] = 0.25;
  for (int i = 0; i < N && symmetry != TRISTAR_GENERAL; i++)
    for (int j = 0; j < i; j++) a[j][i] = mirrored(symmetry, a[i][j]);
  options.ordering = TRISTAR_ORDERING_USER;
  options.permutation = permutation;
  options.merge = TRISTAR_MERGE_NONE;
  options.method = method;
  const tristar_view v = typed_dense_view(t, N, a[0], N, symmetry);
  make(ts, &v, &options, &s);
  CHECK_OK(tristar_plan_get_stats(s.plan, &stats));
  CHECK(stats.perturbed_pivots > 0 && stats.inverse_solves == 0);
  check_system(t, &s);
  OWNED void *diagonal = xcalloc(N, t->bytes);
  CHECK_OK(tristar_inverse_diagonal(s.plan, diagonal));
  CHECK_OK(tristar_plan_get_stats(s.plan, &stats));
  CHECK(stats.inverse_solves == N);
  CHECK_OK(tristar_set_progress(ts, cancel, &share));
  CHECK_STATUS(tristar_inverse_diagonal(s.plan, diagonal), TRISTAR_ERR_CANCELLED);
  CHECK_OK(tristar_set_progress(ts, NULL, NULL));
  CHECK(share >= 0 && share < 1);
}

/* The inverse of a singular matrix is refused, even if SINGULAR_PERTURB gave a factor. */
static void check_singular(tristar_t *ts) {
  enum { N = 12 };
  number a[N * N] = {0};
  double diagonal[N];
  CLEANUP(destroy) system_of s;
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  for (int i = 0; i < N; i++) {
    a[i * N + i] = i > 0 && i < N - 1 ? 2 : 1;
    if (i > 0) a[i * N + i - 1] = a[(i - 1) * N + i] = -1;
  }
  options.singular = TRISTAR_SINGULAR_PERTURB;
  const tristar_view v = typed_dense_view(&typed_double, N, a, N, TRISTAR_SYMMETRIC);
  make(ts, &v, &options, &s);
  CHECK_STATUS(tristar_inverse_diagonal(s.plan, diagonal), TRISTAR_ERR_ACCURACY);
  CHECK_ERROR(ts, "the matrix is singular");
}

/* Skew-symmetric matrices of odd order are singular, but some have no perturbed pivot. */
static void check_odd_skew(tristar_t *ts) {
  enum { N = 9 };
  const int64_t first = 0, second = 1;
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  options.singular = TRISTAR_SINGULAR_PERTURB;
  for (int n = 3; n <= N; n += 2)
    for (int k = 1; k < 12; k++) {
      number a[N * N] = {0};
      double entry;
      CLEANUP(destroy) system_of s;
      for (int j = 0; j < n; j++)
        for (int i = j + 1; i < n; i++) a[i * n + j] = 1.0 / (i + k * j + 1), a[j * n + i] = -a[i * n + j];
      const tristar_view v = typed_dense_view(&typed_double, n, a, n, TRISTAR_SKEW_SYMMETRIC);
      make(ts, &v, &options, &s);
      CHECK_STATUS(tristar_inverse_entries(s.plan, 1, &first, &second, &entry), TRISTAR_ERR_ACCURACY);
      CHECK_ERROR(ts, "the matrix is singular");
    }
}

/* The entries of the matrix are so small that its inverse overflows. */
static void check_overflow(tristar_t *ts) {
  static const double entry[] = {3, 1, 1, 2};
  const int64_t row = 1, column = 0;
  number a[4];
  double x[4];
  CLEANUP(destroy) system_of s;
  for (int k = 0; k < 4; k++) a[k] = ldexp(entry[k], -1030);
  const tristar_view v = typed_dense_view(&typed_double, 2, a, 2, TRISTAR_GENERAL);
  make(ts, &v, NULL, &s);
  CHECK_STATUS(tristar_inverse_diagonal(s.plan, x), TRISTAR_ERR_NOT_FINITE);
  CHECK_STATUS(tristar_inverse_pattern(s.plan, TRISTAR_T, x), TRISTAR_ERR_NOT_FINITE);
  CHECK_STATUS(tristar_inverse_entries(s.plan, 1, &row, &column, x), TRISTAR_ERR_NOT_FINITE);
  CHECK_ERROR(ts, "entry (1, 0) of the inverse");
}

static void check_refused(tristar_t *ts) {
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *matrix = NULL;
  CLEANUP(destroy) system_of s, schur, single;
  const tristar_view v = generated_view(ts, "s2d9pt", 4, &matrix);
  const int64_t outside = 16, inside = 0;
  double x[16];
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  make(ts, &v, NULL, &s);
  CHECK_STATUS(tristar_inverse_entries(s.plan, 1, &outside, &inside, x), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_inverse_entries(s.plan, 1, &inside, &outside, x), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_inverse_entries(s.plan, -1, &inside, &inside, x), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_inverse_entries(s.plan, 1, NULL, &inside, x), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_inverse_diagonal(s.plan, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_inverse_pattern(s.plan, (tristar_op)0, x), TRISTAR_ERR_ARGUMENT);
  CHECK_OK(tristar_inverse_entries(s.plan, 0, NULL, NULL, NULL));
  options.schur = &inside;
  options.schur_count = 1;
  make(ts, &v, &options, &schur);
  CHECK_STATUS(tristar_inverse_diagonal(schur.plan, x), TRISTAR_ERR_UNSUPPORTED);
  options = DEFAULTS(tristar_analysis_options);
  options.single_factors = 1;
  make(ts, &v, &options, &single);
  CHECK_STATUS(tristar_inverse_diagonal(single.plan, x), TRISTAR_ERR_UNSUPPORTED);
  tristar_plan_options stored = DEFAULTS(tristar_plan_options);
  CLEANUP(tristar_plan_destroy) tristar_plan_t *rounded = NULL;
  stored.storage = TRISTAR_STORAGE_SINGLE;
  CHECK_OK(tristar_plan(s.factor, &stored, &rounded));
  CHECK_STATUS(tristar_inverse_diagonal(rounded, x), TRISTAR_ERR_UNSUPPORTED);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(true);
  const typed *const types[] = {&typed_double, &typed_complex_double, &typed_single, &typed_complex_single};
  for (int k = 0; k < 4; k++) {
    RUN(check_type(ts, types[k]));
    RUN(check_matched(ts, types[k]));
  }
  RUN(check_wide(ts, TRISTAR_METHOD_LLT));
  RUN(check_wide(ts, TRISTAR_METHOD_LU));
  for (int far = 0; far <= 60; far += 20) RUN(check_units(ts, far));
  RUN(check_growth(ts, TRISTAR_MERGE_RELAXED));
  RUN(check_growth(ts, TRISTAR_MERGE_FUNDAMENTAL));
  for (int k = 0; k < 4; k++) {
    const tristar_symmetry kind = types[k]->is_complex ? TRISTAR_HERMITIAN : TRISTAR_SYMMETRIC;
    RUN(check_perturbed(ts, types[k], TRISTAR_GENERAL, TRISTAR_METHOD_LU));
    RUN(check_perturbed(ts, types[k], kind, TRISTAR_METHOD_LU));
    RUN(check_perturbed(ts, types[k], kind, TRISTAR_METHOD_LDLT));
  }
  RUN(check_singular(ts));
  RUN(check_odd_skew(ts));
  RUN(check_overflow(ts));
  RUN(check_refused(ts));
  return 0;
}
