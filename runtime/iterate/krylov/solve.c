/* tristar_krylov_solve: solves for columns, one by one or in groups, and decides the result of each.
 *
 * If the norm of a column is far from one, the column is multiplied by a power of two during the solve, so
 * that squares of norms are in range. */
#include <float.h>
#include <inttypes.h>
#include <math.h>

#include "runtime/base/clock.h"
#include "runtime/iterate/krylov/run.h"
#include "runtime/iterate/precond/precond.h"
#include "runtime/solve/request.h"

/* Squares of norms of b between these numbers and their reciprocals need no scaling, in double and in single
 * types. */
#define DOUBLE_SQUARE 1e-40
#define SINGLE_SQUARE 1e-16

#define EXPONENT_MOST 1023 /* largest exponent of a double */

/* A true residual of this many times the tolerance contradicts convergence of the recurrences. So does one
 * above the square root of the tolerance, the smaller limit for tolerances above 1e-4. */
#define CONFIRM_TOLERANCE 100
/* A true residual below this multiple of the precision never does: it may be rounding errors. */
#define CONFIRM_PRECISION 1e3
#define ROUNDED 0.1       /* limit for rounding errors, relative to a true residual */
#define RESUMED_MOST 4    /* maximum number of times that such a run is resumed */
#define RESUMED_AIM 0.1   /* true residual that the new threshold aims at, relative to its limit */
#define RESUMED_LEAST 0.5 /* minimum reduction of the true residual by each of these runs */

/* ---- A column ------------------------------------------------------------------------------------------ */

static tristar_status check_finite(const tristar_krylov_t *k, const void *vector, const char *name,
                                   int64_t number) {
  const tsi_count row = k->sparse->first_not_finite(k->n, vector);
  if (row < k->n)
    TSI_FAIL(&k->ts->env, TRISTAR_ERR_NOT_FINITE,
             "%s has NaN or infinity in row %lld, column %" PRId64 " (counted from 0)", name,
             (long long)(k->matrix.first + row), number);
  return TRISTAR_OK;
}

/* A power of two that brings the size near one. The power is in range even if the size is subnormal, or if
 * the magnitude of a complex number exceeds the largest number. */
static double scale_of(double size) {
  const int exponent = ilogb(fmin(size, DBL_MAX));
  return ldexp(1, exponent < -EXPONENT_MOST ? EXPONENT_MOST : -exponent);
}

/* Computes the norm of b, and the factor if b needs one. */
static tristar_status measure(tsi_krylov_run *run) {
  tristar_krylov_t *k = run->k;
  const double least = k->sparse->epsilon > 1e-10 ? SINGLE_SQUARE : DOUBLE_SQUARE;
  tsi_sums sums;
  TSI_TRY(tsi_vectors_sums(k, NULL, run->given, &sums));
  if (!(sums.square > least && sums.square < 1 / least)) {
    TSI_TRY(tsi_krylov_agree(k, check_finite(k, run->given, "b", run->column)));
    const double size = tsi_team_largest(k->team, k->sparse->largest_size(k->n, run->given));
    if (size > 0) run->factor = scale_of(size);
  }
  if (run->factor != 1) {
    char *copy = tsi_krylov_vector(k, k->work.vectors - 1 - run->slot);
    TSI_TRY(tsi_vectors_scale(k, run->factor, run->given, copy));
    run->b = copy;
    if (run->guess) TSI_TRY(tsi_vectors_scale(k, run->factor, run->x, run->x));
    TSI_TRY(tsi_vectors_sums(k, NULL, copy, &sums));
  }
  run->b_norm = sqrt(sums.square);
  run->absolute = k->options.absolute * run->factor;
  return TRISTAR_OK;
}

/* The largest true residual, relative to b, that confirms convergence: by the relative tolerance; below, by
 * either tolerance. */
