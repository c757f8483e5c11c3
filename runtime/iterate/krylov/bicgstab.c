/* BiCGSTAB (H. A. van der Vorst, SIAM J. Sci. Stat. Comput. 13 (1992)): see run.h.
 *
 * K is M^-1 A with the preconditioner from the left, and A M^-1 from the right; r is the residual of that
 * system, w the initial r.
 *
 *   rho = (w, r);  p = r + beta (p - omega v), beta = rho / rho before * alpha / omega;  v = K p;
 *   alpha = rho / (w, v);  r -= alpha v;  t = K r;  omega = (t, r) / (t, t);  r -= omega t
 *
 * x += alpha p + omega r, with r before its second step. From the right p and r are replaced by M^-1 p and
 * M^-1 r, which the products with K compute. The method breaks down if rho, (w, v) or omega consists of
 * rounding errors only. */
#include <float.h>
#include <math.h>

#include "runtime/iterate/krylov/run.h"

enum { R, W, P, V, T, HAT, VECTORS }; /* vectors of the workspace */

int tsi_bicgstab_vectors(const tristar_krylov_options *options) {
  (void)options;
  return VECTORS;
}

typedef struct bicgstab {
  tsi_krylov_run *run;
  bool right;
  char *r, *w, *p, *v, *t;
  char *hat;   /* from the right: M^-1 p or M^-1 r; from the left: A p or A r */
  double rr;   /* r^H r */
  double size; /* norm of w */
  tsi_complex rho, alpha, omega;
} bicgstab;

/* y = K p with sums of u and y. *direction: the vector to be added to x for p. */
static tristar_status apply(bicgstab *s, char *p, char *y, const char *u, char **direction, tsi_sums *sums) {
  tsi_krylov_run *run = s->run;
  *direction = p;
  if (run->precond == NULL) return tsi_krylov_multiply(run, p, y, u, sums);
  if (s->right) {
    TSI_TRY(tsi_krylov_precondition(run, p, s->hat));
    *direction = s->hat;
    return tsi_krylov_multiply(run, s->hat, y, u, sums);
  }
  TSI_TRY(tsi_krylov_multiply(run, p, s->hat, NULL, NULL));
  TSI_TRY(tsi_krylov_precondition(run, s->hat, y));
  return tsi_vectors_sums(run->k, u, y, sums);
}

/* Does x^H y consist of rounding errors only? x, y: norms of the vectors. */
static bool vanishes(tsi_complex dot, double x, double y) {
  return cabs(dot) <= DBL_EPSILON * x * y;
}

static tsi_complex number(const double pair[2]) {
  return pair[0] + pair[1] * _Complex_I;
}

/* Computes p for the next product, or ends the run. rho_before: 0 in the first iteration. */
static tristar_status turn(bicgstab *s, tsi_complex rho_before) {
  tristar_status status = TRISTAR_OK;
  tsi_krylov_run *run = s->run;
  if (rho_before == 0) {
    memcpy(s->p, s->r, (size_t)run->k->n * run->k->bytes);
    return status;
  }
  if (vanishes(s->rho, s->size, sqrt(s->rr))) {
    tsi_krylov_end(run, TRISTAR_REASON_BREAKDOWN);
    return status;
  }
  const tsi_complex factor = s->rho / rho_before * (s->alpha / s->omega);
  const double beta[2] = {creal(factor), cimag(factor)}, omega[2] = {creal(s->omega), cimag(s->omega)};
  return tsi_vectors_direction(run->k, beta, s->r, omega, s->v, s->p);
}

/* The step along p. */
static tristar_status first_half(bicgstab *s) {
  tsi_krylov_run *run = s->run;
  char *direction;
  tsi_sums sums;
  TSI_TRY(apply(s, s->p, s->v, s->w, &direction, &sums));
  const tsi_complex wv = number(sums.dot);
  if (!isfinite(sums.square)) {
    tsi_krylov_end(run, TRISTAR_REASON_NOT_FINITE);
    return TRISTAR_OK;
  }
  if (vanishes(wv, s->size, sqrt(sums.square))) {
    tsi_krylov_end(run, TRISTAR_REASON_BREAKDOWN);
    return TRISTAR_OK;
  }
  s->alpha = s->rho / wv;
  const double alpha[2] = {creal(s->alpha), cimag(s->alpha)};
  TSI_TRY(tsi_vectors_step(run->k, alpha, direction, s->v, run->x, s->r, NULL, &sums));
  s->rr = sums.square;
  return TRISTAR_OK;
}

/* The step along r. */
static tristar_status second_half(bicgstab *s) {
  tsi_krylov_run *run = s->run;
  char *direction;
  tsi_sums sums;
  if (s->rr == 0) { /* the step along p solved the system */
    (void)tsi_krylov_judge(run, 0);
    return TRISTAR_OK;
  }
  TSI_TRY(apply(s, s->r, s->t, s->r, &direction, &sums));
  const tsi_complex tr = conj(number(sums.dot));
  if (sums.square == 0) {
    tsi_krylov_end(run, TRISTAR_REASON_BREAKDOWN);
    return TRISTAR_OK;
  }
  const bool vanished = vanishes(tr, sqrt(s->rr), sqrt(sums.square));
  s->omega = tr / sums.square;
  const double omega[2] = {creal(s->omega), cimag(s->omega)};
  TSI_TRY(tsi_vectors_step(run->k, omega, direction, s->t, run->x, s->r, s->w, &sums));
  s->rr = sums.square;
  s->rho = number(sums.dot);
  if (!tsi_krylov_judge(run, sqrt(s->rr)) && vanished) tsi_krylov_end(run, TRISTAR_REASON_BREAKDOWN);
  return TRISTAR_OK;
}

/* r = w = the initial residual of the system with K. */
static tristar_status begin(bicgstab *s) {
  tsi_krylov_run *run = s->run;
  tsi_sums sums;
  TSI_TRY(tsi_krylov_residual(run, s->r, &s->rr));
  if (run->precond != NULL && !s->right) {
    TSI_TRY(tsi_krylov_precondition(run, s->r, s->r));
    TSI_TRY(tsi_vectors_sums(run->k, NULL, s->r, &sums));
    s->rr = sums.square;
  }
  s->size = sqrt(s->rr);
  s->rho = s->rr;
  TSI_TRY(tsi_krylov_refer(run, s->size, s->hat));
  memcpy(s->w, s->r, (size_t)run->k->n * run->k->bytes);
  (void)tsi_krylov_judge(run, s->size);
  return TRISTAR_OK;
}

tristar_status tsi_bicgstab(tsi_krylov_run *run) {
  const tristar_krylov_t *k = run->k;
  bicgstab s = {.run = run,
                .right = k->options.side == TRISTAR_SIDE_RIGHT,
                .r = tsi_krylov_vector(k, R),
                .w = tsi_krylov_vector(k, W),
                .p = tsi_krylov_vector(k, P),
                .v = tsi_krylov_vector(k, V),
                .t = tsi_krylov_vector(k, T),
                .hat = tsi_krylov_vector(k, HAT)};
  tsi_complex before = 0;
  TSI_TRY(begin(&s));
  while (!run->ended) {
    run->result.iterations++;
    TSI_TRY(turn(&s, before));
    before = s.rho;
    if (!run->ended) TSI_TRY(first_half(&s));
    if (!run->ended) TSI_TRY(second_half(&s));
  }
  return TRISTAR_OK;
}
