/* Forward error bounds: on dense matrices whose inverse is known to more digits, well and ill conditioned and
 * badly scaled, in all types and operations, with exact and with single factors, the bound is at least the
 * true error and near the one that xGERFS's formula gives. Singular factors, perturbed pivots, zeros, NaN,
 * blocks of right-hand sides. The estimated condition, against that of the scaled matrix. */
#include <float.h>

#include "tests/support/context.h"
#include "tests/support/dense_systems.h"
#include "tests/support/flow.h"
#include "tests/support/subtests.h"
#include "tristar_machine.h"
#include "tristar_stats.h"

/* Computes || |A^-1| (|r| + k eps (|A| |x| + |b|)) || / ||x|| with the entries of the inverse. */
static double formula(const dense *m, tristar_op op, double epsilon, const number *b, const number *x) {
  static number inverse[N_MAX][N_MAX];
  long double f[N_MAX], largest = 0, size = 0;
  invert(m, op, inverse);
  for (int i = 0; i < m->n; i++) {
    number r = b[i];
    long double sum = cabsl(b[i]);
    for (int j = 0; j < m->n; j++) {
      r -= entry(m, op, i, j) * x[j];
      sum += cabsl(entry(m, op, i, j)) * cabsl(x[j]);
    }
    f[i] = cabsl(r) + (m->n + 1) * (long double)epsilon * sum;
    size = fmaxl(size, cabsl(x[i]));
  }
  for (int i = 0; i < m->n; i++) {
    long double sum = 0;
    for (int j = 0; j < m->n; j++) sum += cabsl(inverse[i][j]) * f[j];
    largest = fmaxl(largest, sum);
  }
  return (double)(largest / size);
}

/* Makes the c-th solution: a unit vector, positive entries, or alternating signs. It is scaled so that
 * op(A) x is exact. */
static void make_truth(const dense *m, tristar_scalar scalar, tristar_op op, int c, number *x) {
  for (int j = 0; j < m->n; j++) {
    const int exponent = op == TRISTAR_N ? m->column_exponent[j] : m->row_exponent[j];
    x[j] = c == 0 ? j == m->n - 1 : 1 + j % 3 + (is_complex(scalar) ? power_of_i(j) : 0);
    if (c == 2 && j % 2) x[j] = -x[j];
    x[j] *= ldexpl(1, -exponent);
  }
}

/* Solves op(A) x = b for known x and exact b. Compares the bound with the true errors and with the
 * formula. */
static void check_solve(tristar_plan_t *p, const dense *m, tristar_scalar scalar, tristar_op op,
                        const char *what) {
  enum { COUNT = 3 };
  const double epsilon = is_single(scalar) ? (double)FLT_EPSILON : DBL_EPSILON;
  const int n = m->n;
  double _Complex b[COUNT * N_MAX], x[COUNT * N_MAX]; /* large enough for any type */
  number wide_b[COUNT][N_MAX], truth[COUNT][N_MAX], wide_x[N_MAX];
  double true_error = 0, expected = 0;
  tristar_refine_options options;
  tristar_refine_result result;
  for (int c = 0; c < COUNT; c++) {
    make_truth(m, scalar, op, c, truth[c]);
    for (int i = 0; i < n; i++) {
      wide_b[c][i] = 0;
      for (int j = 0; j < n; j++) wide_b[c][i] += entry(m, op, i, j) * truth[c][j];
      put(scalar, b, i + c * n, wide_b[c][i]);
      CHECK(get(scalar, b, i + c * n) == wide_b[c][i]);
    }
  }
  tristar_refine_options_init(&options);
  options.forward_error = 1;
  CHECK_OK(tristar_solve_refined(p, op, COUNT, b, n, x, n, &options, &result));
  for (int c = 0; c < COUNT; c++) {
    long double error = 0, size = 0;
    for (int i = 0; i < n; i++) {
      wide_x[i] = get(scalar, x, i + c * n);
      error = fmaxl(error, cabsl(wide_x[i] - truth[c][i]));
      size = fmaxl(size, cabsl(wide_x[i]));
    }
    true_error = fmax(true_error, (double)(error / size));
    expected = fmax(expected, formula(m, op, epsilon, wide_b[c], wide_x));
  }
  CHECK_MSG(true_error <= result.forward_error, "%s %s %d %c %c: error %g, bound %g", m->name, what, n,
            scalar, op, true_error, result.forward_error);
  if (expected < 0.1)
    CHECK_MSG(result.forward_error > 0.7 * expected && result.forward_error < 1.3 * expected,
              "%s %s %d %c %c: bound %g, by the formula %g", m->name, what, n, scalar, op,
              result.forward_error, expected);
  else
    CHECK_MSG(result.forward_error > 0.03, "%s %s %d %c %c: bound %g, by the formula %g", m->name, what, n,
              scalar, op, result.forward_error, expected);
}

