/* tristar_krylov_solve: columns, one after the other, and what each of them comes to.
 *
 * A column whose norm is far from one is solved for a multiple of it by a power of two: squares of norms are
 * to be in range. */
#include <float.h>
#include <inttypes.h>
#include <math.h>

#include "runtime/base/clock.h"
#include "runtime/krylov/run.h"
#include "runtime/solve/request.h"

/* Squares of norms of b between these and their reciprocals are left as they are: of double types, and of
 * single ones. */
#define DOUBLE_SQUARE 1e-200
#define SINGLE_SQUARE 1e-40

#define EXPONENT_MOST 1023 /* of a double */

/* ---- A column ------------------------------------------------------------------------------------------ */

typedef struct column {
  const void *b;
  void *x;
  double factor; /* that b and x are multiplied with during the solve; 1: they are not touched */
} column;

static tristar_status check_finite(const tristar_krylov_t *k, const void *vector, const char *name,
                                   int64_t number) {
  tristar_status status = TRISTAR_OK;
  const tsi_count row = k->sparse->first_not_finite(k->n, vector);
  if (row < k->n)
    TSI_FAIL(&k->ts->env, TRISTAR_ERR_NOT_FINITE,
             "%s has NaN or infinity in row %lld, column %" PRId64 " (counted from 0)", name,
             (long long)(k->matrix.first + row), number);
out:
  return status;
}

/* A power of two that brings the size near one. It is in range where the size is subnormal, or the magnitude
 * of a complex number beyond the largest one. */
static double scale_of(double size) {
  const int exponent = ilogb(fmin(size, DBL_MAX));
  return ldexp(1, exponent < -EXPONENT_MOST ? EXPONENT_MOST : -exponent);
}

/* Finds the norm of b, and a factor if it needs one. b and x are those of the column, run->b what is solved.
 */
static tristar_status measure(tsi_krylov_run *run, column *c) {
  tristar_status status = TRISTAR_OK;
  tristar_krylov_t *k = run->k;
  const double least = k->sparse->epsilon > 1e-10 ? SINGLE_SQUARE : DOUBLE_SQUARE;
  tsi_sums sums;
  c->factor = 1;
  TSI_TRY(tsi_vectors_sums(k, NULL, c->b, &sums));
  if (!(sums.square > least && sums.square < 1 / least)) {
    TSI_TRY(tsi_krylov_agree(k, check_finite(k, c->b, "b", run->column)));
    const double size = tsi_team_largest(k->team, k->sparse->largest_size(k->n, c->b));
    if (size > 0) c->factor = scale_of(size);
  }
  if (c->factor != 1) {
    char *copy = tsi_krylov_vector(k, k->work.vectors - 1);
    TSI_TRY(tsi_vectors_scale(k, c->factor, c->b, copy));
    run->b = copy;
    if (run->guess) TSI_TRY(tsi_vectors_scale(k, c->factor, c->x, c->x));
    TSI_TRY(tsi_vectors_sums(k, NULL, copy, &sums));
  }
  run->b_norm = sqrt(sums.square);
  run->absolute = k->options.absolute * c->factor;
out:
  return status;
}

static tristar_status iterate(tsi_krylov_run *run) {
  switch (run->k->options.method) {
  case TRISTAR_KRYLOV_CG:
    return tsi_cg(run);
  case TRISTAR_KRYLOV_BICGSTAB:
    return tsi_bicgstab(run);
  case TRISTAR_KRYLOV_GMRES:
  case TRISTAR_KRYLOV_FGMRES:
    break;
  }
  return tsi_gmres(run);
}

/* The residual of x, computed anew, in any vector of the workspace. */
static tristar_status find_true_residual(tsi_krylov_run *run) {
  tristar_status status = TRISTAR_OK;
  double square;
  run->guess = true; /* x is what came out */
  TSI_TRY(tsi_krylov_residual(run, tsi_krylov_vector(run->k, 0), &square));
  run->result->true_residual = sqrt(square) / run->b_norm;
out:
  return status;
}

/* What is not finite is no solution, whatever the recurrences told of it. */
static void judge_range(tsi_krylov_run *run, const column *c) {
  tristar_krylov_result *result = run->result;
  const tristar_krylov_t *k = run->k;
  const bool beyond = c->factor != 1 && k->sparse->first_not_finite(k->n, c->x) < k->n;
  if (isfinite(result->true_residual) && (c->factor == 1 || !tsi_team_any(k->team, beyond))) return;
  result->reason = TRISTAR_REASON_NOT_FINITE;
  result->converged = 0;
}

