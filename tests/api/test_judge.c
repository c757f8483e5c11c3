/* The verdict on suspicious pivots: singular matrices that leave more than rounding errors are refused, or
 * factored with a warning; penalties are not taken for singularity; values that an old matching does not suit
 * are reported, refused, or matched anew. */
#include "tests/support/context.h"
#include "tests/support/dense_systems.h"
#include "tests/support/subtests.h"
#include "tristar_stats.h"

enum { CHAIN = 200, RING = 60, UNITS_MOST = 6 };

static int warnings;
static char warning[600];
static int weak_diagonals; /* number of such systems that were factored */

static void on_line(void *arg, tristar_log_level level, const char *text) {
  (void)arg;
  if (level != TRISTAR_LOG_WARNING || strstr(text, "OpenBLAS") || strstr(text, "instead of Cholesky")) return;
  warnings++;
  snprintf(warning, sizeof warning, "%s", text);
}

/* A chain of n unknowns. The diagonal is `first` and `last` at its ends and 2 elsewhere, rounded to
 * `type`. */
typedef struct chain {
  int32_t ptr[CHAIN + 1], index[2 * CHAIN];
  double d[2 * CHAIN];
  float s[2 * CHAIN];
  double z[4 * CHAIN];
  float c[4 * CHAIN];
  tristar_view view;
} chain;

static void make_chain(chain *m, tristar_scalar scalar, int n, double first, double last) {
  int32_t at = 0;
  memset(m, 0, sizeof *m);
  for (int i = 0; i < n; i++) {
    m->ptr[i] = at;
    m->index[at] = i;
    m->d[at++] = i == 0 ? first : i == n - 1 ? last : 2;
    if (i + 1 == n) break;
    m->index[at] = i + 1;
    m->d[at++] = -1;
  }
  m->ptr[n] = at;
  for (int p = 0; p < at; p++) {
    m->s[p] = m->c[2 * p] = (float)m->d[p];
    m->z[2 * p] = m->d[p];
  }
  const void *values = scalar == TRISTAR_SINGLE           ? (void *)m->s
                       : scalar == TRISTAR_DOUBLE         ? (void *)m->d
                       : scalar == TRISTAR_COMPLEX_SINGLE ? (void *)m->c
                                                          : (void *)m->z;
  m->view = (tristar_view){TRISTAR_CSC, TRISTAR_HERMITIAN, scalar, n, n, m->ptr, m->index, values, 32, 32, 0};
  if (scalar == TRISTAR_SINGLE || scalar == TRISTAR_DOUBLE) m->view.symmetry = TRISTAR_SYMMETRIC;
}

/* The 1D Neumann matrix; its last pivot is about n eps. */
static void check_neumann(tristar_t *ts, tristar_scalar scalar, tristar_method method, int single_factors) {
  static chain m;
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  tristar_factor_t *f;
  tristar_factor_stats stats;
  char message[400];
  make_chain(&m, scalar, CHAIN, 1, 1);
  options.method = method;
  options.single_factors = single_factors;
  tristar_analysis_t *an = NEW_ANALYSIS(ts, &m.view, &options);
  const tristar_status status = tristar_factor(an, m.view.values, &f);
  tristar_get_error(ts, message, sizeof message);
  CHECK_MSG(status == TRISTAR_ERR_SINGULAR ||
                (method == TRISTAR_METHOD_LLT && status == TRISTAR_ERR_NOT_POSITIVE_DEFINITE),
            "%c, method %d: %s, %s", (int)scalar, (int)method, tristar_status_name(status), message);
  CHECK(f == NULL && strstr(message, "row ") != NULL);
  tristar_analysis_destroy(&an);
  if (method == TRISTAR_METHOD_LLT) return;
  options.singular = TRISTAR_SINGULAR_PERTURB;
  warnings = 0;
  CHECK_OK(tristar_analyze(ts, &m.view, &options, &an));
  CHECK_OK(tristar_factor(an, m.view.values, &f));
  tristar_factor_get_stats(f, &stats);
  CHECK_MSG(warnings > 0 && stats.judged && stats.reciprocal_condition < 1e-5,
            "%c, method %d: %d warnings, judged %d, condition %g", (int)scalar, (int)method, warnings,
            stats.judged, stats.reciprocal_condition);
  tristar_factor_destroy(&f);
  tristar_analysis_destroy(&an);
}

