/* A solve, refinement of every column, and forward errors if requested; tristar_solve_refined.
 *
 * Reads   a system.   Writes  x and its own work arrays. */
#include <math.h>

#include "runtime/iterate/refine/forward_error.h"
#include "runtime/base/options.h"
#include "runtime/base/scalars.h"
#include "runtime/iterate/refine/judge.h"
#include "runtime/iterate/refine/refinement.h"
#include "runtime/iterate/refine/system_plan.h"
#include "runtime/solve/request.h"

/* Do columns of b and x overlap? Sizes in bytes. */
static bool overlap(const void *b, size_t b_size, const void *x, size_t x_size) {
  return (uintptr_t)b < (uintptr_t)x + x_size && (uintptr_t)x < (uintptr_t)b + b_size;
}

/* Refines all columns. b_step, x_step: bytes between two columns. If numbers of a column leave the range, the
 * others are refined all the same. */
static tristar_status refine_columns(tsi_refinement *r, int64_t nrhs, const char *b, size_t b_step, char *x,
                                     size_t x_step, const tristar_refine_options *options,
                                     tristar_refine_result *result) {
  tsi_env *env = r->system->env;
  const bool estimate = options->forward_error && r->system->team->n > 0 && nrhs > 0;
  TSI_CLEANUP(tsi_forward_error_finish) tsi_forward_error errors = {0};
  tsi_failure failure = {0};
  if (estimate) TSI_TRY(tsi_forward_error_begin(r->system, r->op, nrhs, &errors));
  for (r->column = 0; r->column < nrhs; r->column++, b += b_step, x += x_step) {
    const tristar_status one = tsi_refine(r, b, x, options, result);
    if (one != TRISTAR_ERR_NOT_FINITE) TSI_TRY(one);
    tsi_failure_keep(env, &failure, one);
    if (estimate && one == TRISTAR_OK)
      tsi_forward_error_add(&errors, b, x, r->residual.vector, r->residual.bound);
    if (estimate && (errors.held == errors.capacity || r->column + 1 == nrhs))
      TSI_TRY(tsi_forward_error_estimate(&errors, result));
  }
  return tsi_failure_report(env, &failure);
}

/* x = the first approximation for all columns. Single factors scale each column, so b is copied. */
static tristar_status solve_first(const tsi_refinement *r, int64_t nrhs, const char *b, size_t b_step,
                                  char *x, size_t x_step) {
  const tsi_system *system = r->system;
  tsi_env *env = system->env;
  const size_t column = (size_t)system->n * r->kernels->scalar_bytes;
  TSI_OWNED char *solved = NULL, *copy = NULL;
  if (!system->wide || system->team->n == 0) {
    const size_t scalar = r->kernels->scalar_bytes;
    return system->functions->solve(system->context, r->op, nrhs, b, (int64_t)(b_step / scalar), x,
                                    (int64_t)(x_step / scalar));
  }
  tristar_status status = TSI_ALLOC_SIZED(env, copy, nrhs, column);
  if (status == TRISTAR_OK) status = TSI_ALLOC_SIZED(env, solved, nrhs, column);
  TSI_TRY(tsi_team_agree(system->team, status));
  for (size_t c = 0; c < (size_t)nrhs; c++) memcpy(copy + c * column, b + c * b_step, column);
  TSI_TRY(tsi_solve_in_range(r, nrhs, copy, solved));
  for (size_t c = 0; c < (size_t)nrhs; c++) memcpy(x + c * x_step, solved + c * column, column);
  return TRISTAR_OK;
}

tristar_status tsi_solve_refined(const tsi_system *system, tristar_op op, int64_t nrhs, const void *b,
                                 size_t b_step, void *x, size_t x_step, const tristar_refine_options *options,
                                 tristar_refine_result *result) {
  TSI_CLEANUP(tsi_refinement_finish) tsi_refinement refinement = {0};
  TSI_TRY(tsi_refinement_begin(system, op, &refinement));
  TSI_TRY(solve_first(&refinement, nrhs, b, b_step, x, x_step));
  return refine_columns(&refinement, nrhs, b, b_step, x, x_step, options, result);
}

tristar_status tsi_inverse_entry_check(tsi_env *env, char scalar, const void *values, tsi_count place,
                                       int64_t row, int64_t column) {
  double part[2];
  tsi_scalar_read(scalar, values, (size_t)place, part);
  if (!isfinite(part[0]) || !isfinite(part[1]))
    TSI_FAIL(env, TRISTAR_ERR_NOT_FINITE,
             "entry (%lld, %lld) of the inverse (counted from 0) is beyond the range of numbers",
             (long long)row, (long long)column);
  return TRISTAR_OK;
}

tristar_status tsi_refine_options_check(tsi_env *env, const tristar_refine_options *options) {
  if (options->max_steps < 0 || options->max_iterations < 0)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "max_steps is %d, max_iterations %d", options->max_steps,
             options->max_iterations);
  if (options->history != NULL && options->history_most < 0)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "history_most is %lld", (long long)options->history_most);
  return TRISTAR_OK;
}

