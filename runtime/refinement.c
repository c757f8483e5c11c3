/* Iterative refinement of one solution: see refinement.h. */
#include "runtime/refinement.h"

#include <math.h>

#include "runtime/fgmres.h"

tristar_status tsi_need_matrix(const tristar_factor_t *factor) {
  if (factor->has_matrix) return TRISTAR_OK;
  return tsi_fail(&factor->ts->env, TRISTAR_ERR_UNSUPPORTED, __func__, __FILE__, __LINE__,
                  "the factor was imported without its matrix");
}

tristar_status tsi_refinement_begin(tristar_plan_t *plan, tristar_op op, tsi_refinement *r) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &plan->ts->env;
  const tristar_factor_t *factor = plan->factor;
  TSI_TRY(tsi_need_matrix(plan->factor));
  const tsi_pattern *pattern = factor->analysis->pattern;
  const size_t column = (size_t)pattern->n * factor->user_bytes;
  r->plan = plan;
  r->kernels = tsi_sparse_kernels_select(pattern->scalar);
  r->a = tsi_pattern_sparse(pattern, factor->values);
  r->op = op;
  TSI_TRY(TSI_ALLOC(env, r->row_sum, pattern->n));
  TSI_TRY(TSI_ALLOC(env, r->bound, pattern->n));
  TSI_TRY(TSI_ALLOC(env, r->residual, column));
  TSI_TRY(TSI_ALLOC(env, r->correction, column));
  TSI_TRY(TSI_ALLOC(env, r->best, column));
  r->kernels->bound(&r->a, op, NULL, r->row_sum);
out:
  return status;
}

void tsi_refinement_finish(tsi_refinement *r) {
  if (r->plan == NULL) return;
  tsi_env *env = &r->plan->ts->env;
  TSI_FREE(env, r->row_sum);
  TSI_FREE(env, r->bound);
  TSI_FREE(env, r->residual);
  TSI_FREE(env, r->correction);
  TSI_FREE(env, r->best);
}

/* Sets residual and bound for x. NaN in x gives NaN. */
static double backward_error(const tsi_refinement *r, const void *b, const void *x) {
  r->kernels->residual(&r->a, r->op, b, x, r->residual);
  r->kernels->bound(&r->a, r->op, x, r->bound);
  return r->kernels->backward_error(r->a.n, b, x, r->residual, r->bound, r->row_sum);
}

/* correction = op(A)^-1 residual. The residual is brought to size one (exactly) and back: single factors
 * would lose a small one. */
static tristar_status solve_correction(const tsi_refinement *r) {
  tristar_status status = TRISTAR_OK;
  const tsi_index n = r->a.n;
  const int limit = r->kernels->epsilon > 1e-10 ? 120 : 1000; /* 2^limit and 2^-limit are in range */
  int exponent = 0;
  const double largest = r->kernels->largest_size(n, r->residual);
  if (largest > 0 && isfinite(largest)) frexp(largest, &exponent);
  exponent = exponent < -limit ? -limit : exponent > limit ? limit : exponent;
  r->kernels->multiply(n, r->residual, ldexp(1.0, -exponent));
  TSI_TRY(tristar_solve(r->plan, r->op, 1, r->residual, n, r->correction, n));
  r->kernels->multiply(n, r->correction, ldexp(1.0, exponent));
out:
  return status;
}

/* x += correction if that makes the error smaller; *error is then the new one. Gives what it would be.
 * residual and bound are those of x afterwards. */
static double improve(const tsi_refinement *r, const void *b, void *x, double *error) {
  const size_t bytes = (size_t)r->a.n * r->kernels->scalar_bytes;
  memcpy(r->best, x, bytes);
  r->kernels->add(r->a.n, x, r->correction);
  const double now = backward_error(r, b, x);
  if (now < *error)
    *error = now;
  else { /* worse, or NaN: keep the best */
    memcpy(x, r->best, bytes);
    (void)backward_error(r, b, x);
  }
  return now;
}

/* Corrections until the error is small enough or stagnates. */
static tristar_status correct(const tsi_refinement *r, const void *b, void *x,
                              const tristar_refine_options *options, double tolerance, double *error,
                              tristar_refine_result *result) {
  tristar_status status = TRISTAR_OK;
  result->stop = TRISTAR_STOP_LIMIT;
  while (*error > tolerance && result->steps < options->max_steps) {
    const double before = *error;
    result->stop = TRISTAR_STOP_STAGNATED;
    TSI_TRY(solve_correction(r));
    if (!(improve(r, b, x, error) < before)) break;
    result->steps++;
    if (*error > 0.9 * before) break;
    result->stop = TRISTAR_STOP_LIMIT;
  }
out:
  return status;
}

/* FGMRES, restarted while it gains a digit. */
static tristar_status iterate(const tsi_refinement *r, const void *b, void *x,
                              const tristar_refine_options *options, double tolerance, double *error,
                              tristar_refine_result *result) {
  tristar_status status = TRISTAR_OK;
  while (*error > tolerance && result->iterations < options->max_iterations) {
    const double before = *error;
    const int left = options->max_iterations - result->iterations;
    int made = 0;
    TSI_TRY(tsi_fgmres(r->plan, r->op, r->residual, r->correction, left, &made));
    result->iterations += made;
    (void)improve(r, b, x, error);
    result->stop = made < left ? TRISTAR_STOP_STAGNATED : TRISTAR_STOP_LIMIT;
    if (made == 0 || *error > 0.1 * before) break;
  }
out:
  return status;
}

/* NaN counts as largest. */
static void keep_largest(double *largest, double value) {
  if (!(value <= *largest) && !isnan(*largest)) *largest = value;
}

tristar_status tsi_refine(const tsi_refinement *r, const void *b, void *x,
                          const tristar_refine_options *options, tristar_refine_result *result) {
  tristar_status status = TRISTAR_OK;
  const double epsilon = r->kernels->epsilon;
  const double tolerance = options->tolerance > 0 ? options->tolerance : 2 * epsilon;
  double error = backward_error(r, b, x);
  tristar_refine_result own = {.initial_backward_error = error};
  TSI_TRY(correct(r, b, x, options, tolerance, &error, &own));
  if (options->max_steps > 0 && error > fmax(tolerance, 50 * epsilon))
    TSI_TRY(iterate(r, b, x, options, tolerance, &error, &own));
  if (error <= tolerance) own.stop = TRISTAR_STOP_CONVERGED;
  if (isnan(error)) own.stop = TRISTAR_STOP_STAGNATED;
  keep_largest(&result->backward_error, error);
  keep_largest(&result->initial_backward_error, own.initial_backward_error);
  if (own.steps > result->steps) result->steps = own.steps;
  if (own.iterations > result->iterations) result->iterations = own.iterations;
  if (own.stop > result->stop) result->stop = own.stop;
out:
  return status;
}