/* A refactorization with singular values fails, and leaves the factor without values. */
static void check_refactor(tristar_t *ts) {
  static chain m, singular;
  static double b[CHAIN], x[CHAIN];
  make_chain(&m, TRISTAR_DOUBLE, CHAIN, 2, 2);
  make_chain(&singular, TRISTAR_DOUBLE, CHAIN, 1, 1);
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  options.ordering =
      TRISTAR_ORDERING_METIS; /* with this ordering the last pivot of Cholesky is not negative */
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &m.view, &options);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NEW_FACTOR(an, m.d);
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NEW_PLAN(f, NULL);
  CHECK_STATUS(tristar_refactor(f, singular.d), TRISTAR_ERR_SINGULAR);
  CHECK_STATUS(tristar_solve(p, TRISTAR_N, 1, b, CHAIN, x, CHAIN), TRISTAR_ERR_STALE);
  CHECK_OK(tristar_refactor(f, m.d));
  CHECK_OK(tristar_solve(p, TRISTAR_N, 1, b, CHAIN, x, CHAIN));
}

static int64_t allocations_of_refactor(tristar_t *ts, tristar_factor_t *f, const chain *m) {
  tristar_memory_stats before, after;
  tristar_factor_stats stats;
  CHECK_OK(tristar_get_memory(ts, &before));
  CHECK_OK(tristar_refactor(f, m->d));
  CHECK_OK(tristar_get_memory(ts, &after));
  CHECK_OK(tristar_factor_get_stats(f, &stats));
  CHECK(stats.judged);
  return after.allocations - before.allocations;
}

/* Refactorizations share one plan for trial solves. It is freed with the factor, or with the last plan of
 * it. */
static void check_kept_plan(tristar_t *ts, bool plan_is_last) {
  static chain m;
  tristar_analysis_options options;
  tristar_analysis_t *an;
  tristar_factor_t *f;
  tristar_plan_t *p;
  make_chain(&m, TRISTAR_DOUBLE, CHAIN, 1, 1);
  tristar_analysis_options_init(&options);
  options.method = TRISTAR_METHOD_LDLT;
  options.singular = TRISTAR_SINGULAR_PERTURB;
  const size_t before = bytes_held(ts);
  CHECK_OK(tristar_analyze(ts, &m.view, &options, &an));
  CHECK_OK(tristar_factor(an, m.d, &f));
  CHECK_OK(tristar_plan(f, NULL, &p));
  const int64_t first = allocations_of_refactor(ts, f, &m), second = allocations_of_refactor(ts, f, &m);
  CHECK(second < first && allocations_of_refactor(ts, f, &m) == second);
  if (!plan_is_last) tristar_plan_destroy(&p);
  tristar_factor_destroy(&f);
  tristar_analysis_destroy(&an);
  tristar_plan_destroy(&p);
  CHECK(bytes_held(ts) == before);
}

/* A consistent singular system has a small residual. A system without a solution has not, although its
 * backward error is small. */
static void check_consistent(tristar_t *ts) {
  static chain m;
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  tristar_refine_result result;
  make_chain(&m, TRISTAR_DOUBLE, 4, 1, 1);
  options.singular = TRISTAR_SINGULAR_PERTURB;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &m.view, &options);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NEW_FACTOR(an, m.d);
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NEW_PLAN(f, NULL);
  for (int solvable = 0; solvable < 2; solvable++) {
    double b[4] = {1, 0, 0, solvable ? -1 : 1}, x[4];
    CHECK_OK(tristar_solve_refined(p, TRISTAR_N, 1, b, 4, x, 4, NULL, &result));
    CHECK_MSG(solvable ? result.residual < 1e-10 : result.residual > 1e-3, "residual %g", result.residual);
    for (int i = 0; i < 3 && solvable; i++) CHECK_MSG(fabs(x[i] - x[i + 1] - 1) < 1e-10, "x[%d] %g", i, x[i]);
  }
}

