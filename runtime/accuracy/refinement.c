/* Iterative refinement of one solution: see refinement.h. */
#include "runtime/accuracy/refinement.h"

#include <math.h>

#include "runtime/accuracy/fgmres.h"

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
  TSI_TRY(TSI_ALLOC(env, r->row_sum, 2 * (size_t)pattern->n));
  TSI_TRY(TSI_ALLOC(env, r->bound, pattern->n));
  TSI_TRY(TSI_ALLOC(env, r->residual, column));
  TSI_TRY(TSI_ALLOC(env, r->correction, column));
  TSI_TRY(TSI_ALLOC(env, r->best, column));
  r->row_scale = op == TRISTAR_N ? factor->row_scale : factor->col_scale;
  r->column_weight = tsi_column_weight(factor, op);
  r->kernels->weigh(&r->a, op, r->column_weight, r->row_sum);
  if (r->column_weight != NULL) r->kernels->weigh(&r->a, op, NULL, r->row_sum + pattern->n);
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
  return r->kernels->backward_error(r->a.n, b, x, r->residual, r->bound, r->column_weight, r->row_sum);
}

/* The exponent of the largest entry of b as the factors will scale it, within what 2^e can be; 0 for zeros.
 */
static int scaled_exponent(const tsi_refinement *r, const void *b) {
  int exponent = 0;
  const double largest = r->kernels->largest_scaled(r->a.n, b, r->row_scale);
  if (largest > 0 && isfinite(largest)) frexp(largest, &exponent);
  return exponent < -1000 ? -1000 : exponent > 1000 ? 1000 : exponent;
}

tristar_status tsi_solve_in_range(const tsi_refinement *r, int64_t nrhs, void *b, void *x) {
  tristar_status status = TRISTAR_OK;
  const tsi_index n = r->a.n;
  const size_t column = (size_t)n * r->kernels->scalar_bytes;
  int *exponent = NULL;
  TSI_TRY(TSI_ALLOC(&r->plan->ts->env, exponent, nrhs));
  for (int64_t c = 0; c < nrhs; c++) {
    char *of_b = (char *)b + (size_t)c * column;
    exponent[c] = scaled_exponent(r, of_b);
    if (exponent[c] != 0) r->kernels->multiply(n, of_b, ldexp(1.0, -exponent[c]));
  }
  TSI_TRY(tristar_solve(r->plan, r->op, nrhs, b, n, x, n));
  for (int64_t c = 0; c < nrhs; c++)
    if (exponent[c] != 0) r->kernels->multiply(n, (char *)x + (size_t)c * column, ldexp(1.0, exponent[c]));
out:
  TSI_FREE(&r->plan->ts->env, exponent);
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

/* Adds a point to the history, if there is one. */
static void note(const tristar_refine_options *options, tristar_refine_result *result, int64_t column,
                 int steps, int iterations, double error) {
  if (options->history == NULL) return;
  if (result->history_count < options->history_most)
    options->history[result->history_count] = (tristar_refine_point){column, steps, iterations, error};
  result->history_count++;
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
    TSI_TRY(tsi_solve_in_range(r, 1, r->residual, r->correction));
    const double now = improve(r, b, x, error);
    note(options, result, r->column, result->steps + 1, 0, now);
    if (!(now < before)) break;
    result->steps++;
    if (*error > 0.9 * before) break;
    result->stop = TRISTAR_STOP_LIMIT;
  }
out:
  return status;
}

/* What an iteration of FGMRES is judged by. */
typedef struct judgement {
  const tsi_refinement *r;
  const void *b, *x;
  const tristar_refine_options *options;
  double tolerance;
  tristar_refine_result *result;
} judgement;

/* FGMRES has made so many iterations since it was started, and would give the correction d: is x + d good
 * enough? The residual and `best` are free while FGMRES runs. */
