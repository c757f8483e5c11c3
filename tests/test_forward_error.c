/* Forward error bounds: on dense matrices whose inverse is known to more digits, well and ill conditioned and
 * badly scaled, in all types and operations, with exact and with single factors, the bound is at least the
 * true error and near the one that xGERFS's formula gives. Singular factors, perturbed pivots, zeros, NaN,
 * blocks of right-hand sides. */
#include <float.h>

#include "tests/dense_systems.h"
#include "tests/flow.h"

/* op(A)^-1 by Gauss-Jordan elimination with row exchanges. */
static void invert(const dense *m, tristar_op op, number inverse[N_MAX][N_MAX]) {
  number a[N_MAX][2 * N_MAX];
  const int n = m->n;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < 2 * n; j++) a[i][j] = j < n ? entry(m, op, i, j) : i == j - n;
  for (int k = 0; k < n; k++) {
    int pivot = k;
    for (int i = k; i < n; i++)
      if (cabsl(a[i][k]) > cabsl(a[pivot][k])) pivot = i;
    for (int j = 0; j < 2 * n; j++) {
      const number swap = a[k][j];
      a[k][j] = a[pivot][j];
      a[pivot][j] = swap;
    }
    const number d = a[k][k];
    for (int j = 0; j < 2 * n; j++) a[k][j] /= d;
    for (int i = 0; i < n; i++) {
      const number factor = a[i][k];
      for (int j = 0; i != k && j < 2 * n; j++) a[i][j] -= factor * a[k][j];
    }
  }
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) inverse[i][j] = a[i][j + n];
}

/* || |A^-1| (|r| + k eps (|A| |x| + |b|)) || / ||x||, from the entries of the inverse. */
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

/* The c-th solution: a unit vector, all positive, signs that alternate. Scaled so that op(A) x is exact. */
static void make_truth(const dense *m, tristar_scalar scalar, tristar_op op, int c, number *x) {
  for (int j = 0; j < m->n; j++) {
    const int exponent = op == TRISTAR_N ? m->column_exponent[j] : m->row_exponent[j];
    x[j] = c == 0 ? j == m->n - 1 : 1 + j % 3 + (is_complex(scalar) ? power_of_i(j) : 0);
    if (c == 2 && j % 2) x[j] = -x[j];
    x[j] *= ldexpl(1, -exponent);
  }
}

/* op(A) x = b for known x and exact b; the bound against the true errors and the formula. */
static void check_solve(tristar_plan_t *p, const dense *m, tristar_scalar scalar, tristar_op op,
                        const char *what) {
  enum { COUNT = 3 };
  const double epsilon = is_single(scalar) ? (double)FLT_EPSILON : DBL_EPSILON;
  const int n = m->n;
  double _Complex b[COUNT * N_MAX], x[COUNT * N_MAX]; /* room for any type */
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
  tristar_factor_t *f;
  tristar_plan_t *p;
  tristar_view v = make_view(m, scalar, symmetry);
  make_plan(ts, &v, method, single_factors, &f, &p);
  for (int o = 0; o < 3; o++) check_solve(p, m, scalar, ops[o], what);
  tristar_plan_destroy(&p);
  tristar_factor_destroy(&f);
  free_view(&v);
}

/* As a general matrix with scaled rows and columns, and in its symmetric kinds. */
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

/* The k-th matrix that is singular, or nearly so, to working precision. */
static dense singular(int k) {
  dense m = {.name = "singular", .n = k < 2 ? 3 : 12};
  uint64_t state = 3;
  for (int i = 0; i < m.n; i++)
    for (int j = 0; j < m.n; j++)
      m.a[i][j] = k < 2    ? (i < 2) == (j < 2) /* equal rows */
                  : k == 2 ? (i == j            ? 2
                              : abs(i - j) == 1 ? -1
                                                : 0) /* a Laplacian, with the ends set below */
                           : (long double)(int)(next_random(&state) % 17) - 8;
  if (k == 1) m.a[1][1] += (long double)DBL_EPSILON;
  if (k == 2) m.a[0][0] = m.a[11][11] = 1;
  for (int j = 0; k == 3 && j < 12; j++) m.a[11][j] = m.a[3][j] + 2 * m.a[5][j] - m.a[7][j];
  return m;
}

/* No digit of x is certain then, though the system has solutions. */
static void check_singular(tristar_t *ts) {
  for (int k = 0; k < 4; k++)
    for (int single_factors = 0; single_factors < 2; single_factors++)
      for (int method = TRISTAR_METHOD_LU; method <= (k == 3 ? TRISTAR_METHOD_LU : TRISTAR_METHOD_LDLT);
           method++) {
        const dense m = singular(k);
        double b[N_MAX] = {0}, x[N_MAX];
        tristar_factor_t *f;
        tristar_plan_t *p;
        tristar_refine_options options;
        tristar_refine_result result;
        tristar_view v =
            make_view(&m, TRISTAR_DOUBLE, method == TRISTAR_METHOD_LU ? TRISTAR_GENERAL : TRISTAR_SYMMETRIC);
        make_plan(ts, &v, (tristar_method)method, single_factors, &f, &p);
        for (int i = 0; i < m.n; i++)
          for (int j = 0; j < m.n; j++) b[i] += (double)(creall(m.a[i][j]) * (1 + j % 5));
        tristar_refine_options_init(&options);
        options.forward_error = 1;
        CHECK_OK(tristar_solve_refined(p, TRISTAR_N, 1, b, m.n, x, m.n, &options, &result));
        CHECK_MSG(result.forward_error >= 1, "singular %d %d: bound %g", k, single_factors,
                  result.forward_error);
        tristar_plan_destroy(&p);
        tristar_factor_destroy(&f);
        free_view(&v);
      }
}