static double confirmed_relative(const tsi_krylov_run *run) {
  const double tolerance = run->k->options.tolerance;
  const double most = fmax(tolerance, fmin(CONFIRM_TOLERANCE * tolerance, sqrt(tolerance)));
  return fmax(most, CONFIRM_PRECISION * run->k->sparse->epsilon);
}
static double confirmed(const tsi_krylov_run *run) {
  return fmax(confirmed_relative(run), CONFIRM_TOLERANCE * run->absolute / run->reference);
}

/* Is the norm of the test within the tolerance? It may exceed the smaller threshold of a resumed run. */
static bool is_within_tolerance(const tsi_krylov_run *run) {
  const tristar_krylov_result *result = &run->result;
  const double most = fmax(run->k->options.tolerance * run->reference, run->absolute);
  return result->residual * run->reference <= most;
}

/* Can rounding errors of a product with x be as large as `most` times b? Not for a function, whose entries
 * are not available. */
static tristar_status can_hide(const tsi_krylov_run *run, double most, bool *can) {
  tristar_krylov_t *k = run->k;
  tsi_sums sums;
  *can = false;
  if (!tsi_krylov_has_entries(k)) return TRISTAR_OK;
  TSI_TRY(tsi_vectors_sums(k, NULL, run->x, &sums));
  *can = !(k->sparse->epsilon * tsi_krylov_norm(k) * sqrt(sums.square) <= most * run->b_norm);
  return k->team->failure;
}

/* The true residual with sums of the next wider precision. The result is at least the rounding errors of
 * these sums. */
static tristar_status find_precise_residual(tsi_krylov_run *run) {
  tristar_krylov_t *k = run->k;
  char *r = tsi_krylov_vector(k, 0);
  tsi_team team;
  tsi_system alone;
  const tsi_system *system;
  TSI_OWNED double *bound = NULL;
  tsi_sums sums;
  TSI_TRY(tsi_krylov_system(k, &alone, &team, &system));
  TSI_TRY(tsi_team_agree(system->team, TSI_ALLOC(&k->ts->env, bound, k->n)));
  TSI_TRY(tsi_system_precise_residual(system, TRISTAR_N, run->b, run->x, r));
  TSI_TRY(tsi_system_bound(system, TRISTAR_N, run->x, bound));
  TSI_TRY(tsi_vectors_sums(k, NULL, r, &sums));
  double square = 0;
  for (tsi_index i = 0; i < k->n; i++) square += bound[i] * bound[i];
  const double size = sqrt(tsi_team_sum(system->team, square));
  run->result.true_residual = fmax(sqrt(sums.square), k->sparse->wider_epsilon * size) / run->b_norm;
  run->result.products++;
  return system->team->failure;
}

/* Computes the residual of x anew, in any vector of the workspace. If terms of A x are much larger than b,
 * rounding errors can hide a residual that is too large, or be much of a larger one. Then it is computed with
 * more digits. */
static tristar_status find_true_residual(tsi_krylov_run *run) {
  double square;
  bool can = false;
  run->guess = true; /* x is the result of the method */
  TSI_TRY(tsi_krylov_residual(run, tsi_krylov_vector(run->k, 0), &square));
  run->result.true_residual = sqrt(square) / run->b_norm;
  if (isfinite(square))
    TSI_TRY(can_hide(run, fmax(confirmed_relative(run), ROUNDED * run->result.true_residual), &can));
  return can ? find_precise_residual(run) : TRISTAR_OK;
}

/* A vector that is not finite is no solution, even if recurrences and residual are small: a product skips an
 * unknown that is in no equation. */
static void judge_range(tsi_krylov_run *run) {
  tristar_krylov_result *result = &run->result;
  const tristar_krylov_t *k = run->k;
  const bool beyond = tsi_team_any(k->team, k->sparse->first_not_finite(k->n, run->x) < k->n);
  if (isfinite(result->true_residual) && !beyond) return;
  if (beyond) result->true_residual = INFINITY;
  result->reason = TRISTAR_REASON_NOT_FINITE;
  result->converged = 0;
}

