/* Refinement: why it stopped, that the best solution is kept, NaN among several right-hand sides, factors
 * without their matrix, allocations that fail. */
#include <float.h>

#include "tests/support/allocations.h"
#include "tests/support/context.h"
#include "tests/support/dense_systems.h"
#include "tests/support/subtests.h"
#include "tristar_device.h"
#include "tristar_stats.h"

/* Checks the reason why refinement stopped. Single factors make refinement necessary. */
static void check_stop(tristar_t *ts) {
  const dense m = hilbert(6);
  double b[] = {1, -2, 3, -4, 5, -6}, x[6];
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p;
  tristar_refine_options options = DEFAULTS(tristar_refine_options);
  tristar_refine_result result;
  CLEANUP(free_view) tristar_view v = make_view(&m, TRISTAR_DOUBLE, TRISTAR_GENERAL);
  make_plan(ts, &v, TRISTAR_METHOD_LU, 1, &f, &p);
#define STOP(change, expected)                                                                               \
  do {                                                                                                       \
    tristar_refine_options_init(&options);                                                                   \
    change;                                                                                                  \
    CHECK_OK(tristar_solve_refined(p, TRISTAR_N, 1, b, 6, x, 6, &options, &result));                         \
    CHECK_MSG(result.stop == (expected), "stop %d, expected %d", (int)result.stop, (int)(expected));         \
  } while (0)
  STOP((void)0, TRISTAR_STOP_CONVERGED);
  STOP(options.max_steps = 0, TRISTAR_STOP_LIMIT);
  STOP((options.max_steps = 1, options.max_iterations = 0), TRISTAR_STOP_LIMIT);
  STOP((options.max_steps = 1, options.max_iterations = 1), TRISTAR_STOP_LIMIT);
  STOP((options.max_steps = 1000, options.max_iterations = 0, options.tolerance = 1e-30),
       TRISTAR_STOP_STAGNATED);
  STOP((options.max_steps = 1, options.tolerance = 1e-30), TRISTAR_STOP_STAGNATED);
  STOP((options.max_steps = 0, options.tolerance = 1), TRISTAR_STOP_CONVERGED);
}

/* The history contains each correction of each right-hand side, up to its capacity. A history does not
 * change the bits of x. */
static void check_history(tristar_t *ts) {
  enum { N = 8, NRHS = 3, MOST = 64 };
  const dense m = hilbert(N);
  double b[N * NRHS], x[N * NRHS], plain[N * NRHS];
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p;
  tristar_refine_options options = DEFAULTS(tristar_refine_options);
  tristar_refine_result result;
  tristar_refine_point history[MOST];
  CLEANUP(free_view) tristar_view v = make_view(&m, TRISTAR_DOUBLE, TRISTAR_GENERAL);
  make_plan(ts, &v, TRISTAR_METHOD_LU, 1, &f, &p); /* single factors make refinement necessary */
  fill_random(b, N * NRHS, 3);
  CHECK_OK(tristar_solve_refined(p, TRISTAR_N, NRHS, b, N, plain, N, &options, &result));
  CHECK(result.history_count == 0);
  options.history = history;
  options.history_most = MOST;
  CHECK_OK(tristar_solve_refined(p, TRISTAR_N, NRHS, b, N, x, N, &options, &result));
  CHECK(memcmp(x, plain, sizeof x) == 0);
  CHECK(result.history_count >= 2 * NRHS && result.history_count <= MOST);
  double first = 0, last = 0, best = 0;
  int64_t column = -1;
  for (int64_t k = 0; k < result.history_count; k++) {
    const tristar_refine_point *point = &history[k], *before = point - 1;
    if (point->steps + point->iterations == 0) { /* the next right-hand side */
      CHECK(point->column == ++column);
      last = best > last ? best : last;
      best = point->backward_error;
      first = best > first ? best : first;
    } else
      CHECK(point->column == column &&
            (point->iterations == 0 ? point->steps == before->steps + 1
                                    : point->iterations == before->iterations + 1));
    if (point->backward_error < best) best = point->backward_error;
  }
  last = best > last ? best : last;
  CHECK(column == NRHS - 1 && first == result.initial_backward_error);
  CHECK(last > 0 && last <= result.backward_error); /* FGMRES may pass a better solution */
  const int64_t all = result.history_count;
  history[2].column = -7;
  options.history_most = 2;
  CHECK_OK(tristar_solve_refined(p, TRISTAR_N, NRHS, b, N, x, N, &options, &result));
  CHECK(result.history_count == all && history[2].column == -7 && memcmp(x, plain, sizeof x) == 0);
  options.history_most = -1;
  CHECK_STATUS(tristar_solve_refined(p, TRISTAR_N, NRHS, b, N, x, N, &options, &result),
               TRISTAR_ERR_ARGUMENT);
}

