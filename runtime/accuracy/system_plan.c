/* The system of a plan: see system_plan.h. */
#include "runtime/accuracy/system_plan.h"

static tsi_sparse matrix_of(const tristar_plan_t *plan) {
  return tsi_pattern_sparse(plan->factor->analysis->pattern, plan->factor->values);
}

static tristar_status solve(void *context, tristar_op op, int64_t nrhs, const void *b, int64_t ldb, void *x,
                            int64_t ldx) {
  return tristar_solve(context, op, nrhs, b, ldb, x, ldx);
}

static const tsi_sparse_kernels *kernels_of(const tristar_plan_t *plan) {
  return tsi_sparse_kernels_select(plan->factor->analysis->pattern->scalar);
}

static tristar_status residual(void *context, tristar_op op, const void *b, const void *x, void *r) {
  const tsi_sparse a = matrix_of(context);
  kernels_of(context)->residual(&a, op, b, x, r);
  return TRISTAR_OK;
}

static tristar_status bound(void *context, tristar_op op, const void *x, double *y) {
  const tsi_sparse a = matrix_of(context);
  kernels_of(context)->bound(&a, op, x, y);
  return TRISTAR_OK;
}

static tristar_status weigh(void *context, tristar_op op, const double *g, double *y) {
  const tsi_sparse a = matrix_of(context);
  kernels_of(context)->weigh(&a, op, g, y);
  return TRISTAR_OK;
}

static tristar_status count_terms(void *context, tristar_op op, tsi_index *terms) {
  const tsi_sparse a = matrix_of(context);
  const bool mirror = a.symmetry != TRISTAR_GENERAL, lines = a.by_rows == (op == TRISTAR_N);
  for (tsi_index i = 0; i < a.n; i++) terms[i] = 1;
  for (tsi_index j = 0; j < a.n; j++)
    for (tsi_count p = a.ptr[j]; p < a.ptr[j + 1]; p++) {
      const tsi_index i = a.index[p];
      terms[lines ? j : i]++;
      if (mirror && i != j) terms[lines ? i : j]++;
    }
  return TRISTAR_OK;
}

static int64_t user_row(const void *context, tristar_op op, bool of_x, tsi_index i) {
  (void)context;
  (void)op;
  (void)of_x;
  return i;
}

tristar_status tsi_need_matrix(const tristar_factor_t *factor) {
  if (factor->has_matrix) return TRISTAR_OK;
  return tsi_fail(&factor->ts->env, TRISTAR_ERR_UNSUPPORTED, __func__, __FILE__, __LINE__,
                  "the factor was imported without its matrix");
}

tristar_status tsi_plan_system_create(tristar_plan_t *plan, tsi_plan_system *s) {
  static const tsi_system_functions functions = {.solve = solve,
                                                 .residual = residual,
                                                 .bound = bound,
                                                 .weigh = weigh,
                                                 .count_terms = count_terms,
                                                 .user_row = user_row};
  tristar_status status = TRISTAR_OK;
  const tristar_factor_t *factor = plan->factor;
  const tsi_pattern *pattern = factor->analysis->pattern;
  TSI_TRY(tsi_need_matrix(factor));
  TSI_TRY(tsi_factor_need_values(factor));
  s->team = tsi_team_alone(pattern->n);
  s->system = (tsi_system){.env = &plan->ts->env,
                           .kernels = kernels_of(plan),
                           .n = pattern->n,
                           .row_scale = factor->row_scale,
                           .col_scale = factor->col_scale,
                           .wide = factor->analysis->factor_scalar != pattern->scalar,
                           .perturbed = factor->stats.perturbed_pivots > 0,
                           .team = &s->team,
                           .functions = &functions,
                           .context = plan};
out:
  return status;
}
