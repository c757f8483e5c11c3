/* Verdict on the rows that are eliminated before a Schur complement: tsi_schur_judge (judge.h).
 *
 * If pivots of a regular A_II were perturbed, refined solves compute the complement again (schur.c). If
 * sweeps can lose rows whose terms are small, condensing and expanding make refined solves
 * (tsi_judge_small_rows).
 *
 * Reads   a factor with a Schur complement.   Writes  its stats, and the complement if solves compute it. */
#include <math.h>

#include "runtime/base/scalars.h"
#include "runtime/factor/scaling.h"
#include "runtime/iterate/refine/judge.h"
#include "runtime/solve/plan.h"
#include "tristar_schur.h"

static double scale_of(const double *scale, tsi_index i) {
  return scale ? scale[i] : 1;
}

/* ---- Trial solves -------------------------------------------------------------------------------------- */

static double unit_of(const tristar_factor_t *factor, tristar_op op, tsi_index i) {
  return scale_of(op == TRISTAR_N ? factor->col_scale : factor->row_scale, i);
}

/* Entry i of a given x, in units of the scaling. */
static double known_x(const tristar_factor_t *factor, tristar_op op, tsi_index i) {
  return (fmod(i * 0.6180339887498949, 1) - 0.5) * unit_of(factor, op, i);
}

/* The largest errors of the trial solves. */
typedef struct trials {
  double error;      /* backward error */
  double of_x, of_y; /* error of x, size of op(A_II)^-1 b_I, in units of the scaling */
} trials;

static void measure(const tristar_factor_t *factor, tristar_op op, const void *x, void *y, trials *t) {
  const tristar_analysis_t *an = factor->analysis;
  const char scalar = (char)an->pattern->scalar;
  double part[2];
  for (tsi_index k = 0; k < an->schur_count; k++)
    tsi_scalar_write(scalar, y, (size_t)an->schur[k], (const double[]){0, 0});
  for (tsi_index i = 0; i < an->pattern->n; i++) {
    const double unit = unit_of(factor, op, i);
    tsi_scalar_read(scalar, x, (size_t)i, part);
    t->of_x = tsi_larger(t->of_x, hypot(part[0] + known_x(factor, op, i), part[1]) / unit);
    tsi_scalar_read(scalar, y, (size_t)i, part);
    t->of_y = tsi_larger(t->of_y, hypot(part[0], part[1]) / unit);
  }
}

/* Solves op(A) x = b for a known x, with given x_S. */
static tristar_status try_solve(tristar_plan_t *plan, tristar_op op, trials *t) {
  const tristar_factor_t *factor = plan->factor;
  const tristar_analysis_t *an = factor->analysis;
  tsi_env *env = &factor->ts->env;
  const char scalar = (char)an->pattern->scalar;
  const int64_t n = an->pattern->n;
  double found;
  TSI_OWNED char *x = NULL, *b = NULL, *y = NULL, *x_s = NULL, *g = NULL;
  TSI_TRY(TSI_ALLOC_SIZED(env, x, (size_t)n, factor->user_bytes));
  TSI_TRY(TSI_ALLOC_SIZED(env, b, (size_t)n, factor->user_bytes));
  TSI_TRY(TSI_ALLOC_SIZED(env, y, (size_t)n, factor->user_bytes));
  TSI_TRY(TSI_ALLOC_SIZED(env, x_s, (size_t)an->schur_count, factor->user_bytes));
  TSI_TRY(TSI_ALLOC_SIZED(env, g, (size_t)an->schur_count, factor->user_bytes));
  memset(b, 0, (size_t)n * factor->user_bytes);
  for (tsi_index i = 0; i < n; i++)
    tsi_scalar_write(scalar, x, (size_t)i, (const double[]){known_x(factor, op, i), 0});
  TSI_TRY(tristar_residual(factor, op, 1, b, n, x, n, b, n, &found)); /* b = -op(A) x */
  for (tsi_index k = 0; k < an->schur_count; k++) {
    double part[2];
    tsi_scalar_read(scalar, x, (size_t)an->schur[k], part);
    part[0] = -part[0];
    tsi_scalar_write(scalar, x_s, (size_t)k, part);
  }
  TSI_TRY(tristar_schur_condense(plan, op, 1, b, n, y, n, g, an->schur_count));
  TSI_TRY(tristar_schur_expand(plan, op, 1, y, n, x_s, an->schur_count, x, n));
  TSI_TRY(tristar_residual(factor, op, 1, b, n, x, n, NULL, n, &found));
  t->error = tsi_larger(t->error, found);
  measure(factor, op, x, y, t);
  return TRISTAR_OK;
}

