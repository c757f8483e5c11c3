/* Functions that all methods share: see run.h. */
#include "runtime/iterate/krylov/run.h"

#include <math.h>

#include "runtime/base/clock.h"

#define LOG_SECONDS 0.2 /* minimum seconds between two lines of progress in the log */

static size_t column_bytes(const tristar_krylov_t *k) {
  return (size_t)k->n * k->bytes;
}

tristar_status tsi_krylov_precondition(tsi_krylov_run *run, const void *r, void *z) {
  tristar_status status = TRISTAR_OK;
  tristar_krylov_t *k = run->k;
  if (run->precond == NULL) {
    if (z != r) memcpy(z, r, column_bytes(k));
    return TRISTAR_OK;
  }
  const double begin = tsi_clock();
  const double scale = k->scales.precond;
  if (scale != 1) {
    TSI_TRY(tsi_vectors_scale(k, scale, r, z));
    r = z;
  }
  status = tsi_krylov_defer(k, tristar_precond_apply(run->precond, TRISTAR_N, 1, r, k->n, z, k->n));
  if (scale != 1 && status == TRISTAR_OK) status = tsi_vectors_scale(k, scale, z, z);
  run->result.precond_seconds += tsi_clock() - begin;
  run->result.preconditionings++;
  return status;
}

tristar_status tsi_krylov_multiply(tsi_krylov_run *run, const void *p, void *q, const void *w,
                                   tsi_sums *sums) {
  const double begin = tsi_clock();
  const tristar_status status = tsi_vectors_multiply(run->k, p, q, w, sums);
  run->result.product_seconds += tsi_clock() - begin;
  run->result.products++;
  return status;
}

tristar_status tsi_krylov_residual(tsi_krylov_run *run, void *r, double *square) {
  tristar_status status = TRISTAR_OK;
  if (!run->guess && run->result.iterations == 0) {
    memcpy(r, run->b, column_bytes(run->k));
    *square = run->b_norm * run->b_norm;
    return status;
  }
  const double begin = tsi_clock();
  status = tsi_vectors_residual(run->k, run->b, run->x, r, square);
  run->result.product_seconds += tsi_clock() - begin;
  run->result.products++;
  return status;
}

void tsi_krylov_end(tsi_krylov_run *run, tristar_krylov_reason reason) {
  if (run->ended) return;
  run->ended = true;
  run->result.reason = reason;
  run->result.converged = reason == TRISTAR_REASON_CONVERGED;
}

void tsi_krylov_resume(tsi_krylov_run *run, double factor) {
  run->ended = false;
  run->guess = run->resumed = true;
  run->tighten *= factor;
}

tristar_status tsi_krylov_refer(tsi_krylov_run *run, double norm, void *work) {
  tristar_krylov_t *k = run->k;
  const tristar_krylov_options *options = &k->options;
  tsi_sums sums;
  run->reference = run->guess ? run->b_norm : norm;
  if (run->guess && run->precond != NULL && options->norm == TRISTAR_NORM_PRECONDITIONED) {
    TSI_TRY(tsi_krylov_precondition(run, run->b, work));
    TSI_TRY(tsi_vectors_sums(k, NULL, work, &sums));
    run->reference = sqrt(sums.square);
  }
  run->threshold = run->tighten * fmax(options->tolerance * run->reference, run->absolute);
  if (!run->resumed) run->first = norm;
  run->best = INFINITY;
  run->result.reference = run->reference;
  if (run->reference == 0) tsi_krylov_end(run, TRISTAR_REASON_INDEFINITE_PRECOND);
  return TRISTAR_OK;
}

/* Writes a line to the log, at most one every LOG_SECONDS. */
static void write_log(tsi_krylov_run *run, double residual) {
  tsi_env *env = &run->k->ts->env;
  if (env->log == NULL || env->log_level < TRISTAR_LOG_PROGRESS || run->k->team->own > 0) return;
  const double now = tsi_clock();
  if (now - run->k->reported < LOG_SECONDS) return;
  run->k->reported = now;
  tsi_log(env, TRISTAR_LOG_PROGRESS, "krylov: column %lld, iteration %lld, residual %.1e",
          (long long)run->column + 1, (long long)run->result.iterations, residual);
}

static void report(tsi_krylov_run *run, double residual) {
  const tristar_krylov_options *options = &run->k->options;
  const tristar_krylov_point point = {run->column, run->result.iterations, residual};
  if (options->history != NULL && run->k->written < options->history_most)
    options->history[run->k->written++] = point;
  run->result.history_count++;
  run->result.residual = residual;
  write_log(run, residual);
  if (options->progress != NULL && options->progress(options->progress_arg, &point) != 0)
    run->k->cancelled = true;
}

bool tsi_krylov_judge(tsi_krylov_run *run, double norm) {
  const tristar_krylov_options *options = &run->k->options;
  const int64_t iteration = run->result.iterations;
  if (run->ended) return true;
  if (!run->resumed) report(run, norm / run->reference);
  run->resumed = false;
  if (norm < run->best) {
    run->best = norm;
    run->best_iteration = iteration;
  }
  if (!isfinite(norm))
    tsi_krylov_end(run, TRISTAR_REASON_NOT_FINITE);
  else if (norm <= run->threshold)
    tsi_krylov_end(run, TRISTAR_REASON_CONVERGED);
  else if (tsi_krylov_is_cancelled(run->k))
    tsi_krylov_end(run, TRISTAR_REASON_CANCELLED);
  else if (options->divergence > 0 && norm >= options->divergence * fmax(run->reference, run->first))
    tsi_krylov_end(run, TRISTAR_REASON_DIVERGED);
  else if (options->patience > 0 && iteration - run->best_iteration >= options->patience)
    tsi_krylov_end(run, TRISTAR_REASON_STAGNATED);
  else if (iteration >= options->max_iterations)
    tsi_krylov_end(run, TRISTAR_REASON_LIMIT);
  return run->ended;
}
