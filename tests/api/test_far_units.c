/* Systems whose rows and columns have units that are far apart: each row is solved in its own unit, by
 * factors made here or imported. Factors that are imported without their matrix solve as accurately as
 * substitution with them does. */
#include "tests/support/context.h"
#include "tests/support/systems/far_units.h"
#include "tests/support/subtests.h"
#include "tristar_stats.h"

enum { SYSTEMS = TSI_TESTS_SANITIZED ? 60 : 400, SHOWN = 3 };

/* Solves for random b, and for b = op(A) x with random x. Returns the number of errors above the bound. */
static int check_solves(tristar_plan_t *p, const factored *f, bool with_matrix, tristar_scalar scalar,
                        double most, const char *name, uint64_t *state) {
  static const tristar_op ops[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};
  const int n = f->a.n;
  int wrong = 0;
  truth t;
  for (int k = 0; k < 6; k++) {
    double _Complex b[N_MAX], x[N_MAX];
    if (k % 2 == 0) find_truth(f, with_matrix, ops[k / 2], &t);
    for (int i = 0; i < n; i++) put(scalar, k % 2 ? x : b, i, draw(state, is_complex(scalar)));
    if (k % 2) multiply_truth(&t, n, scalar, x, b);
    CHECK_OK(tristar_solve(p, ops[k / 2], 1, b, n, x, n));
    const long double error = error_of(&t, n, scalar, b, x);
    if (error <= most) continue;
    if (wrong++ < SHOWN)
      fprintf(stderr, "%s, %c, n %d, op %c, of x %d: %Lg\n", name, (int)scalar, n, (int)ops[k / 2], k % 2,
              error);
  }
  return wrong;
}

static void check_import(tristar_t *ts, tristar_method method, tristar_scalar scalar, bool with_matrix) {
  static const char *const name[] = {[TRISTAR_METHOD_LLT] = "import of L L^T",
                                     [TRISTAR_METHOD_LDLT] = "import of L D L^T",
                                     [TRISTAR_METHOD_LU] = "import of L U"};
  const double bound = with_matrix ? bound_of(scalar) : is_single(scalar) ? 1e-5 : 1e-13;
  uint64_t state = 1;
  int wrong = 0;
  for (int k = 0; k < SYSTEMS; k++) {
    static factored f;
    make_matrix(&f.a, method, scalar, units_of(scalar), &state);
    factor_it(&f, method, scalar);
    tristar_view view = make_view(&f.a, scalar, TRISTAR_GENERAL);
    CLEANUP(tristar_factor_destroy)
    tristar_factor_t *factor = import(ts, &f, method, scalar, with_matrix ? &view : NULL);
    CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NEW_PLAN(factor, NULL);
    wrong += check_solves(p, &f, with_matrix, scalar, bound, name[method], &state);
    free_view(&view);
  }
  CHECK_MSG(wrong == 0, "%s, %c, matrix %d: %d of %d solves are wrong", name[method], (int)scalar,
            with_matrix, wrong, 6 * SYSTEMS);
}

/* Factors with even units; the units of the rows of A differ widely. So L L^T is symmetric, A is not. */
static void check_row_scale(tristar_t *ts, tristar_method method, tristar_scalar scalar, int units) {
  uint64_t state = 1;
  int wrong = 0;
  for (int k = 0; k < SYSTEMS; k++) {
    static factored f;
    double row_scale[N_MAX];
    make_matrix(&f.a, method, scalar, 0, &state);
    factor_it(&f, method, scalar);
    for (int i = 0; i < f.a.n; i++) {
      const int exponent = draw_exponent(&state, units);
      row_scale[i] = ldexp(1, -exponent);
      for (int j = 0; j < f.a.n; j++) f.a.a[i][j] *= ldexpl(1, exponent);
    }
    tristar_view view = make_view(&f.a, scalar, TRISTAR_GENERAL);
    CLEANUP(tristar_factor_destroy)
    tristar_factor_t *factor = import_scaled(ts, &f, method, scalar, row_scale, &view);
    CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NEW_PLAN(factor, NULL);
    wrong += check_solves(p, &f, true, scalar, bound_of(scalar), "row scale", &state);
    free_view(&view);
  }
  CHECK_MSG(wrong == 0, "method %d, %c, units of 2^%d: %d of %d solves are wrong", (int)method, (int)scalar,
            units, wrong, 6 * SYSTEMS);
}

