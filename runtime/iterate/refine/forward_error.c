/* Bounds of the forward error: see forward_error.h. tristar_condition. */
#include "runtime/iterate/refine/forward_error.h"

#include <math.h>

#include "runtime/iterate/refine/condition.h"
#include "runtime/iterate/refine/system_plan.h"

#define SMALL 50       /* in epsilons: a good backward error */
#define MEANINGLESS 10 /* errors of a solve: a smaller 1 / condition leaves estimates without a digit */

tristar_status tsi_forward_error_begin(const tsi_system *system, tristar_op op, int64_t nrhs,
                                       tsi_forward_error *e) {
  tsi_env *env = system->env;
  e->system = system;
  e->kernels = system->kernels;
  e->n = system->n;
  e->op = op == TRISTAR_N ? TRISTAR_N : TRISTAR_C;
  e->other = op == TRISTAR_N ? TRISTAR_C : TRISTAR_N;
  e->capacity = (tsi_index)tsi_count_min(nrhs, TSI_ESTIMATES_MAX);
  tristar_status status = TSI_ALLOC(env, e->terms, e->n);
  if (status == TRISTAR_OK) status = TSI_ALLOC(env, e->f, (size_t)e->capacity * (size_t)e->n);
  TSI_TRY(tsi_team_agree(system->team, status));
  return tsi_system_count_terms(system, op, e->terms);
}

size_t tsi_forward_error_bytes(tsi_index n, size_t scalar_bytes) {
  const size_t reals = 1 + 2 * 3 + 6, /* f, two residuals with their sums, scalings and sums */
      vectors = 2 * (1 + 3) + 1 + 4;  /* two refinements, the copy, a search of null vectors */
  return (size_t)n * (reals * sizeof(double) + vectors * scalar_bytes + sizeof(tsi_index));
}

void tsi_forward_error_finish(tsi_forward_error *e) {
  if (e->system == NULL) return;
  tsi_env *env = e->system->env;
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
  largest = tsi_team_largest(e->system->team, largest);
  const double size = tsi_team_largest(e->system->team, e->kernels->largest_size(e->n, x));
  if (largest > 0 && isfinite(largest)) {
    frexp(largest, &exponent);
    for (tsi_index i = 0; i < e->n; i++) f[i] = ldexp(f[i], -exponent);
    *factor = ldexp(1 / size, exponent); /* infinite for a zero x */
  } else {
    *factor = largest; /* 0: x is exact; infinite or NaN: there is no bound */
    memset(f, 0, (size_t)e->n * sizeof *f);
  }
}

/* Prepares refined solves, if the factors are not accurate to working precision. */
static tristar_status prepare(tsi_forward_error *e, const tristar_refine_result *result) {
  const tsi_system *system = e->system;
  const double small = SMALL * e->kernels->epsilon;
  const bool exact =
      !system->wide && !system->rounded && !system->perturbed && result->initial_backward_error <= 2 * small;
  e->enough = result->backward_error > small ? result->backward_error : small;
  if (e->refinement.system == NULL) {
    TSI_TRY(tsi_refinement_begin(system, e->op, &e->refinement));
    TSI_TRY(tsi_refinement_begin(system, e->other, &e->other_refinement));
    e->refinement.no_residual = e->other_refinement.no_residual = true;
  }
  if (exact || e->copy) return TRISTAR_OK;
  return tsi_team_agree(
      system->team,
      TSI_ALLOC(system->env, e->copy, (size_t)e->capacity * (size_t)e->n * e->kernels->scalar_bytes));
}

/* Refines y = op(A)^-1 v; sets y to NaN if that fails. */
static tristar_status refine(const tsi_forward_error *e, const tsi_refinement *r, const void *v, void *y) {
  tristar_refine_options options;
  tristar_refine_result result = {0};
  tristar_refine_options_init(&options);
  options.tolerance = e->lenient ? 0 : e->enough;
  tristar_status status = tsi_refine(r, v, y, &options, &result);
  const bool left_range = status == TRISTAR_ERR_NOT_FINITE;
  if (!left_range) TSI_TRY(status);
  if (left_range || !(e->lenient || result.backward_error <= 10 * e->enough))
    e->kernels->multiply(e->n, y, NAN);
  return TRISTAR_OK;
}

