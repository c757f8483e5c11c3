/* Several entries at one place, in any order: the library behaves, to the bit, as with their sums. Sums here
 * are exact. */
#include "tests/support/context.h"
#include "tests/support/subtests.h"
#include "tests/support/typed.h"

enum { COPIES = 3 };

/* A view in which each entry is stored as COPIES summands, in random order within its line. */
typedef struct pieces {
  tristar_view view;
  int64_t *ptr;
  int32_t *index;
  void *values;
} pieces;

static void swap(const typed *t, const pieces *s, int64_t p, int64_t q) {
  const int32_t index = s->index[p];
  const number a = get(t, s->values, p), b = get(t, s->values, q);
  s->index[p] = s->index[q];
  s->index[q] = index;
  put(t, s->values, p, b);
  put(t, s->values, q, a);
}

static pieces cut(const typed *t, const tristar_view *v, const void *values) {
  const int64_t *ptr = v->ptr, n = v->cols, entries = COPIES * ptr[n];
  const int32_t *index = v->index;
  pieces s = {*v, xmalloc((size_t)(n + 1) * sizeof *s.ptr), xmalloc((size_t)entries * sizeof *s.index),
              xmalloc((size_t)entries * t->bytes)};
  uint64_t state = 1;
  CHECK(s.ptr != NULL && s.index != NULL && s.values != NULL);
  for (int64_t j = 0; j <= n; j++) s.ptr[j] = COPIES * ptr[j];
  for (int64_t p = 0; p < ptr[n]; p++) {
    const number a = get(t, values, p), large = (double)(1 << (p % 12)) * 64;
    for (int c = 0; c < COPIES; c++) s.index[COPIES * p + c] = index[p];
    put(t, s.values, COPIES * p,
        a + large); /* the magnitudes of the summands do not show the size of the sum */
    put(t, s.values, COPIES * p + 1, -large / 2);
    put(t, s.values, COPIES * p + 2, -large / 2);
  }
  for (int64_t j = 0; j < n; j++)
    for (int64_t p = s.ptr[j + 1] - 1; p > s.ptr[j]; p--) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      swap(t, &s, p, s.ptr[j] + (int64_t)((state >> 33) % (uint64_t)(p - s.ptr[j] + 1)));
    }
  s.view.ptr = s.ptr;
  s.view.index = s.index;
  s.view.values = s.values;
  return s;
}

static void finish(pieces *s) {
  free(s->ptr);
  free(s->index);
  free(s->values);
}

/* Results for a view: solution, condition, errors. */
typedef struct outcome {
  tristar_analysis_stats analysis;
  tristar_factor_stats factor;
  tristar_refine_result refined;
  double reciprocal;
  char *x;
} outcome;

static outcome solve(tristar_t *ts, const typed *t, const tristar_view *v,
                     const tristar_analysis_options *options, const void *b, bool again) {
  outcome o = {.x = xmalloc((size_t)v->rows * t->bytes)};
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p;
  const tristar_refine_options refine = {
      .size = sizeof refine, .max_steps = 3, .max_iterations = 5, .forward_error = 1};
  CHECK(o.x != NULL);
  CHECK_OK(tristar_analyze(ts, v, options, &an));
  CHECK_OK(tristar_factor(an, v->values, &f));
  if (again) CHECK_OK(tristar_refactor(f, v->values));
  CHECK_OK(tristar_plan(f, NULL, &p));
  CHECK_OK(tristar_solve_refined(p, TRISTAR_T, 1, b, v->rows, o.x, v->rows, &refine, &o.refined));
  CHECK_OK(tristar_condition(p, &o.reciprocal));
  CHECK_OK(tristar_analysis_get_stats(tristar_factor_get_analysis(f), &o.analysis));
  CHECK_OK(tristar_factor_get_stats(f, &o.factor));
  return o;
}

static void check(tristar_t *ts, const typed *t, const char *kind, int64_t k, tristar_symmetry symmetry,
                  tristar_method method, tristar_matching matching) {
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *matrix;
  tristar_view view;
  tristar_analysis_options options;
  OWNED void *values = typed_matrix(ts, kind, k, t, symmetry, &matrix, &view), *b = make_rhs(t, view.rows);
  for (int64_t p = 0; p < ((const int64_t *)view.ptr)[view.cols];
       p++) { /* values with few digits, so that sums are exact */
    const number a = get(t, values, p);
    number few = rint(64 * creal(a)) / 64;
    __imag__ few = rint(64 * cimag(a)) / 64;
    put(t, values, p, few);
  }
  CLEANUP(finish) pieces s = cut(t, &view, values);
  view.values = values;
  tristar_analysis_options_init(&options);
  options.method = method;
  options.matching = matching;
  const outcome whole = solve(ts, t, &view, &options, b, false);
  for (int again = 0; again < 2; again++) {
    const outcome cut_up = solve(ts, t, &s.view, &options, b, again);
    CHECK(whole.analysis.method == cut_up.analysis.method &&
          whole.analysis.matched == cut_up.analysis.matched && whole.analysis.nnz == cut_up.analysis.nnz &&
          whole.analysis.pairs == cut_up.analysis.pairs);
    CHECK(whole.factor.perturbed_pivots == cut_up.factor.perturbed_pivots);
    CHECK_MSG(memcmp(whole.x, cut_up.x, (size_t)view.rows * t->bytes) == 0, "%s %c: other bits", kind,
              t->scalar);
    CHECK_MSG(whole.reciprocal == cut_up.reciprocal, "%s %c: 1 / condition is %g, not %g", kind, t->scalar,
              cut_up.reciprocal, whole.reciprocal);
    CHECK(whole.refined.backward_error == cut_up.refined.backward_error &&
          whole.refined.forward_error == cut_up.refined.forward_error);
    free(cut_up.x);
  }
  free(whole.x);
}