/* Makes an arrow: a dense last row and column, and a small diagonal. */
static void make_arrow(dense *m, tristar_method method, tristar_scalar scalar, uint64_t *state) {
  make_matrix(m, method, scalar, 0, state);
  const int h = m->n - 1;
  for (int i = 0; i < h; i++)
    for (int j = 0; j < h; j++) m->a[i][j] *= i == j ? 1e-10L : 0;
  round_entries(m, scalar);
  for (int i = 0; i <= h; i++) {
    m->row_exponent[i] = draw_exponent(state, units_of(scalar));
    m->column_exponent[i] =
        method == TRISTAR_METHOD_LU ? draw_exponent(state, units_of(scalar)) : m->row_exponent[i];
  }
  for (int i = 0; i <= h; i++)
    for (int j = 0; j <= h; j++) m->a[i][j] *= ldexpl(1, m->row_exponent[i] + m->column_exponent[j]);
}

static void check_direct(tristar_t *ts, tristar_method method, tristar_scalar scalar, bool arrow) {
  uint64_t state = 1;
  int wrong = 0;
  for (int k = 0; k < SYSTEMS; k++) {
    static factored f;
    if (arrow)
      make_arrow(&f.a, method, scalar, &state);
    else
      make_matrix(&f.a, method, scalar, units_of(scalar), &state);
    if (arrow && f.a.n < 4) continue;
    tristar_view view = make_view(&f.a, scalar, TRISTAR_GENERAL);
    tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
    options.method = method;
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &view, &options);
    CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NEW_FACTOR(an, view.values);
    CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NEW_PLAN(factor, NULL);
    wrong += check_solves(p, &f, true, scalar, bound_of(scalar), arrow ? "arrow" : "factored", &state);
    free_view(&view);
  }
  CHECK_MSG(wrong == 0, "method %d, %c, arrow %d: %d solves are wrong", (int)method, (int)scalar, arrow,
            wrong);
}

/* Refactors values in other units. The scaling is that of a matching of values with even units. */
static void check_renewed(tristar_t *ts, tristar_scalar scalar) {
  uint64_t state = 1;
  int wrong = 0;
  for (int k = 0; k < SYSTEMS; k++) {
    static factored f;
    make_matrix(&f.a, TRISTAR_METHOD_LU, scalar, 0, &state);
    tristar_view first = make_view(&f.a, scalar, TRISTAR_GENERAL);
    for (int j = 0; j < f.a.n; j++) {
      const int exponent = draw_exponent(&state, 19);
      for (int i = 0; i < f.a.n; i++) f.a.a[i][j] *= ldexpl(1, exponent);
    }
    tristar_view second = make_view(&f.a, scalar, TRISTAR_GENERAL);
    tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
    options.method = TRISTAR_METHOD_LU;
    options.matching = TRISTAR_MATCHING_ON;
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &first, &options);
    CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NEW_FACTOR(an, first.values);
    CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NEW_PLAN(factor, NULL);
    CHECK_OK(tristar_refactor(factor, second.values));
    wrong += check_solves(p, &f, true, scalar, bound_of(scalar), "renewed", &state);
    free_view(&first);
    free_view(&second);
  }
  CHECK_MSG(wrong == 0, "%c: %d of %d solves are wrong", (int)scalar, wrong, 6 * SYSTEMS);
}

/* Entries of b between 2^-500 and 2^500: refined solves are accurate in each row. */
static void check_wide_rhs(tristar_t *ts, tristar_method method, int span, int systems, bool dominant) {
  static const tristar_op ops[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};
  uint64_t state = 1;
  int wrong = 0;
  for (int k = 0; k < systems; k++) {
    static factored f;
    make_matrix(&f.a, method, TRISTAR_DOUBLE, 0, &state);
    const int n = f.a.n;
    if (method != TRISTAR_METHOD_LLT && dominant)
      for (int i = 0; i < n; i++) f.a.a[i][i] += 2;
    tristar_view view = make_view(&f.a, TRISTAR_DOUBLE, TRISTAR_GENERAL);
    tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
    options.method = method;
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &view, &options);
    CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NEW_FACTOR(an, view.values);
    CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NEW_PLAN(factor, NULL);
    for (int o = 0; o < 3; o++) {
      double b[N_MAX], x[N_MAX];
      truth t;
      find_truth(&f, true, ops[o], &t);
      for (int i = 0; i < n; i++) {
        const int exponent = draw_exponent(&state, span);
        b[i] = ldexp((double)creall(draw(&state, false)), exponent);
      }
      CHECK_OK(tristar_solve_refined(p, ops[o], 1, b, n, x, n, NULL, NULL));
      const long double error = error_of(&t, n, TRISTAR_DOUBLE, b, x);
      if (!(error <= 1e-10L) && wrong++ < SHOWN) fprintf(stderr, "n %d, op %c: %Lg\n", n, (int)ops[o], error);
    }
    free_view(&view);
  }
  CHECK_MSG(wrong == 0, "method %d, span %d: %d of %d solves are wrong", (int)method, span, wrong,
            3 * systems);
}