/* Do perturbed pivots of a regular A_II change solutions? */
static bool spoils(const tristar_factor_t *factor, const trials *t, double epsilon) {
  return factor->stats.perturbed_pivots > 0 && !factor->stats.singular && !(t->of_x <= pow(epsilon, 0.25));
}

/* Does an A_II with small pivots make solutions inaccurate? If A_II is regular, x is known. If it is
 * singular, x contains null vectors, which are large if rounding errors made them. The solution for b_I is
 * large, too, if A_IS has a component outside of the range of A_II; then there is no complement. */
static tristar_status judge_trials(const tristar_factor_t *factor, const trials *t, double epsilon) {
  const tristar_factor_stats *stats = &factor->stats;
  const tsi_env *env = &factor->ts->env;
  if (stats->singular && !(fmax(t->of_x, t->of_y) <= pow(epsilon, -0.25)))
    TSI_FAIL(env, TRISTAR_ERR_ACCURACY,
             "the Schur complement would not be accurate, or there is none: the rows that are eliminated are "
             "singular, and a trial solution is larger than expected, by a factor of %.1e",
             fmax(t->of_x, t->of_y));
  if (spoils(factor, t, epsilon) || !(stats->solve_error <= pow(epsilon, 1.0 / 3)))
    TSI_FAIL(
        env, TRISTAR_ERR_ACCURACY,
        "the Schur complement would not be accurate: a trial solve with the rows that are eliminated has "
        "the backward error %.1e, and its solution the error %.1e; analyze these values, or with another "
        "matching",
        stats->solve_error, t->of_x);
  return TRISTAR_OK;
}

/* ---- Verdict ------------------------------------------------------------------------------------------- */

static tristar_status fail_singular(const tristar_factor_t *factor) {
  TSI_FAIL(&factor->ts->env, TRISTAR_ERR_SINGULAR,
           "the rows that are eliminated are singular to working precision: estimated reciprocal condition "
           "%.1e",
           factor->stats.reciprocal_condition);
}

tristar_status tsi_schur_judge(tristar_factor_t *factor, bool may_refine) {
  const tristar_analysis_t *an = factor->analysis;
  tristar_factor_stats *stats = &factor->stats;
  tsi_env *env = &factor->ts->env;
  TSI_CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NULL;
  trials t = {.error = 0};
  const bool refuse = an->options.singular == TRISTAR_SINGULAR_REFUSE;
  const double epsilon = tsi_sparse_kernels_select(an->factor_scalar)->epsilon;
  if (stats->judged || stats->schur_refined) return TRISTAR_OK; /* was judged before */
  if (stats->perturbed_pivots > 0 && refuse && !may_refine)
    TSI_FAIL(env, TRISTAR_ERR_SINGULAR,
             "%lld pivots of the rows that are eliminated are smaller than rounding errors, next to row %d "
             "(counted from 0): these rows are singular, or need %s",
             (long long)stats->perturbed_pivots, factor->weakest_row,
             an->stats.matched ? "other pivots" : "a matching (MATCHING_ON)");
  if (!tsi_judge_is_needed(factor)) return TRISTAR_OK;
  TSI_TRY(tristar_plan(factor, NULL, &plan));
  if (tsi_judge_suspects(factor)) TSI_TRY(tsi_schur_measure(plan));
  if (stats->singular && refuse) return fail_singular(factor);
  if (stats->perturbed_pivots > 0 && refuse) return tsi_schur_refine(plan);
  TSI_TRY(try_solve(plan, TRISTAR_N, &t));
  if (tsi_analysis_is_lu(an)) TSI_TRY(try_solve(plan, TRISTAR_T, &t));
  stats->solve_error = tsi_larger(stats->solve_error, t.error);
  stats->judged = 1;
  if (may_refine && spoils(factor, &t, epsilon)) return tsi_schur_refine(plan);
  TSI_TRY(judge_trials(factor, &t, epsilon));
  if (stats->singular)
    tsi_log(env, TRISTAR_LOG_WARNING,
            "factor: the rows that are eliminated are singular to working precision: estimated reciprocal "
            "condition %.1e",
            stats->reciprocal_condition);
  else if (stats->perturbed_pivots > 0 || tsi_factor_loses_digits(factor))
    tsi_log(env, TRISTAR_LOG_WARNING,
            "factor: the Schur complement may be inaccurate: %lld pivots were perturbed, a trial solve has "
            "the backward error %.1e",
            (long long)stats->perturbed_pivots, stats->solve_error);
  else
    return tsi_schur_judge_small_rows(plan);
  return TRISTAR_OK;
}