/* Dirichlet conditions by penalties of this size. The condition is that of the equilibrated matrix. */
static void check_penalty(tristar_t *ts, tristar_method method, double size) {
  static chain m;
  enum { n = 20 };
  double b[n] = {0}, x[n], reciprocal;
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  tristar_refine_options refine;
  tristar_refine_result result;
  make_chain(&m, TRISTAR_DOUBLE, n, size, size);
  b[0] = size;
  b[n - 1] = 3 * size;
  options.method = method;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &m.view, &options);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NEW_FACTOR(an, m.d);
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NEW_PLAN(f, NULL);
  CHECK_OK(tristar_condition(p, &reciprocal));
  CHECK_MSG(reciprocal > 1e-6, "method %d: reciprocal condition %g", (int)method, reciprocal);
  tristar_refine_options_init(&refine);
  refine.forward_error = 1;
  CHECK_OK(tristar_solve_refined(p, TRISTAR_N, 1, b, n, x, n, &refine, &result));
  CHECK_MSG(result.forward_error < 1e-9, "method %d: forward error %g", (int)method, result.forward_error);
  for (int i = 0; i < n; i++)
    CHECK_MSG(fabs(x[i] - (1 + 2.0 * i / (n - 1))) <= 3 * result.forward_error, "x[%d] is %g", i, x[i]);
}

/* A penalty for one unknown of an unsymmetric matrix; the other unknowns are well conditioned. */
static void check_penalty_general(tristar_t *ts, double size, int single_factors) {
  enum { n = 4 };
  const int ptr[n + 1] = {0, 2, 5, 8, 10}, col[] = {0, 1, 0, 1, 2, 1, 2, 3, 2, 3};
  const double a[] = {size, -0.014, -0.032, 0.56, -0.36, -0.51, 0.68, -0.013, -0.16, 0.18};
  const tristar_view view = {TRISTAR_CSR, TRISTAR_GENERAL, TRISTAR_DOUBLE, n, n, ptr, col, a, 32, 32, 0};
  double b[n] = {size}, x[n]; /* so x[0] = 1 */
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  options.single_factors = single_factors;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &view, &options);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NEW_FACTOR(an, a);
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NEW_PLAN(f, NULL);
  CHECK_OK(tristar_solve_refined(p, TRISTAR_N, 1, b, n, x, n, NULL, NULL));
  CHECK_MSG(fabs(x[0] - 1) <= 1e-15, "x[0] - 1 is %g", x[0] - 1);
  for (int i = 1; i < n; i++) {
    double sum = 0, sizes = 0;
    for (int k = ptr[i]; k < ptr[i + 1]; k++) sum += a[k] * x[col[k]], sizes += fabs(a[k] * x[col[k]]);
    CHECK_MSG(fabs(sum) <= 1e-14 * sizes, "penalty %g: row %d leaves %g of %g", size, i, sum, sizes);
  }
}

/* Rows and columns with very different units, and a weak diagonal. A scaling by the largest entries alone
 * would make this matrix look singular. */
static void check_units(tristar_t *ts) {
  enum { n = 5 };
  const int ptr[n + 1] = {0, 2, 4, 5, 7, 9}, col[] = {1, 3, 1, 2, 0, 2, 3, 0, 4};
  const double a[] = {16384, -4.2e34, -9.5e-30, -0x1p-51, -2.5e17, -0x1p-40, 229376.0, 0x1p24, 1.4e-5};
  const tristar_view view = {TRISTAR_CSR, TRISTAR_GENERAL, TRISTAR_DOUBLE, n, n, ptr, col, a, 32, 32, 0};
  double b[n], x[n];
  tristar_refine_result result;
  for (int i = 0; i < n; i++) b[i] = a[ptr[i + 1] - 1];
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &view, NULL);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NEW_FACTOR(an, a);
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NEW_PLAN(f, NULL);
  CHECK_OK(tristar_solve_refined(p, TRISTAR_N, 1, b, n, x, n, NULL, &result));
  CHECK_MSG(result.backward_error < 1e-14, "backward error %g", result.backward_error);
}

enum { KNOWN = 40 };

/* Refactors and solves. Sets *s to the statistics, and returns the number of allocations of the
 * refactorization. */
