/* Schur complements: see tristar_schur.h.
 *
 * With the panels of the unknowns S being those of a unit matrix, L and U of the factor are
 *
 *   [ L_II    ]        [ U_II  U_IS ]
 *   [ L_SI  I ]        [        I   ]
 *
 * so a solve with L leaves the right-hand side of the Schur complement in the rows of S, and a solve with U
 * takes the solution there. Scaled: S' = R S C, g' = R g, x' = C^-1 x. */
#include <inttypes.h>

#include "runtime/base/scalars.h"
#include "runtime/factor/scaling.h"
#include "runtime/solve/plan.h"
#include "runtime/solve/request.h"
#include "tristar_schur.h"

static tristar_status need_schur(const tristar_factor_t *factor) {
  if (factor->analysis->schur_count == 0)
    TSI_FAIL(&factor->ts->env, TRISTAR_ERR_ARGUMENT,
             "the factor has no Schur complement: tristar_analysis_options.schur was not set");
  return tsi_factor_need_values(factor);
}

/* An array of `rows` rows with the leading dimension ld. */
static tristar_status check_array(const tsi_env *env, const char *name, const void *array, int64_t ld,
                                  int64_t rows, int64_t nrhs) {
  if (nrhs < 0) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "nrhs is %" PRId64, nrhs);
  if (array == NULL && nrhs > 0) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "%s is NULL", name);
  if (ld < rows)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "the leading dimension of %s is %" PRId64 ", less than %" PRId64,
             name, ld, rows);
  return TRISTAR_OK;
}

static double scale_of(const double *scale, tsi_index i) {
  return scale ? scale[i] : 1;
}

tristar_status tristar_schur_get(const tristar_factor_t *factor, void *s, int64_t lds) {
  tristar_status status = TRISTAR_OK;
  TSI_ENTER(factor, factor->ts);
  const tristar_analysis_t *an = factor->analysis;
  const tsi_index count = an->schur_count, *row = an->schur;
  TSI_TRY_OUT(need_schur(factor));
  TSI_TRY_OUT(check_array(&factor->ts->env, "s", s, lds, count, 1));
  for (tsi_index j = 0; j < count; j++)
    for (tsi_index i = 0; i < count; i++) {
      const double r = 1 / scale_of(factor->row_scale, row[i]), c = 1 / scale_of(factor->col_scale, row[j]);
      double part[2];
      tsi_scalar_read(an->factor_scalar, factor->schur, (size_t)j * (size_t)count + (size_t)i, part);
      for (int k = 0; k < 2; k++) part[k] = tsi_scaled(part[k], r, c);
      tsi_scalar_write((char)an->pattern->scalar, s, (size_t)(j * lds + i), part);
    }
out:
  return tsi_answer(&factor->ts->env, status);
}

/* to_k = from_k / scale[row of unknown k]: nrhs columns; entry k of `from` or `to` is entry first + k of a
 * column of theirs. */
static void move(const tristar_factor_t *factor, const double *scale, int64_t nrhs, const void *from,
                 int64_t ld_from, tsi_index from_first, void *to, int64_t ld_to, tsi_index to_first) {
  const tristar_analysis_t *an = factor->analysis;
  for (int64_t c = 0; c < nrhs; c++)
    for (tsi_index k = 0; k < an->schur_count; k++) {
      double part[2];
      tsi_scalar_read((char)an->pattern->scalar, from, (size_t)(c * ld_from + from_first + k), part);
      for (int i = 0; i < 2; i++) part[i] /= scale_of(scale, an->schur[k]);
      tsi_scalar_write((char)an->pattern->scalar, to, (size_t)(c * ld_to + to_first + k), part);
    }
}

static tristar_status solve_part(tristar_plan_t *plan, tristar_op op, tristar_part part, int64_t nrhs,
                                 const void *b, int64_t ldb, void *x, int64_t ldx) {
  tristar_solve_options options = tsi_solve_options_columns(op, ldb, ldx);
  options.part = part;
  return tristar_solve_with(plan, &options, nrhs, b, x, NULL);
}

tristar_status tristar_schur_condense(tristar_plan_t *plan, tristar_op op, int64_t nrhs, const void *b,
                                      int64_t ldb, void *y, int64_t ldy, void *g, int64_t ldg) {
  tristar_status status = TRISTAR_OK;
  TSI_ENTER(plan, plan->ts);
  tsi_env *env = &plan->ts->env;
  const tristar_factor_t *factor = plan->factor;
  const tristar_analysis_t *an = factor->analysis;
  const bool by_rows = op == TRISTAR_N;
  TSI_TRY_OUT(need_schur(factor));
  TSI_TRY_OUT(check_array(env, "b", b, ldb, an->pattern->n, nrhs));
  TSI_TRY_OUT(check_array(env, "y", y, ldy, an->pattern->n, nrhs));
  TSI_TRY_OUT(check_array(env, "g", g, ldg, an->schur_count, nrhs));
  TSI_TRY_OUT(solve_part(plan, op, by_rows ? TRISTAR_PART_L : TRISTAR_PART_U, nrhs, b, ldb, y, ldy));
  move(factor, by_rows ? factor->row_scale : factor->col_scale, nrhs, y, ldy, tsi_analysis_schur_first(an), g,
       ldg, 0);
out:
  return tsi_answer(env, status);
}

tristar_status tristar_schur_expand(tristar_plan_t *plan, tristar_op op, int64_t nrhs, const void *y,
                                    int64_t ldy, const void *x_s, int64_t ldxs, void *x, int64_t ldx) {
  tristar_status status = TRISTAR_OK;
  TSI_ENTER(plan, plan->ts);
  tsi_env *env = &plan->ts->env;
  const tristar_factor_t *factor = plan->factor;
  const tristar_analysis_t *an = factor->analysis;
  const size_t bytes = factor->user_bytes;
  const bool by_rows = op == TRISTAR_N;
  TSI_TRY_OUT(need_schur(factor));
  TSI_TRY_OUT(check_array(env, "y", y, ldy, an->pattern->n, nrhs));
  TSI_TRY_OUT(check_array(env, "x_s", x_s, ldxs, an->schur_count, nrhs));
  TSI_TRY_OUT(check_array(env, "x", x, ldx, an->pattern->n, nrhs));
  if (x == y && ldx != ldy)
    TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "x is y, but ldx = %" PRId64 " and ldy = %" PRId64, ldx, ldy);
  for (int64_t c = 0; c < nrhs && x != y; c++)
    memcpy((char *)x + (size_t)(c * ldx) * bytes, (const char *)y + (size_t)(c * ldy) * bytes,
           (size_t)an->pattern->n * bytes);
  move(factor, by_rows ? factor->col_scale : factor->row_scale, nrhs, x_s, ldxs, 0, x, ldx,
       tsi_analysis_schur_first(an));
  if (factor->inverse) TSI_TRY_OUT(solve_part(plan, op, TRISTAR_PART_D, nrhs, x, ldx, x, ldx));
  TSI_TRY_OUT(solve_part(plan, op, by_rows ? TRISTAR_PART_U : TRISTAR_PART_L, nrhs, x, ldx, x, ldx));
  for (int64_t c = 0; c < nrhs; c++) /* single factors would round them */
    for (tsi_index k = 0; k < an->schur_count; k++)
      memcpy((char *)x + (size_t)(c * ldx + an->schur[k]) * bytes,
             (const char *)x_s + (size_t)(c * ldxs + k) * bytes, bytes);
out:
  return tsi_answer(env, status);
}
