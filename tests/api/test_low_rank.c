/* Terms of low rank: solutions have small backward errors for the matrix A + W W^H. A refused call does not
 * change the factor. */
#include "tests/support/allocations.h"
#include "tests/support/context.h"
#include "tests/support/subtests.h"
#include "tests/support/typed.h"
#include "tristar_update.h"

enum { TERMS = 3, ROUNDS = 12 };

static const typed *const types[] = {&typed_single, &typed_double, &typed_complex_single,
                                     &typed_complex_double};

/* A factor, and the matrix that it must represent. */
typedef struct problem {
  const typed *t;
  tristar_matrix_t *matrix;
  tristar_view view;
  char *values;
  tristar_analysis_t *analysis;
  tristar_factor_t *factor;
  tristar_plan_t *plan;
  uint64_t state;
  bool adjoint;
} problem;

/* The columns of W. Each has one or two rows; A has an entry that couples the two. */
typedef struct terms {
  int32_t ptr[TERMS + 1], row[2 * TERMS];
  char values[2 * TERMS * sizeof(number)];
} terms;

static void free_problem(problem *m) {
  tristar_plan_destroy(&m->plan);
  tristar_factor_destroy(&m->factor);
  tristar_analysis_destroy(&m->analysis);
  tristar_matrix_destroy(&m->matrix);
  free(m->values);
}

static void make_problem(tristar_t *ts, const typed *t, const char *kind, int64_t k,
                         tristar_symmetry symmetry, tristar_method method, tristar_inverse inverse,
                         problem *m) {
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  *m = (problem){.t = t, .state = 5};
  m->values = typed_matrix(ts, kind, k, t, symmetry, &m->matrix, &m->view);
  m->adjoint = m->view.symmetry == TRISTAR_HERMITIAN;
  options.method = method;
  options.inverse = inverse;
  options.singular = TRISTAR_SINGULAR_PERTURB;
  CHECK_OK(tristar_analyze(ts, &m->view, &options, &m->analysis));
  CHECK_OK(tristar_factor(m->analysis, m->values, &m->factor));
  CHECK_OK(tristar_plan(m->factor, NULL, &m->plan));
}

static tristar_view view_of(const problem *m, const terms *w) {
  return (tristar_view){TRISTAR_CSC, TRISTAR_GENERAL, m->t->scalar, m->view.rows, TERMS, w->ptr,
                        w->row,      w->values,       32,           32,           0};
}

static bool has_diagonal(const problem *m, int64_t j) {
  const int64_t *ptr = m->view.ptr;
  const int32_t *index = m->view.index;
  for (int64_t p = ptr[j]; p < ptr[j + 1]; p++)
    if (index[p] == j) return true;
  return false;
}

static int64_t random_row(problem *m) {
  for (;;) {
    const int64_t j = (int64_t)(next_random(&m->state) % (uint64_t)m->view.cols);
    if (has_diagonal(m, j)) return j;
  }
}

static terms make_terms(problem *m, double size) {
  const int64_t *ptr = m->view.ptr;
  const int32_t *index = m->view.index;
  terms w = {.ptr = {0}};
  int at = 0;
  for (int term = 0; term < TERMS; term++) {
    const int64_t j = random_row(m);
    const int64_t p = ptr[j] + (int64_t)(next_random(&m->state) % (uint64_t)(ptr[j + 1] - ptr[j]));
    w.row[at] = (int32_t)j;
    put(m->t, w.values, at++, size * random_value(next_random(&m->state)));
    if (index[p] != j && has_diagonal(m, index[p]) && term != 1) {
      w.row[at] = index[p];
      put(m->t, w.values, at++, size * random_value(next_random(&m->state)));
    }
    w.ptr[term + 1] = at;
  }
  return w;
}

