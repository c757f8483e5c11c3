/* Iterative refinement of one solution: see refinement.h. */
#include "runtime/iterate/refine/refinement.h"

#include <math.h>
#include <stdlib.h>

#include "runtime/iterate/refine/condition.h"
#include "runtime/iterate/refine/fgmres.h"
#include "runtime/base/options.h"

void tristar_refine_options_init_sized(tristar_refine_options *options, size_t size) {
  const tristar_refine_options defaults = {.max_steps = 5, .max_iterations = TSI_FGMRES_ITERATIONS};
  tsi_options_init(options, size, &defaults, sizeof defaults);
}

/* The margin on one process. On many it is 0, which needs no messages. */
static int margin_of(const tsi_system *system, tristar_op op) {
  const double *weight = system->range[op == TRISTAR_N ? 1 : 0];
  double largest = 0;
  for (tsi_index i = 0; weight && system->team->members == 1 && i < system->n; i++)
    if (fabs(weight[i]) > largest) largest = fabs(weight[i]);
  return largest > 0x1p900 ? 100 : 0;
}

/* The largest ratio of two entries of a scaling. */
static double spread_of(const tsi_system *system, const double *scale) {
  double largest = 0, reciprocal = 0; /* of the smallest entry */
  for (tsi_index i = 0; scale && i < system->n; i++) {
    const double size = fabs(scale[i]);
    if (size > largest) largest = size;
    if (1 / size > reciprocal) reciprocal = 1 / size;
  }
  largest = tsi_team_largest(system->team, largest);
  return fmax(1, largest * tsi_team_largest(system->team, reciprocal));
}

/* The spread of scalings beyond which units differ widely. */
static double far_units(const tsi_system *system) {
  return pow(system->kernels->epsilon, -0.4);
}

#define EVEN 4 /* largest exponent of sums that are near enough to one */

/* Does the scaling of the factors suit these values, with units that do not differ widely? sum: n of
 * scratch. */
static tristar_status is_even(const tsi_system *system, double *sum, bool *even) {
  const double *scale[] = {system->row_scale, system->col_scale};
  *even = !(fmax(spread_of(system, scale[0]), spread_of(system, scale[1])) > far_units(system));
  for (int k = 0; k < 2 && *even; k++) {
    bool uneven = false;
    TSI_TRY(tsi_system_weigh(system, k == 0 ? TRISTAR_N : TRISTAR_T, scale[1 - k], sum));
    for (tsi_index i = 0; i < system->n; i++) {
      const double size = sum[i] * (scale[k] ? scale[k][i] : 1);
      uneven = uneven || (size != 0 && abs(ilogb(size)) > EVEN);
    }
    *even = !tsi_team_any(system->team, uneven);
  }
  return TRISTAR_OK;
}

/* The scaling of the factors depends on the matching. It may give a block of a singular matrix any size
 * relative to the other blocks. So sizes of x and b are compared in a scaling that depends only on the values
 * without their units. */
static tristar_status make_even(const tsi_system *system, tsi_refinement *r) {
  const tsi_index n = system->n;
  TSI_OWNED double *sum = NULL;
  bool even;
  if (!system->singular) return TRISTAR_OK;
  TSI_TRY(tsi_team_agree(system->team, TSI_ALLOC(system->env, sum, 2 * (tsi_count)n)));
  TSI_TRY(is_even(system, sum, &even));
  if (even) return TRISTAR_OK;
  TSI_TRY(tsi_team_agree(system->team, TSI_ALLOC(system->env, r->scales, 2 * (tsi_count)n)));
  r->even = *system;
  r->even.row_scale = r->scales;
  r->even.col_scale = r->scales + n;
  r->system = &r->even;
  TSI_TRY(tsi_system_bring_together(system, r->scales, r->scales + n));
  return tsi_equilibrate(system, r->scales, r->scales + n, sum);
}

void tsi_refinement_begin_solves(const tsi_system *system, tristar_op op, tsi_refinement *r) {
  r->system = system;
  r->kernels = system->kernels;
  r->op = op;
  r->range = system->range[op == TRISTAR_N ? 0 : 1];
  r->margin = margin_of(system, op);
}

