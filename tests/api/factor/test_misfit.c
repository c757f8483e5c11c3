/* Regular matrices that look singular, or nearly so, as their analysis scales them: it was made for other
 * values, or without a matching. Each row of a solution counts, however small its terms are. So the solution
 * is right, or tristar_solve returns ACCURACY. */
#include <math.h>
#include <unistd.h>

#include "tests/support/context.h"
#include "tests/support/random.h"
#include "tests/support/subtests.h"
#include "tests/support/systems/nasty_systems.h"
#include "tristar_save.h"
#include "tristar_stats.h"

enum { MOST = 128, SYSTEMS = 300, TRIANGLES = 30 };

typedef struct square {
  int n;
  double a[MOST][MOST];
} square;

/* Number of factors that were kept although their analysis does not suit the values. */
static int misfits;

static void on_line(void *arg, tristar_log_level level, const char *text) {
  (void)arg;
  misfits += level == TRISTAR_LOG_WARNING && strstr(text, "the matrix is not singular, but ") != NULL;
}

/* Returns a view by columns. Two matrices with the same zeros have the same pattern. */
static tristar_view view_of(const square *m, double *values) {
  static int32_t ptr[MOST + 1], index[MOST * MOST];
  int32_t at = 0;
  for (int j = 0; j < m->n; j++) {
    for (int i = 0; i < m->n; i++) {
      if (m->a[i][j] == 0) continue;
      index[at] = i;
      values[at++] = m->a[i][j];
    }
    ptr[j + 1] = at;
  }
  const tristar_view v = {
      TRISTAR_CSC, TRISTAR_GENERAL, TRISTAR_DOUBLE, m->n, m->n, ptr, index, values, 32, 32, 0};
  return v;
}

/* Componentwise backward error. */
static double miss_of(const square *m, tristar_op op, const double *b, const double *x) {
  long double worst = 0;
  for (int i = 0; i < m->n; i++) {
    long double rest = b[i], size = fabs(b[i]);
    for (int j = 0; j < m->n; j++) {
      const long double term = (long double)(op == TRISTAR_N ? m->a[i][j] : m->a[j][i]) * x[j];
      rest -= term;
      size += fabsl(term);
    }
    if (!(fabsl(rest) <= worst * size)) worst = fabsl(rest) / size;
  }
  return (double)worst;
}

/* Returns the number of successful solves. If may_fail, a solve may return TRISTAR_ERR_ACCURACY instead. */
static int check_solves(const square *m, tristar_factor_t *f, bool may_fail, const char *what) {
  double b[MOST], x[MOST];
  uint64_t state = 5;
  int solved = 0;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NEW_PLAN(f, NULL);
  for (int k = 0; k < 8; k++) {
    const tristar_op op = k % 2 ? TRISTAR_T : TRISTAR_N;
    for (int i = 0; i < m->n; i++) b[i] = k < 4 ? 1 : (double)(next_random(&state) % 2001) / 1000 - 1;
    const tristar_status status = tristar_solve(p, op, 1, b, m->n, x, m->n);
    if (may_fail && status == TRISTAR_ERR_ACCURACY) continue;
    CHECK_OK(status);
    const double error = miss_of(m, op, b, x);
    CHECK_MSG(error < 1e-8, "%s, n %d, op %c: backward error %g", what, m->n, (char)op, error);
    solved++;
  }
  return solved;
}

/* Do both factors give the same statuses and solutions? */
static void check_alike(const square *m, tristar_factor_t *one, tristar_factor_t *other) {
  double b[MOST], x[2][MOST];
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NEW_PLAN(one, NULL);
  CLEANUP(tristar_plan_destroy) tristar_plan_t *q = NEW_PLAN(other, NULL);
  for (int i = 0; i < m->n; i++) b[i] = 1 + i % 3;
  const tristar_status status = tristar_solve(p, TRISTAR_N, 1, b, m->n, x[0], m->n);
  CHECK_STATUS(tristar_solve(q, TRISTAR_N, 1, b, m->n, x[1], m->n), status);
  CHECK(memcmp(x[0], x[1], (size_t)m->n * sizeof *b) == 0);
}