/* A triangular matrix in which each entry is stored as several summands. */
static void check_triangle(tristar_t *ts) {
  const int64_t ptr[] = {0, 3, 6, 7};
  const int32_t index[] = {2, 0, 2, 1, 1, 2, 2};
  const double values[] = {1, 2, 2, 1, 3, -4, 8}, b[] = {2, 4, 3 - 4 + 8}, known[] = {1, 1, 1};
  const tristar_view v = stored_view(TRISTAR_CSC, TRISTAR_GENERAL, TRISTAR_DOUBLE, 3, 3, ptr, index, values);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f;
  double x[3];
  CHECK_OK(tristar_import_csr(ts, &v, TRISTAR_LOWER, TRISTAR_NON_UNIT, &f));
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NEW_PLAN(f, NULL);
  CHECK_OK(tristar_solve(p, TRISTAR_N, 1, b, 3, x, 3));
  for (int i = 0; i < 3; i++) CHECK(x[i] == known[i]);
}

/* A user's ordering with LDLT, which pairs rows: the solution is right, and an invalid ordering is
 * refused. */
static void check_pairs(tristar_t *ts) {
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *matrix;
  tristar_analysis_options options;
  tristar_factor_t *f;
  tristar_plan_t *p;
  tristar_refine_result result;
  tristar_analysis_stats stats;
  tristar_view v = generated_view(ts, "kkt3d", 4, &matrix);
  OWNED int64_t *order = xmalloc((size_t)v.rows * sizeof *order);
  OWNED void *b = make_rhs(&typed_double, v.rows), *x = xmalloc((size_t)v.rows * sizeof(double));
  CHECK(b != NULL);
  for (int64_t k = 0; k < v.rows; k++) order[k] = v.rows - 1 - k;
  tristar_analysis_options_init(&options);
  options.method = TRISTAR_METHOD_LDLT;
  options.matching = TRISTAR_MATCHING_ON;
  options.ordering = TRISTAR_ORDERING_USER;
  options.permutation = order;
  tristar_analysis_t *an = NEW_ANALYSIS(ts, &v, &options);
  CHECK_OK(tristar_analysis_get_stats(an, &stats));
  CHECK(stats.pairs > 0);
  CHECK_OK(tristar_factor(an, v.values, &f));
  CHECK_OK(tristar_plan(f, NULL, &p));
  CHECK_OK(tristar_solve_refined(p, TRISTAR_N, 1, b, v.rows, x, v.rows, NULL, &result));
  CHECK_MSG(result.backward_error < 1e-14, "backward error %g", result.backward_error);
  tristar_plan_destroy(&p);
  tristar_factor_destroy(&f);
  tristar_analysis_destroy(&an);
  order[0] = order[1];
  CHECK(tristar_analyze(ts, &v, &options, &an) == TRISTAR_ERR_ARGUMENT);
  options.permutation = NULL;
  options.ordering = TRISTAR_ORDERING_METIS;
  options.leaf_parts = -2;
  CHECK(tristar_analyze(ts, &v, &options, &an) == TRISTAR_ERR_ARGUMENT);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_with_starpu(0, true);
  RUN(check(ts, &typed_double, "s2d9pt", 9, TRISTAR_SYMMETRIC, TRISTAR_METHOD_AUTO, TRISTAR_MATCHING_AUTO));
  RUN(check(ts, &typed_single, "s2d9pt", 9, TRISTAR_SYMMETRIC, TRISTAR_METHOD_LLT, TRISTAR_MATCHING_AUTO));
  RUN(check(ts, &typed_complex_double, "s2d9pt", 9, TRISTAR_HERMITIAN, TRISTAR_METHOD_AUTO,
            TRISTAR_MATCHING_AUTO));
  RUN(check(ts, &typed_double, "kkt3d", 4, TRISTAR_SYMMETRIC, TRISTAR_METHOD_LDLT, TRISTAR_MATCHING_ON));
  RUN(check(ts, &typed_complex_double, "kkt3d", 3, TRISTAR_SYMMETRIC, TRISTAR_METHOD_AUTO,
            TRISTAR_MATCHING_ON));
  RUN(check(ts, &typed_complex_single, "convdiff3d", 5, TRISTAR_GENERAL, TRISTAR_METHOD_LU,
            TRISTAR_MATCHING_ON));
  RUN(check(ts, &typed_double, "convdiff3d", 5, TRISTAR_GENERAL, TRISTAR_METHOD_AUTO, TRISTAR_MATCHING_AUTO));
  RUN(check_triangle(ts));
  RUN(check_pairs(ts));
  return 0;
}
