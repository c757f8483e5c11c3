/* Chains with integer weights are exactly singular, though no pivot need be small: each is left by a
 * subtraction that loses a few digits, and the last one has none. They are refused, in all types, by all
 * methods, in any order, also as new values. Anchored at one end they are regular, and solved. Other singular
 * matrices of integers are refused as well. */
#include "tests/support/singular_systems.h"
#include "tests/support/context.h"
#include "tests/support/subtests.h"

static const tristar_method methods[] = {TRISTAR_METHOD_AUTO, TRISTAR_METHOD_LU, TRISTAR_METHOD_LDLT,
                                         TRISTAR_METHOD_LLT};

/* Returns the view of a chain in another type. values: space for all entries. */
static tristar_view typed_view(const chain *c, const typed *t, void *values) {
  tristar_view view = c->view;
  for (int32_t p = 0; p < c->ptr[view.cols]; p++) put(t, values, p, c->values[p]);
  view.scalar = t->scalar;
  view.values = values;
  return view;
}

static tristar_status factor(tristar_t *ts, const tristar_view *v, tristar_method method,
                             tristar_ordering ordering, const void *values, tristar_factor_t **f) {
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
  options.method = method;
  options.ordering = ordering;
  CHECK_OK(tristar_analyze(ts, v, &options, &an));
  return tristar_factor(an, values, f);
}

static bool is_refusal(tristar_status status, tristar_method method) {
  return status == TRISTAR_ERR_SINGULAR ||
         (status == TRISTAR_ERR_NOT_POSITIVE_DEFINITE && method == TRISTAR_METHOD_LLT);
}

static void check_refused(tristar_t *ts, const chain *c, const typed *t, bool symmetric, const char *what) {
  number values[3 * CHAIN_MOST];
  const tristar_view v = typed_view(c, t, values);
  for (int m = 0; m < (symmetric ? 4 : 2); m++)
    for (int order = 0; order < 2; order++) {
      CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
      const tristar_status status =
          factor(ts, &v, methods[m], order ? TRISTAR_ORDERING_NATURAL : TRISTAR_ORDERING_METIS, values, &f);
      CHECK_MSG(is_refusal(status, methods[m]), "%s, type %c, n %d, method %d, order %d: %s", what,
                (char)t->scalar, (int)v.rows, (int)methods[m], order, tristar_status_name(status));
    }
}

static void check_solved(tristar_t *ts, const chain *c, const typed *t, bool symmetric, const char *what) {
  number values[3 * CHAIN_MOST], b[CHAIN_MOST], x[CHAIN_MOST];
  const tristar_view v = typed_view(c, t, values);
  for (int i = 0; i < v.rows; i++) put(t, b, i, 1);
  for (int m = 0; m < (symmetric ? 4 : 2); m++) {
    CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
    CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NULL;
    tristar_refine_result result = {0};
    tristar_status status = factor(ts, &v, methods[m], TRISTAR_ORDERING_METIS, values, &f);
    if (status == TRISTAR_OK) status = tristar_plan(f, NULL, &p);
    if (status == TRISTAR_OK)
      status = tristar_solve_refined(p, TRISTAR_N, 1, b, v.rows, x, v.rows, NULL, &result);
    CHECK_MSG(status == TRISTAR_OK && result.backward_error < 100 * t->roundoff,
              "%s, type %c, n %d, method %d: %s, backward error %g", what, (char)t->scalar, (int)v.rows,
              (int)methods[m], tristar_status_name(status), result.backward_error);
  }
}

static void check_graded(tristar_t *ts, const typed *t, int base, int n) {
  chain c;
  for (int falling = 0; falling < 2; falling++) {
    make_graded_chain(&c, n, base, falling, -1);
    check_refused(ts, &c, t, true, "graded");
    make_graded_chain(&c, n, base, falling, falling ? 0 : n - 1);
    check_solved(ts, &c, t, true, "graded and anchored");
  }
}