/* x := op(A)^-1 x for `count` columns; op(A)^-H x if adjoint is false. */
static tristar_status solve(const tsi_forward_error *e, bool adjoint, tsi_index count, char *x) {
  const size_t column = (size_t)e->n * e->kernels->scalar_bytes;
  if (e->copy) memcpy(e->copy, x, (size_t)count * column);
  TSI_TRY(tsi_solve_in_range(adjoint ? &e->refinement : &e->other_refinement, count, x, x));
  for (tsi_index c = 0; e->copy && c < count; c++)
    TSI_TRY(refine(e, adjoint ? &e->refinement : &e->other_refinement, e->copy + (size_t)c * column,
                   x + (size_t)c * column));
  return TRISTAR_OK;
}

static void scale_columns(const tsi_forward_error *e, tsi_index count, char *x) {
  const size_t n = (size_t)e->n;
  for (size_t c = 0; c < (size_t)count; c++)
    e->kernels->scale(e->n, x + c * n * e->kernels->scalar_bytes, e->f + c * n, false);
}

/* Multiplies by the matrices whose norms are estimated, F op(A)^-H, or their adjoints. */
static tristar_status multiply_columns(void *arg, bool adjoint, tsi_index count, void *x) {
  const tsi_forward_error *e = arg;
  if (adjoint) scale_columns(e, count, x);
  TSI_TRY(solve(e, adjoint, count, x));
  if (!adjoint) scale_columns(e, count, x);
  return TRISTAR_OK;
}

/* x := A^-1 x or A^-H x. */
static tristar_status solve_columns(void *arg, bool adjoint, tsi_index count, void *x) {
  const tsi_forward_error *e = arg;
  return solve(e, adjoint == (e->op == TRISTAR_C), count, x);
}

/* The same with all digits that refinement reaches, even if they are not enough. */
static tristar_status solve_columns_well(void *arg, bool adjoint, tsi_index count, void *x) {
  tsi_forward_error *e = arg;
  e->lenient = true;
  const tristar_status status = solve_columns(e, adjoint, count, x);
  e->lenient = false;
  return status;
}

tristar_status tsi_forward_error_condition(tsi_forward_error *e, const tristar_refine_result *result,
                                           double *reciprocal) {
  TSI_TRY(prepare(e, result));
  return tsi_condition(e->system, solve_columns, solve_columns_well, e, reciprocal, &e->distance);
}

tristar_status tsi_forward_error_estimate(tsi_forward_error *e, tristar_refine_result *result) {
  double norm[TSI_ESTIMATES_MAX];
  if (!e->judged) {
    double reciprocal, error = e->kernels->epsilon; /* error of a solve */
    TSI_TRY(tsi_forward_error_condition(e, result, &reciprocal));
    if (e->copy && e->enough > SMALL * error) error = e->enough; /* x has no smaller error */
    e->meaningless = !(reciprocal >= MEANINGLESS * error);
    e->judged = true;
  }
  TSI_TRY(prepare(e, result));
  TSI_TRY(tsi_estimate_one_norms(e->system->env, e->kernels, e->system->team, e->n, e->held, multiply_columns,
                                 e, norm));
  for (tsi_index c = 0; c < e->held; c++) {
    const double bound = e->meaningless && e->factor[c] > 0 ? INFINITY : norm[c] * e->factor[c];
    if (!(bound <= result->forward_error)) result->forward_error = isnan(bound) ? INFINITY : bound;
  }
  e->held = 0;
  return TRISTAR_OK;
}

tristar_status tsi_system_condition(const tsi_system *system, double *reciprocal) {
  TSI_CLEANUP(tsi_forward_error_finish) tsi_forward_error solves = {0};
  TSI_TRY(tsi_forward_error_begin(system, TRISTAR_N, 1, &solves));
  TSI_TRY(tsi_forward_error_condition(&solves, &(tristar_refine_result){0}, reciprocal));
  if (*reciprocal == 0) *reciprocal = system->condition;
  return TRISTAR_OK;
}

tristar_status tristar_condition(tristar_plan_t *plan, double *reciprocal) {
  tristar_status status = TRISTAR_OK;
  tsi_plan_system s;
  TSI_ENTER(plan, plan->ts);
  tsi_env *env = &plan->ts->env;
  if (reciprocal == NULL) TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "reciprocal is NULL");
  TSI_TRY_OUT(tsi_plan_system_create(plan, &s));
  TSI_TRY_OUT(tsi_system_condition(&s.system, reciprocal));
out:
  return tsi_answer(env, status);
}