/* Blocks [1 1; 1 1 + d], d = k 2^-40: with single factors every second pivot is perturbed, and neither
 * refinement nor FGMRES makes up for so many. x can be wrong in its first digit at a small backward error,
 * and the bound must not hide it. */
static void check_perturbed(tristar_t *ts) {
  enum { BLOCKS = 200, N = 2 * BLOCKS };
  static int32_t ptr[N + 1], index[4 * BLOCKS];
  static double values[4 * BLOCKS], b[N], x[N];
  tristar_factor_t *f;
  tristar_plan_t *p;
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
    b[j] = 2 + (j % 2 ? d : 0); /* x = (1, 1, ...) */
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
      error = fmax(error, fabs(x[i] - 1));
      size = fmax(size, fabs(x[i]));
    }
    CHECK_MSG(error / size <= 1.5 * result.forward_error, "error %g, bound %g", error / size,
              result.forward_error);
  }
  tristar_plan_destroy(&p);
  tristar_factor_destroy(&f);
}

/* More right-hand sides than are estimated together: none is lost, whichever is the worst. */
static void check_many(tristar_t *ts) {
  enum { COUNT = 37 };
  flow w;
  flow_create(ts, "convdiff3d", 5, TRISTAR_ENGINE_AUTO, 0, &w);
  const int64_t n = w.view.rows, ld = n + 3;
  double *b = calloc((size_t)(COUNT * ld), sizeof *b), *x = calloc((size_t)(COUNT * ld), sizeof *x),
         worst = 0;
  tristar_refine_options options;
  tristar_refine_result all, one;
  fill_random(b, COUNT * ld, 3);
  tristar_refine_options_init(&options);
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
  for (int c = 0; c < COUNT; c += 6) { /* a zero x is exact; one that is not finite has no bound */
    memset(b + c * ld, 0, (size_t)n * sizeof *b);
    CHECK_OK(tristar_solve_refined(w.plan, TRISTAR_N, 1, b + c * ld, ld, x, ld, &options, &one));
    CHECK(one.forward_error == 0 && one.stop == TRISTAR_STOP_CONVERGED);
    CHECK_OK(tristar_solve_refined(w.plan, TRISTAR_N, COUNT, b, ld, x, ld, &options, &one));
    CHECK(one.forward_error > worst / 10 && one.forward_error < 10 * worst);
    b[c * ld + n / 2] = NAN;
    CHECK_OK(tristar_solve_refined(w.plan, TRISTAR_N, COUNT, b, ld, x, ld, &options, &one));
    CHECK(isinf(one.forward_error) && isnan(one.backward_error) && one.stop == TRISTAR_STOP_STAGNATED);
    b[c * ld + n / 2] = 1;
  }
  CHECK_OK(tristar_solve_refined(w.plan, TRISTAR_N, 0, NULL, ld, NULL, ld, &options, &one));
  CHECK(one.forward_error == 0 && one.stop == TRISTAR_STOP_CONVERGED);
  free(b);
  free(x);
  flow_destroy(&w);
}

static void check_empty(tristar_t *ts) {
  const dense m = {.name = "empty", .n = 0};
  double x[1], reciprocal;
  tristar_factor_t *f;
  tristar_plan_t *p;
  tristar_refine_options options;
  tristar_refine_result result;
  tristar_view v = make_view(&m, TRISTAR_DOUBLE, TRISTAR_GENERAL);
  make_plan(ts, &v, TRISTAR_METHOD_LU, 0, &f, &p);
  tristar_refine_options_init(&options);
  options.forward_error = 1;
  CHECK_OK(tristar_solve_refined(p, TRISTAR_N, 2, x, 1, x, 1, &options, &result));
  CHECK(result.forward_error == 0 && result.backward_error == 0);
  CHECK_OK(tristar_condition(p, &reciprocal));
  CHECK(reciprocal == 1);
  tristar_plan_destroy(&p);
  tristar_factor_destroy(&f);
  free_view(&v);
}

int main(void) {
  tristar_config config;
  tristar_memory_stats memory;
  tristar_t *ts;
  tristar_config_init(&config);
  config.use_starpu = 0;
  config.check = 1;
  CHECK_OK(tristar_create(&config, &ts));
  check_dense(ts);
  check_singular(ts);
  check_perturbed(ts);
  check_many(ts);
  check_empty(ts);
  tristar_memory(ts, &memory);
  CHECK_MSG(memory.current_bytes == 0, "%zu bytes leaked", memory.current_bytes);
  tristar_destroy(&ts);
  return 0;
}