static void check_random(tristar_t *ts, const typed *t, uint64_t seed) {
  chain c;
  const bool directed = seed % 3 == 0;
  const int n = 3 + (int)(seed * 7 % 38), most = t->is_single ? 1000 : seed % 2 ? 100000 : 600;
  make_random_chain(&c, n, most, directed, -1, seed);
  check_refused(ts, &c, t, !directed, "random");
  make_random_chain(&c, n, 4, directed, n / 2, seed);
  check_solved(ts, &c, t, !directed, "random and anchored");
}

/* A factor of regular values refuses singular values, and then accepts the regular ones again. */
static void check_new_values(tristar_t *ts) {
  chain regular, singular;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
  make_graded_chain(&regular, 24, 2, true, 0);
  make_graded_chain(&singular, 24, 2, true, -1);
  CHECK_OK(factor(ts, &regular.view, TRISTAR_METHOD_LDLT, TRISTAR_ORDERING_NATURAL, regular.values, &f));
  CHECK_STATUS(tristar_refactor(f, singular.values), TRISTAR_ERR_SINGULAR);
  CHECK_OK(tristar_refactor(f, regular.values));
}

enum { LINKED = 6, LINKED_MOST = 40 };

/* A chain with one heavy link, and rows with large diagonals that also have entries in the columns of the
 * chain, all in random order. So rows that lose no digits are eliminated between those of the chain. The
 * heavy link determines the last pivot of the chain. */
static void check_heavy_link(tristar_t *ts, uint64_t seed) {
  const int n = LINKED + 10 + (int)(next_random(&seed) % (LINKED_MOST - LINKED - 9));
  static double a[LINKED_MOST][LINKED_MOST];
  int64_t order[LINKED_MOST];
  int32_t ptr[LINKED_MOST + 1] = {0}, index[LINKED_MOST * LINKED_MOST];
  double values[LINKED_MOST * LINKED_MOST];
  memset(a, 0, sizeof a);
  for (int i = 0; i + 1 < LINKED; i++) {
    const double w = 1 + (double)(next_random(&seed) % (i == 3 ? 90000000 : 13));
    a[i][i] += w, a[i + 1][i + 1] += w, a[i][i + 1] -= w, a[i + 1][i] -= w;
  }
  for (int i = LINKED; i < n; i++) {
    a[i][i] = 6 + (double)(next_random(&seed) % 5);
    for (int k = 0; k < 2; k++) {
      const int j = (int)(next_random(&seed) % (uint64_t)n);
      if (j != i) a[i][j] = (double)(next_random(&seed) % 5) - 2;
    }
  }
  for (int i = 0; i < n; i++) order[i] = i;
  for (int i = n - 1; i > 0; i--) {
    const int j = (int)(next_random(&seed) % (uint64_t)(i + 1));
    const int64_t old = order[i];
    order[i] = order[j], order[j] = old;
  }
  for (int j = 0, at = 0; j < n; j++) {
    for (int i = 0; i < n; i++)
      if (a[order[i]][order[j]] != 0) index[at] = i, values[at++] = a[order[i]][order[j]];
    ptr[j + 1] = at;
  }
  const tristar_view v = {TRISTAR_CSC, TRISTAR_GENERAL, TRISTAR_DOUBLE, n, n, ptr, index, values, 32, 32, 0};
  for (int k = 0; k < 2; k++) {
    CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
    const tristar_status status = factor(
        ts, &v, TRISTAR_METHOD_AUTO, k == 0 ? TRISTAR_ORDERING_AUTO : TRISTAR_ORDERING_NATURAL, values, &f);
    CHECK_MSG(status == TRISTAR_ERR_SINGULAR, "n %d, %s order: %s", n, k == 0 ? "automatic" : "natural",
              tristar_status_name(status));
  }
}

static void check_heavy_links(tristar_t *ts) {
  for (uint64_t seed = 1; seed <= (TSI_TESTS_SANITIZED ? 500 : 8000); seed++) check_heavy_link(ts, seed);
}

/* B D B^T with integers B, 7 x 6, and signs D. Pivots are of size 1e-12, but not below 4096 eps times their
 * columns. */