static bool is_enough(void *arg, int iterations, const void *d) {
  const judgement *j = arg;
  const tsi_refinement *r = j->r;
  memcpy(r->best, j->x, (size_t)r->a.n * r->kernels->scalar_bytes);
  r->kernels->add(r->a.n, r->best, d);
  const double error = backward_error(r, j->b, r->best);
  note(j->options, j->result, r->column, j->result->steps, j->result->iterations + iterations, error);
  return error <= j->tolerance;
}

/* The backward error falls about as the norm of the residual does; by what it may be ahead of it. */
#define AHEAD 10

/* FGMRES, restarted while it halves the error. */
static tristar_status iterate(const tsi_refinement *r, const void *b, void *x,
                              const tristar_refine_options *options, double tolerance, double *error,
                              tristar_refine_result *result) {
  tristar_status status = TRISTAR_OK;
  judgement all = {r, b, x, options, tolerance, result};
  while (*error > tolerance && result->iterations < options->max_iterations) {
    const double before = *error;
    const int left = options->max_iterations - result->iterations;
    const tsi_fgmres_judge judge = {is_enough, &all, AHEAD * tolerance / before, options->history != NULL};
    int made = 0;
    TSI_TRY(tsi_fgmres(r->plan, r->op, r->row_scale, r->residual, r->correction, left, &judge, &made));
    result->iterations += made;
    (void)improve(r, b, x, error);
    result->stop = made < left ? TRISTAR_STOP_STAGNATED : TRISTAR_STOP_LIMIT;
    if (made == 0 || *error > 0.5 * before) break;
  }
out:
  return status;
}

static void keep_largest(double *largest, double value) {
  if (value > *largest) *largest = value;
}

/* Where numbers have left the range, once the backward error is none. */
static tristar_status fail_not_finite(const tsi_refinement *r, const void *b, const void *x) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &r->plan->ts->env;
  const tsi_index n = r->a.n;
  tsi_index row = 0;
  if (r->kernels->first_not_finite(n, b) < n)
    TSI_FAIL(env, TRISTAR_ERR_NOT_FINITE, "b has NaN or infinity in row %d, column %lld (counted from 0)",
             (int)r->kernels->first_not_finite(n, b), (long long)r->column);
  if (r->kernels->first_not_finite(n, x) < n)
    TSI_FAIL(env, TRISTAR_ERR_NOT_FINITE,
             "row %d of x, column %lld (counted from 0), is beyond the range of numbers",
             (int)r->kernels->first_not_finite(n, x), (long long)r->column);
  while (row < n && isfinite(r->bound[row])) row++;
  TSI_FAIL(
      env, TRISTAR_ERR_NOT_FINITE,
      "what is added up in row %d of A x, column %lld of x (counted from 0), is beyond the range of numbers",
      row, (long long)r->column);
out:
  return status;
}

tristar_status tsi_refine(const tsi_refinement *r, const void *b, void *x,
                          const tristar_refine_options *options, tristar_refine_result *result) {
  tristar_status status = TRISTAR_OK;
  const double epsilon = r->kernels->epsilon;
  const double tolerance = options->tolerance > 0 ? options->tolerance : 2 * epsilon;
  double error = backward_error(r, b, x);
  tristar_refine_result own = {.initial_backward_error = error};
  if (!isfinite(error)) TSI_TRY(fail_not_finite(r, b, x));
  own.history_count = result->history_count;
  note(options, &own, r->column, 0, 0, error);
  TSI_TRY(correct(r, b, x, options, tolerance, &error, &own));
  if (options->max_steps > 0 && error > fmax(tolerance, 50 * epsilon))
    TSI_TRY(iterate(r, b, x, options, tolerance, &error, &own));
  if (error <= tolerance) own.stop = TRISTAR_STOP_CONVERGED;
  keep_largest(&result->backward_error, error);
  keep_largest(&result->initial_backward_error, own.initial_backward_error);
  if (own.steps > result->steps) result->steps = own.steps;
  if (own.iterations > result->iterations) result->iterations = own.iterations;
  if (own.stop > result->stop) result->stop = own.stop;
  result->history_count = own.history_count;
out:
  return status;
}