/* Prepares a column. If the run has ended afterwards, no method is called. */
static tristar_status open_column(tsi_krylov_run *run) {
  tristar_status status = TRISTAR_OK;
  tristar_krylov_t *k = run->k;
  const double begin = tsi_clock();
  if (run->guess)
    TSI_TRY_OUT(tsi_krylov_agree(k, check_finite(k, run->x, "x, the initial guess,", run->column)));
  else
    memset(run->x, 0, (size_t)k->n * k->bytes);
  if (tsi_krylov_is_cancelled(k)) {
    tsi_krylov_end(run, TRISTAR_REASON_CANCELLED);
    goto out;
  }
  TSI_TRY_OUT(measure(run));
  if (run->b_norm == 0) {
    memset(run->x, 0, (size_t)k->n * k->bytes);
    tsi_krylov_end(run, TRISTAR_REASON_CONVERGED);
  }
out:
  run->result.seconds = tsi_clock() - begin;
  return status;
}

/* Has x lost digits below the range of numbers, after it was divided by the factor? Then its true residual
 * decides. */
static tristar_status judge_smallness(tsi_krylov_run *run) {
  tristar_krylov_t *k = run->k;
  tristar_krylov_result *result = &run->result;
  const double least = k->sparse->epsilon > 1e-10 ? (double)FLT_MIN : DBL_MIN;
  if (!(run->factor > 1)) return TRISTAR_OK;
  if (tsi_team_largest(k->team, k->sparse->largest_size(k->n, run->x)) >= least) return k->team->failure;
  TSI_TRY(tsi_vectors_scale(k, run->factor, run->x, run->x));
  TSI_TRY(find_true_residual(run));
  TSI_TRY(tsi_vectors_scale(k, 1 / run->factor, run->x, run->x));
  if (!result->converged || result->true_residual <= confirmed(run)) return TRISTAR_OK;
  result->reason = TRISTAR_REASON_INACCURATE;
  result->converged = 0;
  return TRISTAR_OK;
}

/* Finishes a column after its method, with the method's status. The true residual of x was computed. */
static tristar_status close_column(tsi_krylov_run *run, tristar_status status) {
  tristar_krylov_t *k = run->k;
  const double begin = tsi_clock();
  tristar_krylov_result *result = &run->result;
  result->reference /= run->factor;
  if (run->factor != 1) {
    const tristar_status scaled = tsi_vectors_scale(k, 1 / run->factor, run->x, run->x);
    if (status == TRISTAR_OK) status = scaled;
  }
  if (status == TRISTAR_OK) judge_range(run);
  if (status == TRISTAR_OK) status = judge_smallness(run);
  result->seconds += tsi_clock() - begin;
  return status;
}

/* ---- Columns that are solved for together -------------------------------------------------------------- */

static tristar_status call_method(tsi_krylov_run *run, int count) {
  switch (run->k->options.method) {
  case TRISTAR_KRYLOV_CG:
    return tsi_cg(run);
  case TRISTAR_KRYLOV_BICGSTAB:
    return tsi_bicgstab(run);
  case TRISTAR_KRYLOV_PIPELINED_CG:
    return tsi_pipelined_cg(run);
  case TRISTAR_KRYLOV_BLOCK_CG:
    return tsi_block_cg(run, count);
  case TRISTAR_KRYLOV_AUTO: /* resolve has replaced it */
  case TRISTAR_KRYLOV_GMRES:
  case TRISTAR_KRYLOV_FGMRES:
    break;
  }
  return tsi_gmres(run);
}

/* Calls the method, with scales that keep products in range. */
static tristar_status iterate(tsi_krylov_run *run, int count) {
  tsi_krylov_run *running = run;
  tsi_scales scales;
  while (running->ended) running++;
  TSI_TRY(tsi_krylov_choose_scales(running, &scales));
  if (scales.matrix == 1 && scales.precond == 1) return call_method(run, count);
  tristar_status status = tsi_krylov_enter_scales(run, count, &scales);
  if (status == TRISTAR_OK) status = call_method(run, count);
  const tristar_status left = tsi_krylov_leave_scales(run, count);
  return status == TRISTAR_OK ? left : status;
}

