/* The estimator of 1-norms: see norm_estimate.h. */
#include "runtime/matrix/norm_estimate.h"

#include <math.h>

#define STEPS_MAX 5

typedef struct estimate {
  const tsi_sparse_kernels *kernels;
  tsi_index n;
  double *norm;
  tsi_index last; /* the column of M that was tried last */
  bool finished;
} estimate;

static void finish(estimate *e, void *x) {
  e->finished = true;
  memset(x, 0, (size_t)e->n * e->kernels->scalar_bytes);
}

/* x = M v for a v of norm one. x becomes its signs, unless it shows that the estimate cannot grow. */
static void take_norm(estimate *e, void *x) {
  const double now = e->kernels->one_norm(e->n, x);
  const bool larger = now > *e->norm;
  if (larger || isnan(now)) *e->norm = isnan(now) ? INFINITY : now;
  if (larger && isfinite(now))
    e->kernels->sign(e->n, x, x);
  else
    finish(e, x);
}

/* x = M^H (signs) is a subgradient of the norm: the next v is the unit vector of its largest entry. unit: n
 * zeros. */
static void choose_unit(estimate *e, double *unit, void *x) {
  const tsi_index largest = e->kernels->largest(e->n, x);
  if (e->kernels->first_not_finite(e->n, x) < e->n) {
    *e->norm = INFINITY;
    finish(e, x);
  } else if (largest == e->last)
    finish(e, x);
  else {
    unit[largest] = 1;
    e->kernels->fill(e->n, unit, x);
    unit[largest] = 0;
    e->last = largest;
  }
}

/* x = M v for v_i = +-(1 + i / (n - 1)), which has caught most cases that the iteration misses. */
static void take_alternating(estimate *e, const void *x) {
  const double other = 2 * e->kernels->one_norm(e->n, x) / (3.0 * e->n);
  if (!(other <= *e->norm)) *e->norm = isnan(other) ? INFINITY : other;
}

/* One half of a step for every matrix that is not finished; gives how many remain. */
static tsi_index advance(estimate *estimates, tsi_index count, bool adjoint, double *unit, char *x) {
  tsi_index remaining = 0;
  for (estimate *e = estimates; e < estimates + count; e++) {
    void *column = x + (size_t)(e - estimates) * (size_t)e->n * e->kernels->scalar_bytes;
    if (e->finished) continue;
    if (adjoint)
      choose_unit(e, unit, column);
    else
      take_norm(e, column);
    remaining += !e->finished;
  }
  return remaining;
}

static void fill_columns(const tsi_sparse_kernels *kernels, tsi_index n, tsi_index count, const double *real,
                         char *x) {
  for (tsi_index c = 0; c < count; c++)
    kernels->fill(n, real, x + (size_t)c * (size_t)n * kernels->scalar_bytes);
}

tristar_status tsi_estimate_one_norms(tsi_env *env, const tsi_sparse_kernels *kernels, tsi_index n,
                                      tsi_index count, tsi_multiply_columns multiply, void *arg,
                                      double *norm) {
  tristar_status status = TRISTAR_OK;
  estimate estimates[TSI_ESTIMATES_MAX];
  const size_t column = (size_t)n * kernels->scalar_bytes;
  double *real = NULL;
  char *x = NULL;
  TSI_TRY(TSI_ALLOC(env, real, n));
  TSI_TRY(TSI_ALLOC(env, x, (size_t)count * column));
  for (tsi_index c = 0; c < count; c++) {
    norm[c] = 0;
    estimates[c] = (estimate){.kernels = kernels, .n = n, .norm = &norm[c], .last = TSI_NONE};
  }
  for (tsi_index i = 0; i < n; i++) real[i] = 1.0 / n;
  fill_columns(kernels, n, count, real, x);
  memset(real, 0, (size_t)n * sizeof *real);
  for (int step = 1;; step++) {
    TSI_TRY(multiply(arg, false, count, x));
    if (advance(estimates, count, false, real, x) == 0 || step == STEPS_MAX) break;
    TSI_TRY(multiply(arg, true, count, x));
    if (advance(estimates, count, true, real, x) == 0) break;
  }
  for (tsi_index i = 0; i < n; i++)
    real[i] = (i % 2 ? -1.0 : 1.0) * (1.0 + (n > 1 ? (double)i / (n - 1) : 0));
  fill_columns(kernels, n, count, real, x);
  TSI_TRY(multiply(arg, false, count, x));
  for (tsi_index c = 0; c < count; c++) take_alternating(&estimates[c], x + (size_t)c * column);
out:
  TSI_FREE(env, real);
  TSI_FREE(env, x);
  return status;
}