/* Adds the terms to the values of the test. A stored entry also represents its mirror image. */
static void add_to_values(problem *m, const terms *w, double sign) {
  const int64_t *ptr = m->view.ptr;
  const int32_t *index = m->view.index;
  for (int term = 0; term < TERMS; term++)
    for (int a = w->ptr[term]; a < w->ptr[term + 1]; a++)
      for (int b = w->ptr[term]; b < w->ptr[term + 1]; b++) {
        number product = get(m->t, w->values, b);
        if (m->adjoint) product = conj(product);
        product *= sign * get(m->t, w->values, a);
        for (int64_t p = ptr[w->row[b]]; p < ptr[w->row[b] + 1]; p++)
          if (index[p] == w->row[a]) put(m->t, m->values, p, get(m->t, m->values, p) + product);
      }
}

/* The errors of several terms add up. They must stay within the bound of solves without refinement. */
static void check_solutions(const problem *m) {
  const double most = pow(2 * m->t->roundoff, 2.0 / 3);
  const int64_t n = m->view.rows;
  OWNED char *b = xmalloc((size_t)n * m->t->bytes), *x = xmalloc((size_t)n * m->t->bytes);
  for (int64_t i = 0; i < n; i++) put(m->t, b, i, random_value((uint64_t)i + 3));
  tristar_view view = m->view;
  double stored;
  view.values = m->values;
  CHECK_OK(tristar_solve(m->plan, TRISTAR_N, 1, b, n, x, n));
  const double error = error_of(m->t, &view, TRISTAR_N, b, x, 0, COMPONENTWISE, NULL);
  CHECK_MSG(error < most, "backward error %.2e", error);
  CHECK_OK(tristar_residual(m->factor, TRISTAR_N, 1, b, n, x, n, NULL, 0, &stored));
  CHECK_MSG(stored < 2 * most, "of the stored matrix %.2e", stored);
}

/* Adds terms, then subtracts them in reverse order. */
static void add_at_random(tristar_t *ts, const typed *t, const char *kind, int64_t k,
                          tristar_symmetry symmetry, tristar_method method, tristar_inverse inverse) {
  CLEANUP(free_problem) problem m;
  terms w[ROUNDS];
  make_problem(ts, t, kind, k, symmetry, method, inverse, &m);
  int path = 0;
  for (int round = 0; round < 2 * ROUNDS; round++) {
    const bool subtract = round >= ROUNDS;
    const int at = subtract ? 2 * ROUNDS - 1 - round : round;
    tristar_update_result result;
    if (!subtract) w[at] = make_terms(&m, round % 4 == 3 && !t->is_single ? 10 : 1);
    const tristar_view view = view_of(&m, &w[at]);
    const tristar_status status = tristar_update_low_rank(m.factor, &view, subtract, &result);
    char text[512] = "";
    (void)tristar_get_error(ts, text, sizeof text);
    CHECK_MSG(status == TRISTAR_OK, "%s: %s", kind, text);
    add_to_values(&m, &w[at], subtract ? -1 : 1);
    CHECK(result.fronts > 0 && result.entries > 0);
    path += result.whole == 0 && result.fronts < result.all_fronts;
    check_solutions(&m);
  }
  /* solves with single factors of a KKT matrix are too inaccurate, so the whole matrix is factored */
  CHECK_MSG(path > ROUNDS / 2 || (t->is_single && strcmp(kind, "kkt3d") == 0),
            "%s, %c: %d of %d changes are of a path", kind, (char)t->scalar, path, 2 * ROUNDS);
}

static void add_all_kinds(tristar_t *ts, const typed *t, tristar_inverse inverse) {
  add_at_random(ts, t, "s2d9pt", 24, TRISTAR_HERMITIAN, TRISTAR_METHOD_LLT, inverse);
  add_at_random(ts, t, "poisson3d7", 9, TRISTAR_HERMITIAN, TRISTAR_METHOD_LLT, inverse);
  add_at_random(ts, t, "s2d9pt", 24, TRISTAR_SYMMETRIC, TRISTAR_METHOD_LDLT, inverse);
  add_at_random(ts, t, "maxwell3d", 4, TRISTAR_SYMMETRIC, TRISTAR_METHOD_LDLT, inverse);
  add_at_random(ts, t, "kkt3d", 5, TRISTAR_HERMITIAN, TRISTAR_METHOD_LDLT, inverse);
}