/* Solves with a factor that was saved and loaded. */
static void check_saved(tristar_t *ts, const square *m, tristar_factor_t *f) {
  tristar_factor_stats stats, kept;
  char path[] = "misfit.XXXXXX";
  const int file = mkstemp(path);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *loaded = NULL;
  CHECK(file >= 0);
  close(file);
  CHECK_OK(tristar_factor_save(f, path));
  CHECK_OK(tristar_factor_load(ts, path, &loaded));
  unlink(path);
  CHECK_OK(tristar_factor_get_stats(f, &stats));
  CHECK_OK(tristar_factor_get_stats(loaded, &kept));
  CHECK(kept.reciprocal_condition == stats.reciprocal_condition && kept.solve_error == stats.solve_error);
  check_alike(m, f, loaded);
  (void)check_solves(m, loaded, true, "saved factor");
}

/* Analyzes and factors the values of `tame`, then refactors those of `m`; *status is the result of the
 * latter. */
static tristar_factor_t *make_factor(tristar_t *ts, const square *m, const square *tame,
                                     const tristar_analysis_options *chosen, tristar_status *status) {
  double values[MOST * MOST];
  tristar_analysis_options options = *chosen;
  tristar_factor_t *f = NULL;
  int64_t natural[MOST];
  for (int i = 0; i < m->n; i++) natural[i] = i;
  options.method = TRISTAR_METHOD_LU;
  options.ordering = TRISTAR_ORDERING_USER;
  options.permutation = natural;
  tristar_view v = view_of(tame, values);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &v, &options);
  CHECK_OK(tristar_factor(an, values, &f));
  v = view_of(m, values);
  *status = tristar_refactor(f, values);
  return f;
}

static square make_tame(const square *m) {
  square tame = {.n = m->n};
  for (int i = 0; i < m->n; i++)
    for (int j = 0; j < m->n; j++) tame.a[i][j] = i == j ? 2 * m->n : m->a[i][j] != 0;
  return tame;
}

/* Row 2 is the sum of the rows before it except for one small entry. Unless its column is scaled, the
 * matrix is singular to working precision. */
static square make_sum(int n, uint64_t *state) {
  square m = {.n = n};
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      m.a[i][j] = j == i || next_random(state) % 3 == 0 ? 1 + (double)(next_random(state) % 9) : 0;
  for (int j = 0; j < n; j++) {
    m.a[2][j] = m.a[0][j] + m.a[1][j];
    if (j > 1) m.a[0][j] = m.a[1][j] = m.a[2][j] = 0;
  }
  m.a[2][2] = ldexp(1, -30 - (int)(next_random(state) % 30));
  m.a[3][2] = -5;
  return m;
}

/* SINGULAR_PERTURB and MATCHING_OFF keep a factor whose matching does not suit the values. */
static void check_sums(tristar_t *ts, tristar_matching matching, tristar_singular singular) {
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  uint64_t state = 3;
  int kept = 0, solved = 0;
  options.matching = matching;
  options.singular = singular;
  for (int k = 0; k < SYSTEMS; k++) {
    const square m = make_sum(4 + k % 5, &state), tame = make_tame(&m);
    tristar_factor_stats stats;
    tristar_status status;
    CLEANUP(tristar_factor_destroy) tristar_factor_t *f = make_factor(ts, &m, &tame, &options, &status);
    if (status != TRISTAR_OK) {
      CHECK(singular == TRISTAR_SINGULAR_REFUSE && status == TRISTAR_ERR_SINGULAR);
      continue;
    }
    CHECK_OK(tristar_factor_get_stats(f, &stats));
    if (stats.singular) continue;
    kept++;
    solved += check_solves(&m, f, true, "a sum of rows");
    check_saved(ts, &m, f);
  }
  CHECK_MSG(kept > SYSTEMS / 4, "%d of %d", kept, SYSTEMS);
  CHECK_MSG(solved > 7 * kept, "%d of %d solves", solved, 8 * kept);
}

