/* Verdict on the rows that are eliminated before a Schur complement: tsi_schur_judge (judge.h).
 *
 * All that is computed with the factor relies on A_II alone. So the system whose condition is estimated is
 *
 *   [ A_II    ]
 *   [      D  ]     with the diagonal D that the scaling brings to one.
 *
 * Reads   a factor with a Schur complement.   Writes  its stats. */
#include <math.h>

#include "runtime/base/scalars.h"
#include "runtime/factor/scaling.h"
#include "runtime/iterate/refine/judge.h"
#include "runtime/iterate/refine/system_plan.h"
#include "tristar_schur.h"

static double scale_of(const double *scale, tsi_index i) {
  return scale ? scale[i] : 1;
}

/* ---- Trial solves -------------------------------------------------------------------------------------- */

static double unit_of(const tristar_factor_t *factor, tristar_op op, tsi_index i) {
  return scale_of(op == TRISTAR_N ? factor->col_scale : factor->row_scale, i);
}

/* Entry i of an x, in units that the scaling suggests. */
static double known_x(const tristar_factor_t *factor, tristar_op op, tsi_index i) {
  return (fmod(i * 0.6180339887498949, 1) - 0.5) * unit_of(factor, op, i);
}

/* The largest of the trial solves. */
typedef struct trials {
  double error;      /* backward error */
  double of_x, of_y; /* error of x, size of op(A_II)^-1 b_I, in units that the scaling suggests */
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

/* Solves op(A) x = b for an x that is known, with x_S given. */
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

/* Does an A_II with small pivots spoil solutions? The x of a regular A_II is known. That of a singular one
 * has null vectors: they are large if rounding errors made them, and so is the solution for b_I if A_IS has a
 * part outside of the range of A_II, so that there is no complement. */
static tristar_status judge_trials(const tristar_factor_t *factor, const trials *t, double epsilon) {
  const tristar_factor_stats *stats = &factor->stats;
  const tsi_env *env = &factor->ts->env;
  const bool spoils = stats->perturbed_pivots > 0 && !stats->singular && !(t->of_x <= pow(epsilon, 0.25));
  if (stats->singular && !(fmax(t->of_x, t->of_y) <= pow(epsilon, -0.25)))
    TSI_FAIL(env, TRISTAR_ERR_ACCURACY,
             "the Schur complement would not be accurate, or there is none: the rows that are eliminated are "
             "singular, and a trial solution is larger than expected, by a factor of %.1e",
             fmax(t->of_x, t->of_y));
  if (spoils || !(stats->solve_error <= pow(epsilon, 1.0 / 3)))
    TSI_FAIL(
        env, TRISTAR_ERR_ACCURACY,
        "the Schur complement would not be accurate: a trial solve with the rows that are eliminated has "
        "the backward error %.1e, and its solution the error %.1e; analyze these values, or with another "
        "matching",
        stats->solve_error, t->of_x);
  return TRISTAR_OK;
}

/* ---- The condition of A_II ----------------------------------------------------------------------------- */

/* The system of A_II and D. */
typedef struct eliminated {
  tristar_plan_t *plan;
  bool *stays; /* n: is the row one of S? */
  double *d;   /* schur_count: the entries of D */
  /* Lines as those of the pattern. */
  tsi_count *ptr;
  tsi_index *index;
  char *values;
} eliminated;

static void finish(eliminated *e) {
  tsi_release(tsi_take(&e->stays));
  tsi_release(tsi_take(&e->d));
  tsi_release(tsi_take(&e->ptr));
  tsi_release(tsi_take(&e->index));
  tsi_release(tsi_take(&e->values));
}

/* Within the range of numbers. */
static double find_d(const tristar_factor_t *factor, tsi_index row) {
  const double most = tsi_scalar_is_single((char)factor->analysis->pattern->scalar) ? 0x1p120 : 0x1p1000;
  const double d = tsi_scaled(1, 1 / scale_of(factor->row_scale, row), 1 / scale_of(factor->col_scale, row));
  return fmin(fmax(d, 1 / most), most);
}

static void fill_lines(const tristar_factor_t *factor, eliminated *e) {
  const tsi_pattern *pattern = factor->analysis->pattern;
  const size_t bytes = factor->user_bytes;
  tsi_count at = 0;
  for (tsi_index j = 0; j < pattern->n; j++) {
    e->ptr[j] = at;
    for (tsi_count p = pattern->ptr[j]; p < pattern->ptr[j + 1] && !e->stays[j]; p++) {
      if (e->stays[pattern->index[p]]) continue;
      memcpy(e->values + (size_t)at * bytes, (const char *)factor->values + (size_t)p * bytes, bytes);
      e->index[at++] = pattern->index[p];
    }
    if (!e->stays[j]) continue;
    tsi_scalar_write((char)pattern->scalar, e->values, (size_t)at, (const double[]){find_d(factor, j), 0});
    e->index[at++] = j;
  }
  e->ptr[pattern->n] = at;
}

static tristar_status begin(tristar_plan_t *plan, eliminated *e) {
  const tristar_factor_t *factor = plan->factor;
  const tristar_analysis_t *an = factor->analysis;
  const tsi_count n = an->pattern->n, entries = an->pattern->ptr[n] + an->schur_count;
  tsi_env *env = &factor->ts->env;
  e->plan = plan;
  TSI_TRY(TSI_ALLOC_ZERO(env, e->stays, n));
  TSI_TRY(TSI_ALLOC(env, e->d, an->schur_count));
  TSI_TRY(TSI_ALLOC(env, e->ptr, n + 1));
  TSI_TRY(TSI_ALLOC(env, e->index, entries));
  TSI_TRY(TSI_ALLOC_SIZED(env, e->values, entries, factor->user_bytes));
  for (tsi_index k = 0; k < an->schur_count; k++) {
    e->stays[an->schur[k]] = true;
    e->d[k] = find_d(factor, an->schur[k]);
  }
  fill_lines(factor, e);
  return TRISTAR_OK;
}

/* x_I = op(A_II)^-1 b_I: with x_S = 0. x_S = D^-1 b_S afterwards. x may be b. */
static tristar_status solve(void *context, tristar_op op, int64_t nrhs, const void *b, int64_t ldb, void *x,
                            int64_t ldx) {
  const eliminated *e = context;
  const tristar_factor_t *factor = e->plan->factor;
  const tristar_analysis_t *an = factor->analysis;
  const char scalar = (char)an->pattern->scalar;
  const int64_t count = an->schur_count;
  tsi_env *env = &factor->ts->env;
  TSI_OWNED char *g = NULL, *zero = NULL, *x_s = NULL;
  TSI_TRY(TSI_ALLOC_SIZED(env, g, (size_t)(count * nrhs), factor->user_bytes));
  TSI_TRY(TSI_ALLOC_SIZED(env, x_s, (size_t)(count * nrhs), factor->user_bytes));
  TSI_TRY(TSI_ALLOC_SIZED_ZERO(env, zero, (size_t)(count * nrhs), factor->user_bytes));
  for (int64_t k = 0; k < count * nrhs; k++) {
    double part[2];
    tsi_scalar_read(scalar, b, (size_t)(k / count * ldb + an->schur[k % count]), part);
    for (int i = 0; i < 2; i++) part[i] /= e->d[k % count];
    tsi_scalar_write(scalar, x_s, (size_t)k, part);
  }
  TSI_TRY(tristar_schur_condense(e->plan, op, nrhs, b, ldb, x, ldx, g, count));
  TSI_TRY(tristar_schur_expand(e->plan, op, nrhs, x, ldx, zero, count, x, ldx));
  for (int64_t k = 0; k < count * nrhs; k++) {
    double part[2];
    tsi_scalar_read(scalar, x_s, (size_t)k, part);
    tsi_scalar_write(scalar, x, (size_t)(k / count * ldx + an->schur[k % count]), part);
  }
  return TRISTAR_OK;
}

/* Sets stats.reciprocal_condition and stats.singular to those of A_II. */
static tristar_status estimate_condition(tristar_plan_t *plan) {
  tristar_factor_t *factor = plan->factor;
  TSI_CLEANUP(finish) eliminated e = {.plan = NULL};
  tsi_system_functions functions;
  tsi_plan_system s;
  TSI_TRY(begin(plan, &e));
  TSI_TRY(tsi_plan_system_create(plan, &s));
  functions = *s.system.functions;
  functions.solve = solve;
  s.system.a.ptr = e.ptr;
  s.system.a.index = e.index;
  s.system.a.values = e.values;
  s.system.functions = &functions;
  s.system.context = &e;
  s.system.kept = NULL;
  return tsi_judge_measure(&s.system, factor);
}

/* ---- Verdict ------------------------------------------------------------------------------------------- */

static tristar_status fail_singular(const tristar_factor_t *factor) {
  TSI_FAIL(&factor->ts->env, TRISTAR_ERR_SINGULAR,
           "the rows that are eliminated are singular to working precision: estimated reciprocal condition "
           "%.1e",
           factor->stats.reciprocal_condition);
}

tristar_status tsi_schur_judge(tristar_factor_t *factor) {
  const tristar_analysis_t *an = factor->analysis;
  tristar_factor_stats *stats = &factor->stats;
  tsi_env *env = &factor->ts->env;
  TSI_CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NULL;
  trials t = {.error = 0};
  const bool refuse = an->options.singular == TRISTAR_SINGULAR_REFUSE;
  const double epsilon = tsi_sparse_kernels_select(an->factor_scalar)->epsilon;
  if (stats->perturbed_pivots > 0 && refuse)
    TSI_FAIL(env, TRISTAR_ERR_SINGULAR,
             "%lld pivots of the rows that are eliminated are smaller than rounding errors, next to row %d "
             "(counted from 0): these rows are singular, or need %s",
             (long long)stats->perturbed_pivots, factor->weakest_row,
             an->stats.matched
                 ? "perturbed pivots (SINGULAR_PERTURB) or refined solves (tristar_dmatrix_schur)"
                 : "a matching (MATCHING_ON)");
  if (!tsi_judge_is_needed(factor)) return TRISTAR_OK;
  TSI_TRY(tristar_plan(factor, NULL, &plan));
  if (tsi_judge_suspects(factor)) TSI_TRY(estimate_condition(plan));
  if (stats->singular && refuse) return fail_singular(factor);
  TSI_TRY(try_solve(plan, TRISTAR_N, &t));
  if (tsi_analysis_is_lu(an)) TSI_TRY(try_solve(plan, TRISTAR_T, &t));
  stats->solve_error = tsi_larger(stats->solve_error, t.error);
  stats->judged = 1;
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
  return TRISTAR_OK;
}