/* Returns the backward error of x by its definition. */
static double error_of(const dense *m, const double *b, const double *x) {
  long double largest = 0;
  for (int i = 0; i < m->n; i++) {
    long double residual = b[i], size = fabs(b[i]);
    for (int j = 0; j < m->n; j++) {
      residual -= creall(m->a[i][j]) * x[j];
      size += fabsl(creall(m->a[i][j]) * x[j]);
    }
    if (residual != 0) largest = fmaxl(largest, fabsl(residual) / size);
  }
  return (double)largest;
}

/* The best solution of each right-hand side is kept, and the result describes the worst right-hand side.
 * With single factors of ill-conditioned matrices the last correction is usually worse than the one before.
 * The last right-hand side is zero, so its result has nothing to report. */
static void check_best(tristar_t *ts) {
  enum { NRHS = 4, MOST = 128 };
  int worse = 0;
  for (int n = 4; n <= 12; n++) {
    const dense m = hilbert(n);
    double b[12 * NRHS] = {0}, x[12 * NRHS], best[NRHS], first = 0, last = 0;
    int steps[NRHS] = {0}, most = 0;
    tristar_factor_t *f;
    tristar_plan_t *p;
    tristar_refine_options options = DEFAULTS(tristar_refine_options);
    tristar_refine_result result;
    tristar_refine_point history[MOST];
    CLEANUP(free_view) tristar_view v = make_view(&m, TRISTAR_DOUBLE, TRISTAR_GENERAL);
    make_plan(ts, &v, TRISTAR_METHOD_LU, 1, &f, &p);
    fill_random(b, (NRHS - 1) * n, 3);
    options.tolerance = 1e-30;
    options.max_steps = 20;
    options.max_iterations = 0;
    options.history = history;
    options.history_most = MOST;
    CHECK_OK(tristar_solve_refined(p, TRISTAR_N, NRHS, b, n, x, n, &options, &result));
    CHECK(result.history_count <= MOST);
    for (int64_t k = 0; k < result.history_count; k++) {
      const tristar_refine_point *point = &history[k];
      double *least = &best[point->column];
      if (point->steps == 0) {
        *least = point->backward_error;
        first = fmax(first, *least);
      } else if (point->backward_error < *least) {
        *least = point->backward_error;
        steps[point->column]++;
      } else
        worse += point->backward_error > *least;
    }
    for (int c = 0; c < NRHS; c++) {
      const double error = error_of(&m, b + c * n, x + c * n);
      CHECK_MSG(fabs(error - best[c]) <= 1e-3 * best[c] + 1e-14, "n %d, column %d: error %g, best %g", n, c,
                error, best[c]);
      last = fmax(last, best[c]);
      most = steps[c] > most ? steps[c] : most;
    }
    CHECK(result.backward_error == last && result.initial_backward_error == first && result.steps == most);
    CHECK(best[NRHS - 1] == 0 && result.stop == TRISTAR_STOP_STAGNATED);
    options.max_iterations = 30;
    CHECK_OK(tristar_solve_refined(p, TRISTAR_N, NRHS, b, n, x, n, &options, &result));
    last = 0;
    for (int c = 0; c < NRHS; c++) last = fmax(last, error_of(&m, b + c * n, x + c * n));
    CHECK_MSG(fabs(last - result.backward_error) <= 1e-3 * last + 1e-14, "n %d: error %g, reported %g", n,
              last, result.backward_error);
    tristar_plan_destroy(&p);
    tristar_factor_destroy(&f);
  }
  CHECK_MSG(worse > 3, "%d corrections for the worse", worse);
}

/* A symmetric matrix that is well conditioned except for its scaling. Each zero on its diagonal is in a
 * block of its own and is perturbed. The scaled solution spans 130 powers of ten. After the first solve no
 * digit is right in rows of small terms, and only the last correction reduces their backward errors below
 * one. */
