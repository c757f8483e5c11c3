/* Values for which a factorization has small pivots, inverts diagonal blocks that have entries of very
 * different sizes, or scales rows by factors up to 2^20 apart, after others of the same pattern for which it
 * has not: plain solves lose digits of rows whose terms are small, and are refined. */
#include "tests/support/context.h"
#include "tests/support/subtests.h"
#include "tests/support/systems/far_units.h"

enum { SYSTEMS = 600, SHOWN = 3 };

typedef enum kind { SMALL_BLOCK, SMALL_DIAGONAL, EQUAL_ROWS, UNEVEN, KINDS } kind;

/* Makes two rows (and columns, if symmetric) nearly equal wherever both have entries. */
static void make_rows_equal(dense *m, bool symmetric, long double apart, uint64_t *state) {
  const int r = (int)(next_random(state) % (uint64_t)m->n), s = (r + 1) % m->n;
  for (int j = 0; j < m->n; j++) {
    const long double factor = 1 + apart * creall(draw(state, false));
    if (m->a[r][j] == 0 || m->a[s][j] == 0 || (symmetric && (j == r || j == s))) continue;
    m->a[s][j] = m->a[r][j] * factor;
    if (symmetric) m->a[j][s] = m->a[s][j];
  }
  if (!symmetric || m->a[r][s] == 0) return;
  m->a[r][r] = m->a[r][s];
  m->a[s][s] = m->a[r][s] * (1 + apart);
}

/* [a c; c 0] with |a| between 2^-16 and 2^-20 times |c|. The scaling makes both entries equally large,
 * although c x_0 is as large as c x_1. */
static void make_uneven(dense *m, uint64_t *state) {
  const int apart = 16 + (int)(next_random(state) % 5);
  m->a[0][1] = m->a[1][0] = 1 + 0.5L * creall(draw(state, false));
  m->a[0][0] = ldexpl(1 + 0.5L * creall(draw(state, false)), -apart);
  m->a[1][1] = 0;
}

static void spoil(dense *m, kind what, bool symmetric, uint64_t *state) {
  const long double apart = ldexpl(1, -(int)(next_random(state) % 45));
  const int h = m->n / 2;
  if (what == UNEVEN) make_uneven(m, state);
  if (what == EQUAL_ROWS) make_rows_equal(m, symmetric, apart, state);
  for (int i = 0; i < m->n && what == SMALL_DIAGONAL; i++) m->a[i][i] *= apart;
  for (int i = 0; i < h && what == SMALL_BLOCK; i++)
    for (int j = 0; j < h; j++) m->a[i][j] *= apart;
}

/* Returns the largest backward error of solves for which no refinement was requested. */
static double worst_error(const tristar_factor_t *f, tristar_plan_t *p, const dense *m, uint64_t *state) {
  static const tristar_op ops[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};
  double worst = 0;
  for (int k = 0; k < 6; k++) {
    double b[N_MAX], x[N_MAX], error;
    for (int i = 0; i < m->n; i++) x[i] = (double)creall(draw(state, false));
    for (int i = 0; i < m->n; i++) {
      long double sum = 0;
      for (int j = 0; j < m->n; j++) sum += creall(entry(m, ops[k / 2], i, j)) * x[j];
      b[i] = k % 2 ? (double)sum : (double)creall(draw(state, false));
    }
    CHECK_OK(tristar_solve(p, ops[k / 2], 1, b, m->n, x, m->n));
    CHECK_OK(tristar_residual(f, ops[k / 2], 1, b, m->n, x, m->n, NULL, m->n, &error));
    worst = error > worst ? error : worst;
  }
  return worst;
}

static void check(tristar_t *ts, tristar_method method, kind what) {
  const bool symmetric = method == TRISTAR_METHOD_LDLT;
  uint64_t state = 1;
  int wrong = 0, solved = 0;
  for (int k = 0; k < SYSTEMS; k++) {
    dense good, bad;
    make_matrix(&bad, method, TRISTAR_DOUBLE, 0, &state);
    if (what == UNEVEN) bad.n = 2;
    good = bad;
    for (int i = 0; i < good.n; i++) good.a[i][i] += 4 * good.n;
    spoil(&bad, what, symmetric, &state);
    round_entries(&good, TRISTAR_DOUBLE);
    round_entries(&bad, TRISTAR_DOUBLE);
    tristar_view first = make_view(&good, TRISTAR_DOUBLE, TRISTAR_GENERAL),
                 second = make_view(&bad, TRISTAR_DOUBLE, TRISTAR_GENERAL);
    tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
    options.method = method;
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &first, &options);
    CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NEW_FACTOR(an, first.values);
    CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NEW_PLAN(f, NULL);
    const tristar_status status = tristar_refactor(f, second.values);
    if (status == TRISTAR_OK) {
      const double error = worst_error(f, p, &bad, &state);
      solved++;
      if (error > 1e-9 && wrong++ < SHOWN) fprintf(stderr, "system %d, n %d: %g\n", k, bad.n, error);
    } else
      CHECK(status == TRISTAR_ERR_SINGULAR ||
            status == TRISTAR_ERR_STALE); /* the pivots, or the values, may not suit */
    free_view(&first);
    free_view(&second);
  }
  CHECK_MSG(wrong == 0, "method %d, kind %d: %d of %d systems are wrong", (int)method, (int)what, wrong,
            solved);
  CHECK(solved > SYSTEMS / 2);
}