tristar_status tsi_refined_judge(tsi_env *env, const tsi_sparse_kernels *kernels, bool singular,
                                 double accuracy, const tristar_refine_result *result) {
  const double error = result->backward_error, worst = tsi_larger(error, result->residual);
  if (accuracy > 0 && !(error <= accuracy))
    TSI_FAIL(env, TRISTAR_ERR_ACCURACY, "backward error %.1e is above the accuracy %.1e of the plan", error,
             accuracy);
  if (accuracy <= 0 && !singular && !(error <= cbrt(kernels->epsilon)))
    TSI_FAIL(
        env, TRISTAR_ERR_ACCURACY,
        "backward error %.1e after refinement: the factors do not suit these values; analyze them again, "
        "or with a matching",
        error);
  if (singular && !(worst <= sqrt(kernels->epsilon)))
    TSI_FAIL(env, TRISTAR_ERR_ACCURACY,
             "the matrix is singular, and x leaves a residual of %.1e beside b: there is no solution, or "
             "rounding errors hide it; delayed pivots may help",
             worst);
  return TRISTAR_OK;
}

static tristar_status check_arguments(const tristar_plan_t *plan, int64_t nrhs, const void *b, int64_t ldb,
                                      const void *x, int64_t ldx, const tristar_refine_options *options) {
  tsi_env *env = &plan->ts->env;
  const size_t scalar = plan->factor->user_bytes, n = (size_t)plan->factor->analysis->pattern->n;
  TSI_TRY(tsi_refine_options_check(env, options));
  TSI_TRY(tsi_need_matrix(plan->factor));
  TSI_TRY(tsi_check_columns(env, (int64_t)n, nrhs, b, ldb, x, ldx));
  if (n > 0 && nrhs > 0 &&
      overlap(b, ((size_t)((nrhs - 1) * ldb) + n) * scalar, x, ((size_t)((nrhs - 1) * ldx) + n) * scalar))
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "x overlaps b, which refinement needs");
  return TRISTAR_OK;
}

/* Refines to the accuracy of the plan, if it has one. Errors: ACCURACY (it is not reached, or refinement
 * fails). */
static tristar_status solve_accurate(tristar_plan_t *plan, tristar_op op, int64_t nrhs, const void *b,
                                     int64_t ldb, void *x, int64_t ldx) {
  const double accuracy = plan->options.accuracy;
  tristar_refine_options options;
  tristar_refine_result result;
  tristar_refine_options_init(&options);
  options.tolerance = accuracy;
  TSI_TRY(tristar_solve_refined(plan, op, nrhs, b, ldb, x, ldx, &options, &result));
  return tsi_refined_judge(&plan->ts->env, tsi_sparse_kernels_select(plan->factor->analysis->pattern->scalar),
                           plan->factor->stats.singular, accuracy, &result);
}

/* A tristar_solve with refinement; x may be b. */
static tristar_status solve_and_refine(tristar_plan_t *plan, tristar_op op, int64_t nrhs, const void *b,
                                       int64_t ldb, void *x, int64_t ldx) {
  tsi_env *env = &plan->ts->env;
  const size_t n = (size_t)plan->factor->analysis->pattern->n, scalar = plan->factor->user_bytes;
  TSI_OWNED char *copy = NULL;
  TSI_TRY(tsi_check_solve_columns(env, (int64_t)n, nrhs, b, ldb, x, ldx));
  if (b == x && n > 0 && nrhs > 0) {
    const size_t bytes = ((size_t)((nrhs - 1) * ldb) + n) * scalar;
    TSI_TRY(TSI_ALLOC(env, copy, bytes));
    memcpy(copy, b, bytes);
    b = copy;
  }
  return solve_accurate(plan, op, nrhs, b, ldb, x, ldx);
}

tristar_status tristar_solve(tristar_plan_t *plan, tristar_op op, int64_t nrhs, const void *b, int64_t ldb,
                             void *x, int64_t ldx) {
  TSI_ENTER(plan, plan->ts);
  tristar_status status = plan->storage != NULL ? tsi_judge_storage(plan) : TRISTAR_OK;
  if (status == TRISTAR_OK)
    status = tsi_plan_refines(plan) ? solve_and_refine(plan, op, nrhs, b, ldb, x, ldx)
                                    : tsi_solve_checked(plan, op, nrhs, b, ldb, x, ldx);
  return tsi_answer(&plan->ts->env, status);
}

tristar_status tristar_solve_refined(tristar_plan_t *plan, tristar_op op, int64_t nrhs, const void *b,
                                     int64_t ldb, void *x, int64_t ldx, const tristar_refine_options *options,
                                     tristar_refine_result *result) {
  tristar_status status = TRISTAR_OK;
  tristar_refine_options full;
  tristar_refine_result total = {0};
  tsi_plan_system s;
  TSI_ENTER(plan, plan->ts);
  tsi_env *env = &plan->ts->env;
  TSI_TRY_OUT(TSI_OPTIONS(env, tristar_refine_options, options, &full));
  TSI_TRY_OUT(check_arguments(plan, nrhs, b, ldb, x, ldx, &full));
  TSI_TRY_OUT(tsi_plan_system_create(plan, &s));
  const size_t scalar = plan->factor->user_bytes;
  status =
      tsi_solve_refined(&s.system, op, nrhs, b, (size_t)ldb * scalar, x, (size_t)ldx * scalar, &full, &total);
  if (result != NULL && (status == TRISTAR_OK || status == TRISTAR_ERR_NOT_FINITE)) *result = total;
out:
  return tsi_answer(env, status);
}
