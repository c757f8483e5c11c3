/* Scaling for matrices with entries so small or so large that squares of products would leave the range of
 * numbers.
 *
 * Job. Give methods A, M^-1 and x multiplied by powers of two, so that A and M^-1 are near one. Such a
 * scaling costs no accuracy, but passes over vectors. A and M^-1 have separate scales, since M need not
 * resemble A. Half of an exponent is applied before a product or an application, and half after it.
 *
 * Reads   the norm of A.   Writes  the scales in k, x, and norms that runs measure in units of M^-1 r. */
#include <math.h>

#include "runtime/iterate/krylov/run.h"

/* Norms of A between these numbers and their reciprocals need no scaling, in double and in single types. */
#define DOUBLE_NORM 1e-60
#define SINGLE_NORM 1e-12

/* The scale of an operator that turns a vector of size one into a vector of this size. */
static double scale_for(double size) {
  return size <= 0 ? 1 : ldexp(1, -ilogb(fmin(size, 0x1p1000)) / 2);
}

static double size_of(const tristar_krylov_t *k, const void *vector) {
  return tsi_team_largest(k->team, k->sparse->largest_size(k->n, vector));
}

tristar_status tsi_krylov_choose_scales(tsi_krylov_run *run, tsi_scales *scales) {
  tristar_krylov_t *k = run->k;
  const double least = k->sparse->epsilon > 1e-10 ? SINGLE_NORM : DOUBLE_NORM;
  char *vector = tsi_krylov_vector(k, 0);
  *scales = TSI_NO_SCALES;
  if (!tsi_krylov_has_entries(k)) return TRISTAR_OK;
  const double norm = tsi_krylov_norm(k);
  TSI_TRY(k->team->failure);
  if (norm > least && norm < 1 / least) return TRISTAR_OK;
  /* The norm of A itself may be out of range. b has a size near one, so A b and M^-1 b show the sizes. */
  TSI_TRY(tsi_vectors_multiply(k, run->b, vector, NULL, NULL));
  scales->matrix = scale_for(size_of(k, vector));
  if (run->precond != NULL) {
    TSI_TRY(tsi_krylov_precondition(run, run->b, vector));
    scales->precond = scale_for(size_of(k, vector));
  }
  return k->team->failure;
}

/* x *= scale^2 in two steps, since the square may be out of range. */
static tristar_status scale_twice(tristar_krylov_t *k, double scale, void *x) {
  TSI_TRY(tsi_vectors_scale(k, scale, x, x));
  return tsi_vectors_scale(k, scale, x, x);
}

/* Factor by which this scaling multiplies the norm of the test. */
static double norm_scale(const tsi_krylov_run *run, const tsi_scales *scales) {
  const bool of_m = run->precond != NULL && run->k->options.norm == TRISTAR_NORM_PRECONDITIONED;
  return of_m ? scales->precond * scales->precond : 1;
}

tristar_status tsi_krylov_enter_scales(tsi_krylov_run *run, int count, const tsi_scales *scales) {
  for (tsi_krylov_run *r = run; r < run + count; r++) {
    if (r->ended) continue;
    TSI_TRY(scale_twice(r->k, 1 / scales->matrix, r->x));
    r->absolute *= norm_scale(r, scales);
    r->is_scaled = true;
  }
  run->k->scales = *scales;
  return TRISTAR_OK;
}

tristar_status tsi_krylov_leave_scales(tsi_krylov_run *run, int count) {
  const tsi_scales scales = run->k->scales;
  run->k->scales = TSI_NO_SCALES;
  for (tsi_krylov_run *r = run; r < run + count; r++) {
    if (!r->is_scaled) continue;
    TSI_TRY(scale_twice(r->k, scales.matrix, r->x));
    r->absolute /= norm_scale(r, &scales);
    r->reference /= norm_scale(r, &scales);
    r->result.reference = r->reference;
    r->is_scaled = false;
  }
  return TRISTAR_OK;
}

tristar_status tsi_krylov_multiply_scaled(tristar_krylov_t *k, void *p, void *q) {
  const double scale = k->scales.matrix;
  TSI_TRY(tsi_vectors_scale(k, scale, p, p));
  k->scales.matrix = 1;
  const tristar_status status = tsi_vectors_multiply(k, p, q, NULL, NULL);
  k->scales.matrix = scale;
  TSI_TRY(status);
  TSI_TRY(tsi_vectors_scale(k, scale, q, q));
  return tsi_vectors_scale(k, 1 / scale, p, p);
}