tristar_status tsi_refinement_begin(const tsi_system *system, tristar_op op, tsi_refinement *r) {
  tsi_env *env = system->env;
  const size_t column = (size_t)system->n * system->kernels->scalar_bytes;
  tsi_refinement_begin_solves(system, op, r);
  TSI_TRY(make_even(system, r));
  system = r->system;
  r->row_scale = tsi_system_row_scale(system, op);
  r->spread = spread_of(system, r->row_scale);
  r->uneven = fmax(r->spread, spread_of(system, tsi_system_column_weight(system, op))) > far_units(system);
  TSI_TRY(tsi_residual_begin(system, op, &r->residual));
  tristar_status status = TSI_ALLOC(env, r->correction, column);
  if (status == TRISTAR_OK) status = TSI_ALLOC(env, r->best, column);
  if (status == TRISTAR_OK) status = TSI_ALLOC(env, r->trial, column);
  if (status == TRISTAR_OK && system->singular) status = TSI_ALLOC_ZERO(env, r->projection, 2);
  return tsi_team_agree(system->team, status);
}

void tsi_refinement_finish(tsi_refinement *r) {
  if (r->system == NULL) return;
  tsi_env *env = r->system->env;
  tsi_residual_finish(&r->residual);
  for (int k = 0; k < 2 && r->projection; k++) tsi_projection_finish(&r->projection[k]);
  TSI_FREE(env, r->projection);
  TSI_FREE(env, r->scales);
  TSI_FREE(env, r->correction);
  TSI_FREE(env, r->best);
  TSI_FREE(env, r->trial);
}

/* Spans of scaled entries of b, as powers of two: the limit of single numbers, and the span of a part if b
 * exceeds the limit. */
enum { SPAN_MOST = 100, SPAN = 60 };

static bool spans_too_much(const tsi_refinement *r, const void *b) {
  if (!r->system->wide) return false;
  const double smallest =
      -tsi_team_largest(r->system->team, -r->kernels->smallest_scaled(r->system->n, b, r->range));
  return smallest < ldexp(tsi_scaled_size(r, b, r->range), -SPAN_MOST);
}

/* x = the sum of the solutions for parts of b; b may be x. */
static tristar_status solve_in_parts(const tsi_refinement *r, void *b, void *x) {
  const tsi_system *system = r->system;
  const tsi_index n = system->n;
  const size_t bytes = (size_t)n * r->kernels->scalar_bytes;
  TSI_OWNED char *part = NULL;
  TSI_TRY(tsi_team_agree(system->team, TSI_ALLOC_SIZED(system->env, part, 2, bytes)));
  char *rest = part + bytes;
  memcpy(rest, b, bytes);
  memset(x, 0, bytes);
  for (double largest = tsi_scaled_size(r, rest, r->range); !(largest <= 0);
       largest = tsi_scaled_size(r, rest, r->range)) {
    const int exponent = tsi_exponent_of(largest);
    r->kernels->take_large(n, rest, r->range, fmin(largest, ldexp(1.0, exponent - SPAN)), part);
    r->kernels->multiply(n, part, ldexp(1.0, -exponent));
    TSI_TRY(system->functions->solve(system->context, r->op, 1, part, n, part, n));
    r->kernels->multiply(n, part, ldexp(1.0, exponent));
    r->kernels->add(n, x, part);
  }
  return TRISTAR_OK;
}

/* Largest number of columns of one solve. */
#define TOGETHER 64