/* ---- Refusals ------------------------------------------------------------------------------------------ */

static void expect(tristar_t *ts, tristar_status status, tristar_status wanted, const char *words) {
  char text[512];
  (void)tristar_get_error(ts, text, sizeof text);
  CHECK_MSG(status == wanted && strstr(text, words) != NULL, "%s: %s", tristar_status_name(status), text);
}

/* Returns the solution for a fixed right-hand side; the caller frees it. */
static double *solution_of(const problem *m) {
  const int64_t n = m->view.rows;
  double *x = xcalloc((size_t)n, sizeof *x);
  x[3] = 1;
  CHECK_OK(tristar_solve(m->plan, TRISTAR_N, 1, x, n, x, n));
  return x;
}

static void refuse(tristar_t *ts, tristar_method method) {
  CLEANUP(free_problem) problem m;
  make_problem(ts, &typed_double, "s2d9pt", 9, TRISTAR_SYMMETRIC, method, TRISTAR_INVERSE_DIAGONAL, &m);
  OWNED double *before = solution_of(&m);
  double value[] = {1, 2};
  int32_t row[] = {4, 60}, ptr[] = {0, 2};
  tristar_view w = {TRISTAR_CSC, TRISTAR_GENERAL, TRISTAR_DOUBLE, m.view.rows, 1, ptr, row, value, 32, 32, 0};
  expect(ts, tristar_update_low_rank(m.factor, NULL, 0, NULL), TRISTAR_ERR_ARGUMENT, "w is NULL");
  expect(ts, tristar_update_low_rank(m.factor, &w, 0, NULL), TRISTAR_ERR_ARGUMENT, "rows 60 and 4");
  row[1] = 5;
  w.rows--;
  expect(ts, tristar_update_low_rank(m.factor, &w, 0, NULL), TRISTAR_ERR_ARGUMENT, "81 rows");
  w.rows++;
  w.scalar = TRISTAR_SINGLE;
  CHECK(tristar_update_low_rank(m.factor, &w, 0, NULL) == TRISTAR_ERR_ARGUMENT);
  w.scalar = TRISTAR_DOUBLE;
  row[1] = 81;
  CHECK(tristar_update_low_rank(m.factor, &w, 0, NULL) == TRISTAR_ERR_FORMAT);
  row[1] = 5;
  value[0] = NAN;
  CHECK(tristar_update_low_rank(m.factor, &w, 0, NULL) == TRISTAR_ERR_NOT_FINITE);
  value[0] = 100;
  if (method == TRISTAR_METHOD_LLT)
    expect(ts, tristar_update_low_rank(m.factor, &w, 1, NULL), TRISTAR_ERR_NOT_POSITIVE_DEFINITE,
           "column 0 of W");
  OWNED double *after = solution_of(&m);
  CHECK(memcmp(before, after, (size_t)m.view.rows * sizeof *after) == 0);
  ptr[1] = 0; /* W without entries */
  CHECK_OK(tristar_update_low_rank(m.factor, &w, 1, NULL));
  OWNED double *same = solution_of(&m);
  CHECK(memcmp(before, same, (size_t)m.view.rows * sizeof *same) == 0);
}

/* Only rounding errors of a row remain. The update returns the status of a failed factorization, or
 * solutions stay accurate. */
