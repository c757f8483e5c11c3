/* Iterative refinement, backward error and condition estimate on top of tristar_solve.
 *
 * Reads   a plan, the values that its factor was made from.   Writes  x and work of its own. */
#include <math.h>

#include "runtime/fgmres.h"

void tristar_refine_options_init(tristar_refine_options *options) {
  options->max_steps = 5;
  options->max_iterations = 30;
  options->tolerance = 0;
}

/* One right-hand side being refined. */
typedef struct refinement {
  tristar_plan_t *plan;
  const tsi_sparse_kernels *kernels;
  tsi_sparse a;
  tristar_op op;
  const void *b;
  const double *row_sum;              /* n: |op(A)| e */
  double *bound;                      /* n: |op(A)| |x| */
  char *residual, *correction, *best; /* n scalars each */
} refinement;

/* Sets residual and bound for x. NaN in x gives NaN. */
static double backward_error(const refinement *r, const void *x) {
  r->kernels->residual(&r->a, r->op, r->b, x, r->residual);
  r->kernels->bound(&r->a, r->op, x, r->bound);
  return r->kernels->backward_error(r->a.n, r->b, x, r->residual, r->bound, r->row_sum);
}

/* correction = op(A)^-1 residual. The residual is brought to size one (exactly) and back: single factors
 * would lose a small one. */
static tristar_status solve_correction(const refinement *r) {
  tristar_status status = TRISTAR_OK;
  const tsi_index n = r->a.n;
  int exponent = 0;
  const double largest = r->kernels->largest_size(n, r->residual);
  if (largest > 0 && isfinite(largest)) frexp(largest, &exponent);
  r->kernels->multiply(n, r->residual, ldexp(1.0, -exponent));
  TSI_TRY(tristar_solve(r->plan, r->op, 1, r->residual, n, r->correction, n));
  r->kernels->multiply(n, r->correction, ldexp(1.0, exponent));
out:
  return status;
}

/* x += correction if that makes the error smaller; *error is then the new one. Gives what it would be.
 * residual and bound are those of x afterwards. */
static double improve(const refinement *r, void *x, double *error) {
  const size_t bytes = (size_t)r->a.n * r->kernels->scalar_bytes;
  memcpy(r->best, x, bytes);
  r->kernels->add(r->a.n, x, r->correction);
  const double now = backward_error(r, x);
  if (now < *error)
    *error = now;
  else { /* worse, or NaN: keep the best */
    memcpy(x, r->best, bytes);
    (void)backward_error(r, x);
  }
  return now;
}

/* Corrections until the error is small enough or stagnates. */
static tristar_status correct(const refinement *r, void *x, const tristar_refine_options *options,
                              double tolerance, double *error, int *steps) {
  tristar_status status = TRISTAR_OK;
  while (*steps<options->max_steps && * error> tolerance) {
    const double before = *error;
    TSI_TRY(solve_correction(r));
    if (!(improve(r, x, error) < before)) break;
    ++*steps;
    if (*error > 0.9 * before) break;
  }
out:
  return status;
}

/* FGMRES, restarted while it gains a digit. */
static tristar_status iterate(const refinement *r, void *x, const tristar_refine_options *options,
                              double tolerance, double *error, int *iterations) {
  tristar_status status = TRISTAR_OK;
  while (*iterations<options->max_iterations && * error> tolerance) {
    const double before = *error;
    int made = 0;
    TSI_TRY(
        tsi_fgmres(r->plan, r->op, r->residual, r->correction, options->max_iterations - *iterations, &made));
    *iterations += made;
    (void)improve(r, x, error);
    if (made == 0 || *error > 0.1 * before) break;
  }
out:
  return status;
}

