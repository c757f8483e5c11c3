/* The method holds the values it is given. Each set of values is compared with what the analysis' method
 * assumes, whatever the first ones were: METHOD_AUTO goes on with another method, or, where plans rely on the
 * one it has chosen, says so; a method that was asked for refuses. No call is OK with a solution of another
 * system. Symmetric kinds are stored once. */
#include "tests/support/subtests.h"
#include "tests/support/typed.h"
#include "tristar_precond.h"

enum { N = 12, MOST = 4 * N };

/* A tridiagonal matrix with two corner entries. The order of the entries of a line can be chosen. */
typedef struct matrix {
  const typed *type;
  number a[N][N];
  int32_t ptr[N + 1], index[MOST];
  number values[MOST]; /* large enough for all types */
  tristar_view view;
} matrix;

typedef enum kind { SYMMETRIC, HERMITIAN, UNSYMMETRIC, ROUNDED, INDEFINITE, ONE_ENTRY } kind;

static number entry_of(const typed *t, int i, int j) {
  number x = -1 - 0.01 * (i + j);
  if (t->is_complex) __imag__ x = 0.01 * (i + j + 1);
  return x;
}

/* Fills in values of this kind; the pattern is always the same. */
static void fill_dense(matrix *m, kind what) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      const bool there = abs(i - j) <= 1 || (i + j == N - 1 && (i == 0 || j == 0));
      m->a[i][j] = !there ? 0 : i == j ? (number)(4 + (i == 3 && what == INDEFINITE ? -8 : 0)) : 0;
      if (!there || i == j) continue;
      m->a[i][j] = entry_of(m->type, i, j);
      if (what != SYMMETRIC && what != UNSYMMETRIC && i < j) m->a[i][j] = conj(m->a[i][j]);
      if (what == UNSYMMETRIC && i < j) m->a[i][j] *= 2;
      if (what == ROUNDED && i < j) m->a[i][j] *= 1 + 3 * m->type->roundoff;
      if (what == ONE_ENTRY && i == 5 && j == 6) m->a[i][j] *= 1.001;
    }
}

/* reversed: the indices of each line descend. */
static void store(matrix *m, kind what, tristar_format format, bool reversed) {
  int32_t at = 0;
  fill_dense(m, what);
  for (int j = 0; j < N; j++) {
    m->ptr[j] = at;
    for (int k = 0; k < N; k++) {
      const int i = reversed ? N - 1 - k : k;
      if (m->a[i][j] == 0 && m->a[j][i] == 0) continue;
      m->index[at] = i;
      put(m->type, m->values, at++, format == TRISTAR_CSC ? m->a[i][j] : m->a[j][i]);
    }
  }
  m->ptr[N] = at;
  m->view =
      (tristar_view){format, TRISTAR_GENERAL, m->type->scalar, N, N, m->ptr, m->index, m->values, 32, 32, 0};
}

/* Checks the solution by the plan. */
static void check_solution(const matrix *m, tristar_plan_t *plan, const char *name) {
  number b[N], x[N];
  for (int i = 0; i < N; i++) {
    number sum = 0;
    for (int j = 0; j < N; j++) sum += m->a[i][j] * (j + 1);
    put(m->type, b, i, sum);
  }
  CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, b, N, x, N));
  for (int i = 0; i < N; i++)
    CHECK_MSG(cabs(get(m->type, x, i) - (i + 1)) < 1e5 * m->type->roundoff, "%s: x[%d] = %g", name, i,
              creal(get(m->type, x, i)));
}

static void check_message(tristar_t *ts, const char *expected) {
  CHECK_ERROR(ts, expected);
}

static tristar_method method_of(const tristar_factor_t *factor) {
  tristar_analysis_stats stats;
  CHECK_OK(tristar_analysis_get_stats(tristar_factor_get_analysis(factor), &stats));
  return stats.method;
}

/* Compares two statistics of the analysis: are the values symmetric up to rounding, and how many mirror
 * images are missing? */
