/* GMRES and flexible GMRES with restarts: see run.h.
 *
 * Arnoldi's process computes an orthonormal basis V of the Krylov space. The next vector is K v_j without its
 * components along the previous vectors, by classical Gram-Schmidt. K is M^-1 A from the left and A M^-1 from
 * the right. At the end of a cycle V y is added to x, from the right M^-1 V y. y minimizes the residual
 * (hessenberg.h). FGMRES stores Z = M^-1 V, as M may change, and adds Z y.
 *
 * A cycle ends early if K v_j has no component orthogonal to the basis. Then the space contains the solution,
 * unless the matrix or the preconditioner is singular. */
#include <math.h>

#include "runtime/iterate/krylov/run.h"

#define CANCELLED 1e-3 /* share of a vector that is left if its direction has lost three digits */
#define STALLED 1e-6   /* a cycle that reduces the norm by a smaller share stalls */
#define STALLS 2       /* consecutive stalled cycles that end the run */

enum { HAT, BASIS }; /* vectors of the workspace: one, then V, then Z for FGMRES */

int tsi_gmres_vectors(const tristar_krylov_options *options) {
  const bool flexible = options->method == TRISTAR_KRYLOV_FGMRES;
  return BASIS + 1 + options->restart * (flexible ? 2 : 1);
}

typedef struct gmres {
  tsi_krylov_run *run;
  tristar_krylov_t *k;
  bool left, flexible; /* both false: from the right, or no preconditioner */
  int m;
  char *hat;
} gmres;

static char *basis(const gmres *s, int j) {
  return tsi_krylov_vector(s->k, BASIS + j);
}
static int first_z(const gmres *s) {
  return BASIS + s->m + 1;
}

/* Computes the first vector of V, not yet scaled: the residual of the system with K. */
static tristar_status begin(gmres *s, double *norm) {
  tsi_sums sums;
  double square;
  TSI_TRY(tsi_krylov_residual(s->run, basis(s, 0), &square));
  if (s->left) {
    TSI_TRY(tsi_krylov_precondition(s->run, basis(s, 0), basis(s, 0)));
    TSI_TRY(tsi_vectors_sums(s->k, NULL, basis(s, 0), &sums));
    square = sums.square;
  }
  *norm = sqrt(square);
  return TRISTAR_OK;
}

/* w = K v_j */
static tristar_status apply(gmres *s, int j, char *w) {
  tsi_krylov_run *run = s->run;
  if (run->precond == NULL) return tsi_krylov_multiply(run, basis(s, j), w, NULL, NULL);
  if (s->left) {
    TSI_TRY(tsi_krylov_multiply(run, basis(s, j), s->hat, NULL, NULL));
    return tsi_krylov_precondition(run, s->hat, w);
  }
  char *z = s->flexible ? tsi_krylov_vector(s->k, first_z(s) + j) : s->hat;
  TSI_TRY(tsi_krylov_precondition(run, basis(s, j), z));
  return tsi_krylov_multiply(run, z, w, NULL, NULL);
  return TRISTAR_OK;
}

/* Removes from w its components along v_0 .. v_j and adds them to column j of H. *before, *after: norms of
 * w. */
static tristar_status orthogonalize(gmres *s, int j, char *w, double *before, double *after) {
  tsi_complex *h = tsi_hessenberg_column(&s->k->work.small, j), *part = s->k->work.small.y;
  const tristar_krylov_passes passes = s->k->options.passes;
  for (int pass = 0; pass < 2; pass++) {
    double square, along = 0;
    TSI_TRY(tsi_vectors_project(s->k, BASIS, j + 1, w, part));
    TSI_TRY(tsi_vectors_combine(s->k, BASIS, j + 1, -1, part, w, &square));
    for (int i = 0; i <= j; i++) {
      h[i] += part[i];
      along += creal(part[i]) * creal(part[i]) + cimag(part[i]) * cimag(part[i]);
    }
    if (pass == 0) *before = sqrt(along + square);
    *after = sqrt(square);
    if (passes == TRISTAR_PASSES_ONE) break;
    if (passes == TRISTAR_PASSES_CANCELLED && !(*after <= CANCELLED * *before)) break;
  }
  return TRISTAR_OK;
}

