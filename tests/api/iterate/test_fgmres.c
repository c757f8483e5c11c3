/* Where plain refinement stagnates, FGMRES with the same factors goes on: an ill-conditioned matrix with
 * single factors, real and complex, and factors of which pivots were perturbed. Allocation failures inside
 * are reported. */
#include "tests/support/allocations.h"
#include "tests/support/context.h"
#include "tests/support/random.h"
#include "tests/support/subtests.h"

/* Each iteration is in the history, and the best entry is at most the error in the result. A history
 * changes no bits. x: the solution without a history. */
static void check_history(const char *what, tristar_plan_t *p, tristar_op op, const double *b,
                          const double *x, int64_t n, int parts, const tristar_refine_result *plain) {
  enum { MOST = 64 };
  tristar_refine_options refine = DEFAULTS(tristar_refine_options);
  tristar_refine_result result;
  tristar_refine_point history[MOST];
  const size_t numbers = (size_t)(n * parts);
  double *again = xmalloc(numbers * sizeof *again), best = INFINITY;
  int iterations = 0;
  refine.history = history;
  refine.history_most = MOST;
  CHECK_OK(tristar_solve_refined(p, op, 1, b, n, again, n, &refine, &result));
  CHECK_MSG(memcmp(again, x, numbers * sizeof *x) == 0, "%s: a history changes bits", what);
  CHECK(result.history_count <= MOST && result.iterations == plain->iterations);
  for (int64_t k = 0; k < result.history_count; k++) {
    if (history[k].iterations > 0) CHECK(history[k].iterations == ++iterations);
    if (history[k].backward_error < best) best = history[k].backward_error;
  }
  CHECK_MSG(iterations == result.iterations, "%s: %d of %d iterations in the history", what, iterations,
            result.iterations);
  CHECK_MSG(best <= result.backward_error && history[0].backward_error == result.initial_backward_error,
            "%s: best %g, result %g", what, best, result.backward_error);
  free(again);
}

/* If an iteration reaches the tolerance, the method stops there, not at the end of the restart cycle, with
 * and without a history. */
static void check_tolerance(const char *what, tristar_plan_t *p, tristar_op op, const double *b, int64_t n,
                            int parts, double tolerance) {
  enum { MOST = 64 };
  tristar_refine_options refine = DEFAULTS(tristar_refine_options);
  tristar_refine_result result, plain;
  tristar_refine_point history[MOST];
  OWNED double *x = xmalloc((size_t)(n * parts) * sizeof *x);
  int more = 0; /* iterations after the first one that meets the tolerance */
  refine.tolerance = tolerance;
  CHECK_OK(tristar_solve_refined(p, op, 1, b, n, x, n, &refine, &plain));
  refine.history = history;
  refine.history_most = MOST;
  CHECK_OK(tristar_solve_refined(p, op, 1, b, n, x, n, &refine, &result));
  CHECK(plain.iterations == result.iterations && plain.backward_error == result.backward_error);
  CHECK(result.stop == TRISTAR_STOP_CONVERGED && result.backward_error <= tolerance);
  CHECK(result.iterations > 0);
  for (int64_t k = 0; k + 1 < result.history_count; k++)
    more += history[k].iterations > 0 && history[k].backward_error <= tolerance;
  CHECK_MSG(more == 0, "%s: %d of %d iterations are too many for %g", what, more, result.iterations,
            tolerance);
}

/* Refines with and without FGMRES. The backward error is at most `better` with it, and above `worse`
 * without. */
static void check(tristar_t *ts, const char *what, const tristar_view *v,
                  const tristar_analysis_options *options, tristar_op op, double worse, double better) {
  tristar_refine_options refine = DEFAULTS(tristar_refine_options);
  tristar_refine_result result;
  const int64_t n = v->rows;
  const int parts = v->scalar == TRISTAR_COMPLEX_DOUBLE ? 2 : 1;
  OWNED double *b = xmalloc((size_t)(n * parts) * sizeof *b), *x = xmalloc((size_t)(n * parts) * sizeof *x);
  fill_random(b, n * parts, 1);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, v, options);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NEW_FACTOR(an, v->values);
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NEW_PLAN(f, NULL);
  refine.max_iterations = 0;
  CHECK_OK(tristar_solve_refined(p, op, 1, b, n, x, n, &refine, &result));
  CHECK_MSG(!(result.backward_error <= worse) && result.iterations == 0,
            "%s: backward error %g without FGMRES", what, result.backward_error);
  refine.max_iterations = 30;
  CHECK_OK(tristar_solve_refined(p, op, 1, b, n, x, n, &refine, &result));
  CHECK_MSG(result.backward_error <= better, "%s: backward error %g after %d iterations", what,
            result.backward_error, result.iterations);
  CHECK(result.iterations > 0 && result.iterations <= 30);
  check_history(what, p, op, b, x, n, parts, &result);
  check_tolerance(what, p, op, b, n, parts, 1e-13);
  allocation_failures failing = fail_allocations_of(ts);
  failing.stride = 1 + TSI_TESTS_SANITIZED; /* each failing round takes time */
  while (failing.at < 40 && next_failure(&failing))
    end_failure(&failing, tristar_solve_refined(p, op, 1, b, n, x, n, &refine, &result));
  CHECK(failing.count >= 8 / failing.stride);
}

/* tridiagonal (-1, 2 + shift, -1) of order n; condition about 4 / (pi / n)^2 */
static void check_chain(tristar_t *ts, bool is_complex, tristar_op op) {
  enum { N = 30000 };
  static int64_t ptr[N + 1];
  static int32_t index[2 * N];
  static double values[4 * N];
  int64_t at = 0;
  const int parts = is_complex ? 2 : 1;
  memset(values, 0, sizeof values);
  for (int32_t j = 0; j < N; j++) {
    index[at] = j;
    values[parts * at++] = 2;
    if (j + 1 < N) {
      index[at] = j + 1;
      values[parts * at] = is_complex ? -0.6 : -1;
      if (is_complex) values[parts * at + 1] = 0.8;
      at++;
    }
    ptr[j + 1] = at;
  }
  const tristar_view v = {TRISTAR_CSC,
                          is_complex ? TRISTAR_HERMITIAN : TRISTAR_SYMMETRIC,
                          is_complex ? TRISTAR_COMPLEX_DOUBLE : TRISTAR_DOUBLE,
                          N,
                          N,
                          ptr,
                          index,
                          values,
                          64,
                          32,
                          0};
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  options.ordering =
      TRISTAR_ORDERING_METIS; /* AMD orders chains differently, which gives other rounding errors */
  options.single_factors = 1;
  options.method = is_complex ? TRISTAR_METHOD_LU : TRISTAR_METHOD_LDLT;
  check(ts, is_complex ? "complex chain" : "chain", &v, &options, op, 1e-13, 1e-14);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(false);
  RUN(check_chain(ts, false, TRISTAR_N));
  if (!TSI_TESTS_SANITIZED) RUN(check_chain(ts, true, TRISTAR_N)); /* complex types have the same code */
  RUN(check_chain(ts, true, TRISTAR_C));
  return 0;
}