static void check_likeness(const tristar_analysis_t *an, bool rounded, int64_t missing, const char *name) {
  tristar_analysis_stats stats;
  CHECK_OK(tristar_analysis_get_stats(an, &stats));
  CHECK_MSG(stats.rounded == rounded, "%s: rounded is %d", name, stats.rounded);
  CHECK_MSG(stats.missing_mirrors == missing && stats.symmetric_pattern == (missing == 0),
            "%s: %lld mirror images are missing", name, (long long)stats.missing_mirrors);
}

static void factor_and_check(tristar_analysis_t *an, const matrix *m, tristar_method expected,
                             const char *name) {
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NEW_FACTOR(an, m->values);
  CHECK_MSG(method_of(factor) == expected, "type %c, %s: method %d", (char)m->type->scalar, name,
            (int)method_of(factor));
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(factor, NULL);
  check_solution(m, plan, name);
  CHECK_OK(tristar_refactor(factor, m->values));
  check_solution(m, plan, name);
}

static tristar_analysis_t *analyze(tristar_t *ts, const matrix *m, tristar_method method, bool with_values) {
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  tristar_view view = m->view;
  options.method = method;
  if (!with_values) view.values = NULL;
  tristar_analysis_t *an = NEW_ANALYSIS(ts, &view, &options);
  return an;
}

/* Checks which method AUTO chooses for new values, after an analysis of other values. */
static void check_auto(tristar_t *ts, const typed *t, tristar_format format, bool reversed) {
  OWNED matrix *first = xmalloc(sizeof *first), *m = xmalloc(sizeof *m);
  tristar_factor_t *factor;
  tristar_plan_t *plan;
  const kind positive = t->is_complex ? HERMITIAN : SYMMETRIC;
  const tristar_method llt = TRISTAR_METHOD_LLT, ldlt = TRISTAR_METHOD_LDLT, lu = TRISTAR_METHOD_LU;
  first->type = m->type = t;
  store(first, positive, format, reversed);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = analyze(ts, first, TRISTAR_METHOD_AUTO, true);
  factor_and_check(an, first, llt, "as analyzed");
  store(m, UNSYMMETRIC, format, reversed);
  factor_and_check(an, m, lu, "unsymmetric");
  store(m, ONE_ENTRY, format, reversed);
  factor_and_check(an, m, lu, "one entry");
  store(m, INDEFINITE, format, reversed);
  factor_and_check(an, m, ldlt, "indefinite");
  store(m, ROUNDED, format, reversed);
  factor_and_check(an, m, llt, "rounded");
  if (t->is_complex) {
    store(m, SYMMETRIC, format, reversed);
    factor_and_check(an, m, ldlt, "complex symmetric");
  }
  /* a factor that has a plan keeps its method for new values */
  CHECK_OK(tristar_factor(an, first->values, &factor));
  CHECK_OK(tristar_plan(factor, NULL, &plan));
  for (int k = 0; k < 2; k++) {
    store(m, k ? ONE_ENTRY : UNSYMMETRIC, format, reversed);
    CHECK_STATUS(tristar_refactor(factor, m->values), TRISTAR_ERR_ARGUMENT);
    check_message(ts, "tristar_factor chooses anew");
    if (k) check_message(ts, "(6,5)");
    CHECK_STATUS(tristar_solve(plan, TRISTAR_N, 1, m->values, N, m->a, N), TRISTAR_ERR_STALE);
    CHECK_OK(tristar_refactor(factor, first->values));
    check_solution(first, plan, "again");
  }
  store(m, INDEFINITE, format, reversed);
  CHECK_STATUS(tristar_refactor(factor, m->values), TRISTAR_ERR_NOT_POSITIVE_DEFINITE);
  check_message(ts, "tristar_factor chooses anew");
  CHECK_OK(tristar_refactor(factor, first->values));
  check_solution(first, plan, "after failures");
  tristar_plan_destroy(&plan);
  tristar_factor_destroy(&factor);
  tristar_analysis_destroy(&an);
  /* a matrix analyzed as unsymmetric is always factored by LU */
  store(m, UNSYMMETRIC, format, reversed);
  an = analyze(ts, m, TRISTAR_METHOD_AUTO, true);
  factor_and_check(an, first, lu, "symmetric later");
}