static int64_t refactor_known(tristar_t *ts, tristar_factor_t *f, tristar_plan_t *p, const double *a,
                              tristar_factor_stats *s) {
  tristar_memory_stats before, after;
  double b[KNOWN], x[KNOWN], error;
  for (int i = 0; i < KNOWN; i++) b[i] = 1 + i % 3;
  CHECK_OK(tristar_get_memory(ts, &before));
  CHECK_OK(tristar_refactor(f, a));
  CHECK_OK(tristar_get_memory(ts, &after));
  CHECK_OK(tristar_factor_get_stats(f, s));
  CHECK_OK(tristar_solve(p, TRISTAR_N, 1, b, KNOWN, x, KNOWN));
  CHECK_OK(tristar_residual(f, TRISTAR_N, 1, b, KNOWN, x, KNOWN, NULL, 0, &error));
  CHECK_MSG(error < 1e-14, "backward error %g", error);
  return after.allocations - before.allocations;
}

/* If units made solves lose digits, later factorizations with the same units skip the trial solves, and
 * solves refine. Other units are judged again. */
static void check_known_loss(tristar_t *ts) {
  int ptr[KNOWN + 1] = {0}, col[3 * KNOWN], count = 0;
  double plain[3 * KNOWN], far[3 * KNOWN];
  tristar_factor_stats first, s;
  for (int i = 0; i < KNOWN; ptr[++i] = count)
    for (int j = i > 0 ? i - 1 : 0; j <= i + 1 && j < KNOWN; j++) {
      col[count] = j;
      plain[count] = i == j ? 4 + 0.1 * i : j > i ? 1 : -0.7;
      far[count] = ldexp(plain[count], i * 19 % 70 - j * 23 % 66);
      count++;
    }
  const tristar_view view = {
      TRISTAR_CSR, TRISTAR_GENERAL, TRISTAR_DOUBLE, KNOWN, KNOWN, ptr, col, far, 32, 32, 0};
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &view, NULL);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NEW_FACTOR(an, far);
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NEW_PLAN(f, NULL);
  CHECK_OK(tristar_factor_get_stats(f, &first));
  CHECK(first.judged && first.solve_error > 1e-10);
  (void)refactor_known(ts, f, p, far, &s);
  CHECK(s.judged && s.solve_error >= first.solve_error && s.solve_error < 2 * first.solve_error);
  const double kept = s.solve_error;
  (void)refactor_known(ts, f, p, far, &s);
  CHECK(s.solve_error == kept);
  int64_t with_trials = 0;
  for (int k = 0; k < 2; k++) { /* in the second round the plan for trial solves exists */
    (void)refactor_known(ts, f, p, plain, &s);
    CHECK(!s.judged && s.solve_error == 0);
    with_trials = refactor_known(ts, f, p, far, &s);
    CHECK(s.judged && s.solve_error > 1e-10);
  }
  CHECK(refactor_known(ts, f, p, far, &s) < with_trials);
}

/* A system in which every row counts in its own units. full: by rows. Plain solves with A and A^T are
 * accurate, or a warning is given. */
static void check_rows(tristar_t *ts, int n, const double *full, const double *b, double *x) {
  int ptr[UNITS_MOST + 1] = {0}, col[UNITS_MOST * UNITS_MOST];
  double a[UNITS_MOST * UNITS_MOST];
  const tristar_view view = {TRISTAR_CSR, TRISTAR_GENERAL, TRISTAR_DOUBLE, n, n, ptr, col, a, 32, 32, 0};
  for (int i = 0, at = 0; i < n; ptr[++i] = at)
    for (int j = 0; j < n; j++)
      if (full[i * n + j] != 0) col[at] = j, a[at++] = full[i * n + j];
  warnings = 0;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &view, NULL);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NEW_FACTOR(an, a);
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NEW_PLAN(f, NULL);
  for (int k = 0; k < 2; k++) {
    double error;
    CHECK_OK(tristar_solve(p, k ? TRISTAR_T : TRISTAR_N, 1, b, n, x, n));
    CHECK_OK(tristar_residual(f, k ? TRISTAR_T : TRISTAR_N, 1, b, n, x, n, NULL, 0, &error));
    CHECK_MSG(error < 1e-4 || warnings > 0, "backward error %g without a warning", error);
  }
  CHECK_OK(tristar_solve_refined(p, TRISTAR_N, 1, b, n, x, n, NULL, NULL));
  for (int i = 0; i < n; i++) {
    long double rest = b[i], size = fabs(b[i]);
    for (int j = 0; j < n; j++) {
      const long double term = (long double)full[i * n + j] * x[j];
      rest -= term, size += fabsl(term);
    }
    CHECK_MSG(fabsl(rest) <= 1e-7L * size, "row %d leaves %Lg of %Lg", i, rest, size);
  }
}