/* Iteration j of a cycle, from 0. *columns: number of valid columns of H. *over: the space cannot grow. */
static tristar_status iterate(gmres *s, int j, int *columns, bool *over) {
  char *w = basis(s, j + 1);
  double before = 0, after = 0;
  s->run->result.iterations++;
  TSI_TRY(apply(s, j, w));
  TSI_TRY(orthogonalize(s, j, w, &before, &after));
  if (!isfinite(after) || !isfinite(before)) {
    tsi_krylov_end(s->run, TRISTAR_REASON_NOT_FINITE);
    return TRISTAR_OK;
  }
  *over = after <= s->k->sparse->epsilon * before;
  tsi_hessenberg_column(&s->k->work.small, j)[j + 1] = after;
  const double norm = tsi_hessenberg_rotate(&s->k->work.small, j);
  *columns = j + 1;
  if (!tsi_krylov_judge(s->run, norm) && !*over) TSI_TRY(tsi_vectors_scale(s->k, 1 / after, w, w));
  return TRISTAR_OK;
}

/* Moves x to the minimum over the first `columns` vectors. */
static tristar_status move(gmres *s, int columns) {
  tsi_krylov_run *run = s->run;
  double square;
  const tsi_complex one = 1, *y = s->k->work.small.y;
  tsi_hessenberg_solve(&s->k->work.small, columns);
  if (s->left || run->precond == NULL)
    return tsi_vectors_combine(s->k, BASIS, columns, 1, y, run->x, &square);
  if (s->flexible) return tsi_vectors_combine(s->k, first_z(s), columns, 1, y, run->x, &square);
  memset(s->hat, 0, (size_t)s->k->n * s->k->bytes);
  TSI_TRY(tsi_vectors_combine(s->k, BASIS, columns, 1, y, s->hat, &square));
  TSI_TRY(tsi_krylov_precondition(run, s->hat, s->hat));
  return tsi_vectors_combine(s->k, HAT, 1, 1, &one, run->x, &square);
}

/* One cycle. norm: of the residual in the first vector of V. */
static tristar_status cycle(gmres *s, double norm, bool *over) {
  int columns = 0;
  *over = false;
  tsi_hessenberg_start(&s->k->work.small, norm);
  TSI_TRY(tsi_vectors_scale(s->k, 1 / norm, basis(s, 0), basis(s, 0)));
  for (int j = 0; j < s->m && !s->run->ended && !*over; j++) TSI_TRY(iterate(s, j, &columns, over));
  if (columns > 0) TSI_TRY(move(s, columns));
  return TRISTAR_OK;
}

/* Decides whether the run ends after a cycle with these norms of the residual. */
static void judge_cycle(gmres *s, double before, double after, bool over, int *stalls) {
  tsi_krylov_run *run = s->run;
  *stalls = after < (1 - STALLED) * before ? 0 : *stalls + 1;
  if (!isfinite(after))
    tsi_krylov_end(run, TRISTAR_REASON_NOT_FINITE);
  else if (after <= run->threshold)
    tsi_krylov_end(run, TRISTAR_REASON_CONVERGED);
  else if (over && *stalls > 0)
    tsi_krylov_end(run, TRISTAR_REASON_BREAKDOWN);
  else if (*stalls == STALLS)
    tsi_krylov_end(run, TRISTAR_REASON_STAGNATED);
  run->result.residual = after / run->reference;
}

tristar_status tsi_gmres(tsi_krylov_run *run) {
  tristar_krylov_t *k = run->k;
  gmres s = {.run = run,
             .k = k,
             .left = run->precond != NULL && k->options.side == TRISTAR_SIDE_LEFT,
             .flexible = k->options.method == TRISTAR_KRYLOV_FGMRES,
             .m = k->options.restart,
             .hat = tsi_krylov_vector(k, HAT)};
  int stalls = 0;
  double norm;
  TSI_TRY(begin(&s, &norm));
  TSI_TRY(tsi_krylov_refer(run, norm, s.hat));
  (void)tsi_krylov_judge(run, norm);
  while (!run->ended) {
    const double before = norm;
    bool over;
    TSI_TRY(cycle(&s, norm, &over));
    if (run->ended) break;
    TSI_TRY(begin(&s, &norm));
    judge_cycle(&s, before, norm, over, &stalls);
  }
  return TRISTAR_OK;
}