static void check_matrix(tristar_t *ts, const dense *m, tristar_scalar scalar, tristar_symmetry symmetry,
                         tristar_method method, int single_factors, const char *what) {
  static const tristar_op ops[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p;
  CLEANUP(free_view) tristar_view v = make_view(m, scalar, symmetry);
  make_plan(ts, &v, method, single_factors, &f, &p);
  for (int o = 0; o < 3; o++) check_solve(p, m, scalar, ops[o], what);
}

/* Checks a matrix as a general one with scaled rows and columns, and as each symmetric kind. */
static void check_kinds(tristar_t *ts, const dense *given, tristar_scalar scalar, int single_factors) {
  const int strength = is_single(scalar) || single_factors ? 3 : 9;
  for (int rows = 0; rows < 2; rows++)
    for (int columns = 0; columns < 2; columns++) {
      dense m = *given;
      if (is_complex(scalar)) turn(&m, false);
      scale(&m, rows * strength, columns * strength);
      check_matrix(ts, &m, scalar, TRISTAR_GENERAL, TRISTAR_METHOD_LU, single_factors, "LU");
    }
  if (given->a[0][1] != given->a[1][0]) return;
  for (int conjugate = 0; conjugate < (is_complex(scalar) ? 2 : 1); conjugate++) {
    dense m = *given;
    const bool definite = !is_complex(scalar) || conjugate;
    const tristar_symmetry symmetry = is_complex(scalar) && conjugate ? TRISTAR_HERMITIAN : TRISTAR_SYMMETRIC;
    if (is_complex(scalar)) turn(&m, conjugate);
    check_matrix(ts, &m, scalar, symmetry, TRISTAR_METHOD_LDLT, single_factors, "LDLT");
    if (definite && !single_factors)
      check_matrix(ts, &m, scalar, symmetry, TRISTAR_METHOD_LLT, single_factors, "LLT");
  }
}

static void check_dense(tristar_t *ts) {
  static const tristar_scalar scalars[] = {TRISTAR_SINGLE, TRISTAR_DOUBLE, TRISTAR_COMPLEX_SINGLE,
                                           TRISTAR_COMPLEX_DOUBLE};
  for (int s = 0; s < 4; s++)
    for (int single_factors = 0; single_factors < (is_single(scalars[s]) ? 1 : 2); single_factors++) {
      const dense good = dominant(12);
      check_kinds(ts, &good, scalars[s], single_factors);
      for (int n = 1; n <= (is_single(scalars[s]) ? 5 : 10); n++) {
        const dense bad = hilbert(n);
        check_kinds(ts, &bad, scalars[s], single_factors);
      }
    }
}

/* Random systems of all conditions, even ones that are singular in this type. The bound is at least a third
 * of the error, or infinite. If the condition leaves two digits, the bound must be finite. */
static void check_random(tristar_t *ts) {
  static const tristar_scalar scalars[] = {TRISTAR_SINGLE, TRISTAR_COMPLEX_SINGLE, TRISTAR_DOUBLE,
                                           TRISTAR_COMPLEX_DOUBLE};
  uint64_t state = 11;
  for (int turn = 0; turn < (TSI_TESTS_SANITIZED ? 1200 : 12000); turn++) {
    const tristar_scalar scalar = scalars[turn % 4];
    const int bits = is_single(scalar) ? 32 : 60, n = 2 + turn % 7;
    const double epsilon = is_single(scalar) ? FLT_EPSILON : DBL_EPSILON;
    dense m = {.name = "random", .n = n};
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) {
        m.a[i][j] = (long double)((int)(next_random(&state) % 17) - 8);
        if (is_complex(scalar)) __imag__ m.a[i][j] = (long double)((int)(next_random(&state) % 17) - 8);
      }
    const long double d = ldexpl(1, -(int)(next_random(&state) % (uint64_t)bits));
    for (int j = 0; j < n; j++) { /* the last row is nearly the sum of the others */
      number sum = (long double)((int)(next_random(&state) % 17) - 8) * d;
      for (int i = 0; i < n - 1; i++) sum += m.a[i][j];
      m.a[n - 1][j] = sum;
    }
    CLEANUP(free_view) tristar_view v = make_view(&m, scalar, TRISTAR_GENERAL);
    for (int j = 0; j < n; j++)
      for (int i = 0; i < n; i++) m.a[i][j] = get(scalar, v.values, i + n * j); /* rounded to the type */
    static number inverse[N_MAX][N_MAX];
    char b[N_MAX * sizeof(double _Complex)], x[N_MAX * sizeof(double _Complex)];
    tristar_analysis_options o = DEFAULTS(tristar_analysis_options);
    tristar_analysis_t *an;
    tristar_factor_t *f;
    tristar_plan_t *p;
    tristar_refine_options options;
    tristar_refine_result result;
    double reciprocal;
    for (int i = 0; i < n; i++) put(scalar, b, i, (long double)((int)(next_random(&state) % 17) - 8));
    invert(&m, TRISTAR_N, inverse);
    o.singular = TRISTAR_SINGULAR_PERTURB;
    const tristar_status status = tristar_analyze(ts, &v, &o, &an);
    if (status == TRISTAR_OK) {
      CHECK_OK(tristar_factor(an, v.values, &f));
      CHECK_OK(tristar_plan(f, NULL, &p));
      CHECK_OK(tristar_condition(p, &reciprocal));
      tristar_refine_options_init(&options);
      options.forward_error = 1;
      CHECK_OK(tristar_solve_refined(p, TRISTAR_N, 1, b, n, x, n, &options, &result));
      long double error = 0, size = 0;
      for (int i = 0; i < n; i++) {
        number truth = 0;
        for (int j = 0; j < n; j++) truth += inverse[i][j] * get(scalar, b, j);
        error = fmaxl(error, cabsl(get(scalar, x, i) - truth));
        size = fmaxl(size, cabsl(get(scalar, x, i)));
      }
      CHECK_MSG(size == 0 || !isfinite((double)error) ||
                    error / size <= 3 * (long double)result.forward_error,
                "%c, system %d: error %Lg, bound %g, 1 / condition %g", scalar, turn, error / size,
                result.forward_error, reciprocal);
      CHECK_MSG(isfinite(result.forward_error) || reciprocal < 20 * epsilon,
                "%c, system %d: no bound, 1 / condition %g", scalar, turn, reciprocal);
      tristar_plan_destroy(&p);
      tristar_factor_destroy(&f);
      tristar_analysis_destroy(&an);
    } else
      CHECK(status == TRISTAR_ERR_SINGULAR);
  }
}