/* Divides the time of the method equally. open: columns that the method worked on. */
static void share_time(tsi_krylov_run *run, int count, const bool *open, int shares, double seconds) {
  for (int c = 0; c < count; c++) {
    tristar_krylov_result *result = &run[c].result;
    if (open[c]) result->seconds += seconds / shares;
    result->vector_seconds =
        open[c] ? fmax(0, result->seconds - result->product_seconds - result->precond_seconds)
                : result->seconds;
  }
}

/* Calls the methods and tests the true residuals of their results. Recurrences drift away from the true
 * residual, and a nearly singular preconditioner hides it. If the true residual contradicts a convergence,
 * the run is resumed from its x, as long as this reduces the true residual. Otherwise it has failed. */
static tristar_status iterate_confirmed(tsi_krylov_run *run, int count, const bool *open) {
  bool doubtful[TSI_BLOCK_MOST] = {false};
  for (int round = 0;; round++) {
    bool again = false;
    TSI_TRY(iterate(run, count));
    for (int c = 0; c < count; c++) {
      if (!open[c] || (round > 0 && !doubtful[c])) continue;
      tristar_krylov_result *result = &run[c].result;
      const double before = result->true_residual, most = confirmed(&run[c]);
      TSI_TRY(find_true_residual(&run[c]));
      const double truth = result->true_residual;
      if (round > 0 && result->reason != TRISTAR_REASON_CANCELLED && truth <= most &&
          is_within_tolerance(&run[c])) {
        result->reason = TRISTAR_REASON_CONVERGED;
        result->converged = 1;
      }
      const bool claimed = result->reason == TRISTAR_REASON_CONVERGED;
      if (round == 0 && !claimed) continue;
      doubtful[c] = !(truth <= most) && claimed && round < RESUMED_MOST &&
                    (round == 0 || truth < RESUMED_LEAST * before) && isfinite(truth);
      if (doubtful[c]) {
        tsi_krylov_resume(&run[c], RESUMED_AIM * most / truth);
        again = true;
      } else if (claimed && !(truth <= most)) {
        result->reason = TRISTAR_REASON_INACCURATE;
        result->converged = 0;
      }
    }
    if (!again) break;
  }
  return TRISTAR_OK;
}

static tristar_status solve_group(tsi_krylov_run *run, int count) {
  tristar_status status = TRISTAR_OK;
  bool open[TSI_BLOCK_MOST] = {false};
  int left = 0;
  double seconds = 0;
  for (int c = 0; c < count && status == TRISTAR_OK; c++) {
    status = open_column(&run[c]);
    open[c] = status == TRISTAR_OK && !run[c].ended;
    left += open[c];
  }
  if (left > 0 && status == TRISTAR_OK) {
    const double begin = tsi_clock();
    status = iterate_confirmed(run, count, open);
    seconds = tsi_clock() - begin;
  }
  for (int c = 0; c < count; c++)
    if (open[c]) status = close_column(&run[c], status);
  share_time(run, count, open, left, seconds);
  return status;
}

/* ---- The call ------------------------------------------------------------------------------------------ */

static bool overlap(const void *b, size_t b_size, const void *x, size_t x_size) {
  return (uintptr_t)b < (uintptr_t)x + x_size && (uintptr_t)x < (uintptr_t)b + b_size;
}

