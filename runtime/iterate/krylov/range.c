/* Matrices whose entries are so small or so large that squares of products would leave the range of numbers.
 *
 * Job. Let methods see scale^2 A, scale^2 M and x / scale^2 instead of A, M and x, where scale is a power of
 * two that brings scale^2 A near one. Such a scaling costs no accuracy, but passes through vectors.
 *
 * Reads   the norm of A.   Writes  k->half_scale, x, and what runs measure in units of M^-1 r. */
#include <math.h>

#include "runtime/iterate/krylov/run.h"

/* Norms of A between these and their reciprocals are left as they are: of double types, and of single ones.
 */
#define DOUBLE_NORM 1e-60
#define SINGLE_NORM 1e-12

tristar_status tsi_krylov_choose_half_scale(const tsi_krylov_run *run, double *scale) {
  tristar_krylov_t *k = run->k;
  const double least = k->sparse->epsilon > 1e-10 ? SINGLE_NORM : DOUBLE_NORM;
  char *product = tsi_krylov_vector(k, 0);
  *scale = 1;
  if (!tsi_krylov_has_entries(k)) return TRISTAR_OK;
  const double norm = tsi_krylov_norm(k);
  TSI_TRY(k->team->failure);
  if (norm > least && norm < 1 / least) return TRISTAR_OK;
  /* the norm itself may be beyond the range: b has a size near one, so A b shows the size of A */
  TSI_TRY(tsi_vectors_multiply(k, run->b, product, NULL, NULL));
  const double size = tsi_team_largest(k->team, k->sparse->largest_size(k->n, product));
  if (!(size <= 0)) *scale = ldexp(1, -ilogb(fmin(size, 0x1p1000)) / 2);
  return k->team->failure;
}

/* x *= scale^2, in two steps: the square may be out of range. */
static tristar_status scale_twice(tristar_krylov_t *k, double scale, void *x) {
  TSI_TRY(tsi_vectors_scale(k, scale, x, x));
  return tsi_vectors_scale(k, scale, x, x);
}

/* What the norm of the test is multiplied with in this scaling. */
static double norm_scale(const tsi_krylov_run *run, double scale) {
  return run->precond != NULL && run->k->options.norm == TRISTAR_NORM_PRECONDITIONED ? 1 / scale / scale : 1;
}

tristar_status tsi_krylov_enter_scale(tsi_krylov_run *run, int count, double scale) {
  for (tsi_krylov_run *r = run; r < run + count; r++) {
    if (r->ended) continue;
    TSI_TRY(scale_twice(r->k, 1 / scale, r->x));
    r->absolute *= norm_scale(r, scale);
    r->is_scaled = true;
  }
  run->k->half_scale = scale;
  return TRISTAR_OK;
}

tristar_status tsi_krylov_leave_scale(tsi_krylov_run *run, int count) {
  const double scale = run->k->half_scale;
  run->k->half_scale = 1;
  for (tsi_krylov_run *r = run; r < run + count; r++) {
    if (!r->is_scaled) continue;
    TSI_TRY(scale_twice(r->k, scale, r->x));
    r->absolute /= norm_scale(r, scale);
    r->reference /= norm_scale(r, scale);
    r->result.reference = r->reference;
    r->is_scaled = false;
  }
  return TRISTAR_OK;
}

tristar_status tsi_krylov_multiply_scaled(tristar_krylov_t *k, void *p, void *q) {
  const double scale = k->half_scale;
  TSI_TRY(tsi_vectors_scale(k, scale, p, p));
  k->half_scale = 1;
  const tristar_status status = tsi_vectors_multiply(k, p, q, NULL, NULL);
  k->half_scale = scale;
  TSI_TRY(status);
  TSI_TRY(tsi_vectors_scale(k, scale, q, q));
  return tsi_vectors_scale(k, 1 / scale, p, p);
}