/* Factors that a second opinion keeps: the log says so. They are saved with the condition it found. */
static void check_kept(tristar_t *ts, tristar_matching matching) {
  static const uint64_t seeds[] = {240, 277, 286, 391, 490, 527, 8849};
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  options.matching = matching;
  options.singular = TRISTAR_SINGULAR_PERTURB;
  for (size_t k = 0; k < sizeof seeds / sizeof *seeds; k++) {
    nasty m, tame;
    tristar_factor_stats stats;
    tristar_status status;
    nasty_make(&typed_double, NASTY_SMALL_DIAGONAL, TRISTAR_METHOD_LU, seeds[k], &m);
    nasty_make_tame(&m, &tame);
    square a = {.n = m.n}, easy = {.n = m.n};
    for (int i = 0; i < m.n * m.n; i++) {
      a.a[i / m.n][i % m.n] = creal(m.a[i]);
      easy.a[i / m.n][i % m.n] = creal(tame.a[i]);
    }
    const int before = misfits;
    CLEANUP(tristar_factor_destroy) tristar_factor_t *f = make_factor(ts, &a, &easy, &options, &status);
    CHECK_OK(status);
    CHECK_MSG(misfits == before + 1, "seed %d is no misfit", (int)seeds[k]);
    CHECK_OK(tristar_factor_get_stats(f, &stats));
    CHECK(!stats.singular && stats.reciprocal_condition > 1e-10);
    (void)check_solves(&a, f, true, "a small diagonal");
    check_saved(ts, &a, f);
    if (matching == TRISTAR_MATCHING_OFF) continue;
    CLEANUP(tristar_factor_destroy) tristar_factor_t *own = make_factor(ts, &a, &a, &options, &status);
    CHECK_OK(status);
    (void)check_solves(&a, own, false, "analyzed anew");
  }
}

/* One entry of x is a million times larger than the others. In its row the terms of b are equally small. */
static void check_arrow(tristar_t *ts) {
  static const double tip[] = {0x1p-35, -0x1.8p-16, 7, 64, 0.21875, 32},
                      diagonal[] = {0, 0x1p-70, 7 * 0x1p-12, 1280, 9 * 0x1p-13, 0x1p-32},
                      tame_tip[] = {-0.009, -0.66, 0.05, -0.58, 0.0005, 0.22},
                      tame_diagonal[] = {0, 0.0006, -0.005, 0.004, 0.01, 0.0009};
  const tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  square m = {.n = 6}, tame = {.n = 6};
  tristar_status status;
  for (int i = 0; i < m.n; i++) {
    m.a[i][i] = diagonal[i];
    tame.a[i][i] = tame_diagonal[i];
    m.a[0][i] = m.a[i][0] = tip[i];
    tame.a[0][i] = tame.a[i][0] = tame_tip[i];
  }
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = make_factor(ts, &m, &tame, &options, &status);
  CHECK_OK(status);
  double b[MOST], x[MOST], most = 0, next = 0;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NEW_PLAN(f, NULL);
  for (int i = 0; i < m.n; i++) b[i] = 1;
  CHECK_OK(tristar_solve(p, TRISTAR_N, 1, b, m.n, x, m.n));
  for (int i = 0; i < m.n; i++) {
    next = fmax(next, fmin(most, fabs(x[i])));
    most = fmax(most, fabs(x[i]));
  }
  CHECK_MSG(most > 1e6 * next, "%g is %g times larger", most, most / next);
  (void)check_solves(&m, f, false, "arrow");
}

/* Ones on the diagonal and -1 below it, with scaled rows and columns. The inverse is large for every
 * scaling, but no small relative change of the entries makes A singular. */
