/* Iterative refinement of one solution: see refinement.h. */
#include "runtime/accuracy/refinement.h"

#include <math.h>

#include "runtime/accuracy/fgmres.h"

tristar_status tsi_refinement_begin(const tsi_system *system, tristar_op op, tsi_refinement *r) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = system->env;
  const size_t column = (size_t)system->n * system->kernels->scalar_bytes;
  r->system = system;
  r->kernels = system->kernels;
  r->op = op;
  r->row_scale = tsi_system_row_scale(system, op);
  TSI_TRY(tsi_residual_begin(system, op, &r->residual));
  status = TSI_ALLOC(env, r->correction, column);
  if (status == TRISTAR_OK) status = TSI_ALLOC(env, r->best, column);
  if (status == TRISTAR_OK && system->wide) status = TSI_ALLOC(env, r->part, column);
  if (status == TRISTAR_OK && system->wide) status = TSI_ALLOC(env, r->rest, column);
  status = tsi_team_agree(system->team, status);
out:
  return status;
}

void tsi_refinement_finish(tsi_refinement *r) {
  if (r->system == NULL) return;
  tsi_env *env = r->system->env;
  tsi_residual_finish(&r->residual);
  TSI_FREE(env, r->correction);
  TSI_FREE(env, r->best);
  TSI_FREE(env, r->part);
  TSI_FREE(env, r->rest);
}

/* The largest entry of b as the factors will scale it. */
static double scaled_size(const tsi_refinement *r, const void *b) {
  return tsi_team_largest(r->system->team, r->kernels->largest_scaled(r->system->n, b, r->row_scale));
}

/* Its exponent, within what 2^e can be; 0 for zeros. */
static int exponent_of(double largest) {
  int exponent = 0;
  if (largest > 0 && isfinite(largest)) frexp(largest, &exponent);
  return exponent < -1000 ? -1000 : exponent > 1000 ? 1000 : exponent;
}

/* Powers of two between entries of b, as they are scaled: what single numbers bear, and what is solved at a
 * time where there is more. */
enum { SPAN_MOST = 100, SPAN = 60 };

static bool spans_too_much(const tsi_refinement *r, const void *b) {
  if (!r->system->wide) return false;
  const double smallest =
      -tsi_team_largest(r->system->team, -r->kernels->smallest_scaled(r->system->n, b, r->row_scale));
  return smallest < ldexp(scaled_size(r, b), -SPAN_MOST);
}

/* x = the sum of the solutions for parts of b, which may be x. */
static tristar_status solve_in_parts(const tsi_refinement *r, void *b, void *x) {
  tristar_status status = TRISTAR_OK;
  const tsi_system *system = r->system;
  const tsi_index n = system->n;
  const size_t bytes = (size_t)n * r->kernels->scalar_bytes;
  memcpy(r->rest, b, bytes);
  memset(x, 0, bytes);
  for (double largest = scaled_size(r, r->rest); !(largest <= 0); largest = scaled_size(r, r->rest)) {
    const int exponent = exponent_of(largest);
    r->kernels->take_large(n, r->rest, r->row_scale, fmin(largest, ldexp(1.0, exponent - SPAN)), r->part);
    r->kernels->multiply(n, r->part, ldexp(1.0, -exponent));
    TSI_TRY(system->functions->solve(system->context, r->op, 1, r->part, n, r->part, n));
    r->kernels->multiply(n, r->part, ldexp(1.0, exponent));
    r->kernels->add(n, x, r->part);
  }
out:
  return status;
}

/* Columns that are solved at a time. */
#define TOGETHER 64

tristar_status tsi_solve_in_range(const tsi_refinement *r, int64_t nrhs, void *b, void *x) {
  tristar_status status = TRISTAR_OK;
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
      exponent[c] = exponent_of(scaled_size(r, of_b + (size_t)c * column));
      if (exponent[c] != 0) r->kernels->multiply(n, of_b + (size_t)c * column, ldexp(1.0, -exponent[c]));
    }
    TSI_TRY(system->functions->solve(system->context, r->op, count, of_b, n, of_x, n));
    for (int64_t c = 0; c < count; c++)
      if (exponent[c] != 0) r->kernels->multiply(n, of_x + (size_t)c * column, ldexp(1.0, exponent[c]));
  }
