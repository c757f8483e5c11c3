/* Residuals of a system (residual.h); tristar_residual: residuals and backward errors of X. */
#include "runtime/iterate/refine/residual.h"

#include <inttypes.h>
#include <math.h>

#include "codelets/cpu/rows/rounding.h"
#include "runtime/iterate/refine/system_plan.h"
#include "runtime/solve/request.h"

#define PENDING (-1) /* first row sum of each kind until the sums of this kind are computed */

/* Are row sums missing that backward errors may use? */
static bool is_pending(const tsi_residual *r) {
  const tsi_index n = r->system->n;
  return !r->has_own && n > 0 && r->row_sum[r->column_weight != NULL ? n : 0] < 0;
}

/* Computes the sums with other weights than column_weight. */
static tristar_status make_other_sums(const tsi_residual *r) {
  const tsi_system *system = r->system;
  const size_t n = (size_t)system->n;
  if (r->column_weight != NULL)
    TSI_TRY(tsi_system_weigh(system, r->op, NULL, r->row_sum + (r->has_own ? 2 : 1) * n));
  if (r->has_own) TSI_TRY(tsi_system_weigh(system, r->op, r->own_weight, r->row_sum + 3 * n));
  return TRISTAR_OK;
}

static tristar_status make_sums(const tsi_residual *r) {
  TSI_TRY(tsi_system_weigh(r->system, r->op, r->column_weight, r->row_sum));
  return make_other_sums(r);
}

tristar_status tsi_residual_need_weighted(const tsi_residual *r) {
  if (r->system->n == 0 || !(r->row_sum[0] < 0)) return TRISTAR_OK;
  return tsi_system_weigh(r->system, r->op, r->column_weight, r->row_sum);
}

static tristar_status need_sums(const tsi_residual *r) {
  if (!is_pending(r)) return TRISTAR_OK;
  TSI_TRY(tsi_residual_need_weighted(r));
  return make_other_sums(r);
}

/* Computes the sums together with the first residual. */
static tristar_status find_with_sums(const tsi_residual *r, const void *b, const void *x) {
  const tsi_system *system = r->system;
  TSI_OWNED char *work = NULL;
  TSI_TRY(TSI_ALLOC_SIZED(system->env, work, system->n, system->kernels->terms_bytes));
  system->kernels->residual_and_sums(&system->a, r->op, b, x, r->column_weight, work, r->vector, r->bound,
                                     r->row_sum);
  return TRISTAR_OK;
}

tristar_status tsi_residual_begin(const tsi_system *system, tristar_op op, tsi_residual *r) {
  tsi_env *env = system->env;
  const size_t n = (size_t)system->n;
  *r = (tsi_residual){.system = system,
                      .op = op,
                      .column_weight = tsi_system_column_weight(system, op),
                      .strict = system->strict};
  const double *own = system->range[op == TRISTAR_N ? 1 : 0];
  r->own_weight = own;
  r->has_own = tsi_team_any(system->team, own != NULL && own != r->column_weight);
  tristar_status status = TSI_ALLOC(env, r->row_sum, (r->has_own ? 4 : 2) * n);
  if (status == TRISTAR_OK) status = TSI_ALLOC(env, r->bound, n);
  if (status == TRISTAR_OK) status = TSI_ALLOC(env, r->vector, n * system->kernels->scalar_bytes);
  TSI_TRY(tsi_team_agree(system->team, status));
  if (r->has_own || system->functions->take != NULL) return make_sums(r);
  if (n > 0) r->row_sum[0] = r->row_sum[n] = PENDING;
  return TRISTAR_OK;
}

void tsi_residual_finish(tsi_residual *r) {
  if (r->system == NULL) return;
  TSI_FREE(r->system->env, r->row_sum);
  TSI_FREE(r->system->env, r->bound);
  TSI_FREE(r->system->env, r->vector);
}

/* The kernels support two weights of columns, not three. For this x, the second half of the sums becomes the
 * smaller row norm: by ones, or by the scaling of an import. Those sums are in the third and fourth
 * quarter. */
static void unite_sums(const tsi_residual *r, const void *x, tsi_sizes *sizes) {
  const tsi_system *system = r->system;
  const tsi_index n = system->n;
  double *least = r->row_sum + n, *ones = least + n, *own = ones + n, weighted, plain;
  system->kernels->sizes(n, x, r->own_weight, &weighted, &plain);
  weighted = tsi_team_largest(system->team, weighted);
  for (tsi_index i = 0; i < n; i++) least[i] = tsi_smaller(ones[i] * sizes->plain, own[i] * weighted);
  sizes->plain = 1;
}

/* The sizes that backward errors of x need. In a system with n = 0 no term counts as a rounding error. */
static tsi_sizes sizes_of(const tsi_residual *r, const void *x) {
  const tsi_system *system = r->system;
  tsi_sizes sizes = {.n = r->strict ? 0 : system->team->n, .with_weights = r->column_weight != NULL};
  system->kernels->sizes(system->n, x, r->column_weight, &sizes.weighted, &sizes.plain);
  sizes.weighted = tsi_team_largest(system->team, sizes.weighted);
  sizes.plain = tsi_team_largest(system->team, sizes.plain);
  if (r->has_own) unite_sums(r, x, &sizes);
  return sizes;
}