/* Blocks [1 1; 1 1 + d] with d = k 2^-40. With single factors every second pivot is perturbed, too many for
 * refinement and FGMRES. The first digit of x may be wrong although the backward error is small. The bound
 * must not hide it. */
static void check_perturbed(tristar_t *ts) {
  enum { BLOCKS = 200, N = 2 * BLOCKS };
  static int32_t ptr[N + 1], index[4 * BLOCKS];
  static double values[4 * BLOCKS], b[N], x[N];
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p;
  tristar_factor_stats stats;
  tristar_refine_options options;
  tristar_refine_result result;
  for (int j = 0; j < N; j++) {
    const double d = (j / 2 + 1) * 0x1p-40;
    ptr[j + 1] = 2 * (j + 1);
    for (int i = 0; i < 2; i++) {
      index[2 * j + i] = j / 2 * 2 + i;
      values[2 * j + i] = j % 2 && i ? 1 + d : 1;
    }
    b[j] = 2 + (j % 2 ? d : 0); /* for x = (1, 1, ...) */
  }
  const tristar_view v = {TRISTAR_CSC, TRISTAR_GENERAL, TRISTAR_DOUBLE, N, N, ptr, index, values, 32, 32, 0};
  make_plan(ts, &v, TRISTAR_METHOD_LU, 1, &f, &p);
  tristar_factor_get_stats(f, &stats);
  CHECK_MSG(stats.perturbed_pivots > BLOCKS / 2, "%d pivots perturbed", (int)stats.perturbed_pivots);
  tristar_refine_options_init(&options);
  options.forward_error = 1;
  for (int iterations = 0; iterations <= 30; iterations += 30) {
    double error = 0, size = 0;
    options.max_iterations = iterations;
    CHECK_OK(tristar_solve_refined(p, TRISTAR_N, 1, b, N, x, N, &options, &result));
    for (int i = 0; i < N; i++) {
      error = larger_error(error, fabs(x[i] - 1));
      size = fmax(size, fabs(x[i]));
    }
    CHECK_MSG(error / size <= 1.5 * result.forward_error, "error %g, bound %g", error / size,
              result.forward_error);
  }
}