out:
  return status;
}

/* How far x is from the solution. */
typedef struct progress {
  double error; /* backward */
  double size;  /* of the largest residual, as it is scaled, of rows that are not solved; an error that is not
                   SATURATED: not looked at */
} progress;

#define SATURATED 0.5

/* The backward error that refinement aims at, or FGMRES where that is more. */
static double aim(const tsi_refinement *r, double tolerance) {
  return fmax(tolerance, 50 * r->kernels->epsilon);
}

/* The residual of x, without rows that are solved if its error is saturated. */
static tristar_status look(const tsi_refinement *r, const void *b, const void *x, double tolerance,
                           progress *now) {
  tristar_status status = TRISTAR_OK;
  *now = (progress){NAN, NAN};
  TSI_TRY(tsi_residual_find(&r->residual, b, x, &now->error));
  if (!(now->error > SATURATED)) goto out;
  TSI_TRY(tsi_residual_leave_solved(&r->residual, b, x, aim(r, tolerance)));
  now->size = scaled_size(r, r->residual.vector);
  status = r->system->team->failure;
out:
  return status;
}

/* Is x nearer to the solution than it was, by that factor at least? */
static bool is_nearer(const progress *now, const progress *before, double factor) {
  if (now->error > SATURATED && before->error > SATURATED) return now->size < factor * before->size;
  return now->error < factor * before->error;
}

/* x += correction if that brings it nearer; *best is where it is then. *now: where that would be. residual
 * and bound are those of x afterwards. */
static tristar_status improve(const tsi_refinement *r, const void *b, void *x, double tolerance,
                              progress *best, progress *now) {
  tristar_status status = TRISTAR_OK;
  const size_t bytes = (size_t)r->system->n * r->kernels->scalar_bytes;
  memcpy(r->best, x, bytes);
  r->kernels->add(r->system->n, x, r->correction);
  TSI_TRY(look(r, b, x, tolerance, now));
  if (is_nearer(now, best, 1))
    *best = *now;
  else { /* farther, or NaN: keep the best */
    memcpy(x, r->best, bytes);
    TSI_TRY(look(r, b, x, tolerance, best));
  }
out:
  return status;
}

/* Adds a point to the history, if there is one. */
static void note(const tristar_refine_options *options, tristar_refine_result *result, int64_t column,
                 int steps, int iterations, double error) {
  if (options->history == NULL) return;
  if (result->history_count < options->history_most)
    options->history[result->history_count] = (tristar_refine_point){column, steps, iterations, error};
  result->history_count++;
}

/* Corrections until the error is small enough or stagnates. */
static tristar_status correct(const tsi_refinement *r, const void *b, void *x,
                              const tristar_refine_options *options, double tolerance, progress *best,
                              tristar_refine_result *result) {
  tristar_status status = TRISTAR_OK;
  progress now;
  result->stop = TRISTAR_STOP_LIMIT;
  while (best->error > tolerance && result->steps < options->max_steps) {
    const progress before = *best;
    result->stop = TRISTAR_STOP_STAGNATED;
    TSI_TRY(tsi_solve_in_range(r, 1, r->residual.vector, r->correction));
    TSI_TRY(improve(r, b, x, tolerance, best, &now));
    note(options, result, r->column, result->steps + 1, 0, now.error);
    if (!is_nearer(&now, &before, 1)) break;
    result->steps++;
    if (!is_nearer(best, &before, 0.9)) break;
    result->stop = TRISTAR_STOP_LIMIT;
  }
out:
  return status;
}

/* What an iteration of FGMRES is judged by. */
typedef struct judgement {
  const tsi_refinement *r;
  const void *b, *x;
  const tristar_refine_options *options;
  double tolerance;
  tristar_refine_result *result;
  tristar_status status;
} judgement;

/* FGMRES has made so many iterations since it was started, and would give the correction d: is x + d good
 * enough? The residual and `best` are free while FGMRES runs. */
