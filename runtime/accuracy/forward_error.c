/* Bounds of the forward error: see forward_error.h. */
#include "runtime/accuracy/forward_error.h"

#include <math.h>

#include "runtime/accuracy/condition.h"

#define MEANINGLESS 10 /* epsilons: a condition that is no better leaves estimates without a digit */

/* k: the entries in each row of op(A), and b. */
static void count_terms(const tsi_sparse *a, tristar_op op, tsi_index *terms) {
  const bool mirror = a->symmetry != TRISTAR_GENERAL, lines = a->by_rows == (op == TRISTAR_N);
  for (tsi_index i = 0; i < a->n; i++) terms[i] = 1;
  for (tsi_index j = 0; j < a->n; j++)
    for (tsi_count p = a->ptr[j]; p < a->ptr[j + 1]; p++) {
      const tsi_index i = a->index[p];
      terms[lines ? j : i]++;
      if (mirror && i != j) terms[lines ? i : j]++;
    }
}

tristar_status tsi_forward_error_begin(tristar_plan_t *plan, tristar_op op, int64_t nrhs,
                                       tsi_forward_error *e) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &plan->ts->env;
  const tsi_pattern *pattern = plan->factor->analysis->pattern;
  const tsi_sparse a = tsi_pattern_sparse(pattern, plan->factor->values);
  e->plan = plan;
  e->kernels = tsi_sparse_kernels_select(pattern->scalar);
  e->n = pattern->n;
  e->op = op == TRISTAR_N ? TRISTAR_N : TRISTAR_C;
  e->other = op == TRISTAR_N ? TRISTAR_C : TRISTAR_N;
  e->room = (tsi_index)tsi_count_min(nrhs, TSI_ESTIMATES_MAX);
  TSI_TRY(TSI_ALLOC(env, e->terms, e->n));
  TSI_TRY(TSI_ALLOC(env, e->f, (size_t)e->room * (size_t)e->n));
  count_terms(&a, op, e->terms);
out:
  return status;
}

void tsi_forward_error_finish(tsi_forward_error *e) {
  if (e->plan == NULL) return;
  tsi_env *env = &e->plan->ts->env;
  TSI_FREE(env, e->terms);
  TSI_FREE(env, e->f);
  TSI_FREE(env, e->copy);
  tsi_refinement_finish(&e->refinement);
  tsi_refinement_finish(&e->other_refinement);
}

void tsi_forward_error_add(tsi_forward_error *e, const void *b, const void *x, const void *residual,
                           const double *bound) {
  double *f = e->f + (size_t)e->held * (size_t)e->n, *factor = &e->factor[e->held], largest = 0;
  int exponent = 0;
  e->held++;
  e->kernels->residual_bound(e->n, b, residual, bound, e->terms, f);
  for (tsi_index i = 0; i < e->n && !isnan(largest); i++)
    if (!(f[i] <= largest)) largest = f[i];
  if (largest > 0 && isfinite(largest)) {
    frexp(largest, &exponent);
    for (tsi_index i = 0; i < e->n; i++) f[i] = ldexp(f[i], -exponent);
    *factor = ldexp(1 / e->kernels->largest_size(e->n, x), exponent); /* infinite for a zero x */
  } else {
    *factor = largest; /* 0: x is exact; else there is no bound */
    memset(f, 0, (size_t)e->n * sizeof *f);
  }
}

/* Prepares to refine solves, if the factors are not those of the matrix to working precision. */
static tristar_status prepare(tsi_forward_error *e, const tristar_refine_result *result) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &e->plan->ts->env;
  const tristar_factor_t *factor = e->plan->factor;
  const double small = 50 * e->kernels->epsilon;
  const bool exact = factor->analysis->factor_scalar == factor->analysis->pattern->scalar &&
                     factor->stats.perturbed_pivots == 0 && result->initial_backward_error <= 2 * small;
  e->enough = result->backward_error > small ? result->backward_error : small;
  if (e->refinement.plan == NULL) {
    TSI_TRY(tsi_refinement_begin(e->plan, e->op, &e->refinement));
    TSI_TRY(tsi_refinement_begin(e->plan, e->other, &e->other_refinement));
  }
  if (exact || e->copy) goto out;
  TSI_TRY(TSI_ALLOC(env, e->copy, (size_t)e->room * (size_t)e->n * e->kernels->scalar_bytes));