/* A method that the user requested refuses values that do not suit, in the analysis and later. */
static void check_query(tristar_t *ts, const typed *t, tristar_format format, bool reversed) {
  OWNED matrix *m = xmalloc(sizeof *m);
  tristar_analysis_t *an;
  tristar_factor_t *factor;
  m->type = t;
  for (int k = 0; k < 2; k++) {
    const tristar_method method = k ? TRISTAR_METHOD_LDLT : TRISTAR_METHOD_LLT;
    for (int with_values = 0; with_values < 2; with_values++) {
      store(m, t->is_complex ? HERMITIAN : SYMMETRIC, format, reversed);
      an = analyze(ts, m, method, with_values);
      factor_and_check(an, m, method, "asked for");
      store(m, SYMMETRIC, format, reversed);
      if (method == TRISTAR_METHOD_LLT && t->is_complex) {
        CHECK_STATUS(tristar_factor(an, m->values, &factor), TRISTAR_ERR_ARGUMENT);
        check_message(ts, "Hermitian matrices only");
      } else
        factor_and_check(an, m, method, "symmetric");
      for (int what = 0; what < 2; what++) {
        store(m, what ? ONE_ENTRY : UNSYMMETRIC, format, reversed);
        CHECK_STATUS(tristar_factor(an, m->values, &factor), TRISTAR_ERR_ARGUMENT);
        CHECK(factor == NULL);
        check_message(ts, "no mirror images");
      }
      tristar_analysis_destroy(&an);
    }
    tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
    options.method = method;
    CHECK_STATUS(tristar_analyze(ts, &m->view, &options, &an), TRISTAR_ERR_ARGUMENT);
    CHECK(an == NULL);
    check_message(ts, "no mirror images");
  }
}

/* Checks the places in messages about a complex matrix that is neither symmetric nor Hermitian: in a
 * symmetric matrix one entry is changed, and the diagonal is not real. */
static void check_places(tristar_t *ts, const typed *t) {
  OWNED matrix *m = xmalloc(sizeof *m);
  tristar_analysis_t *an;
  tristar_precond_t *p;
  number shift = 0;
  if (!t->is_complex) return;
  __imag__ shift = 2;
  m->type = t;
  store(m, SYMMETRIC, TRISTAR_CSC, false);
  for (int j = 0; j < N; j++)
    for (int e = m->ptr[j]; e < m->ptr[j + 1]; e++)
      if (m->index[e] == j || (m->index[e] == 6 && j == 5))
        put(t, m->values, e, get(t, m->values, e) + shift);
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  options.method = TRISTAR_METHOD_LDLT;
  CHECK_STATUS(tristar_analyze(ts, &m->view, &options, &an), TRISTAR_ERR_ARGUMENT);
  check_message(ts, "(6,5)");
  check_message(ts, "diagonal entry (0,0) is not real");
  options.method = TRISTAR_METHOD_LLT;
  CHECK_STATUS(tristar_analyze(ts, &m->view, &options, &an), TRISTAR_ERR_ARGUMENT);
  check_message(ts, "diagonal entry (0,0) is not real");
  tristar_precond_options precond = DEFAULTS(tristar_precond_options);
  precond.kind = TRISTAR_PRECOND_IC;
  CHECK_STATUS(tristar_precond(ts, &m->view, &precond, &p), TRISTAR_ERR_ARGUMENT);
  check_message(ts, "(6,5)");
  check_message(ts, "diagonal entry (0,0) is not real");
}