enum { GROWN = 500, GROWN_N = 5, GROWN_ENTRIES = 16 };

/* A pivot of 2^-18 to 2^-25 among integers. After scaling its column has small unknowns, and the pivot is
 * not small enough to count as weak. So growth and scaling together cost digits. values: by columns. */
static void make_grown(dense *m, const int *ptr, const int *row, double *values, uint64_t *state) {
  *m = (dense){.n = GROWN_N};
  for (int j = 0; j < GROWN_N; j++)
    for (int p = ptr[j]; p < ptr[j + 1]; p++) {
      const double size = (double)(1 + next_random(state) % 6);
      values[p] = row[p] == 1 && j == 1    ? ldexp(1, -18 - (int)(next_random(state) % 8))
                  : row[p] == j            ? 0
                  : next_random(state) % 2 ? size
                                           : -size;
      m->a[row[p]][j] = values[p];
    }
}

/* The analysis has only the pattern, and fronts are not merged: pivots are not interchanged. */
static void check_grown(tristar_t *ts) {
  static const int ptr[] = {0, 2, 6, 10, 13, 16}, row[] = {1, 4, 0, 1, 2, 4, 0, 2, 3, 4, 0, 2, 4, 0, 2, 3};
  static double values[GROWN_ENTRIES];
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  const tristar_view view = {
      TRISTAR_CSC, TRISTAR_GENERAL, TRISTAR_DOUBLE, GROWN_N, GROWN_N, ptr, row, NULL, 32, 32, 0};
  uint64_t state = 5;
  int wrong = 0, solved = 0;
  options.merge = TRISTAR_MERGE_FUNDAMENTAL;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &view, &options);
  for (int k = 0; k < GROWN; k++) {
    dense m;
    make_grown(&m, ptr, row, values, &state);
    CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
    CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NULL;
    if (tristar_factor(an, values, &f) != TRISTAR_OK) continue;
    CHECK_OK(tristar_plan(f, NULL, &p));
    const double error = worst_error(f, p, &m, &state);
    solved++;
    if (error > 1e-9 && wrong++ < SHOWN) fprintf(stderr, "system %d: %g\n", k, error);
  }
  CHECK_MSG(wrong == 0, "%d of %d systems are wrong", wrong, solved);
  CHECK(solved > GROWN / 2);
}

/* Small integers; the last row is the sum of two others, except for a difference of 2^-26 to 2^-33 in one
 * entry. */
static void make_sum(dense *m, uint64_t *state) {
  const int last = m->n - 1, place = (int)(next_random(state) % (uint64_t)m->n);
  for (int i = 0; i < last; i++)
    for (int j = 0; j < m->n; j++) {
      m->a[i][j] = next_random(state) % 3 ? 0 : (int)(next_random(state) % 11) - 5;
      if (j == (i + 1) % m->n) m->a[i][j] += 1;
    }
  for (int j = 0; j < m->n; j++) m->a[last][j] = m->a[0][j] + m->a[1][j];
  m->a[last][place] += ldexp(1, -26 - (int)(next_random(state) % 8));
}

/* b = A x for integers x; some rows of b are small. */
static void check_sums(tristar_t *ts) {
  uint64_t state = 7;
  int wrong = 0, solved = 0;
  for (int k = 0; k < 4 * SYSTEMS; k++) {
    dense m = {.n = 4 + k % (N_MAX - 3)};
    make_sum(&m, &state);
    tristar_view view = make_view(&m, TRISTAR_DOUBLE, TRISTAR_GENERAL);
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
    CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
    CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NULL;
    double b[N_MAX] = {0}, x[N_MAX], error = 0;
    tristar_status status = tristar_analyze(ts, &view, NULL, &an);
    if (status == TRISTAR_OK) status = tristar_factor(an, view.values, &f);
    for (int j = 0; j < m.n && status == TRISTAR_OK; j++) {
      const int size = (int)(next_random(&state) % 9) - 4;
      for (int i = 0; i < m.n; i++) b[i] += (double)creall(m.a[i][j]) * size;
    }
    if (status == TRISTAR_OK) {
      CHECK_OK(tristar_plan(f, NULL, &p));
      CHECK_OK(tristar_solve(p, TRISTAR_N, 1, b, m.n, x, m.n));
      CHECK_OK(tristar_residual(f, TRISTAR_N, 1, b, m.n, x, m.n, NULL, m.n, &error));
      solved++;
    } else
      CHECK(status == TRISTAR_ERR_SINGULAR);
    if (error > 1e-9 && wrong++ < SHOWN) fprintf(stderr, "sums, system %d, n %d: %g\n", k, m.n, error);
    free_view(&view);
  }
  CHECK_MSG(wrong == 0, "%d of %d systems are wrong", wrong, solved);
  CHECK(solved > SYSTEMS);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  tristar_t *ts = open_without_starpu(false);
  for (int what = 0; what < KINDS; what++) {
    RUN(check(ts, TRISTAR_METHOD_LU, (kind)what));
    RUN(check(ts, TRISTAR_METHOD_LDLT, (kind)what));
  }
  RUN(check_grown(ts));
  RUN(check_sums(ts));
  close_context(&ts);
  return 0;
}