static void subtract_all(tristar_t *ts) {
  CLEANUP(free_problem) problem m;
  make_problem(ts, &typed_double, "s2d9pt", 9, TRISTAR_SYMMETRIC, TRISTAR_METHOD_LLT,
               TRISTAR_INVERSE_DIAGONAL, &m);
  OWNED double *values = xmalloc((size_t)((const int64_t *)m.view.ptr)[m.view.cols] * sizeof *values);
  OWNED double *x = xcalloc((size_t)m.view.rows, sizeof *x);
  x[80] = 1; /* A - w w^T is singular for w = A x / sqrt(x^T A x) = e_80 / sqrt((A^-1)_80,80) with x = A^-1
                e_80 */
  CHECK_OK(tristar_solve(m.plan, TRISTAR_N, 1, x, m.view.rows, x, m.view.rows));
  const double value = sqrt(1 / x[80]);
  const int32_t row = 80, ptr[] = {0, 1};
  const tristar_view w = {
      TRISTAR_CSC, TRISTAR_GENERAL, TRISTAR_DOUBLE, m.view.rows, 1, ptr, &row, &value, 32, 32, 0};
  const tristar_status status = tristar_update_low_rank(m.factor, &w, 1, NULL);
  CHECK_MSG(status == TRISTAR_ERR_NOT_POSITIVE_DEFINITE || status == TRISTAR_ERR_SINGULAR, "%s",
            tristar_status_name(status));
  if (status == TRISTAR_ERR_NOT_POSITIVE_DEFINITE) check_solutions(&m); /* the factor is unchanged */
}

/* Adds and subtracts a penalty. Rounding errors of its size must not remain. */
static void add_and_subtract(tristar_t *ts, tristar_method method) {
  CLEANUP(free_problem) problem m;
  make_problem(ts, &typed_double, "s2d9pt", 7, TRISTAR_SYMMETRIC, method, TRISTAR_INVERSE_DIAGONAL, &m);
  const int64_t n = m.view.rows;
  OWNED double *b = xmalloc((size_t)n * sizeof *b), *x = xmalloc((size_t)n * sizeof *x);
  const int32_t row = 24, ptr[] = {0, 1};
  for (int64_t i = 0; i < n; i++) b[i] = creal(random_value((uint64_t)i + 3));
  for (double value = 1; value < 1e8; value *= 10) {
    const tristar_view w = {TRISTAR_CSC, TRISTAR_GENERAL, TRISTAR_DOUBLE, n, 1, ptr, &row, &value, 32, 32, 0};
    double error;
    CHECK_OK(tristar_update_low_rank(m.factor, &w, 0, NULL));
    CHECK_OK(tristar_update_low_rank(m.factor, &w, 1, NULL));
    CHECK_OK(tristar_solve(m.plan, TRISTAR_N, 1, b, n, x, n));
    CHECK_OK(tristar_residual(m.factor, TRISTAR_N, 1, b, n, x, n, NULL, 0, &error));
    CHECK_MSG(error < 4e-11, "penalty of %.0e squared: backward error %.1e", value, error);
  }
}

/* Subtracts a term that couples rows whose units differ by 2^gap. Its rounding errors must not remain in
 * the row with the small unit. */
static void uncouple(tristar_t *ts, int gap) {
  static const int32_t ptr[] = {0, 2, 4, 6, 7}, row[] = {0, 1, 1, 2, 2, 3, 3}, w_ptr[] = {0, 2},
                       w_row[] = {1, 2};
  const double unit = ldexp(1, gap), w_values[] = {0.7 * unit, 0.3};
  const double values[] =
      {3 * unit * unit, -unit * unit, 3.49 * unit * unit, w_values[0] * w_values[1], 3.09, -1, 3},
               b[] = {2 * unit * unit, 2 * unit * unit, 0.01, 0.01};
  const tristar_view v = {TRISTAR_CSC, TRISTAR_SYMMETRIC, TRISTAR_DOUBLE, 4, 4, ptr, row, values, 32, 32, 0};
  const tristar_view w = {
      TRISTAR_CSC, TRISTAR_GENERAL, TRISTAR_DOUBLE, 4, 1, w_ptr, w_row, w_values, 32, 32, 0};
  tristar_analysis_options o = DEFAULTS(tristar_analysis_options);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NULL;
  double x[4], error;
  o.method = TRISTAR_METHOD_LLT;
  o.ordering = TRISTAR_ORDERING_NATURAL;
  CHECK_OK(tristar_analyze(ts, &v, &o, &an));
  CHECK_OK(tristar_factor(an, values, &f));
  CHECK_OK(tristar_plan(f, NULL, &p));
  CHECK_OK(tristar_update_low_rank(f, &w, 1, NULL));
  CHECK_OK(tristar_solve(p, TRISTAR_N, 1, b, 4, x, 4));
  CHECK_OK(tristar_residual(f, TRISTAR_N, 1, b, 4, x, 4, NULL, 4, &error));
  CHECK_MSG(error < 4e-11, "units 2^%d apart: backward error %.1e", gap, error);
}