/* Duplicates are added up; zeros need no mirror image. */
static void check_repeated(tristar_t *ts, const typed *t) {
  const int32_t ptr[] = {0, 4, 7, 9}, index[] = {2, 0, 1, 0, 1, 0, 0, 2, 1};
  double given[] = {0, 2, -0.5, 3, 4, -0.25, -0.25, 1, 0};
  number values[9], b[3], x[3];
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an;
  tristar_factor_t *factor;
  tristar_plan_t *plan;
  tristar_view view = {TRISTAR_CSC, TRISTAR_GENERAL, t->scalar, 3, 3, ptr, index, values, 32, 32, 0};
  for (int k = 0; k < 3; k++) { /* symmetric; a pair with different values; an entry without a mirror image */
    if (k == 1) given[6] = -0.75;
    if (k == 2) given[6] = -0.25, given[0] = 0.5;
    for (int p = 0; p < 9; p++) put(t, values, p, given[p]);
    if (k == 0) CHECK_OK(tristar_analyze(ts, &view, NULL, &an));
    CHECK_OK(tristar_factor(an, values, &factor));
    CHECK(method_of(factor) == (k ? TRISTAR_METHOD_LU : TRISTAR_METHOD_LLT));
    CHECK_OK(tristar_plan(factor, NULL, &plan));
    const double up = given[5] + given[6], rhs[] = {5 + 2 * up, -0.5 + 8, given[0] + 3};
    for (int i = 0; i < 3; i++) put(t, b, i, rhs[i]);
    CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, b, 3, x, 3));
    const double expected[] = {1, 2, 3};
    for (int i = 0; i < 3; i++)
      CHECK_MSG(cabs(get(t, x, i) - expected[i]) < 100 * t->roundoff, "%d: x[%d] = %g", k, i,
                creal(get(t, x, i)));
    tristar_plan_destroy(&plan);
    tristar_factor_destroy(&factor);
  }
}

/* An off-diagonal entry that is stored in both triangles is refused, for all symmetric kinds and formats.
 * Duplicates in one triangle are accepted. */
static void check_both_triangles(tristar_t *ts, const typed *t) {
  const tristar_symmetry kinds[] = {TRISTAR_SYMMETRIC, TRISTAR_SKEW_SYMMETRIC, TRISTAR_HERMITIAN};
  const int32_t ptr[] = {0, 2, 4, 6, 8}, both[] = {0, 2, 1, 3, 2, 0, 3, 1};
  const int32_t once[] = {0, 2, 1, 3, 2, 3, 3, 3}, mixed[] = {0, 2, 1, 0, 2, 3, 3, 3};
  number values[8];
  tristar_analysis_t *an;
  for (int p = 0; p < 8; p++) put(t, values, p, 1 + p);
  for (int k = 0; k < 3; k++)
    for (int format = 0; format < 2; format++)
      for (int with_values = 0; with_values < 2; with_values++) {
        tristar_view view = {format ? TRISTAR_CSR : TRISTAR_CSC, kinds[k], t->scalar, 4, 4, ptr, both,
                             with_values ? values : NULL,        32,       32,        0};
        if (kinds[k] == TRISTAR_HERMITIAN && !t->is_complex) continue;
        if (kinds[k] == TRISTAR_SKEW_SYMMETRIC && with_values)
          continue; /* its nonzero diagonal is refused first */
        CHECK_STATUS(tristar_analyze(ts, &view, NULL, &an), TRISTAR_ERR_FORMAT);
        CHECK(an == NULL);
        check_message(ts, "both stored");
        check_message(ts, "(2,0)");
        view.index = once;
        CHECK_OK(tristar_analyze(ts, &view, NULL, &an));
        tristar_analysis_destroy(&an);
        view.index = mixed; /* some entries above the diagonal, some below it */
        CHECK_OK(tristar_analyze(ts, &view, NULL, &an));
        tristar_analysis_destroy(&an);
      }
}

/* The analysis has no values, so the factorization checks them: the diagonal of a Hermitian matrix is real,
 * that of a skew-symmetric one zero. */
