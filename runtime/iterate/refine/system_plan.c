/* The system of a plan, or of a factor: see system_plan.h. */
#include "runtime/iterate/refine/system_plan.h"

#include "runtime/iterate/refine/projection.h"
#include "runtime/solve/request.h"

static tristar_status solve(void *context, tristar_op op, int64_t nrhs, const void *b, int64_t ldb, void *x,
                            int64_t ldx) {
  return tsi_solve_plain(context, op, nrhs, b, ldb, x, ldx);
}

static tristar_status try_solve(void *context, tristar_op op, int64_t nrhs, const void *b, int64_t ldb,
                                void *x, int64_t ldx) {
  return tsi_solve_trial(context, op, nrhs, b, ldb, x, ldx);
}

tristar_status tsi_need_matrix(const tristar_factor_t *factor) {
  if (factor->has_matrix) return TRISTAR_OK;
  TSI_FAIL(&factor->ts->env, TRISTAR_ERR_UNSUPPORTED, "the factor was imported without its matrix");
}

void tsi_factor_system_create(const tristar_factor_t *factor, tsi_plan_system *s) {
  static const tsi_system_functions functions = {.solve = solve};
  const tsi_pattern *pattern = factor->analysis->pattern;
  s->team = tsi_team_alone(pattern->n);
  s->system = (tsi_system){.env = &factor->ts->env,
                           .kernels = tsi_sparse_kernels_select(pattern->scalar),
                           .n = pattern->n,
                           .a = tsi_pattern_sparse(pattern, factor->values),
                           .row_scale = factor->row_weight ? factor->row_weight : factor->row_scale,
                           .col_scale = factor->col_weight ? factor->col_weight : factor->col_scale,
                           .range = {factor->row_scale, factor->col_scale},
                           .wide = factor->analysis->factor_scalar != pattern->scalar,
                           .strict = factor->misfit,
                           .condition = factor->misfit ? factor->stats.reciprocal_condition : 0,
                           .perturbed = factor->stats.perturbed_pivots > 0,
                           .singular = factor->stats.singular,
                           .team = &s->team,
                           .functions = &functions};
}

/* May be called by any thread. */
static tristar_status need_kept(tristar_plan_t *plan, tsi_kept_vectors **kept) {
  tristar_status status = TRISTAR_OK;
  pthread_mutex_lock(&plan->lock);
  plan->destroy_kept = tsi_kept_vectors_destroy;
  if (plan->kept == NULL) status = tsi_kept_vectors_create(&plan->ts->env, &plan->lock, &plan->kept);
  *kept = plan->kept;
  pthread_mutex_unlock(&plan->lock);
  return status;
}

tristar_status tsi_plan_system_create(tristar_plan_t *plan, tsi_plan_system *s) {
  TSI_TRY(tsi_need_matrix(plan->factor));
  TSI_TRY(tsi_plan_need_values(plan));
  tsi_factor_system_create(plan->factor, s);
  s->system.context = plan;
  s->system.rounded = plan->storage != NULL;
  s->system.generation = plan->factor->generation;
  return s->system.singular ? need_kept(plan, &s->system.kept) : TRISTAR_OK;
}

tristar_status tsi_plan_trials_create(tristar_plan_t *plan, tsi_plan_system *s) {
  static const tsi_system_functions functions = {.solve = try_solve};
  TSI_TRY(tsi_plan_system_create(plan, s));
  s->system.functions = &functions;
  return TRISTAR_OK;
}