/* Right-hand sides of ones: after the scaling of the rows their entries have any size. */
static void check_units_of_rows(tristar_t *ts) {
  enum { n = 4 };
  static const double a[n * n] = {0.0048828125,
                                  8.0779356694631609e-28,
                                  0.03125,
                                  0,
                                  0x1p56,
                                  0,
                                  0,
                                  0,
                                  0,
                                  0.000732421875,
                                  -4.7223664828696452e21,
                                  -1.4757395258967641e20,
                                  -422212465065984,
                                  -5.8207660913467407e-10,
                                  0,
                                  0};
  static const double b[n] = {1, 1, 1, 1}, right[n] = {0x1p-56, -1728053248, 32, -1024};
  double x[n];
  check_rows(ts, n, a, b, x);
  for (int i = 0; i < n; i++)
    CHECK_MSG(fabs(x[i] - right[i]) <= 1e-9 * fabs(right[i]), "x[%d] is %.17g, not %.17g", i, x[i], right[i]);
}

/* A diagonal that only regularizes, as in KKT systems: an arrow, and [eps I, B^T; B, eps I] with a full B
 * of small integers. After scaling one unknown is far larger than the others, although all are equally
 * large in the user's units. Plain solves can lose all digits, so tristar_solve refines. */
static void check_weak_diagonal(tristar_t *ts, double eps, int coupled) {
  enum { n = 30 };
  int ptr[n + 1] = {0}, col[n * n], at = 0;
  double a[n * n], b[n] = {0}, x[n];
  for (int i = 0; i < n; ptr[++i] = at)
    for (int j = 0; j < n; j++) {
      const bool off = (i < n - coupled) != (j < n - coupled);
      const double value = i == j ? eps * (4 + i % 3) : off ? ((i + j) % 2 ? -1 : 1) * (1 + (i * j) % 3) : 0;
      if (value != 0) col[at] = j, a[at++] = value;
    }
  const tristar_view v = {TRISTAR_CSR, TRISTAR_GENERAL, TRISTAR_DOUBLE, n, n, ptr, col, a, 32, 32, 0};
  for (int method = TRISTAR_METHOD_AUTO; method <= TRISTAR_METHOD_LDLT; method++) {
    tristar_analysis_options options;
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
    CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
    CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NULL;
    if (method == TRISTAR_METHOD_LLT) continue;
    tristar_analysis_options_init(&options);
    options.method = (tristar_method)method;
    CHECK_OK(tristar_analyze(ts, &v, &options, &an));
    if (tristar_factor(an, a, &f) != TRISTAR_OK) continue; /* B^T B may be singular to working precision */
    CHECK_OK(tristar_plan(f, NULL, &p));
    for (int k = 0; k < 20; k++) {
      double error;
      for (int i = 0; i < n; i++) {
        b[i] = 0;
        for (int q = ptr[i]; q < ptr[i + 1]; q++) b[i] += a[q] * (col[q] * (7 + k) % 9 - 4);
      }
      const tristar_op op = k % 2 ? TRISTAR_T : TRISTAR_N;
      CHECK_OK(tristar_solve(p, op, 1, b, n, x, n));
      CHECK_OK(tristar_residual(f, op, 1, b, n, x, n, NULL, 0, &error));
      CHECK_MSG(error < 1e-8, "eps %g, %d coupled, method %d: backward error %g", eps, coupled, method,
                error);
    }
    weak_diagonals++;
  }
}