static void check_diagonals(tristar_t *ts) {
  const int32_t ptr[] = {0, 2, 4, 5}, index[] = {0, 1, 1, 2, 2};
  double _Complex values[] = {4, 1, 4, 1, 4};
  tristar_view view = {
      TRISTAR_CSC, TRISTAR_HERMITIAN, TRISTAR_COMPLEX_DOUBLE, 3, 3, ptr, index, NULL, 32, 32, 0};
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &view, NULL);
  tristar_factor_t *factor = NEW_FACTOR(an, values);
  __imag__ values[2] = 1e-20;
  CHECK_STATUS(tristar_refactor(factor, values), TRISTAR_ERR_FORMAT);
  check_message(ts, "diagonal entry 1");
  tristar_factor_destroy(&factor);
  CHECK_STATUS(tristar_factor(an, values, &factor), TRISTAR_ERR_FORMAT);
  CHECK(factor == NULL);
  tristar_analysis_destroy(&an);
  view.symmetry = TRISTAR_SKEW_SYMMETRIC;
  CHECK_OK(tristar_analyze(ts, &view, NULL, &an));
  __imag__ values[2] = 0;
  CHECK_STATUS(tristar_factor(an, values, &factor), TRISTAR_ERR_FORMAT);
  check_message(ts, "diagonal entry 0");
}

/* Assembly causes rounding errors relative to the diagonal, even where off-diagonal entries are small.
 * Mirror images that differ by as much count as equal, others do not, in any units of the unknowns. */
static void check_rounding(tristar_t *ts, const typed *t, double unit) {
  const double eps = 2 * t->roundoff;
  const int32_t ptr[] = {0, 2, 4}, index[] = {0, 1, 0, 1};
  for (int beyond = 0; beyond < 2; beyond++) {
    const number small = 100 * eps * unit, gap = (beyond ? 200 : 4) * eps * unit;
    const number given[] = {1, small, small + gap, 4 * unit * unit};
    number values[4], b[2], x[2];
    tristar_refine_result result;
    for (int k = 0; k < 4; k++) put(t, values, k, given[k]);
    for (int i = 0; i < 2; i++) put(t, b, i, given[2 * i] + given[2 * i + 1]);
    const tristar_view view = {.format = TRISTAR_CSR,
                               .symmetry = TRISTAR_GENERAL,
                               .scalar = t->scalar,
                               .rows = 2,
                               .cols = 2,
                               .ptr = ptr,
                               .index = index,
                               .values = values,
                               .ptr_bits = 32,
                               .index_bits = 32};
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &view, NULL);
    CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NEW_FACTOR(an, values);
    CHECK_MSG(method_of(factor) == (beyond ? TRISTAR_METHOD_LU : TRISTAR_METHOD_LLT),
              "type %c, unit %g, gap %g", (char)t->scalar, unit, creal(gap));
    CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(factor, NULL);
    CHECK_OK(tristar_solve_refined(plan, TRISTAR_N, 1, b, 2, x, 2, NULL,
                                   &result)); /* refined with the given, unsymmetric values */
    for (int i = 0; i < 2; i++)
      CHECK_MSG(cabs(get(t, x, i) - 1) <= 1000 * eps, "type %c, unit %g, x[%d] = %.17g", (char)t->scalar,
                unit, i, creal(get(t, x, i)));
  }
}

/* The differences of 1 and 2 are rounding errors relative to the penalty, but not in the other equations. A
 * x = b is solved for the given matrix. */
static void check_penalty(tristar_t *ts, const typed *t) {
  enum { M = 4 };
  const int32_t ptr[] = {0, 2, 4, 6, 10}, index[] = {0, 3, 1, 3, 2, 3, 0, 1, 2, 3};
  const number given[] = {4, 2, 4, 2, 4, 2, 1, 1, 1, 1e30}, sums[] = {6, 6, 6, 1e30};
  number values[10], b[M], x[M];
  for (int k = 0; k < 10; k++) put(t, values, k, given[k]);
  for (int i = 0; i < M; i++) put(t, b, i, sums[i]);
  const tristar_view view = {TRISTAR_CSR, TRISTAR_GENERAL, t->scalar, M, M, ptr, index, values, 32, 32, 0};
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &view, NULL);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NEW_FACTOR(an, values);
  CHECK(method_of(factor) == TRISTAR_METHOD_LU);
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(factor, NULL);
  CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, b, M, x, M));
  for (int i = 0; i < M; i++) CHECK(cabs(get(t, x, i) - 1) <= 100 * t->roundoff);
}