static tristar_status solve_column(tsi_krylov_run *run, column *c) {
  tristar_status status = TRISTAR_OK;
  tristar_krylov_t *k = run->k;
  const double begin = tsi_clock();
  tristar_krylov_result *result = run->result;
  run->ended = false;
  run->b = c->b;
  run->x = c->x;
  run->guess = k->options.guess != 0;
  if (run->guess)
    TSI_TRY(tsi_krylov_agree(k, check_finite(k, c->x, "x, the initial guess,", run->column)));
  else
    memset(c->x, 0, (size_t)k->n * k->bytes);
  if (run->cancelled) {
    tsi_krylov_end(run, TRISTAR_REASON_CANCELLED);
    goto out;
  }
  TSI_TRY(measure(run, c));
  if (run->b_norm == 0) {
    memset(c->x, 0, (size_t)k->n * k->bytes);
    tsi_krylov_end(run, TRISTAR_REASON_CONVERGED);
    goto out;
  }
  status = iterate(run);
  if (status == TRISTAR_OK) status = find_true_residual(run);
  result->reference /= c->factor;
  if (c->factor != 1) {
    const tristar_status scaled = tsi_vectors_scale(k, 1 / c->factor, c->x, c->x);
    if (status == TRISTAR_OK) status = scaled;
  }
  if (status == TRISTAR_OK) judge_range(run, c);
out:
  result->seconds = tsi_clock() - begin;
  result->vector_seconds = fmax(0, result->seconds - result->product_seconds - result->precond_seconds);
  return status;
}

/* ---- The call ------------------------------------------------------------------------------------------ */

static bool overlap(const void *b, size_t b_size, const void *x, size_t x_size) {
  return (uintptr_t)b < (uintptr_t)x + x_size && (uintptr_t)x < (uintptr_t)b + b_size;
}

static tristar_status check(const tristar_krylov_t *k, const tristar_precond_t *precond, int64_t nrhs,
                            const void *b, int64_t ldb, const void *x, int64_t ldx) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &k->ts->env;
  const int64_t n = k->n;
  TSI_TRY(tsi_krylov_need_values(k));
  TSI_TRY(tsi_check_columns(env, n, nrhs, b, ldb, x, ldx));
  if (n > 0 && nrhs > 0 &&
      overlap(b, ((size_t)((nrhs - 1) * ldb) + (size_t)n) * k->bytes, x,
              ((size_t)((nrhs - 1) * ldx) + (size_t)n) * k->bytes))
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "x overlaps b");
  if (precond != NULL) {
    tristar_precond_stats m;
    TSI_TRY(tristar_precond_get_stats(precond, &m));
    if (m.n != n || m.scalar != k->scalar)
      TSI_FAIL(env, TRISTAR_ERR_ARGUMENT,
               "the preconditioner has %" PRId64 " rows of type %c, the matrix %" PRId64 " of type %c", m.n,
               (int)m.scalar, n, (int)k->scalar);
  }
out:
  return status;
}

static tristar_status check_all(tristar_krylov_t *k, const tristar_precond_t *precond, int64_t nrhs,
                                const void *b, int64_t ldb, const void *x, int64_t ldx) {
  tristar_status status = TRISTAR_OK;
  TSI_TRY(tsi_krylov_agree(k, check(k, precond, nrhs, b, ldb, x, ldx)));
  TSI_TRY(tsi_krylov_alike(k, "nrhs", (double)nrhs));
  TSI_TRY(tsi_krylov_alike(k, "whether there is a preconditioner", precond != NULL));
out:
  return status;
}

static tristar_status solve(tristar_krylov_t *k, tristar_precond_t *precond, int64_t nrhs, const char *b,
                            int64_t ldb, char *x, int64_t ldx, tristar_krylov_result *result) {
  tristar_status status = TRISTAR_OK;
  tsi_krylov_run run = {.k = k, .precond = precond};
  for (; run.column < nrhs; run.column++) {
    tristar_krylov_result own = {.iterations = 0};
    column c = {b + (size_t)(run.column * ldb) * k->bytes, x + (size_t)(run.column * ldx) * k->bytes, 1};
    run.result = &own;
    status = solve_column(&run, &c);
    if (result != NULL) result[run.column] = own;
    if (status != TRISTAR_OK) break;
    k->stats.solves++;
    tsi_log(&k->ts->env, TRISTAR_LOG_INFO, "krylov: column %" PRId64 ", %" PRId64 " iterations, %.3g s: %s",
            run.column, own.iterations, own.seconds, tristar_krylov_reason_text(own.reason));
  }
  return status;
}

tristar_status tristar_krylov_solve(tristar_krylov_t *krylov, tristar_precond_t *precond, int64_t nrhs,
                                    const void *b, int64_t ldb, void *x, int64_t ldx,
                                    tristar_krylov_result *result) {
  tristar_status status = TRISTAR_OK;
  bool taken = false;
  if (krylov == NULL) return TSI_NULL(krylov);
  TSI_TRY(tsi_krylov_take(krylov));
  taken = true;
  krylov->wants_end = krylov->all_end = false;
  TSI_TRY(check_all(krylov, precond, nrhs, b, ldb, x, ldx));
  if (result != NULL && nrhs > 0) memset(result, 0, (size_t)nrhs * sizeof *result);
  if (krylov->n == 0) b = x = krylov->work.vector; /* without rows they may be NULL */
  TSI_TRY(solve(krylov, precond, nrhs, b, ldb, x, ldx, result));
  status = tsi_krylov_agree(krylov, TRISTAR_OK);
out:
  if (taken) tsi_krylov_give(krylov);
  return tsi_answer(&krylov->ts->env, status);
}