/* Makes a symmetric matrix with units between 2^-150 and 2^150, an x in these units, and a b with small
 * relative errors in its rows. */
static void make_import(dense *m, double *g, double *b, double *x, uint64_t *state) {
  make_matrix(m, TRISTAR_METHOD_LDLT, TRISTAR_DOUBLE, 0, state);
  const int n = m->n;
  for (int i = 0; i < n; i++) g[i] = ldexp(1, draw_exponent(state, 150));
  for (int i = 0; i < n; i++)
    x[i] = ldexp((double)creall(draw(state, false)), draw_exponent(state, 25)) * g[i];
  for (int i = 0; i < n; i++) {
    for (int j = 0; j <= i; j++) {
      m->a[i][j] *= ldexpl(1, draw_exponent(state, 25)) / g[i] / g[j];
      m->a[j][i] = m->a[i][j];
    }
  }
  for (int i = 0; i < n; i++) {
    long double sum = 0;
    for (int j = 0; j < n; j++) sum += creall(m->a[i][j]) * x[j];
    b[i] = (double)(sum * (1 + 1e-6L * creall(draw(state, false))));
  }
}

/* Returns the largest error of a row that counts according to figures.md, for the scaling of the import and
 * for ones. */
static long double documented_error(const dense *m, const double *g, const double *b, const double *x) {
  const int n = m->n;
  long double plain = 0, weighted = 0, worst = 0;
  for (int i = 0; i < n; i++) {
    plain = fmaxl(plain, fabs(x[i]));
    weighted = fmaxl(weighted, fabs(x[i]) / g[i]);
  }
  for (int i = 0; i < n; i++) {
    long double rest = b[i], size = fabs(b[i]), by_g = 0, by_ones = 0;
    for (int j = 0; j < n; j++) {
      const long double a = creall(m->a[i][j]);
      rest -= a * x[j];
      size += fabsl(a * x[j]);
      by_g += fabsl(a) * g[j];
      by_ones += fabsl(a);
    }
    const long double limit = 1000 * n * 0x1p-52L * (fminl(by_g * weighted, by_ones * plain) + fabs(b[i]));
    if (size > 2 * limit) worst = fmaxl(worst, fabsl(rest) / size);
  }
  return worst;
}

/* The scaling of an import decides which rows count, whatever scaling TriStar would choose. */
static void check_residual_of_import(tristar_t *ts) {
  uint64_t state = 1;
  int wrong = 0;
  for (int k = 0; k < SYSTEMS; k++) {
    static dense m;
    double g[N_MAX], b[N_MAX], x[N_MAX], ones[N_MAX], error;
    int32_t ptr[N_MAX + 1], index[N_MAX];
    tristar_factors factors;
    make_import(&m, g, b, x, &state);
    const int n = m.n;
    for (int i = 0; i <= n; i++) ptr[i] = i;
    for (int i = 0; i < n; i++) {
      index[i] = i;
      ones[i] = 1;
    }
    tristar_view view = make_view(&m, TRISTAR_DOUBLE, TRISTAR_GENERAL);
    tristar_factors_init(&factors);
    factors.n = n;
    factors.method = TRISTAR_METHOD_LDLT;
    factors.lower.ptr = ptr;
    factors.lower.index = index;
    factors.lower.values = factors.diagonal = ones;
    factors.lower.ptr_bits = factors.lower.index_bits = 32;
    factors.row_scale = factors.column_scale = g;
    factors.matrix = &view;
    CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NULL;
    CHECK_OK(tristar_import_supernodal(ts, &factors, &factor));
    CHECK_OK(tristar_residual(factor, TRISTAR_N, 1, b, n, x, n, NULL, n, &error));
    const long double least = documented_error(&m, g, b, x);
    if (error < 0.99L * least && wrong++ < SHOWN) fprintf(stderr, "n %d: %g, not %Lg\n", n, error, least);
    free_view(&view);
  }
  CHECK_MSG(wrong == 0, "%d of %d residuals are too small", wrong, SYSTEMS);
}