tristar_status tsi_solve_in_range(const tsi_refinement *r, int64_t nrhs, void *b, void *x) {
  const tsi_system *system = r->system;
  const tsi_index n = system->n;
  const size_t column = (size_t)n * r->kernels->scalar_bytes;
  int exponent[TOGETHER];
  for (int64_t first = 0; first < nrhs; first += TOGETHER) {
    const int64_t count = nrhs - first < TOGETHER ? nrhs - first : TOGETHER;
    char *of_b = (char *)b + (size_t)first * column, *of_x = (char *)x + (size_t)first * column;
    bool parts = false;
    for (int64_t c = 0; c < count && !parts; c++) parts = spans_too_much(r, of_b + (size_t)c * column);
    for (int64_t c = 0; c < count && parts; c++)
      TSI_TRY(solve_in_parts(r, of_b + (size_t)c * column, of_x + (size_t)c * column));
    if (parts) continue;
    for (int64_t c = 0; c < count; c++) {
      exponent[c] = tsi_exponent_of(tsi_scaled_size(r, of_b + (size_t)c * column, r->range)) + r->margin;
      if (exponent[c] != 0) r->kernels->multiply(n, of_b + (size_t)c * column, ldexp(1.0, -exponent[c]));
    }
    TSI_TRY(system->functions->solve(system->context, r->op, count, of_b, n, of_x, n));
    for (int64_t c = 0; c < count; c++)
      if (exponent[c] != 0) r->kernels->multiply(n, of_x + (size_t)c * column, ldexp(1.0, exponent[c]));
  }
  return TRISTAR_OK;
}

/* The distance of x from the solution. */
typedef struct progress {
  double error; /* backward error */
  double size;  /* largest residual in the row scaling; NaN unless the error is saturated */
} progress;

#define SATURATED 0.5

/* The refinement of a column. */
typedef struct course {
  const tsi_refinement *r;
  const void *b;
  void *x;
  const tristar_refine_options *options;
  double tolerance;
  bool leave;       /* leave solved rows out of corrections */
  double saturated; /* errors above this one do not show the distance of x from the solution */
  progress best;
  tristar_refine_result *result;
} course;

/* The backward error above which FGMRES continues after corrections stagnate. */
static double aim(const course *c) {
  return fmax(c->tolerance, 50 * c->r->kernels->epsilon);
}

/* Computes the residual of x, for the rows to be corrected. */
static tristar_status look(const course *c, progress *now) {
  const tsi_refinement *r = c->r;
  *now = (progress){NAN, NAN};
  TSI_TRY(tsi_residual_find(&r->residual, c->b, c->x, &now->error));
  if (c->leave && now->error > aim(c)) TSI_TRY(tsi_residual_leave_solved(&r->residual, c->b, c->x, aim(c)));
  if (now->error > c->saturated) now->size = tsi_scaled_size(r, r->residual.vector, r->row_scale);
  return r->system->team->failure;
}

/* Is x nearer to the solution than before, by this factor at least? */
static bool is_nearer(const course *c, const progress *now, const progress *before, double factor) {
  if (now->error > c->saturated && before->error > c->saturated) return now->size < factor * before->size;
  return now->error < factor * before->error;
}

/* x += correction if this brings x nearer. *now: after the correction. Afterwards residual and bound belong
 * to x. */
static tristar_status improve(course *c, progress *now) {
  const tsi_refinement *r = c->r;
  const size_t bytes = (size_t)r->system->n * r->kernels->scalar_bytes;
  memcpy(r->best, c->x, bytes);
  r->kernels->add(r->system->n, c->x, r->correction);
  TSI_TRY(look(c, now));
  if (is_nearer(c, now, &c->best, 1))
    c->best = *now;
  else { /* farther away, or NaN: keep the best x */
    memcpy(c->x, r->best, bytes);
    TSI_TRY(look(c, &c->best));
  }
  return TRISTAR_OK;
}

/* Adds a point to the history, if there is one. */
static void note(const course *c, int steps, int iterations, double error) {
  tristar_refine_result *result = c->result;
  if (c->options->history == NULL) return;
  if (result->history_count < c->options->history_most)
    c->options->history[result->history_count] =
        (tristar_refine_point){c->r->column, steps, iterations, error};
  result->history_count++;
}