/* Statistics of matrices that equal their transpose exactly, up to rounding, or not at all. */
static void check_figures(tristar_t *ts, const typed *t, tristar_format format, bool reversed) {
  static const struct {
    kind kind;
    bool rounded;
  } cases[] = {
      {SYMMETRIC, false}, {HERMITIAN, false}, {ROUNDED, true}, {UNSYMMETRIC, false}, {ONE_ENTRY, false}};
  OWNED matrix *m = malloc(sizeof *m);
  m->type = t;
  for (int k = 0; k < 5; k++) {
    store(m, cases[k].kind, format, reversed);
    tristar_analysis_t *an = analyze(ts, m, TRISTAR_METHOD_AUTO, true);
    check_likeness(an, cases[k].rounded, 0, "automatic method");
    tristar_analysis_destroy(&an);
    an = analyze(ts, m, TRISTAR_METHOD_LU, true);
    check_likeness(an, false, 0, "LU");
    tristar_analysis_destroy(&an);
    an = analyze(ts, m, TRISTAR_METHOD_AUTO, false);
    check_likeness(an, false, 0, "without values");
    tristar_analysis_destroy(&an);
  }
}

/* The statistics describe the given pattern, not the rows that a matching permutes. */
static void check_missing(tristar_t *ts, const typed *t) {
  uint64_t state = 5;
  for (int round = 0; round < 20; round++) {
    bool there[N][N] = {{false}};
    int32_t ptr[N + 1] = {0}, index[N * N];
    number values[N * N];
    int64_t missing = 0;
    for (int j = 0; j < N; j++) {
      there[(j + round % 3) % N][j] = true; /* a matching moves the large entries to the diagonal */
      for (int k = 0; k < round % 5; k++) there[next_random(&state) % N][j] = true;
    }
    for (int j = 0, p = 0; j < N; j++) {
      for (int i = 0; i < N; i++) {
        missing += there[i][j] && !there[j][i];
        if (!there[i][j]) continue;
        put(t, values, p, i == (j + round % 3) % N ? 100 : 1);
        index[p++] = i;
      }
      ptr[j + 1] = p;
    }
    for (int format = TRISTAR_CSC; format <= TRISTAR_CSR; format++) {
      const tristar_view view = {
          (tristar_format)format, TRISTAR_GENERAL, t->scalar, N, N, ptr, index, values, 32, 32, 0};
      tristar_analysis_t *an = NEW_ANALYSIS(ts, &view, NULL);
      check_likeness(an, false, missing, "random pattern");
      tristar_analysis_destroy(&an);
    }
  }
}

static void check_all(tristar_t *ts) {
  const typed *types[] = {&typed_single, &typed_double, &typed_complex_single, &typed_complex_double};
  for (int k = 0; k < 4; k++) {
    for (int way = 0; way < 4; way++) {
      check_auto(ts, types[k], way & 1 ? TRISTAR_CSR : TRISTAR_CSC, way & 2);
      check_query(ts, types[k], way & 1 ? TRISTAR_CSR : TRISTAR_CSC, way & 2);
      check_figures(ts, types[k], way & 1 ? TRISTAR_CSR : TRISTAR_CSC, way & 2);
    }
    check_repeated(ts, types[k]);
    check_both_triangles(ts, types[k]);
    check_rounding(ts, types[k], 1);
    check_rounding(ts, types[k], types[k]->is_single ? 8 : 1024);
    check_penalty(ts, types[k]);
    check_missing(ts, types[k]);
    check_places(ts, types[k]);
  }
  check_diagonals(ts);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  tristar_config config = DEFAULTS(tristar_config);
  CLEANUP(tristar_destroy) tristar_t *ts;
  config.log_level = TRISTAR_LOG_DEBUG;
  config.workers = 1;
  CHECK_OK(tristar_create(&config, &ts));
  RUN(check_all(ts));
  return 0;
}