static void check_product(tristar_t *ts) {
  static const double lower[7][7] = {{9},
                                     {-1, 3},
                                     {-5, 0, 14},
                                     {4, -3, -4, 10},
                                     {-3, 2, -1, -5, 4},
                                     {-6, 4, 4, -7, 3, 14},
                                     {-5, -1, 1, 2, 1, -4, 13}};
  int32_t ptr[8] = {0}, index[28];
  double values[28];
  for (int j = 0, at = 0; j < 7; j++) {
    for (int i = j; i < 7; i++) index[at] = i, values[at++] = lower[i][j];
    ptr[j + 1] = at;
  }
  const tristar_view v = {
      TRISTAR_CSC, TRISTAR_SYMMETRIC, TRISTAR_DOUBLE, 7, 7, ptr, index, values, 32, 32, 0};
  for (int m = 0; m < 4; m++) {
    CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
    const tristar_status status = factor(ts, &v, methods[m], TRISTAR_ORDERING_METIS, values, &f);
    CHECK_MSG(is_refusal(status, methods[m]), "method %d: %s", (int)methods[m], tristar_status_name(status));
  }
}

/* The last pivot of a Hermitian matrix is zero except for rounding errors in its imaginary part. */
static void check_hermitian(tristar_t *ts) {
  static const int entries[39][4] = {
      {0, 0, 0, 0},  {2, 0, -7, 7},  {4, 0, -6, -4}, {5, 0, 5, 3},  {6, 0, 3, 5},   {7, 0, 5, -2},
      {8, 0, -6, 4}, {1, 1, 5, 0},   {2, 1, 0, 6},   {3, 1, 1, 5},  {5, 1, -4, -5}, {6, 1, 7, -7},
      {7, 1, 3, -2}, {8, 1, 7, 4},   {9, 1, 1, 5},   {2, 2, 0, 0},  {3, 2, -6, 3},  {4, 2, -6, -1},
      {6, 2, 0, -4}, {7, 2, 1, 0},   {9, 2, -6, 3},  {3, 3, -1, 0}, {5, 3, -4, 4},  {7, 3, 6, 4},
      {9, 3, -1, 0}, {4, 4, 0, 0},   {7, 4, -3, -7}, {5, 5, -3, 0}, {6, 5, 6, -7},  {7, 5, -2, 6},
      {8, 5, 2, 2},  {9, 5, -4, -4}, {6, 6, 4, 0},   {7, 6, -6, 0}, {8, 6, -2, 5},  {7, 7, 0, 0},
      {9, 7, 6, -4}, {8, 8, 3, 0},   {9, 9, -1, 0}};
  int32_t ptr[11] = {0}, index[39];
  double values[78];
  for (int p = 0; p < 39; p++) {
    ptr[entries[p][1] + 1] = p + 1;
    index[p] = entries[p][0];
    for (int part = 0; part < 2; part++) values[2 * p + part] = entries[p][2 + part];
  }
  const tristar_view v = {
      TRISTAR_CSC, TRISTAR_HERMITIAN, TRISTAR_COMPLEX_DOUBLE, 10, 10, ptr, index, values, 32, 32, 0};
  for (int m = 0; m < 3; m++) {
    CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
    CHECK_STATUS(factor(ts, &v, methods[m], TRISTAR_ORDERING_METIS, values, &f), TRISTAR_ERR_SINGULAR);
  }
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  static const typed *const types[] = {&typed_double, &typed_complex_double, &typed_single,
                                       &typed_complex_single};
  static const int graded[][2] = {{2, 24}, {2, 50}, {3, 30}, {4, 26}, {5, 21}, {8, 18}};
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(false);
  for (int t = 0; t < 4; t++) {
    for (int k = 0; k < 6; k++) {
      const int base = graded[k][0], n = types[t]->is_single ? 4 + graded[k][1] / 3 : graded[k][1];
      RUN(check_graded(ts, types[t], base, n));
    }
    for (uint64_t seed = 1; seed <= 60; seed++) RUN(check_random(ts, types[t], 4 * seed + (uint64_t)t));
  }
  RUN(check_new_values(ts));
  RUN(check_heavy_links(ts));
  RUN(check_product(ts));
  RUN(check_hermitian(ts));
  return 0;
}