/* Corrections until the error is small enough or stagnates. */
static tristar_status correct(course *c) {
  const tsi_refinement *r = c->r;
  tristar_refine_result *result = c->result;
  progress now;
  result->stop = TRISTAR_STOP_LIMIT;
  while (c->best.error > c->tolerance && result->steps < c->options->max_steps) {
    const progress before = c->best;
    result->stop = TRISTAR_STOP_STAGNATED;
    TSI_TRY(tsi_solve_in_range(r, 1, r->residual.vector, r->correction));
    TSI_TRY(improve(c, &now));
    note(c, result->steps + 1, 0, now.error);
    if (!is_nearer(c, &now, &before, 1)) break;
    result->steps++;
    if (!is_nearer(c, &c->best, &before, 0.9)) break;
    result->stop = TRISTAR_STOP_LIMIT;
  }
  return TRISTAR_OK;
}

/* The argument of is_enough. */
typedef struct judgement {
  const course *c;
  tristar_status status;
} judgement;

/* Is x + d good enough? d is the correction of FGMRES after these iterations since its start. The residual is
 * free while FGMRES runs. */
static bool is_enough(void *arg, int iterations, const void *d) {
  judgement *j = arg;
  const course *c = j->c;
  const tsi_refinement *r = c->r;
  double error;
  memcpy(r->trial, c->x, (size_t)r->system->n * r->kernels->scalar_bytes);
  r->kernels->add(r->system->n, r->trial, d);
  j->status = tsi_residual_find(&r->residual, c->b, r->trial, &error);
  if (j->status != TRISTAR_OK) return true;
  note(c, c->result->steps, c->result->iterations + iterations, error);
  return error <= c->tolerance;
}

/* The backward error falls about as fast as the norm of the residual; at most by this factor faster. */
#define AHEAD 10

/* Runs FGMRES, restarted while it halves the error. One restart may fail to do so: while solving some rows,
 * it may spoil others, which the next restart corrects. */
static tristar_status iterate(course *c) {
  tristar_status status = TRISTAR_OK;
  const tsi_refinement *r = c->r;
  const size_t bytes = (size_t)r->system->n * r->kernels->scalar_bytes;
  tristar_refine_result *result = c->result;
  judgement all = {c, TRISTAR_OK};
  progress now = c->best;
  int failed = 0;
  memcpy(r->best, c->x, bytes);
  while (c->best.error > c->tolerance && result->iterations < c->options->max_iterations && failed < 2) {
    const progress before = now;
    const int left = c->options->max_iterations - result->iterations;
    const tsi_fgmres_judge judge = {is_enough, &all, AHEAD * c->tolerance / before.error,
                                    c->options->history != NULL};
    int made = 0;
    TSI_TRY_OUT(tsi_fgmres(r->system, r->op, r->residual.vector, r->correction, left, &judge, &made));
    TSI_TRY_OUT(all.status);
    result->iterations += made;
    result->stop = made < left ? TRISTAR_STOP_STAGNATED : TRISTAR_STOP_LIMIT;
    if (made == 0) break;
    r->kernels->add(r->system->n, c->x, r->correction);
    TSI_TRY_OUT(look(c, &now));
    if (isnan(now.error)) break;
    failed = is_nearer(c, &now, &before, 0.5) ? failed : failed + 1;
    if (!is_nearer(c, &now, &c->best, 1)) continue;
    failed = is_nearer(c, &now, &c->best, 0.5) ? 0 : failed;
    c->best = now;
    memcpy(r->best, c->x, bytes);
  }
out:
  memcpy(c->x, r->best, bytes);
  return status;
}

#define SPANS 0.75 /* exponent of eps: smallest entry of b relative to the largest */

/* Do nonzero entries of b differ so much that rows of small entries may count as solved? */
static bool differ_widely(const tsi_refinement *r, const void *b) {
  const tsi_sparse_kernels *kernels = r->kernels;
  const double largest = tsi_scaled_size(r, b, r->row_scale),
               smallest = -tsi_team_largest(r->system->team,
                                            -kernels->smallest_scaled(r->system->n, b, r->row_scale));
  return smallest < pow(kernels->epsilon, SPANS) * largest;
}

