/* Conjugate gradients with a preconditioner: see run.h, and tristar_krylov.h for the tests.
 *
 *   z = M^-1 r;  p = z + beta p, beta = (r, z) / (r, z) before;  alpha = (r, z) / (p, A p);
 *   x += alpha p;  r -= alpha A p
 *
 * A diagonal M is applied in the same pass as the steps of x and r, so it needs no further pass over vectors.
 *
 * Both scalar products are positive if A and M are positive definite. If one is not positive, the reason of
 * the run names it. */
#include <math.h>

#include "runtime/iterate/krylov/run.h"
#include "runtime/iterate/precond/precond.h"

enum { R, P, Q, Z, VECTORS }; /* vectors of the workspace */

int tsi_cg_vectors(const tristar_krylov_options *options) {
  (void)options;
  return VECTORS;
}

typedef struct cg {
  tsi_krylov_run *run;
  char *r, *p, *q, *z;  /* without a preconditioner z is r */
  const void *diagonal; /* the diagonal of M^-1; NULL: M is not diagonal */
  double rr, rz, zz;    /* r^H r, r^H z, z^H z */
} cg;

/* Computes z and the sums of the test from r. */
static tristar_status precondition(cg *s) {
  tristar_status status = TRISTAR_OK;
  tsi_sums sums;
  s->rz = s->zz = s->rr;
  if (s->run->precond == NULL) return status;
  TSI_TRY(tsi_krylov_precondition(s->run, s->r, s->z));
  TSI_TRY(tsi_vectors_sums(s->run->k, s->r, s->z, &sums));
  s->rz = sums.dot[0];
  s->zz = sums.square;
  return status;
}

static double norm(const cg *s) {
  return sqrt(s->run->k->options.norm == TRISTAR_NORM_RESIDUAL ? s->rr : s->zz);
}

/* Computes the next x, r and z. */
static tristar_status step(cg *s, double alpha) {
  tsi_krylov_run *run = s->run;
  tsi_sums sums;
  if (s->diagonal != NULL) {
    TSI_TRY(tsi_vectors_advance(run->k, alpha, s->p, s->q, s->diagonal, run->x, s->r, s->z, &sums, &s->rr));
    s->rz = sums.dot[0];
    s->zz = sums.square;
    run->result.preconditionings++;
    return TRISTAR_OK;
  }
  TSI_TRY(tsi_vectors_step(run->k, (double[2]){alpha, 0}, s->p, s->q, run->x, s->r, NULL, &sums));
  s->rr = sums.square;
  return precondition(s);
}

/* rz_before: (r, z) of the iteration before; 0 in the first iteration. */
static tristar_status iterate(cg *s, double rz_before) {
  tsi_krylov_run *run = s->run;
  tsi_sums sums;
  run->result.iterations++;
  if (!(s->rz > 0)) {
    tsi_krylov_end(run, isnan(s->rz) ? TRISTAR_REASON_NOT_FINITE : TRISTAR_REASON_INDEFINITE_PRECOND);
    return TRISTAR_OK;
  }
  const double beta[2] = {rz_before > 0 ? s->rz / rz_before : 0, 0};
  if (rz_before > 0)
    TSI_TRY(tsi_vectors_direction(run->k, beta, s->z, NULL, NULL, s->p));
  else
    memcpy(s->p, s->z, (size_t)run->k->n * run->k->bytes);
  TSI_TRY(tsi_krylov_multiply(run, s->p, s->q, s->p, &sums));
  const double curvature = sums.dot[0];
  if (!(curvature > 0) || !isfinite(curvature)) {
    tsi_krylov_end(run, isfinite(curvature) ? TRISTAR_REASON_INDEFINITE : TRISTAR_REASON_NOT_FINITE);
    return TRISTAR_OK;
  }
  TSI_TRY(step(s, s->rz / curvature));
  (void)tsi_krylov_judge(run, norm(s));
  return TRISTAR_OK;
}

tristar_status tsi_cg(tsi_krylov_run *run) {
  const tristar_krylov_t *k = run->k;
  cg s = {.run = run,
          .r = tsi_krylov_vector(k, R),
          .p = tsi_krylov_vector(k, P),
          .q = tsi_krylov_vector(k, Q),
          .z = tsi_krylov_vector(k, run->precond ? Z : R),
          .diagonal = run->precond && k->scales.precond == 1 ? tsi_precond_diagonal(run->precond) : NULL};
  double before = 0;
  /* Ranks may have preconditioners of different kinds. A step with a diagonal has one sum less, so all ranks
   * use the diagonal, or none. */
  if (run->precond != NULL && !tsi_krylov_is_alone(k) && tsi_team_any(k->team, s.diagonal == NULL))
    s.diagonal = NULL;
  TSI_TRY(tsi_krylov_residual(run, s.r, &s.rr));
  TSI_TRY(precondition(&s));
  TSI_TRY(tsi_krylov_refer(run, norm(&s), s.q));
  (void)tsi_krylov_judge(run, norm(&s));
  while (!run->ended) {
    const double rz = s.rz;
    TSI_TRY(iterate(&s, before));
    before = rz;
  }
  return TRISTAR_OK;
}