/* x is zero in the column of the largest entry of row 0, so all other terms of the row are small. */
static void check_zero(tristar_t *ts) {
  enum { n = 3 };
  static const int ptr[] = {0, 2, 4, 5}, index[] = {0, 1, 1, 2, 2};
  static const double a[] = {844331027685508.62, 181.73864905561541, 1.7690840771540897e-10,
                             -150034.62560821837, 1.7187545004725456e20};
  const tristar_view view = {TRISTAR_CSC, TRISTAR_SYMMETRIC, TRISTAR_DOUBLE, n, n, ptr, index, a, 32, 32, 0};
  const double b[n] = {4 * a[1], 4 * a[2] + 2 * a[3], 4 * a[3] + 2 * a[4]};
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  double x[n];
  options.method = TRISTAR_METHOD_LLT;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &view, &options);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NEW_FACTOR(an, a);
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NEW_PLAN(f, NULL);
  CHECK_OK(tristar_solve(p, TRISTAR_N, 1, b, n, x, n));
  const long double rest = b[0] - (long double)a[0] * x[0] - (long double)a[1] * x[1];
  CHECK_MSG(fabsl(rest) < 1e-12L * b[0], "row 0 leaves %Lg of %g", rest, b[0]);
}

/* A permuted triangle of -1 and 1 in units that differ by 2^32. Most sums are exact, so a few right-hand
 * sides do not show that others lose the digits of a row. */
static void check_apart(tristar_t *ts) {
  enum { n = 7 };
  static const int sign[n][n] = {{-1, -1, -1, -1, 1, -1, -1}, {0, 0, 0, -1, 0, 0, 1},
                                 {-1, -1, 1, -1, 0, -1, -1},  {0, 0, 0, 1, 0, 0, 0},
                                 {1, 0, 0, -1, 0, 0, -1},     {-1, 1, 0, -1, 0, 0, -1},
                                 {-1, -1, 0, -1, 0, 1, -1}};
  static const int unit[n] = {12, 10, -11, 15, 14, 10, -17};
  static const double b[n] = {0.149, 0.685, 0.057, -0.055, 0, 0.255, -0.505};
  int32_t ptr[n + 1] = {0}, row[n * n];
  double a[n * n], x[n];
  for (int j = 0; j < n; j++) {
    ptr[j + 1] = ptr[j];
    for (int i = 0; i < n; i++) {
      if (sign[i][j] == 0) continue;
      row[ptr[j + 1]] = i;
      a[ptr[j + 1]++] = ldexp(sign[i][j], unit[j]);
    }
  }
  const tristar_view view = {TRISTAR_CSC, TRISTAR_GENERAL, TRISTAR_DOUBLE, n, n, ptr, row, a, 32, 32, 0};
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  options.method = TRISTAR_METHOD_LU;
  options.matching = TRISTAR_MATCHING_OFF;
  options.ordering = TRISTAR_ORDERING_NATURAL;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &view, &options);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NEW_FACTOR(an, a);
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NEW_PLAN(f, NULL);
  CHECK_OK(tristar_solve(p, TRISTAR_T, 1, b, n, x, n));
  for (int j = 0; j < n; j++) {
    double rest = b[j], size = fabs(b[j]);
    for (int k = ptr[j]; k < ptr[j + 1]; k++) {
      rest -= a[k] * x[row[k]];
      size += fabs(a[k] * x[row[k]]);
    }
    CHECK_MSG(fabs(rest) <= 1e-14 * size, "row %d leaves %g of %g", j, rest, size);
  }
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  static const tristar_scalar scalars[] = {TRISTAR_DOUBLE, TRISTAR_COMPLEX_DOUBLE, TRISTAR_SINGLE,
                                           TRISTAR_COMPLEX_SINGLE};
  static const tristar_method methods[] = {TRISTAR_METHOD_LLT, TRISTAR_METHOD_LDLT, TRISTAR_METHOD_LU};
  tristar_t *ts = open_without_starpu(false);
  for (int s = 0; s < 4; s++)
    for (int m = 0; m < 3; m++) {
      RUN(check_import(ts, methods[m], scalars[s], true));
      RUN(check_import(ts, methods[m], scalars[s], false));
      RUN(check_row_scale(ts, methods[m], scalars[s], units_of(scalars[s])));
      RUN(check_row_scale(ts, methods[m], scalars[s], 2 * units_of(scalars[s])));
      RUN(check_direct(ts, methods[m], scalars[s], false));
      if (methods[m] != TRISTAR_METHOD_LLT) RUN(check_direct(ts, methods[m], scalars[s], true));
    }
  RUN(check_residual_of_import(ts));
  RUN(check_zero(ts));
  RUN(check_apart(ts));
  for (int s = 0; s < 4; s++) RUN(check_renewed(ts, scalars[s]));
  for (int m = 0; m < 3; m++) {
    RUN(check_wide_rhs(ts, methods[m], 60, SYSTEMS, true));
    RUN(check_wide_rhs(ts, methods[m], 500, SYSTEMS, true));
  }
  RUN(check_wide_rhs(ts, TRISTAR_METHOD_LU, 500, 10 * SYSTEMS, false)); /* rows rarely lose digits */
  close_context(&ts);
  return 0;
}