/* max_i |s_i bound_i| with the scaling s of the rows. */
static double scaled_bound(const tsi_refinement *r) {
  double largest = 0;
  for (tsi_index i = 0; i < r->system->n; i++) {
    const double size = r->residual.bound[i] * (r->row_scale ? fabs(r->row_scale[i]) : 1);
    largest = tsi_larger(largest, size);
  }
  return tsi_team_largest(r->system->team, largest);
}

/* Are terms of A x so much larger than b that scaled A looks nearly singular, although x solves all rows that
 * count? Then the scaling may not suit the values. */
static bool looks_nearly_singular(const course *c, double error) {
  const tsi_refinement *r = c->r;
  return error <= aim(c) &&
         !(scaled_bound(r) * cbrt(r->kernels->epsilon) <= tsi_scaled_size(r, c->b, r->row_scale));
}

/* A row whose terms are smaller than the rounding errors of the largest unknowns counts as solved. Such a row
 * counts like any other if units differ widely, or entries of b do, or A only looks nearly singular. Then
 * corrections continue until these rows are solved as well, or no longer improve. *error: the backward error
 * of x. */
static tristar_status settle(const course *c, double *error) {
  tsi_refinement strict = *c->r;
  const tsi_system *system = strict.system;
  const size_t bytes = (size_t)system->n * strict.kernels->scalar_bytes;
  const tristar_refine_options options = {.max_steps = c->options->max_steps,
                                          .max_iterations = c->options->max_iterations};
  course s = *c;
  TSI_OWNED char *kept = NULL;
  if (!strict.uneven && !looks_nearly_singular(c, *error) && !differ_widely(c->r, c->b))
    return c->r->system->team->failure;
  strict.residual.strict = true;
  TSI_TRY(tsi_residual_error(&strict.residual, c->b, c->x, &s.best.error));
  if (!(s.best.error > tsi_acceptable_error(strict.kernels->epsilon))) return TRISTAR_OK;
  TSI_TRY(tsi_team_agree(system->team, TSI_ALLOC(system->env, kept, bytes)));
  memcpy(kept, c->x, bytes);
  s.r = &strict;
  s.options = &options;
  s.leave = true;
  s.saturated = sqrt(strict.kernels->epsilon);
  TSI_TRY(look(&s, &s.best));
  TSI_TRY(correct(&s));
  if (s.best.error > aim(&s)) TSI_TRY(iterate(&s));
  double now;
  TSI_TRY(tsi_residual_find(&c->r->residual, c->b, c->x, &now));
  if (now <= fmax(*error, aim(c))) {
    *error = now;
    return TRISTAR_OK;
  }
  memcpy(c->x, kept, bytes);
  return tsi_residual_find(&c->r->residual, c->b, c->x, error);
}

static void keep_largest(double *largest, double value) {
  *largest = tsi_larger(*largest, value);
}

/* The user's number of the row at local index i < n; the smallest of all members. -1: there is none. */
static int64_t find_row(const tsi_refinement *r, bool of_x, tsi_index i) {
  const tsi_system *system = r->system;
  double row = INFINITY;
  if (i < system->n) row = (double)tsi_system_user_row(system, r->op, of_x, i);
  row = -tsi_team_largest(system->team, -row);
  return isfinite(row) ? (int64_t)row : -1;
}

/* Names the numbers that have left the range, after the backward error is not finite. */
static tristar_status fail_not_finite(const tsi_refinement *r, const void *b, const void *x) {
  tsi_env *env = r->system->env;
  const tsi_index n = r->system->n;
  tsi_index place = 0;
  while (place < n && isfinite(r->residual.bound[place])) place++;
  const int64_t of_b = find_row(r, false, (tsi_index)r->kernels->first_not_finite(n, b));
  const int64_t of_x = find_row(r, true, (tsi_index)r->kernels->first_not_finite(n, x));
  const int64_t of_sum = find_row(r, false, place);
  TSI_TRY(r->system->team->failure);
  if (of_b >= 0)
    TSI_FAIL(env, TRISTAR_ERR_NOT_FINITE, "b has NaN or infinity in row %lld, column %lld (counted from 0)",
             (long long)of_b, (long long)r->column);
  if (of_x >= 0)
    TSI_FAIL(env, TRISTAR_ERR_NOT_FINITE,
             "row %lld of x, column %lld (counted from 0), is beyond the range of numbers", (long long)of_x,
             (long long)r->column);
  if (of_sum < 0)
    TSI_FAIL(env, TRISTAR_ERR_NOT_FINITE,
             "the backward error of column %lld of x (counted from 0) is beyond the range of numbers",
             (long long)r->column);
  TSI_FAIL(env, TRISTAR_ERR_NOT_FINITE,
           "what is added up in row %lld of A x, column %lld of x (counted from 0), is beyond the range of "
           "numbers",
           (long long)of_sum, (long long)r->column);
}