/* Returns |det A| relative to the permanent of |A|. If this is near one, no small changes of entries make
 * the matrix singular, whatever the units. */
static double regularity(int n, const double *a) {
  long double sum[1 << UNITS_MOST] = {1}, size[1 << UNITS_MOST] = {1};
  for (int set = 1; set < 1 << n; set++) {
    const int row = __builtin_popcount((unsigned)set) - 1;
    sum[set] = size[set] = 0;
    for (int j = 0; j < n; j++) {
      if (!(set >> j & 1)) continue;
      const long double entry = a[row * n + j];
      const bool odd = __builtin_popcount((unsigned)set >> (j + 1)) % 2;
      sum[set] += (odd ? -entry : entry) * sum[set ^ 1 << j];
      size[set] += fabsl(entry) * size[set ^ 1 << j];
    }
  }
  const int all = (1 << n) - 1;
  return size[all] > 0 ? (double)(fabsl(sum[all]) / size[all]) : 0;
}

/* Each entry has its own power of two. Regular matrices must not be refused, though few scalings show that
 * they are regular. */
static void check_far_entries(tristar_t *ts) {
  uint64_t state = 1;
  int factored = 0;
  for (int k = 0; k < 4000; k++) {
    const int n = 3 + k % (UNITS_MOST - 2), far = 20 + k % 130;
    int ptr[UNITS_MOST + 1] = {0}, col[UNITS_MOST * UNITS_MOST];
    double full[UNITS_MOST * UNITS_MOST], a[UNITS_MOST * UNITS_MOST];
    for (int i = 0, at = 0; i < n; ptr[++i] = at)
      for (int j = 0; j < n; j++) {
        const double sign = next_random(&state) % 2 ? -1 : 1;
        const int size = (int)(next_random(&state) % 8),
                  e = (int)(next_random(&state) % (uint64_t)(2 * far)) - far;
        full[i * n + j] = ldexp(sign * size, e);
        if (size > 0) col[at] = j, a[at++] = full[i * n + j];
      }
    if (regularity(n, full) < 1e-3) continue;
    const tristar_view view = {TRISTAR_CSR, TRISTAR_GENERAL, TRISTAR_DOUBLE, n, n, ptr, col, a, 32, 32, 0};
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &view, NULL);
    CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
    const tristar_status status = tristar_factor(an, a, &f);
    CHECK_MSG(status == TRISTAR_OK, "matrix %d: %s", k, tristar_status_name(status));
    factored++;
  }
  CHECK(factored > 2000);
}

/* Small integers; rows and columns are multiplied by random powers of two. */
static void check_random_units(tristar_t *ts) {
  uint64_t state = 1;
  for (int k = 0; k < 3000; k++) {
    const int n = 2 + k % (UNITS_MOST - 1);
    int row[UNITS_MOST], column[UNITS_MOST];
    double a[UNITS_MOST * UNITS_MOST] = {0}, b[UNITS_MOST], x[UNITS_MOST];
    for (int i = 0; i < n; i++) {
      row[i] = (int)(next_random(&state) % 99) - 49;
      column[i] = (int)(next_random(&state) % 99) - 49;
      b[i] = 1;
    }
    for (int i = 0; i < n; i++) /* a dominant diagonal, then the rows are permuted */
      for (int j = 0; j < n; j++) {
        const int off = (int)(next_random(&state) % 8) - 4;
        const double v = (i + 1) % n == j ? 11 + off : off > 0 && j > 0 ? 3 - off : 0;
        a[i * n + j] = ldexp(v, row[i] + column[j]);
      }
    check_rows(ts, n, a, b, x);
  }
}

/* A ring. Its values `a` are large beside the diagonal, its values `d` on the diagonal. The matching of the
 * former does not suit the latter. */