/* largest: max |x_j / g_j|, NaN if an entry is; then the result is true. */
static bool has_rounding(const tsi_residual *r, const void *x, const double *g, double largest, int64_t n) {
  const tsi_range range = {.least = r->system->kernels->least_size(r->system->n, x, g), .largest = largest};
  return tsi_range_has_rounding(&range, n, r->system->kernels->epsilon);
}

/* Does the backward error of x use row sums? They measure rows that are rounding errors. */
static bool uses_sums(const tsi_residual *r, const void *x, const tsi_sizes *sizes) {
  if (!is_pending(r)) return true;
  return has_rounding(r, x, NULL, sizes->plain, sizes->n) &&
         (!sizes->with_weights || has_rounding(r, x, r->column_weight, sizes->weighted, sizes->n));
}

/* The backward error for the stored vector and bound. sums: it uses the row sums. */
static tristar_status measure(const tsi_residual *r, const void *b, bool sums, const tsi_sizes *sizes,
                              double *error) {
  const tsi_system *system = r->system;
  if (sums) TSI_TRY(need_sums(r));
  *error = tsi_team_largest(system->team, system->kernels->backward_error(system->n, b, r->vector, r->bound,
                                                                          sums ? r->row_sum : NULL, sizes));
  return system->team->failure;
}

tristar_status tsi_residual_error(const tsi_residual *r, const void *b, const void *x, double *error) {
  const tsi_sizes sizes = sizes_of(r, x);
  return measure(r, b, uses_sums(r, x, &sizes), &sizes, error);
}

tristar_status tsi_residual_find(const tsi_residual *r, const void *b, const void *x, double *error) {
  const tsi_system *system = r->system;
  *error = NAN;
  const tsi_sizes sizes = sizes_of(r, x);
  const bool sums = uses_sums(r, x, &sizes), together = !r->frugal && system->a.symmetry == TRISTAR_GENERAL;
  if (!r->precise && system->functions->take == NULL) {
    if (sums && together && is_pending(r))
      TSI_TRY(find_with_sums(r, b, x));
    else
      system->kernels->residual_and_bound(&system->a, r->op, b, x, r->vector, r->bound);
    return measure(r, b, sums, &sizes, error);
  }
  if (r->precise)
    TSI_TRY(tsi_system_precise_residual(system, r->op, b, x, r->vector));
  else
    TSI_TRY(tsi_system_residual(system, r->op, b, x, r->vector));
  TSI_TRY(tsi_system_bound(system, r->op, x, r->bound));
  return measure(r, b, sums, &sizes, error);
}

tristar_status tsi_residual_leave_solved(const tsi_residual *r, const void *b, const void *x, double error) {
  const tsi_system *system = r->system;
  const tsi_sizes sizes = sizes_of(r, x);
  TSI_TRY(need_sums(r));
  system->kernels->leave_solved(system->n, b, r->vector, r->bound, r->row_sum, &sizes, error);
  return system->team->failure;
}

static tristar_status check_arguments(const tristar_factor_t *factor, tristar_op op, int64_t nrhs,
                                      const void *b, int64_t ldb, const void *x, int64_t ldx, const void *r,
                                      int64_t ldr) {
  tsi_env *env = &factor->ts->env;
  const int64_t n = factor->analysis->pattern->n;
  TSI_TRY(tsi_check_op(env, op));
  TSI_TRY(tsi_check_columns(env, n, nrhs, b, ldb, x, ldx));
  if (r != NULL && ldr < n)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "ldr = %" PRId64 ", but there are %" PRId64 " rows", ldr, n);
  if (n > 0 && nrhs > 0)
    TSI_TRY(
        tsi_check_in_place(env, (tsi_named_array){"b", b, 1, ldb, 0}, (tsi_named_array){"r", r, 1, ldr, 0}));
  TSI_TRY(tsi_factor_need_valid(factor));
  return tsi_need_matrix(factor);
}

tristar_status tristar_residual(const tristar_factor_t *factor, tristar_op op, int64_t nrhs, const void *b,
                                int64_t ldb, const void *x, int64_t ldx, void *r, int64_t ldr,
                                double *backward_error) {
  tristar_status status = TRISTAR_OK;
  tsi_plan_system s;
  tsi_residual c = {.system = NULL};
  double worst = 0;
  TSI_ENTER(factor, factor->ts);
  tsi_env *env = &factor->ts->env;
  const size_t bytes = factor->user_bytes;
  TSI_TRY_OUT(check_arguments(factor, op, nrhs, b, ldb, x, ldx, r, ldr));
  tsi_factor_system_create(factor, &s);
  TSI_TRY_OUT(tsi_residual_begin(&s.system, op, &c));
  c.precise = true;
  for (int64_t k = 0; k < nrhs; k++) {
    double error;
    TSI_TRY_OUT(tsi_residual_find(&c, (const char *)b + (size_t)(k * ldb) * bytes,
                                  (const char *)x + (size_t)(k * ldx) * bytes, &error));
    worst = tsi_larger(worst, error);
    if (r != NULL) memcpy((char *)r + (size_t)(k * ldr) * bytes, c.vector, (size_t)s.system.n * bytes);
  }
  if (backward_error) *backward_error = worst;
out:
  tsi_residual_finish(&c);
  return tsi_answer(env, status);
}