/* The residual of x in the row scaling, relative to b, up to rounding errors of sqrt(eps). If terms of A x
 * are much larger than b, the residual consists of rounding errors, or is zero, for any x. Then it is
 * computed with more digits, and is at least the rounding errors of these. */
static tristar_status measure_residual(const tsi_refinement *r, const void *b, const void *x,
                                       double *residual) {
  const tsi_sparse_kernels *kernels = r->kernels;
  const double size = tsi_scaled_size(r, b, r->row_scale), bound = scaled_bound(r);
  *residual = 0;
  if (size <= 0) return r->system->team->failure;
  const double spread = r->system->singular ? r->spread : 1; /* tsi_refine_singular tests all rows */
  const bool hidden = !(kernels->epsilon * bound * spread <= sqrt(kernels->epsilon) * size);
  if (hidden) TSI_TRY(tsi_system_precise_residual(r->system, r->op, b, x, r->residual.vector));
  *residual = tsi_scaled_size(r, r->residual.vector, r->row_scale) / size;
  if (hidden) *residual = fmax(*residual, kernels->wider_epsilon * bound / size);
  return r->system->team->failure;
}

tristar_status tsi_refine(const tsi_refinement *r, const void *b, void *x,
                          const tristar_refine_options *options, tristar_refine_result *result) {
  tristar_refine_result own = {.history_count = result->history_count};
  course c = {.r = r, .b = b, .x = x, .options = options, .saturated = SATURATED, .result = &own};
  double residual = 0;
  c.tolerance = options->tolerance > 0 ? options->tolerance : 2 * r->kernels->epsilon;
  TSI_TRY(look(&c, &c.best));
  if (!isfinite(c.best.error)) TSI_TRY(fail_not_finite(r, b, x));
  own.initial_backward_error = c.best.error;
  note(&c, 0, 0, c.best.error);
  TSI_TRY(correct(&c));
  if (options->max_steps > 0 && options->max_iterations > 0 && c.best.error > aim(&c)) {
    c.leave = true;
    TSI_TRY(look(&c, &c.best));
    TSI_TRY(iterate(&c));
    TSI_TRY(tsi_residual_find(&r->residual, b, x, &c.best.error)); /* for all rows */
  }
  if (options->max_steps > 0) TSI_TRY(settle(&c, &c.best.error));
  const bool settles = r->system->singular && options->max_steps > 0;
  if (settles || !r->no_residual) TSI_TRY(measure_residual(r, b, x, &residual));
  if (settles) TSI_TRY(tsi_refine_singular(r, b, x, options, &c.best.error, &residual));
  if (c.best.error <= c.tolerance)
    own.stop = TRISTAR_STOP_CONVERGED;
  else if (own.stop == TRISTAR_STOP_CONVERGED)
    own.stop = TRISTAR_STOP_STAGNATED;
  keep_largest(&result->residual, residual);
  keep_largest(&result->backward_error, c.best.error);
  keep_largest(&result->initial_backward_error, own.initial_backward_error);
  if (own.steps > result->steps) result->steps = own.steps;
  if (own.iterations > result->iterations) result->iterations = own.iterations;
  if (own.stop > result->stop) result->stop = own.stop;
  result->history_count = own.history_count;
  return TRISTAR_OK;
}