static void check_growth(tristar_t *ts, tristar_growth growth, bool factor_anew) {
  int ptr[RING + 1] = {0}, col[3 * RING];
  double a[3 * RING], d[3 * RING], b[RING], x[RING], error = 1;
  tristar_analysis_options options;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f;
  tristar_plan_t *p;
  tristar_factor_stats stats;
  for (int i = 0, at = 0; i < RING; i++) {
    col[at] = i, a[at] = 1e-3, d[at++] = 5 + 0.01 * i;
    col[at] = (i + 1) % RING, a[at] = 100, d[at++] = 1e-7;
    col[at] = (i + 7) % RING, a[at] = d[at] = 0.3 + 0.01 * i, at++;
    ptr[i + 1] = at;
    b[i] = 1;
  }
  const tristar_view v = {TRISTAR_CSR, TRISTAR_GENERAL, TRISTAR_DOUBLE, RING, RING, ptr, col, a, 32, 32, 0};
  tristar_analysis_options_init(&options);
  options.growth = growth;
  CHECK_OK(tristar_analyze(ts, &v, &options, &an));
  CHECK_OK(tristar_factor(an, factor_anew ? d : a, &f));
  warnings = 0;
  const tristar_status status = factor_anew ? TRISTAR_OK : tristar_refactor(f, d);
  if (!factor_anew && growth == TRISTAR_GROWTH_MATCH) {
    CHECK_STATUS(status, TRISTAR_ERR_STALE);
  } else {
    CHECK_OK(status);
    tristar_factor_get_stats(f, &stats);
    CHECK_OK(tristar_plan(f, NULL, &p));
    CHECK_OK(tristar_solve(p, TRISTAR_N, 1, b, RING, x, RING));
    CHECK_OK(tristar_residual(f, TRISTAR_N, 1, b, RING, x, RING, NULL, 0, &error));
    if (factor_anew)
      CHECK_MSG(error < 1e-14 && stats.growth < 10, "backward error %g, growth %g", error, stats.growth);
    else {
      CHECK_MSG(warnings > 0 && strstr(warning, "matching") != NULL, "%d warnings: %s", warnings, warning);
      CHECK(stats.judged && stats.solve_error > 1e-8 && stats.growth > 1e6);
    }
    tristar_plan_destroy(&p);
  }
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  static const tristar_scalar scalars[] = {TRISTAR_SINGLE, TRISTAR_DOUBLE, TRISTAR_COMPLEX_SINGLE,
                                           TRISTAR_COMPLEX_DOUBLE};
  static const double penalties[] = {1e30, 1e100, 1e200, 1e300};
  tristar_config config = DEFAULTS(tristar_config);
  CLEANUP(tristar_destroy) tristar_t *ts;
  config.use_starpu = 0;
  config.log = on_line;
  config.log_level = TRISTAR_LOG_WARNING;
  CHECK_OK(tristar_create(&config, &ts));
  for (int method = TRISTAR_METHOD_AUTO; method <= TRISTAR_METHOD_LDLT; method++) {
    for (int s = 0; s < 4; s++) RUN(check_neumann(ts, scalars[s], (tristar_method)method, 0));
    RUN(check_neumann(ts, TRISTAR_DOUBLE, (tristar_method)method, 1));
    RUN(check_neumann(ts, TRISTAR_COMPLEX_DOUBLE, (tristar_method)method, 1));
    for (int k = 0; k < 4; k++) RUN(check_penalty(ts, (tristar_method)method, penalties[k]));
  }
  for (int k = 0; k < 4; k++) {
    RUN(check_penalty_general(ts, penalties[k], 0));
    RUN(check_penalty_general(ts, penalties[k], 1));
  }
  RUN(check_units(ts));
  RUN(check_known_loss(ts));
  RUN(check_units_of_rows(ts));
  for (int k = 4; k <= 18; k += 2)
    for (int coupled = 1; coupled <= 3; coupled += 2) RUN(check_weak_diagonal(ts, pow(10, -k), coupled));
  CHECK_TOTAL(weak_diagonals > 20, "%d factored", weak_diagonals);
  RUN(check_random_units(ts));
  RUN(check_far_entries(ts));
  RUN(check_refactor(ts));
  RUN(check_kept_plan(ts, false));
  RUN(check_kept_plan(ts, true));
  RUN(check_consistent(ts));
  RUN(check_growth(ts, TRISTAR_GROWTH_WARN, false));
  RUN(check_growth(ts, TRISTAR_GROWTH_MATCH, false));
  RUN(check_growth(ts, TRISTAR_GROWTH_MATCH, true));
  return 0;
}