/* Refines x in place. */
static tristar_status refine_column(const refinement *r, void *x, const tristar_refine_options *options,
                                    tristar_refine_result *result) {
  tristar_status status = TRISTAR_OK;
  const double epsilon = r->kernels->epsilon;
  const double tolerance = options->tolerance > 0 ? options->tolerance : 2 * epsilon;
  double error = backward_error(r, x);
  const double initial = error;
  int steps = 0, iterations = 0;
  TSI_TRY(correct(r, x, options, tolerance, &error, &steps));
  if (options->max_steps > 0 && error > fmax(tolerance, 50 * epsilon))
    TSI_TRY(iterate(r, x, options, tolerance, &error, &iterations));
  if (!(error <= result->backward_error)) result->backward_error = error;
  if (!(initial <= result->initial_backward_error)) result->initial_backward_error = initial;
  if (steps > result->steps) result->steps = steps;
  if (iterations > result->iterations) result->iterations = iterations;
out:
  return status;
}

/* Do columns of b and x overlap? Sizes in bytes. */
static bool overlap(const void *b, size_t b_size, const void *x, size_t x_size) {
  return (uintptr_t)b < (uintptr_t)x + x_size && (uintptr_t)x < (uintptr_t)b + b_size;
}

tristar_status tristar_solve_refined(tristar_plan_t *plan, tristar_op op, int64_t nrhs, const void *b,
                                     int64_t ldb, void *x, int64_t ldx, const tristar_refine_options *options,
                                     tristar_refine_result *result) {
  tristar_status status = TRISTAR_OK;
  tristar_refine_options defaults;
  tristar_refine_result total = {0, 0, 0, 0};
  double *sums = NULL;
  char *work = NULL;
  if (plan == NULL) return TRISTAR_ERR_ARGUMENT;
  tsi_env *env = &plan->ts->env;
  const tristar_factor_t *factor = plan->factor;
  const tsi_index n = factor->analysis->pattern->n;
  const size_t scalar = factor->user_bytes, column = (size_t)n * scalar;
  tristar_refine_options_init(&defaults);
  if (options == NULL) options = &defaults;
  if (options->max_steps < 0 || options->max_iterations < 0)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "max_steps is %d, max_iterations %d", options->max_steps,
             options->max_iterations);
  TSI_TRY(tristar_solve(plan, op, nrhs, b, ldb, x, ldx));
  if (n > 0 && nrhs > 0 &&
      overlap(b, (size_t)((nrhs - 1) * ldb) * scalar + column, x,
              (size_t)((nrhs - 1) * ldx) * scalar + column))
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "x overlaps b, which refinement needs");
  TSI_TRY(TSI_ALLOC(env, sums, 2 * (tsi_count)n));
  TSI_TRY(TSI_ALLOC(env, work, 3 * column));
  refinement r = {.plan = plan,
                  .kernels = tsi_sparse_kernels_select(factor->analysis->pattern->scalar),
                  .a = tsi_pattern_sparse(factor->analysis->pattern, factor->values),
                  .op = op,
                  .row_sum = sums,
                  .bound = sums + n,
                  .residual = work,
                  .correction = work + column,
                  .best = work + 2 * column};
  r.kernels->bound(&r.a, op, NULL, sums);
  for (int64_t c = 0; c < nrhs; c++) {
    r.b = (const char *)b + (size_t)(c * ldb) * scalar;
    TSI_TRY(refine_column(&r, (char *)x + (size_t)(c * ldx) * scalar, options, &total));
  }
  if (result != NULL) *result = total;
out:
  TSI_FREE(env, sums);
  TSI_FREE(env, work);
  return status;
}

/* ---- Condition ------------------------------------------------------------------------------------------
 */

/* x := op(B)^-1 x for the scaled matrix B = R A C: B^-1 = C^-1 A^-1 R^-1. */
static tristar_status solve_scaled(tristar_plan_t *plan, const tsi_sparse_kernels *kernels, tristar_op op,
                                   void *x) {
  tristar_status status = TRISTAR_OK;
  const tristar_factor_t *factor = plan->factor;
  const tsi_index n = factor->analysis->pattern->n;
  kernels->scale(n, x, op == TRISTAR_N ? factor->row_scale : factor->col_scale, true);
  TSI_TRY(tristar_solve(plan, op, 1, x, n, x, n));
  kernels->scale(n, x, op == TRISTAR_N ? factor->col_scale : factor->row_scale, true);
out:
  return status;
}