/* Removes the zeros from a view that make_view made. */
static void drop_zeros(tristar_view *v) {
  int32_t *ptr = (int32_t *)(uintptr_t)v->ptr, *index = (int32_t *)(uintptr_t)v->index, to = 0;
  double *values = (double *)(uintptr_t)v->values;
  for (int32_t j = 0, p = 0; j < v->cols; j++) {
    for (; p < ptr[j + 1]; p++)
      if (values[p] != 0) {
        index[to] = index[p];
        values[to++] = values[p];
      }
    ptr[j + 1] = to;
  }
}

/* Blocks [1 1; 1 1 + d], d = 2^-33, with a common row and column. Their second pivots are perturbed, but
 * this x hides it. The bound is still that of the matrix. */
static void check_hidden(tristar_t *ts) {
  enum { N = 5 };
  dense m = {.name = "hidden", .n = N};
  double b[N], x[N];
  number wide_b[N], wide_x[N];
  tristar_analysis_options analysis;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p;
  tristar_factor_stats stats;
  tristar_refine_options options;
  tristar_refine_result result;
  for (int i = 0; i < N; i++) m.a[i][i] = m.a[i][N - 1] = m.a[N - 1][i] = 1;
  for (int k = 0; k < N - 1; k += 2) {
    m.a[k][k + 1] = m.a[k + 1][k] = 1;
    m.a[k + 1][k + 1] = 1 + 0x1p-33;
  }
  for (int i = 0; i < N; i++) {
    wide_b[i] = m.a[i][0] + 2 * m.a[i][2];
    b[i] = (double)creall(wide_b[i]);
  }
  CLEANUP(free_view) tristar_view v = make_view(&m, TRISTAR_DOUBLE, TRISTAR_GENERAL);
  tristar_analysis_options_init(&analysis);
  analysis.method = TRISTAR_METHOD_LU;
  analysis.ordering = TRISTAR_ORDERING_NATURAL;
  analysis.matching = TRISTAR_MATCHING_OFF;
  analysis.merge = TRISTAR_MERGE_NONE;
  drop_zeros(&v);
  CHECK_OK(tristar_analyze(ts, &v, &analysis, &an));
  CHECK_OK(tristar_factor(an, v.values, &f));
  CHECK_OK(tristar_plan(f, NULL, &p));
  tristar_factor_get_stats(f, &stats);
  CHECK(stats.perturbed_pivots == 2);
  tristar_refine_options_init(&options);
  options.forward_error = 1;
  CHECK_OK(tristar_solve_refined(p, TRISTAR_N, 1, b, N, x, N, &options, &result));
  CHECK(result.initial_backward_error < 1e-14);
  for (int i = 0; i < N; i++) wide_x[i] = x[i];
  const double expected = formula(&m, TRISTAR_N, DBL_EPSILON, wide_b, wide_x);
  CHECK_MSG(result.forward_error > 0.3 * expected, "bound %g, by the formula %g", result.forward_error,
            expected);
}

/* Products that underflow are rounding errors, too: x is wrong by a ninth although its residual is zero. */
static void check_underflow(tristar_t *ts) {
  const dense m = {.name = "underflow", .n = 2, .a = {{1, 0.125L}, {0.125L, 1}}};
  const double b[] = {0x1p-1073, 0x1p-1073};
  double x[2];
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p;
  tristar_refine_options options = DEFAULTS(tristar_refine_options);
  tristar_refine_result result;
  CLEANUP(free_view) tristar_view v = make_view(&m, TRISTAR_DOUBLE, TRISTAR_GENERAL);
  make_plan(ts, &v, TRISTAR_METHOD_LU, 0, &f, &p);
  options.forward_error = 1;
  CHECK_OK(tristar_solve_refined(p, TRISTAR_N, 1, b, 2, x, 2, &options, &result));
  CHECK_MSG(result.forward_error > 0.1, "x = (%g, %g), bound %g", x[0], x[1], result.forward_error);
}