static bool is_enough(void *arg, int iterations, const void *d) {
  judgement *j = arg;
  const tsi_refinement *r = j->r;
  double error;
  memcpy(r->best, j->x, (size_t)r->system->n * r->kernels->scalar_bytes);
  r->kernels->add(r->system->n, r->best, d);
  j->status = tsi_residual_find(&r->residual, j->b, r->best, &error);
  if (j->status != TRISTAR_OK) return true;
  note(j->options, j->result, r->column, j->result->steps, j->result->iterations + iterations, error);
  return error <= j->tolerance;
}

/* The backward error falls about as the norm of the residual does; by what it may be ahead of it. */
#define AHEAD 10

/* FGMRES, restarted while it halves the error. */
static tristar_status iterate(const tsi_refinement *r, const void *b, void *x,
                              const tristar_refine_options *options, double tolerance, progress *best,
                              tristar_refine_result *result) {
  tristar_status status = TRISTAR_OK;
  judgement all = {r, b, x, options, tolerance, result, TRISTAR_OK};
  while (best->error > tolerance && result->iterations < options->max_iterations) {
    const progress before = *best;
    const int left = options->max_iterations - result->iterations;
    const tsi_fgmres_judge judge = {is_enough, &all, AHEAD * tolerance / before.error,
                                    options->history != NULL};
    progress now;
    int made = 0;
    TSI_TRY(tsi_fgmres(r->system, r->op, r->residual.vector, r->correction, left, &judge, &made));
    TSI_TRY(all.status);
    result->iterations += made;
    TSI_TRY(improve(r, b, x, tolerance, best, &now));
    result->stop = made < left ? TRISTAR_STOP_STAGNATED : TRISTAR_STOP_LIMIT;
    if (made == 0 || !is_nearer(best, &before, 0.5)) break;
  }
out:
  return status;
}

static void keep_largest(double *largest, double value) {
  if (value > *largest) *largest = value;
}

/* The user's number of the row that a member has at place i < n; of the members' ones the smallest. -1: there
 * is none. */
static int64_t find_row(const tsi_refinement *r, bool of_x, tsi_index i) {
  const tsi_system *system = r->system;
  double row = INFINITY;
  if (i < system->n) row = (double)system->functions->user_row(system->context, r->op, of_x, i);
  row = -tsi_team_largest(system->team, -row);
  return isfinite(row) ? (int64_t)row : -1;
}

/* Where numbers have left the range, once the backward error is none. */
static tristar_status fail_not_finite(const tsi_refinement *r, const void *b, const void *x) {
  tristar_status status = TRISTAR_OK;
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
  TSI_FAIL(env, TRISTAR_ERR_NOT_FINITE,
           "what is added up in row %lld of A x, column %lld of x (counted from 0), is beyond the range of "
           "numbers",
           (long long)of_sum, (long long)r->column);
out:
  return status;
}

tristar_status tsi_refine(const tsi_refinement *r, const void *b, void *x,
                          const tristar_refine_options *options, tristar_refine_result *result) {
  tristar_status status = TRISTAR_OK;
  const double tolerance = options->tolerance > 0 ? options->tolerance : 2 * r->kernels->epsilon;
  progress best;
  TSI_TRY(look(r, b, x, tolerance, &best));
  tristar_refine_result own = {.initial_backward_error = best.error};
  if (!isfinite(best.error)) TSI_TRY(fail_not_finite(r, b, x));
  own.history_count = result->history_count;
  note(options, &own, r->column, 0, 0, best.error);
  TSI_TRY(correct(r, b, x, options, tolerance, &best, &own));
  if (options->max_steps > 0 && best.error > aim(r, tolerance))
    TSI_TRY(iterate(r, b, x, options, tolerance, &best, &own));
  if (best.error > SATURATED) TSI_TRY(tsi_residual_find(&r->residual, b, x, &best.error)); /* of all rows */
  if (best.error <= tolerance) own.stop = TRISTAR_STOP_CONVERGED;
  keep_largest(&result->backward_error, best.error);
  keep_largest(&result->initial_backward_error, own.initial_backward_error);
  if (own.steps > result->steps) result->steps = own.steps;
  if (own.iterations > result->iterations) result->iterations = own.iterations;
  if (own.stop > result->stop) result->stop = own.stop;
  result->history_count = own.history_count;
out:
  return status;
}