static tristar_status check(const tristar_krylov_t *k, const tristar_precond_t *precond, int64_t nrhs,
                            const void *b, int64_t ldb, const void *x, int64_t ldx) {
  tsi_env *env = &k->ts->env;
  const int64_t n = k->n;
  TSI_TRY(tsi_krylov_need_values(k));
  TSI_TRY(tsi_check_columns(env, n, nrhs, b, ldb, x, ldx));
  if (n > 0 && nrhs > 0 &&
      overlap(b, ((size_t)((nrhs - 1) * ldb) + (size_t)n) * k->bytes, x,
              ((size_t)((nrhs - 1) * ldx) + (size_t)n) * k->bytes))
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "x overlaps b");
  if (precond != NULL && (precond->n != n || precond->stats.scalar != k->scalar))
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT,
             "the preconditioner has %d rows of type %c, the matrix %" PRId64 " of type %c", precond->n,
             (int)precond->stats.scalar, n, (int)k->scalar);
  return TRISTAR_OK;
}

static tristar_status check_all(tristar_krylov_t *k, const tristar_precond_t *precond, int64_t nrhs,
                                const void *b, int64_t ldb, const void *x, int64_t ldx) {
  TSI_TRY(tsi_krylov_agree(k, check(k, precond, nrhs, b, ldb, x, ldx)));
  TSI_TRY(tsi_krylov_alike(k, "nrhs", (double)nrhs));
  return tsi_krylov_alike(k, "whether there is a preconditioner", precond != NULL);
}

static tristar_status solve(tristar_krylov_t *k, tristar_precond_t *precond, int64_t nrhs, const char *b,
                            int64_t ldb, char *x, int64_t ldx, tristar_krylov_result *result) {
  tristar_status status = TRISTAR_OK;
  tsi_krylov_run *run = k->work.run;
  const int width = tsi_krylov_group(&k->options);
  for (int64_t first = 0; first < nrhs && status == TRISTAR_OK; first += width) {
    const int count = (int)tsi_count_min(nrhs - first, width);
    for (int c = 0; c < count; c++) {
      const int64_t column = first + c;
      const char *given = b + (size_t)(column * ldb) * k->bytes;
      run[c] = (tsi_krylov_run){.k = k,
                                .precond = precond,
                                .slot = c,
                                .given = given,
                                .b = given,
                                .x = x + (size_t)(column * ldx) * k->bytes,
                                .factor = 1,
                                .tighten = 1,
                                .guess = k->options.guess != 0,
                                .column = column};
    }
    status = solve_group(run, count);
    for (int c = 0; c < count; c++) {
      const tristar_krylov_result *own = &run[c].result;
      if (result != NULL) result[run[c].column] = *own;
      if (status != TRISTAR_OK) continue;
      k->stats.solves++;
      tsi_log(&k->ts->env, TRISTAR_LOG_INFO, "krylov: column %" PRId64 ", %" PRId64 " iterations, %.3g s: %s",
              run[c].column, own->iterations, own->seconds, tristar_krylov_reason_text(own->reason));
    }
  }
  return status;
}

tristar_status tristar_krylov_solve(tristar_krylov_t *krylov, tristar_precond_t *precond, int64_t nrhs,
                                    const void *b, int64_t ldb, void *x, int64_t ldx,
                                    tristar_krylov_result *result) {
  tristar_status status = TRISTAR_OK;
  bool taken = false;
  TSI_ENTER(krylov, krylov->ts);
  TSI_TRY_OUT(tsi_krylov_take(krylov));
  taken = true;
  krylov->cancelled = krylov->all_cancelled = false;
  krylov->written = 0;
  krylov->reported = 0;
  TSI_TRY_OUT(check_all(krylov, precond, nrhs, b, ldb, x, ldx));
  if (result != NULL && nrhs > 0) memset(result, 0, (size_t)nrhs * sizeof *result);
  if (krylov->n == 0) b = x = krylov->work.vector; /* they may be NULL if there are no rows */
  TSI_TRY_OUT(solve(krylov, precond, nrhs, b, ldb, x, ldx, result));
  status = tsi_krylov_agree(krylov, TRISTAR_OK);
out:
  if (taken) tsi_krylov_give(krylov);
  return tsi_answer(&krylov->ts->env, status);
}