/* More right-hand sides than one estimate handles at a time: whichever is the worst, its bound is found. */
static void check_many(tristar_t *ts) {
  enum { COUNT = 37 };
  CLEANUP(flow_destroy) flow w;
  flow_create(ts, "convdiff3d", 5, TRISTAR_ENGINE_AUTO, 0, &w);
  const int64_t n = w.view.rows, ld = n + 3;
  double *b = xcalloc((size_t)(COUNT * ld), sizeof *b), *x = xcalloc((size_t)(COUNT * ld), sizeof *x),
         worst = 0;
  tristar_refine_options options = DEFAULTS(tristar_refine_options);
  tristar_refine_result all, one;
  fill_random(b, COUNT * ld, 3);
  options.forward_error = 1;
  CHECK_OK(tristar_solve_refined(w.plan, TRISTAR_T, COUNT, b, ld, x, ld, &options, &all));
  for (int c = 0; c < COUNT; c++) {
    CHECK_OK(tristar_solve_refined(w.plan, TRISTAR_T, 1, b + c * ld, ld, x, ld, &options, &one));
    worst = fmax(worst, one.forward_error);
  }
  CHECK_MSG(all.forward_error > worst / 2 && all.forward_error < 2 * worst, "together %g, alone %g",
            all.forward_error, worst);
  CHECK_MSG(worst > DBL_EPSILON && worst < 1e5 * DBL_EPSILON, "bound %g", worst);
  options.forward_error = 0;
  CHECK_OK(tristar_solve_refined(w.plan, TRISTAR_N, COUNT, b, ld, x, ld, &options, &one));
  CHECK(one.forward_error == 0);
  options.forward_error = 1;
  for (int c = 0; c < COUNT;
       c += 6) { /* zero x is exact; a column that is not finite is an error and is left out */
    memset(b + c * ld, 0, (size_t)n * sizeof *b);
    CHECK_OK(tristar_solve_refined(w.plan, TRISTAR_N, 1, b + c * ld, ld, x, ld, &options, &one));
    CHECK(one.forward_error == 0 && one.stop == TRISTAR_STOP_CONVERGED);
    CHECK_OK(tristar_solve_refined(w.plan, TRISTAR_N, COUNT, b, ld, x, ld, &options, &one));
    CHECK(one.forward_error > worst / 10 && one.forward_error < 10 * worst);
    b[c * ld + n / 2] = NAN;
    CHECK_STATUS(tristar_solve_refined(w.plan, TRISTAR_N, COUNT, b, ld, x, ld, &options, &one),
                 TRISTAR_ERR_NOT_FINITE);
    CHECK(one.forward_error > worst / 10 && one.forward_error < 10 * worst && one.backward_error < 1e-15);
    b[c * ld + n / 2] = 1;
  }
  CHECK_OK(tristar_solve_refined(w.plan, TRISTAR_N, 0, NULL, ld, NULL, ld, &options, &one));
  CHECK(one.forward_error == 0 && one.stop == TRISTAR_STOP_CONVERGED);
  free(b);
  free(x);
}

static void check_empty(tristar_t *ts) {
  const dense m = {.name = "empty", .n = 0};
  double x[1], reciprocal;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p;
  tristar_refine_options options = DEFAULTS(tristar_refine_options);
  tristar_refine_result result;
  CLEANUP(free_view) tristar_view v = make_view(&m, TRISTAR_DOUBLE, TRISTAR_GENERAL);
  make_plan(ts, &v, TRISTAR_METHOD_LU, 0, &f, &p);
  options.forward_error = 1;
  CHECK_OK(tristar_solve_refined(p, TRISTAR_N, 2, x, 1, x, 1, &options, &result));
  CHECK(result.forward_error == 0 && result.backward_error == 0);
  CHECK_OK(tristar_condition(p, &reciprocal));
  CHECK(reciprocal == 1);
}

static int64_t solves_of(const tristar_plan_t *p) {
  tristar_plan_stats stats;
  CHECK_OK(tristar_plan_get_stats(p, &stats));
  return stats.solves;
}

/* A bound costs 8 to 22 solves without perturbed pivots; 4 to 12 of them compute the condition. With
 * perturbed pivots both may be two more, as tristar.h documents. */