static void check_span(tristar_t *ts) {
  const int32_t ptr[] = {0, 2, 4, 5, 5}, index[] = {1, 3, 2, 3, 3};
  const double values[] = {-0x1.d3c7cccp-208, 0x1.7d54b78p-194, 0x1.f33167ap+12, 0x1.5f40b44p-415,
                           0x1.b799cbp+26};
  enum { NRHS = 64, TRUE = 32 }; /* right-hand sides; the first TRUE have a known solution */
  const int64_t permutations[][4] = {{0, 1, 2, 3}, {2, 0, 1, 3}, {0, 3, 2, 1}};
  const tristar_view v = {.format = TRISTAR_CSC,
                          .symmetry = TRISTAR_SYMMETRIC,
                          .scalar = TRISTAR_DOUBLE,
                          .rows = 4,
                          .cols = 4,
                          .ptr = ptr,
                          .index = index,
                          .values = values,
                          .ptr_bits = 32,
                          .index_bits = 32};
  double truth[4 * NRHS], b[4 * NRHS], x[4 * NRHS];
  fill_random(truth, 4 * NRHS, 5);
  fill_random(b, 4 * NRHS, 7);
  for (int i = 0; i < 4 * NRHS; i++)
    b[i] *= i < 4 * TRUE ? 0 : 0x1p+331; /* squares of its residuals overflow */
  for (int c = 0; c < 4 * TRUE; c += 4)
    for (int j = 0; j < 4; j++)
      for (int e = ptr[j]; e < ptr[j + 1]; e++) {
        b[c + index[e]] += values[e] * truth[c + j];
        b[c + j] += values[e] * truth[c + index[e]];
      }
  for (tristar_method method = TRISTAR_METHOD_LU; method <= TRISTAR_METHOD_LDLT; method++)
    for (int k = 0; k < 3; k++) {
      tristar_factor_stats stats;
      tristar_refine_result result;
      tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
      options.method = method;
      options.matching = TRISTAR_MATCHING_OFF;
      options.ordering = TRISTAR_ORDERING_USER;
      options.permutation = permutations[k];
      options.merge = TRISTAR_MERGE_FUNDAMENTAL;
      options.singular = TRISTAR_SINGULAR_PERTURB;
      CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &v, &options);
      CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NEW_FACTOR(an, values);
      CHECK_OK(tristar_factor_get_stats(f, &stats));
      CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NEW_PLAN(f, NULL);
      CHECK(stats.perturbed_pivots > 0);
      CHECK_OK(tristar_solve_refined(p, TRISTAR_N, NRHS, b, 4, x, 4, NULL, &result));
      CHECK_MSG(result.backward_error <= 50 * DBL_EPSILON,
                "method %d: backward error %g after %d corrections and %d iterations", (int)method,
                result.backward_error, result.steps, result.iterations);
      for (int c = 2; c < 4 * TRUE; c += 4)
        CHECK_MSG(fabs(x[c] - truth[c]) < 1e-14, "x[%d] = %.17g, not %.17g", c, x[c], truth[c]);
    }
}

/* Single factors; right-hand sides of very different size, and different leading dimensions. Each solution
 * is accurate relative to its own size. */
static void check_sizes(tristar_t *ts) {
  enum { N = 8, LDB = 11, LDX = 9, NRHS = 4 };
  static const double size[NRHS] = {0x1p600, 1, 0x1p-600, 0x1p30};
  const dense m = dominant(N);
  double b[LDB * NRHS], x[LDX * NRHS];
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p;
  tristar_refine_result result;
  CLEANUP(free_view) tristar_view v = make_view(&m, TRISTAR_DOUBLE, TRISTAR_GENERAL);
  make_plan(ts, &v, TRISTAR_METHOD_LU, 1, &f, &p);
  fill_random(b, LDB * NRHS, 6);
  for (int i = 0; i < LDB * NRHS; i++) b[i] *= size[i / LDB];
  for (int i = 0; i < LDX * NRHS; i++) x[i] = 7;
  CHECK_OK(tristar_solve_refined(p, TRISTAR_N, NRHS, b, LDB, x, LDX, NULL, &result));
  CHECK_MSG(result.initial_backward_error < 1e-6, "first backward error %g", result.initial_backward_error);
  for (int c = 0; c < NRHS; c++) {
    const double error = error_of(&m, b + c * LDB, x + c * LDX);
    CHECK_MSG(error < 1e-15, "column %d: backward error %g", c, error);
    CHECK(x[c * LDX + N] == 7);
  }
}

