/* Iterative refinement, backward error and condition estimate on top of tristar_solve.
 *
 * Reads   a plan, the values that its factor was made from.   Writes  x and work of its own. */
#include <float.h>
#include <math.h>

#include "runtime/plan.h"

void tristar_refine_options_init(tristar_refine_options *options) {
  options->max_steps = 5;
  options->tolerance = 0;
}

/* One right-hand side being refined. */
typedef struct refinement {
  tristar_plan_t *plan;
  tristar_op op;
  const double *b;
  const double *row_sum;    /* n: |op(A)| e */
  double *residual, *bound; /* n */
} refinement;

/* residual = b - op(A) x and the componentwise backward error of x (Oettli and Prager 1964) as Arioli, Demmel
 * and Duff (1989) measure it: a row whose denominator (|A| |x| + |b|)_i is nothing but rounding errors, as
 * where x and b are zero, is measured against |A| |x| + |A| e max|x| instead. NaN in x gives NaN. */
static double backward_error(const refinement *r, const double *x) {
  const tristar_factor_t *factor = r->plan->factor;
  const tsi_pattern *pattern = factor->analysis->pattern;
  const tsi_index n = pattern->n;
  double error = 0, largest = 0;
  tsi_multiply(pattern, factor->values, r->op == TRISTAR_T, false, x, r->residual);
  tsi_multiply(pattern, factor->values, r->op == TRISTAR_T, true, x, r->bound);
  for (tsi_index i = 0; i < n; i++)
    if (!(fabs(x[i]) <= largest)) largest = fabs(x[i]);
  for (tsi_index i = 0; i < n; i++) {
    const double size = fabs(r->b[i] - r->residual[i]), norm = r->row_sum[i] * largest;
    double bound = r->bound[i] + fabs(r->b[i]);
    r->residual[i] = r->b[i] - r->residual[i];
    if (!(bound > 1000 * n * DBL_EPSILON * (norm + fabs(r->b[i])))) bound = r->bound[i] + norm;
    if (size == 0 && bound == 0) continue; /* an empty row of zeros is solved exactly */
    if (!(size / bound <= error)) error = size / bound;
    if (isnan(error)) break;
  }
  return error;
}

/* Refines x in place; work has 2 n. */
static tristar_status refine_column(const refinement *r, double *x, const tristar_refine_options *options,
                                    double *work, tristar_refine_result *result) {
  tristar_status status = TRISTAR_OK;
  const tsi_index n = r->plan->factor->analysis->pattern->n;
  const double tolerance = options->tolerance > 0 ? options->tolerance : 4 * DBL_EPSILON / 2;
  double *correction = work, *best = work + n;
  double error = backward_error(r, x);
  const double initial = error;
  int steps = 0;
  while (steps < options->max_steps && error > tolerance) {
    memcpy(best, x, (size_t)n * sizeof *x);
    TSI_TRY(tristar_solve(r->plan, r->op, 1, r->residual, n, correction, n));
    for (tsi_index i = 0; i < n; i++) x[i] += correction[i];
    const double now = backward_error(r, x);
    if (!(now < error)) { /* worse, or NaN: keep the best */
      memcpy(x, best, (size_t)n * sizeof *x);
      break;
    }
    const bool stagnates = now > 0.5 * error;
    error = now;
    steps++;
    if (stagnates) break;
  }
  if (!(error <= result->backward_error)) result->backward_error = error;
  if (!(initial <= result->initial_backward_error)) result->initial_backward_error = initial;
  if (steps > result->steps) result->steps = steps;
out:
  return status;
}

/* Do columns of b and x overlap? */
static bool overlap(const double *b, int64_t ldb, const double *x, int64_t ldx, int64_t n, int64_t nrhs) {
  const uintptr_t b0 = (uintptr_t)b, b1 = (uintptr_t)(b + (nrhs - 1) * ldb + n);
  const uintptr_t x0 = (uintptr_t)x, x1 = (uintptr_t)(x + (nrhs - 1) * ldx + n);
  return n > 0 && nrhs > 0 && b0 < x1 && x0 < b1;
}

tristar_status tristar_solve_refined(tristar_plan_t *plan, tristar_op op, int64_t nrhs, const void *b,
                                     int64_t ldb, void *x, int64_t ldx, const tristar_refine_options *options,
                                     tristar_refine_result *result) {
  tristar_status status = TRISTAR_OK;
  tristar_refine_options defaults;
  tristar_refine_result total = {0, 0, 0};
  double *work = NULL;
  if (plan == NULL) return TRISTAR_ERR_ARGUMENT;
  tsi_env *env = &plan->ts->env;
  const tsi_index n = plan->factor->analysis->pattern->n;
  tristar_refine_options_init(&defaults);
  if (options == NULL) options = &defaults;
  if (options->max_steps < 0) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "max_steps is %d", options->max_steps);
  TSI_TRY(tristar_solve(plan, op, nrhs, b, ldb, x, ldx));
  if (overlap(b, ldb, x, ldx, n, nrhs))
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "x overlaps b, which refinement needs");
  TSI_TRY(TSI_ALLOC(env, work, 5 * (tsi_count)n));
  double *row_sum = work + 4 * (ptrdiff_t)n;
  for (tsi_index i = 0; i < n; i++) work[i] = 1;
  tsi_multiply(plan->factor->analysis->pattern, plan->factor->values, op == TRISTAR_T, true, work, row_sum);
  for (int64_t c = 0; c < nrhs; c++) {
    const refinement r = {plan, op, (const double *)b + c * ldb, row_sum, work, work + n};
    TSI_TRY(refine_column(&r, (double *)x + c * ldx, options, work + 2 * (ptrdiff_t)n, &total));
  }
  if (result != NULL) *result = total;