static void check_triangle(tristar_t *ts, uint64_t state) {
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  double values[MOST * MOST];
  int unit[2][MOST];
  square m = {.n = 62};
  for (int k = 0; k < 2 * m.n; k++) unit[k % 2][k / 2] = (int)(next_random(&state) % 21) - 10;
  for (int i = 0; i < m.n; i++)
    for (int j = 0; j <= i; j++) m.a[i][j] = ldexp(i == j ? 1 : -1, unit[0][i] + unit[1][j]);
  options.method = TRISTAR_METHOD_LU;
  const tristar_view v = view_of(&m, values);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &v, &options);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NEW_FACTOR(an, values);
  (void)check_solves(&m, f, false, "triangle");
}

static double next_share(uint64_t *state) {
  return (double)(next_random(state) % 20001) / 20000;
}

static void shuffle(int n, int *order, uint64_t *state) {
  for (int i = 0; i < n; i++) order[i] = i;
  for (int i = n - 1; i > 0; i--) {
    const int other = (int)(next_random(state) % (uint64_t)(i + 1)), kept = order[i];
    order[i] = order[other];
    order[other] = kept;
  }
}

/* [S 0; C T], permuted. T is a triangle of 1 and -1; the last row of S is a combination of two others. */
static square make_singular(int n, int small, uint64_t *state) {
  square m = {.n = n};
  double a[MOST][MOST] = {{0}};
  int row[MOST], column[MOST];
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      if (i < small && j < small)
        a[i][j] = i < small - 1 ? (float)(next_share(state) - 0.5) : 0.3 * a[0][j] - 0.7 * a[1][j];
      else if (j < small && next_share(state) < 0.4)
        a[i][j] = (double)(next_random(state) % 5) - 2;
      else if (j >= small && i >= j)
        a[i][j] = i == j || next_share(state) > 0.8 ? 1 : -1;
  shuffle(n, row, state);
  shuffle(n, column, state);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) m.a[i][j] = a[row[i]][column[j]];
  return m;
}

/* A scaling that suits the inverse of T must not hide that S is singular: each system must be refused. */
static void check_singular(tristar_t *ts, tristar_matching matching, tristar_scalar scalar) {
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  double values[MOST * MOST];
  float single[MOST * MOST];
  uint64_t state = 5;
  options.method = TRISTAR_METHOD_LU;
  options.matching = matching;
  for (int k = 0; k < TRIANGLES; k++) {
    const int small = 3 + (int)(next_random(&state) % 6),
              n = small + (int)(next_random(&state) % 50) + (scalar == TRISTAR_SINGLE ? 5 : 70);
    const square m = make_singular(n, small, &state);
    tristar_view v = view_of(&m, values);
    for (int e = 0; e < ((const int32_t *)v.ptr)[n]; e++) single[e] = (float)values[e];
    v.scalar = scalar;
    v.values = scalar == TRISTAR_SINGLE ? (const void *)single : values;
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &v, &options);
    CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
    const tristar_status status = tristar_factor(an, v.values, &f);
    CHECK_MSG(status == TRISTAR_ERR_SINGULAR, "system %d, n %d: status %d", k, n, (int)status);
  }
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  tristar_config config = context_config(false, false);
  tristar_t *ts;
  config.log = on_line;
  CHECK_OK(tristar_create(&config, &ts));
  RUN(check_kept(ts, TRISTAR_MATCHING_AUTO));
  RUN(check_kept(ts, TRISTAR_MATCHING_OFF));
  RUN(check_sums(ts, TRISTAR_MATCHING_AUTO, TRISTAR_SINGULAR_PERTURB));
  RUN(check_sums(ts, TRISTAR_MATCHING_OFF, TRISTAR_SINGULAR_PERTURB));
  RUN(check_sums(ts, TRISTAR_MATCHING_OFF, TRISTAR_SINGULAR_REFUSE));
  RUN(check_arrow(ts));
  for (uint64_t k = 0; k < 10; k++) RUN(check_triangle(ts, k));
  for (int k = 0; k < 2; k++) {
    const tristar_matching matching = k == 0 ? TRISTAR_MATCHING_AUTO : TRISTAR_MATCHING_OFF;
    RUN(check_singular(ts, matching, TRISTAR_DOUBLE));
    RUN(check_singular(ts, matching, TRISTAR_SINGLE));
  }
  close_context(&ts);
  return 0;
}