/* If one right-hand side is not finite, the error names it, and the others are still refined. */
static void check_not_finite(tristar_t *ts) {
  const dense m = dominant(4);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p;
  tristar_refine_result result;
  CLEANUP(free_view) tristar_view v = make_view(&m, TRISTAR_DOUBLE, TRISTAR_GENERAL);
  make_plan(ts, &v, TRISTAR_METHOD_LU, 0, &f, &p);
  for (int bad = 0; bad < 12; bad += 5) {
    double b[12], x[12];
    fill_random(b, 12, 4);
    b[bad] = NAN;
    char message[512], place[64];
    CHECK_STATUS(tristar_solve_refined(p, TRISTAR_N, 3, b, 4, x, 4, NULL, &result), TRISTAR_ERR_NOT_FINITE);
    tristar_get_error(ts, message, sizeof message);
    snprintf(place, sizeof place, "row %d, column %d ", bad % 4, bad / 4);
    CHECK_MSG(strstr(message, place) != NULL, "\"%s\" is not in \"%s\"", place, message);
    CHECK(result.backward_error < 1e-15 && result.stop == TRISTAR_STOP_CONVERGED);
    for (int i = 0; i < 12; i++) CHECK(isfinite(x[i]) || i / 4 == bad / 4);
  }
}

/* Factors that were imported without their matrix can solve, but not refine. */
static void check_without_matrix(tristar_t *ts) {
  static const int64_t ptr[] = {0, 2, 3}, upper_ptr[] = {0, 1, 3};
  static const int32_t index[] = {0, 1, 1}, upper_index[] = {0, 0, 1};
  static const double values[] = {1, 0.5, 1}, upper_values[] = {2, 4, 8};
  const double b[] = {6, 11};
  double x[2] = {7, 7}, reciprocal;
  tristar_factors factors;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p;
  tristar_refine_options options;
  tristar_refine_result result;
  tristar_factors_init(&factors);
  factors.n = 2;
  factors.scalar = TRISTAR_DOUBLE;
  factors.lower =
      (tristar_triangle){.ptr_bits = 64, .index_bits = 32, .ptr = ptr, .index = index, .values = values};
  factors.upper = (tristar_triangle){
      .ptr_bits = 64, .index_bits = 32, .ptr = upper_ptr, .index = upper_index, .values = upper_values};
  CHECK_OK(tristar_import_supernodal(ts, &factors, &f));
  CHECK_OK(tristar_plan(f, NULL, &p));
  tristar_refine_options_init(&options);
  for (options.forward_error = 0; options.forward_error < 2; options.forward_error++)
    CHECK_STATUS(tristar_solve_refined(p, TRISTAR_N, 1, b, 2, x, 2, &options, &result),
                 TRISTAR_ERR_UNSUPPORTED);
  CHECK_ERROR(ts, "without its matrix");
  CHECK(x[0] == 7 && x[1] == 7);
  CHECK_STATUS(tristar_condition(p, &reciprocal), TRISTAR_ERR_UNSUPPORTED);
  CHECK_OK(tristar_solve(p, TRISTAR_N, 1, b, 2, x, 2));
  CHECK(x[0] == 1 && x[1] == 1);
}

/* The k-th allocation fails, for every k. */
static void check_memory(tristar_t *ts, int single_factors) {
  const dense m = hilbert(10);
  double b[30], x[30];
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p;
  tristar_refine_options options = DEFAULTS(tristar_refine_options);
  tristar_refine_result result;
  CLEANUP(free_view) tristar_view v = make_view(&m, TRISTAR_DOUBLE, TRISTAR_GENERAL);
  fill_random(b, 30, 2);
  make_plan(ts, &v, TRISTAR_METHOD_LU, single_factors, &f, &p);
  options.forward_error = 1;
  CHECK_OK(tristar_solve_refined(p, TRISTAR_N, 3, b, 10, x, 10, &options, &result)); /* allocates replays */
  allocation_failures failing = fail_allocations_of(ts);
  /* With subtrees on devices a solve of another number of right-hand sides first frees the recorded tasks. */
  failing.keeps_memory = tristar_plan_get_subtree(p, 0, NULL) > 0;
  while (next_failure(&failing))
    end_failure(&failing, tristar_solve_refined(p, TRISTAR_N, 3, b, 10, x, 10, &options, &result));
  CHECK_MSG(failing.count >= (single_factors ? 9 : 6), "%d failures", (int)failing.count);
  CHECK(bytes_held(ts) == failing.bytes);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(true);
  RUN(check_stop(ts));
  RUN(check_history(ts));
  RUN(check_best(ts));
  RUN(check_span(ts));
  RUN(check_sizes(ts));
  RUN(check_not_finite(ts));
  RUN(check_without_matrix(ts));
  RUN(check_memory(ts, 0));
  RUN(check_memory(ts, 1));
  return 0;
}