static void check_cost(tristar_t *ts, double diagonal) {
  enum { N = 20, COLUMNS = 16 };
  int32_t ptr[N + 1], index[3 * N];
  double values[3 * N], b[COLUMNS * N], x[COLUMNS * N], reciprocal;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p;
  tristar_refine_options options;
  for (int i = 0, at = 0; i < N; i++) {
    ptr[i] = at;
    for (int j = i > 0 ? i - 1 : 0; j <= i + 1 && j < N; j++, at++) {
      index[at] = j;
      values[at] = i == j ? diagonal : j < i ? -1 : -1.01;
    }
    ptr[i + 1] = at;
  }
  for (int i = 0; i < COLUMNS * N; i++) b[i] = 1 + i * 7 % 11;
  const tristar_view view = {
      TRISTAR_CSR, TRISTAR_GENERAL, TRISTAR_DOUBLE, N, N, ptr, index, values, 32, 32, 0};
  CHECK_OK(tristar_analyze(ts, &view, NULL, &an));
  CHECK_OK(tristar_factor(an, values, &f));
  CHECK_OK(tristar_plan(f, NULL, &p));
  tristar_refine_options_init(&options);
  for (int columns = 1; columns <= COLUMNS; columns += COLUMNS - 1) {
    int64_t solves[2];
    for (options.forward_error = 0; options.forward_error < 2; options.forward_error++) {
      const int64_t before = solves_of(p);
      CHECK_OK(tristar_solve_refined(p, TRISTAR_N, columns, b, N, x, N, &options, NULL));
      solves[options.forward_error] = solves_of(p) - before;
    }
    const int64_t cost = solves[1] - solves[0];
    CHECK_MSG(cost >= 8 && cost <= 22, "%d right-hand sides: %lld solves", columns, (long long)cost);
  }
  const int64_t before = solves_of(p);
  CHECK_OK(tristar_condition(p, &reciprocal));
  const int64_t cost = solves_of(p) - before;
  CHECK_MSG(cost >= 4 && cost <= 12, "condition %g: %lld solves", reciprocal, (long long)cost);
}

/* Refactors values whose units differ from those of the first ones, with the first scaling. The condition
 * is that of the equilibrated matrix, about 13, so some digits remain. */
static void check_other_units(tristar_t *ts) {
  enum { ORDER = 5 };
  static const double first[ORDER][ORDER] = {
      {4, -7, -7, 0, 6}, {-7, 0, 0, -8, 7}, {-7, 0, 3, 6, 5}, {0, -8, 6, 2, 9}, {6, 7, 5, 9, 6}};
  static const int unit[ORDER] = {-7, 2, 6, -4, 4};
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NULL;
  int ptr[ORDER + 1], index[ORDER * ORDER], entries = 0;
  float values[2][ORDER * ORDER], x[ORDER];
  const float b[ORDER] = {1, 1, 1, 1, 1};
  tristar_view v = DEFAULTS(tristar_view);
  tristar_refine_options o = DEFAULTS(tristar_refine_options);
  tristar_refine_result result;
  double reciprocal;
  for (int j = 0; j < ORDER; j++) {
    ptr[j] = entries;
    for (int i = 0; i < ORDER; i++) {
      if (!(fabs(first[i][j]) > 0)) continue;
      index[entries] = i;
      values[0][entries] = (float)first[i][j];
      values[1][entries++] = (float)ldexp(first[i][j], unit[i] + unit[j]);
    }
  }
  ptr[ORDER] = entries;
  v.scalar = TRISTAR_SINGLE;
  v.rows = v.cols = ORDER;
  v.ptr = ptr;
  v.index = index;
  v.values = values[0];
  o.forward_error = 1;
  CHECK_OK(tristar_analyze(ts, &v, NULL, &an));
  CHECK_OK(tristar_factor(an, values[0], &f));
  CHECK_OK(tristar_plan(f, NULL, &p));
  CHECK_OK(tristar_refactor(f, values[1]));
  CHECK_OK(tristar_solve_refined(p, TRISTAR_N, 1, b, ORDER, x, ORDER, &o, &result));
  CHECK_MSG(result.forward_error < 1e-3, "forward error %g", result.forward_error);
  CHECK_OK(tristar_condition(p, &reciprocal));
  CHECK_MSG(reciprocal > 1e-3, "condition 1 / %g", reciprocal);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(true);
  RUN(check_dense(ts));
  RUN(check_perturbed(ts));
  RUN(check_random(ts));
  RUN(check_hidden(ts));
  RUN(check_underflow(ts));
  RUN(check_many(ts));
  RUN(check_empty(ts));
  RUN(check_other_units(ts));
  RUN(check_cost(ts, 4));
  RUN(check_cost(ts, 2.5));
  RUN(check_cost(ts, -1e-3));
  return 0;
}