/* A zero in W causes no cancellation, though the units of the rows differ widely. Only the path is
 * factored. */
static void add_beside_zero(tristar_t *ts) {
  static const int32_t ptr[] = {0, 2, 3}, row[] = {0, 1, 1}, w_ptr[] = {0, 2}, w_row[] = {0, 1};
  static const double values[] = {0x3p36, 0, 3}, w_values[] = {0x1p18, 0};
  const tristar_view v = {TRISTAR_CSC, TRISTAR_SYMMETRIC, TRISTAR_DOUBLE, 2, 2, ptr, row, values, 32, 32, 0};
  const tristar_view w = {
      TRISTAR_CSC, TRISTAR_GENERAL, TRISTAR_DOUBLE, 2, 1, w_ptr, w_row, w_values, 32, 32, 0};
  tristar_update_result result;
  tristar_analysis_options o = DEFAULTS(tristar_analysis_options);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
  o.method = TRISTAR_METHOD_LLT;
  CHECK_OK(tristar_analyze(ts, &v, &o, &an));
  CHECK_OK(tristar_factor(an, values, &f));
  CHECK_OK(tristar_update_low_rank(f, &w, 0, &result));
  CHECK(!result.whole);
}

static void refuse_lu(tristar_t *ts) {
  CLEANUP(free_problem) problem m;
  make_problem(ts, &typed_double, "convdiff3d", 4, TRISTAR_GENERAL, TRISTAR_METHOD_LU,
               TRISTAR_INVERSE_DIAGONAL, &m);
  const terms w = make_terms(&m, 1);
  const tristar_view view = view_of(&m, &w);
  expect(ts, tristar_update_low_rank(m.factor, &view, 0, NULL), TRISTAR_ERR_UNSUPPORTED, "L D L^T");
}

static void fail_allocations(tristar_t *ts) {
  CLEANUP(free_problem) problem m;
  make_problem(ts, &typed_double, "s2d9pt", 9, TRISTAR_SYMMETRIC, TRISTAR_METHOD_LDLT,
               TRISTAR_INVERSE_DIAGONAL, &m);
  const terms w = make_terms(&m, 1);
  const tristar_view view = view_of(&m, &w);
  allocation_failures failing = fail_allocations_of(ts);
  failing.keeps_memory = true; /* a plan for trial solves */
  while (next_failure(&failing)) {
    const tristar_status status = tristar_update_low_rank(m.factor, &view, 0, NULL);
    end_failure(&failing, status);
    if (status == TRISTAR_OK)
      add_to_values(&m, &w, 1);
    else
      CHECK_OK(tristar_refactor(m.factor, m.values));
  }
  CHECK(failing.count > 8);
  check_solutions(&m);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(true);
  for (int k = 0; k < 4; k++) {
    RUN(add_all_kinds(ts, types[k], TRISTAR_INVERSE_DIAGONAL));
    RUN(add_all_kinds(ts, types[k], TRISTAR_INVERSE_NONE));
  }
  RUN(refuse(ts, TRISTAR_METHOD_LLT));
  RUN(refuse(ts, TRISTAR_METHOD_LDLT));
  RUN(refuse_lu(ts));
  RUN(subtract_all(ts));
  RUN(add_and_subtract(ts, TRISTAR_METHOD_LLT));
  RUN(add_and_subtract(ts, TRISTAR_METHOD_LDLT));
  for (int gap = 16; gap <= 60; gap += 4) RUN(uncouple(ts, gap));
  RUN(add_beside_zero(ts));
  RUN(fail_allocations(ts));
  return 0;
}
