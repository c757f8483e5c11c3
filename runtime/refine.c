/* tristar_solve_refined: a solve, refinement of every column, and the forward errors if asked for.
 *
 * Reads   a plan, the values that its factor was made from.   Writes  x and work of its own. */
#include "runtime/forward_error.h"
#include "runtime/refinement.h"

void tristar_refine_options_init(tristar_refine_options *options) {
  options->max_steps = 5;
  options->max_iterations = 30;
  options->tolerance = 0;
  options->forward_error = 0;
}

/* Do columns of b and x overlap? Sizes in bytes. */
static bool overlap(const void *b, size_t b_size, const void *x, size_t x_size) {
  return (uintptr_t)b < (uintptr_t)x + x_size && (uintptr_t)x < (uintptr_t)b + b_size;
}

/* b_step, x_step: bytes from one column to the next. */
static tristar_status refine_columns(const tsi_refinement *r, int64_t nrhs, const char *b, size_t b_step,
                                     char *x, size_t x_step, const tristar_refine_options *options,
                                     tristar_refine_result *result) {
  tristar_status status = TRISTAR_OK;
  const bool estimate = options->forward_error && r->a.n > 0 && nrhs > 0;
  tsi_forward_error errors = {0};
  if (estimate) TSI_TRY(tsi_forward_error_begin(r->plan, r->op, nrhs, &errors));
  for (int64_t c = 0; c < nrhs; c++, b += b_step, x += x_step) {
    TSI_TRY(tsi_refine(r, b, x, options, result));
    if (!estimate) continue;
    tsi_forward_error_add(&errors, b, x, r->residual, r->bound);
    if (errors.held == errors.room || c + 1 == nrhs) TSI_TRY(tsi_forward_error_estimate(&errors, result));
  }
out:
  tsi_forward_error_finish(&errors);
  return status;
}

tristar_status tristar_solve_refined(tristar_plan_t *plan, tristar_op op, int64_t nrhs, const void *b,
                                     int64_t ldb, void *x, int64_t ldx, const tristar_refine_options *options,
                                     tristar_refine_result *result) {
  tristar_status status = TRISTAR_OK;
  tristar_refine_options defaults;
  tristar_refine_result total = {0};
  tsi_refinement refinement = {0};
  if (plan == NULL) return TRISTAR_ERR_ARGUMENT;
  tsi_env *env = &plan->ts->env;
  tristar_refine_options_init(&defaults);
  if (options == NULL) options = &defaults;
  if (options->max_steps < 0 || options->max_iterations < 0)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "max_steps is %d, max_iterations %d", options->max_steps,
             options->max_iterations);
  TSI_TRY(tsi_need_matrix(plan->factor));
  TSI_TRY(tristar_solve(plan, op, nrhs, b, ldb, x, ldx));
  const size_t scalar = plan->factor->user_bytes, n = (size_t)plan->factor->analysis->pattern->n;
  if (n > 0 && nrhs > 0 &&
      overlap(b, ((size_t)((nrhs - 1) * ldb) + n) * scalar, x, ((size_t)((nrhs - 1) * ldx) + n) * scalar))
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "x overlaps b, which refinement needs");
  TSI_TRY(tsi_refinement_begin(plan, op, &refinement));
  TSI_TRY(
      refine_columns(&refinement, nrhs, b, (size_t)ldb * scalar, x, (size_t)ldx * scalar, options, &total));
  if (result != NULL) *result = total;
out:
  tsi_refinement_finish(&refinement);
  return status;
}