out:
  TSI_FREE(env, work);
  return status;
}

/* ---- Condition ------------------------------------------------------------------------------------------
 */

/* x := S x or x := x / S, S a scaling by the user's row or column; NULL: the identity. */
static void apply(double *x, const double *scale, tsi_index n, bool divide) {
  for (tsi_index i = 0; scale && i < n; i++) x[i] = divide ? x[i] / scale[i] : x[i] * scale[i];
}

/* y = op(B)^-1 x for the scaled matrix B = R A C: B^-1 = C^-1 A^-1 R^-1. In place. */
static tristar_status solve_scaled(tristar_plan_t *plan, tristar_op op, double *x) {
  tristar_status status = TRISTAR_OK;
  const tristar_factor_t *factor = plan->factor;
  const tsi_index n = factor->analysis->pattern->n;
  apply(x, op == TRISTAR_N ? factor->row_scale : factor->col_scale, n, true);
  TSI_TRY(tristar_solve(plan, op, 1, x, n, x, n));
  apply(x, op == TRISTAR_N ? factor->col_scale : factor->row_scale, n, true);
out:
  return status;
}

/* The 1-norm of R |A| C. work: 2 n. */
static double scaled_norm(const tristar_factor_t *factor, double *work) {
  const tsi_pattern *pattern = factor->analysis->pattern;
  double *x = work, *sums = work + pattern->n, norm = 0;
  for (tsi_index i = 0; i < pattern->n; i++) x[i] = factor->row_scale ? factor->row_scale[i] : 1;
  tsi_multiply(pattern, factor->values, true, true, x, sums);
  for (tsi_index j = 0; j < pattern->n; j++) {
    const double sum = sums[j] * (factor->col_scale ? factor->col_scale[j] : 1);
    if (!(sum <= norm)) norm = sum;
  }
  return norm;
}

static double one_norm(const double *x, tsi_index n) {
  double sum = 0;
  for (tsi_index i = 0; i < n; i++) sum += fabs(x[i]);
  return sum;
}

/* Hager's iteration for the 1-norm of B^-1 with Higham's extra test vector (Higham 1988, algorithm 4.1). x,
 * z: n each. */
static tristar_status inverse_norm(tristar_plan_t *plan, double *x, double *z, double *norm) {
  tristar_status status = TRISTAR_OK;
  const tsi_index n = plan->factor->analysis->pattern->n;
  tsi_index last = TSI_NONE;
  *norm = 0;
  for (tsi_index i = 0; i < n; i++) x[i] = 1.0 / n;
  for (int step = 0; step < 5; step++) {
    TSI_TRY(solve_scaled(plan, TRISTAR_N, x));
    const double now = one_norm(x, n);
    if (!(now > *norm)) {
      if (isnan(now)) *norm = INFINITY;
      break;
    }
    *norm = now;
    for (tsi_index i = 0; i < n; i++) z[i] = x[i] < 0 ? -1 : 1;
    TSI_TRY(solve_scaled(plan, TRISTAR_T, z));
    tsi_index largest = 0;
    for (tsi_index i = 1; i < n; i++)
      if (fabs(z[i]) > fabs(z[largest])) largest = i;
    if (largest == last) break;
    last = largest;
    for (tsi_index i = 0; i < n; i++) x[i] = i == largest;
  }
  for (tsi_index i = 0; i < n; i++) x[i] = (i % 2 ? -1.0 : 1.0) * (1.0 + (n > 1 ? (double)i / (n - 1) : 0));
  TSI_TRY(solve_scaled(plan, TRISTAR_N, x));
  const double other = 2 * one_norm(x, n) / (3.0 * n);
  if (!(other <= *norm)) *norm = isnan(other) ? INFINITY : other;
out:
  return status;
}

tristar_status tristar_condition(tristar_plan_t *plan, double *reciprocal) {
  tristar_status status = TRISTAR_OK;
  double *work = NULL, inverse = 0;
  if (plan == NULL) return TRISTAR_ERR_ARGUMENT;
  tsi_env *env = &plan->ts->env;
  const tsi_index n = plan->factor->analysis->pattern->n;
  if (reciprocal == NULL) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "reciprocal is NULL");
  *reciprocal = 1; /* an empty matrix */
  if (n == 0) goto out;
  TSI_TRY(TSI_ALLOC(env, work, 2 * (tsi_count)n));
  const double norm = scaled_norm(plan->factor, work);
  TSI_TRY(inverse_norm(plan, work, work + n, &inverse));
  *reciprocal = norm > 0 && inverse > 0 ? 1 / norm / inverse : 0;
out:
  TSI_FREE(env, work);
  return status;
}