out:
  return status;
}

/* Refines y = op(A)^-1 v; NaN if that fails. */
static tristar_status refine(const tsi_forward_error *e, const tsi_refinement *r, const void *v, void *y) {
  tristar_status status = TRISTAR_OK;
  tristar_refine_options options;
  tristar_refine_result result = {0};
  tristar_refine_options_init(&options);
  options.tolerance = e->enough;
  status = tsi_refine(r, v, y, &options, &result);
  const bool left_range = status == TRISTAR_ERR_NOT_FINITE;
  if (!left_range) TSI_TRY(status);
  if (left_range || !(result.backward_error <= 10 * e->enough)) e->kernels->multiply(e->n, y, NAN);
  status = TRISTAR_OK;
out:
  return status;
}

/* x := op(A)^-1 x for `count` columns; of op^H, if adjoint is false. */
static tristar_status solve(const tsi_forward_error *e, bool adjoint, tsi_index count, char *x) {
  tristar_status status = TRISTAR_OK;
  const size_t column = (size_t)e->n * e->kernels->scalar_bytes;
  if (e->copy) memcpy(e->copy, x, (size_t)count * column);
  TSI_TRY(tsi_solve_in_range(adjoint ? &e->refinement : &e->other_refinement, count, x, x));
  for (tsi_index c = 0; e->copy && c < count; c++)
    TSI_TRY(refine(e, adjoint ? &e->refinement : &e->other_refinement, e->copy + (size_t)c * column,
                   x + (size_t)c * column));
out:
  return status;
}

static void scale_columns(const tsi_forward_error *e, tsi_index count, char *x) {
  const size_t n = (size_t)e->n;
  for (size_t c = 0; c < (size_t)count; c++)
    e->kernels->scale(e->n, x + c * n * e->kernels->scalar_bytes, e->f + c * n, false);
}

/* The matrices whose norms are estimated, F op(A)^-H, and their adjoints. */
static tristar_status multiply_columns(void *arg, bool adjoint, tsi_index count, void *x) {
  tristar_status status = TRISTAR_OK;
  const tsi_forward_error *e = arg;
  if (adjoint) scale_columns(e, count, x);
  TSI_TRY(solve(e, adjoint, count, x));
  if (!adjoint) scale_columns(e, count, x);
out:
  return status;
}

/* x := A^-1 x or A^-H x. */
static tristar_status solve_columns(void *arg, bool adjoint, tsi_index count, void *x) {
  const tsi_forward_error *e = arg;
  return solve(e, adjoint == (e->op == TRISTAR_C), count, x);
}

tristar_status tsi_forward_error_condition(tsi_forward_error *e, const tristar_refine_result *result,
                                           double *reciprocal) {
  tristar_status status = TRISTAR_OK;
  TSI_TRY(prepare(e, result));
  TSI_TRY(tsi_condition(e->plan, solve_columns, e, reciprocal));
out:
  return status;
}

tristar_status tsi_forward_error_estimate(tsi_forward_error *e, tristar_refine_result *result) {
  tristar_status status = TRISTAR_OK;
  double norm[TSI_ESTIMATES_MAX];
  if (!e->judged) {
    double reciprocal;
    TSI_TRY(tsi_forward_error_condition(e, result, &reciprocal));
    e->meaningless = !(reciprocal >= MEANINGLESS * e->kernels->epsilon);
    e->judged = true;
  }
  TSI_TRY(prepare(e, result));
  TSI_TRY(tsi_estimate_one_norms(&e->plan->ts->env, e->kernels, e->n, e->held, multiply_columns, e, norm));
  for (tsi_index c = 0; c < e->held; c++) {
    const double bound = e->meaningless && e->factor[c] > 0 ? INFINITY : norm[c] * e->factor[c];
    if (!(bound <= result->forward_error)) result->forward_error = isnan(bound) ? INFINITY : bound;
  }
  e->held = 0;
out:
  return status;
}
