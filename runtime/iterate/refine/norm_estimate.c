/* The estimator of 1-norms: see norm_estimate.h. */
#include "runtime/iterate/refine/norm_estimate.h"

#include <math.h>

#define STEPS_MAX 5

typedef struct estimate {
  const tsi_sparse_kernels *kernels;
  tsi_team *team;
  tsi_index n;
  double *norm;
  tsi_index last; /* the column of M that was tried last, if its entry is on this process */
  bool finished;
} estimate;

static void finish(estimate *e, void *x) {
  e->finished = true;
  memset(x, 0, (size_t)e->n * e->kernels->scalar_bytes);
}

/* Updates the estimate from x = M v for a v of norm one. Replaces x by its signs, unless it shows that the
 * estimate cannot grow. */
static void take_norm(estimate *e, void *x) {
  const double now = tsi_team_sum(e->team, e->kernels->one_norm(e->n, x));
  const bool larger = now > *e->norm;
  if (larger || isnan(now)) *e->norm = isnan(now) ? INFINITY : now;
  if (larger && isfinite(now))
    e->kernels->sign(e->n, x, x);
  else
    finish(e, x);
}

/* Chooses the next v. x = M^H (signs) is a subgradient of the norm, so v is the unit vector of its largest
 * entry. unit: n zeros. */
static void choose_unit(estimate *e, double *unit, void *x) {
  const bool lost = tsi_team_any(e->team, e->kernels->first_not_finite(e->n, x) < e->n);
  const int who = tsi_team_who_has_largest(e->team, e->n > 0 ? e->kernels->largest_size(e->n, x) : -1);
  const tsi_index largest = who == e->team->own && e->n > 0 ? e->kernels->largest(e->n, x) : TSI_NONE;
  if (lost) {
    *e->norm = INFINITY;
    finish(e, x);
  } else if (!tsi_team_any(e->team, largest != TSI_NONE && largest != e->last))
    finish(e, x);
  else {
    if (largest != TSI_NONE) unit[largest] = 1;
    e->kernels->fill(e->n, unit, x);
    if (largest != TSI_NONE) unit[largest] = 0;
    e->last = largest;
  }
}

/* Updates the estimate from x = M v for v_i = +-(1 + i / (n - 1)), which detects most cases that the
 * iteration misses. */
static void take_alternating(estimate *e, const void *x) {
  const double other = 2 * tsi_team_sum(e->team, e->kernels->one_norm(e->n, x)) / (3.0 * (double)e->team->n);
  if (!(other <= *e->norm)) *e->norm = isnan(other) ? INFINITY : other;
}

/* Runs half a step for every matrix that is not finished. Returns how many remain. */
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

/* v_i of take_alternating for local entry i. */
static double alternating(const tsi_team *team, tsi_index i) {
  const tsi_index number = team->number ? team->number[i] : i;
  const double size = 1.0 + (team->n > 1 ? (double)number / (double)(team->n - 1) : 0);
  return number % 2 ? -size : size;
}

tristar_status tsi_estimate_one_norms(tsi_env *env, const tsi_sparse_kernels *kernels, tsi_team *team,
                                      tsi_index n, tsi_index count, tsi_multiply_columns multiply, void *arg,
                                      double *norm) {
  estimate estimates[TSI_ESTIMATES_MAX];
  const size_t column = (size_t)n * kernels->scalar_bytes;
  TSI_OWNED double *real = NULL;
  TSI_OWNED char *x = NULL;
  tristar_status status = TSI_ALLOC(env, real, n);
  if (status == TRISTAR_OK) status = TSI_ALLOC(env, x, (size_t)count * column);
  TSI_TRY(tsi_team_agree(team, status));
  for (tsi_index c = 0; c < count; c++) {
    norm[c] = 0;
    estimates[c] = (estimate){.kernels = kernels, .team = team, .n = n, .norm = &norm[c], .last = TSI_NONE};
  }
  for (tsi_index i = 0; i < n; i++) real[i] = 1.0 / (double)team->n;
  fill_columns(kernels, n, count, real, x);
  memset(real, 0, (size_t)n * sizeof *real);
  for (int step = 1;; step++) {
    TSI_TRY(multiply(arg, false, count, x));
    if (advance(estimates, count, false, real, x) == 0 || step == STEPS_MAX) break;
    TSI_TRY(multiply(arg, true, count, x));
    if (advance(estimates, count, true, real, x) == 0) break;
  }
  for (tsi_index i = 0; i < n; i++) real[i] = alternating(team, i);
  fill_columns(kernels, n, count, real, x);
  TSI_TRY(multiply(arg, false, count, x));
  for (tsi_index c = 0; c < count; c++) take_alternating(&estimates[c], x + (size_t)c * column);
  return team->failure;
}