/* The 1-norm of R |A| C. real: 2 n of scratch; x: n scalars. */
static double scaled_norm(const tristar_factor_t *factor, const tsi_sparse_kernels *kernels, double *real,
                          void *x) {
  const tsi_pattern *pattern = factor->analysis->pattern;
  const tsi_sparse a = tsi_pattern_sparse(pattern, factor->values);
  double norm = 0;
  for (tsi_index i = 0; i < pattern->n; i++) real[i] = factor->row_scale ? factor->row_scale[i] : 1;
  kernels->fill(pattern->n, real, x);
  kernels->bound(&a, TRISTAR_T, x, real);
  for (tsi_index j = 0; j < pattern->n; j++) {
    const double sum = real[j] * (factor->col_scale ? factor->col_scale[j] : 1);
    if (!(sum <= norm)) norm = sum;
  }
  return norm;
}

/* Hager's iteration for the 1-norm of B^-1 with Higham's extra test vector (Higham 1988, algorithm 4.1; for
 * complex matrices Higham and Tisseur 2000: signs become x / |x|, the transpose the adjoint). real: n of
 * scratch; x, z: n scalars. */
static tristar_status inverse_norm(tristar_plan_t *plan, const tsi_sparse_kernels *kernels, double *real,
                                   void *x, void *z, double *norm) {
  tristar_status status = TRISTAR_OK;
  const tsi_index n = plan->factor->analysis->pattern->n;
  tsi_index last = TSI_NONE;
  *norm = 0;
  for (tsi_index i = 0; i < n; i++) real[i] = 1.0 / n;
  for (int step = 0; step < 5; step++) {
    kernels->fill(n, real, x);
    TSI_TRY(solve_scaled(plan, kernels, TRISTAR_N, x));
    const double now = kernels->one_norm(n, x);
    if (!(now > *norm)) {
      if (isnan(now)) *norm = INFINITY;
      break;
    }
    *norm = now;
    kernels->sign(n, x, z);
    TSI_TRY(solve_scaled(plan, kernels, TRISTAR_C, z));
    const tsi_index largest = kernels->largest(n, z);
    if (largest == last) break;
    last = largest;
    for (tsi_index i = 0; i < n; i++) real[i] = i == largest;
  }
  for (tsi_index i = 0; i < n; i++)
    real[i] = (i % 2 ? -1.0 : 1.0) * (1.0 + (n > 1 ? (double)i / (n - 1) : 0));
  kernels->fill(n, real, x);
  TSI_TRY(solve_scaled(plan, kernels, TRISTAR_N, x));
  const double other = 2 * kernels->one_norm(n, x) / (3.0 * n);
  if (!(other <= *norm)) *norm = isnan(other) ? INFINITY : other;
out:
  return status;
}

tristar_status tristar_condition(tristar_plan_t *plan, double *reciprocal) {
  tristar_status status = TRISTAR_OK;
  double *real = NULL, inverse = 0;
  char *work = NULL;
  if (plan == NULL) return TRISTAR_ERR_ARGUMENT;
  tsi_env *env = &plan->ts->env;
  const tsi_index n = plan->factor->analysis->pattern->n;
  const tsi_sparse_kernels *kernels = tsi_sparse_kernels_select(plan->factor->analysis->pattern->scalar);
  const size_t column = (size_t)n * kernels->scalar_bytes;
  if (reciprocal == NULL) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "reciprocal is NULL");
  *reciprocal = 1; /* an empty matrix */
  if (n == 0) goto out;
  TSI_TRY(TSI_ALLOC(env, real, n));
  TSI_TRY(TSI_ALLOC(env, work, 2 * column));
  const double norm = scaled_norm(plan->factor, kernels, real, work);
  TSI_TRY(inverse_norm(plan, kernels, real, work, work + column, &inverse));
  *reciprocal = norm > 0 && inverse > 0 ? 1 / norm / inverse : 0;
out:
  TSI_FREE(env, real);
  TSI_FREE(env, work);
  return status;
}
