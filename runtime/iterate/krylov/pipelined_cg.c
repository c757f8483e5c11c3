/* Pipelined conjugate gradients (P. Ghysels and W. Vanroose, Parallel Computing 40 (2014), algorithm 4): see
 * run.h, and tristar_krylov.h for the tests.
 *
 *   gamma = (r, u);  delta = (w, u)                  u = M^-1 r, w = A u; while these sums are computed:
 *   m = M^-1 w;  n = A m
 *   beta = gamma / gamma before;  alpha = gamma / (delta - beta gamma / alpha before)
 *   z = n + beta z;  q = m + beta q;  s = w + beta s;  p = u + beta p
 *   x += alpha p;  r -= alpha s;  u -= alpha q;  w -= alpha z
 *
 * All sums of an iteration are sent in one message of each member. The price is rounding errors: recurrences
 * compute s, q, z, u and w, and later recurrences amplify their errors. Norms in the same message bound these
 * errors (S. Cools, E. F. Yetkin, E. Agullo, L. Giraud and W. Vanroose, SIAM J. Matrix Anal. Appl. 39
 * (2018)).
 *
 * If the amplified errors matter and exceed the errors of plain CG, all six vectors are recomputed. The
 * curvature (p, A p) is a difference here, so a result that is not positive does not prove A indefinite. Then
 * the four directions are recomputed. If r is smaller than its errors, the method restarts from x. Near the
 * attainable accuracy recomputing does not help; there plain CG continues. */
#include <math.h>

#include "runtime/iterate/krylov/run.h"
#include "runtime/iterate/krylov/vector_call.h"

#define OUTGROWN 10 /* ratio to the errors of plain CG */

enum { R, W, P, S, Z, N, U, M, Q, VECTORS };       /* vectors of the workspace */
enum { RR, XX, PP, SS, ZZ, WU, RU, UU, QQ, SUMS }; /* scalar products, each a pair of doubles */

int tsi_pipelined_cg_vectors(const tristar_krylov_options *options) {
  (void)options;
  return VECTORS;
}

int tsi_pipelined_cg_sums(void) {
  return 2 * SUMS;
}

/* Upper bounds of the norms of b - A x - r, A p - s, A u - w, A q - z, with rounding errors. */
typedef struct gaps {
  double r, s, w, z;
  double plain;  /* the share of r that plain CG has as well */
  double fresh;  /* r after recomputing it */
  double a;      /* estimate of the norm of A: the largest quotient so far */
  int64_t steps; /* steps since the vectors were recomputed */
} gaps;

typedef struct pipelined {
  tsi_krylov_run *run;
  bool preconditioned; /* if false, u is r, m is w, q is s */
  char *r, *u, *w, *m, *n, *p, *s, *q, *z;
  double sum[SUMS];
  double gamma_before, alpha, beta; /* of the latest iteration; alpha 0 before the first */
  gaps gap;
} pipelined;

/* ---- Vectors ------------------------------------------------------------------------------------------- */

static void leave_sums(const tristar_krylov_t *k, const pipelined *c, tsi_index first, tsi_index count,
                       double *share) {
  const struct {
    int sum;
    const void *a, *b;
  } products[SUMS] = {{RR, c->r, c->r}, {XX, c->run->x, c->run->x}, {PP, c->p, c->p},
                      {SS, c->s, c->s}, {ZZ, c->z, c->z},           {WU, c->w, c->u},
                      {RU, c->r, c->u}, {UU, c->u, c->u},           {QQ, c->q, c->q}};
  for (int i = 0; i < (c->preconditioned ? SUMS : RU); i++)
    k->kernels->dot(count, tsi_vector_from(k, products[i].a, first), tsi_vector_from(k, products[i].b, first),
                    share + 2 * products[i].sum);
  if (c->preconditioned) return;
  memcpy(share + 2 * RU, share + 2 * RR, 2 * sizeof *share);
  memcpy(share + 2 * UU, share + 2 * RR, 2 * sizeof *share);
  memcpy(share + 2 * QQ, share + 2 * SS, 2 * sizeof *share);
}

static void sums_block(const tristar_krylov_t *k, const tsi_vector_call *call, tsi_index first, tsi_index end,
                       double *share) {
  leave_sums(k, call->a, first, end - first, share);
}

/* Computes the directions, unless count is 0, and makes the step along them. */
static void step_block(const tristar_krylov_t *k, const tsi_vector_call *call, tsi_index first, tsi_index end,
                       double *share) {
  const pipelined *c = call->a;
  const tsi_index count = end - first;
  const struct {
    const char *add;
    char *direction;
    double factor;
    void *target;
  } lines[] = {{c->u, c->p, c->alpha, c->run->x},
               {c->w, c->s, -c->alpha, c->r},
               {c->m, c->q, -c->alpha, c->u},
               {c->n, c->z, -c->alpha, c->w}};
  for (int i = 0; i < 4; i++) { /* directions first, because the step changes u and w */
    if (call->count == 0 || (i == 2 && !c->preconditioned)) continue;
    k->kernels->xpay(count, call->beta, tsi_vector_from(k, lines[i].add, first),
                     tsi_vector_to(k, lines[i].direction, first));
  }
  for (int i = 0; i < 4; i++) {
    const double factor[2] = {lines[i].factor, 0};
    if (i == 2 && !c->preconditioned) continue;
    k->kernels->axpy(count, factor, tsi_vector_from(k, lines[i].direction, first),
                     tsi_vector_to(k, lines[i].target, first));
  }
  leave_sums(k, c, first, count, share);
}

/* y = M^-1 x, skipped without a preconditioner; z = A y. */
static tristar_status apply(const pipelined *c, const char *x, char *y, char *z) {
  if (c->preconditioned) TSI_TRY(tsi_krylov_precondition(c->run, x, y));
  return tsi_krylov_multiply(c->run, y, z, NULL, NULL);
}

/* ---- Rounding errors ----------------------------------------------------------------------------------- */

static double norm_of(const pipelined *c, int sum) {
  return sqrt(c->sum[sum]);
}

/* Sets the bounds for vectors that were just recomputed. */
static void reset_gaps(pipelined *c) {
  const double unit = c->run->k->sparse->epsilon * c->gap.a;
  c->gap.r = c->gap.plain = c->gap.fresh = unit * norm_of(c, XX);
  c->gap.steps = 0;
  c->gap.s = unit * norm_of(c, PP);
  c->gap.w = unit * norm_of(c, UU);
  c->gap.z = unit * norm_of(c, QQ);
}

/* Adds the rounding errors of the step whose sums were just computed. */
static void grow_gaps(pipelined *c) {
  gaps *g = &c->gap;
  const double p = norm_of(c, PP), q = norm_of(c, QQ), u = norm_of(c, UU);
  if (p > 0) g->a = fmax(g->a, norm_of(c, SS) / p);
  if (q > 0) g->a = fmax(g->a, norm_of(c, ZZ) / q);
  const double unit = c->run->k->sparse->epsilon * g->a;
  const double plain = unit * (norm_of(c, XX) + 4 * c->alpha * p);
  g->s = g->w + c->beta * g->s + unit * (2 * u + 4 * p);
  g->z = c->beta * g->z + 4 * unit * q;
  g->r += c->alpha * g->s + plain;
  g->w += c->alpha * g->z + unit * (2 * u + 4 * c->alpha * q);
  g->plain += plain;
  g->fresh = unit * norm_of(c, XX);
  g->steps++;
}

/* Would recomputed vectors be more accurate than r? Not near the attainable accuracy. */
static bool can_improve(const pipelined *c) {
  return OUTGROWN * c->gap.fresh < norm_of(c, RR);
}

/* LOST: r is smaller than its errors. They were amplified, or remain from an earlier, much larger x (a poor
 * initial guess). */
typedef enum verdict { GOOD, ASTRAY, LOST } verdict;

static verdict judge_vectors(const pipelined *c) {
  const gaps *g = &c->gap;
  const double r = norm_of(c, RR);
  const bool amplified = g->r - g->plain > OUTGROWN * g->plain,
             far = g->plain > OUTGROWN * (double)(g->steps + 1) * g->fresh;
  if (!can_improve(c)) return GOOD;
  if (g->r >= r) return amplified || far ? LOST : GOOD;
  return amplified && g->r > sqrt(c->run->k->sparse->epsilon) * r ? ASTRAY : GOOD;
}

/* Recomputes all vectors of the recurrences. */
static tristar_status replace(pipelined *c) {
  double square;
  TSI_TRY(tsi_krylov_residual(c->run, c->r, &square));
  TSI_TRY(apply(c, c->r, c->u, c->w));
  TSI_TRY(tsi_krylov_multiply(c->run, c->p, c->s, NULL, NULL));
  return apply(c, c->s, c->q, c->z);
}

static void clear_directions(const pipelined *c) {
  const tristar_krylov_t *k = c->run->k;
  char *const directions[] = {c->p, c->s, c->q, c->z};
  for (int i = 0; i < 4; i++) memset(directions[i], 0, (size_t)k->n * k->bytes);
}

/* Recomputes all vectors of the recurrences, without directions: directions of a lost r do not suit the new
 * one. */
static tristar_status restart(pipelined *c) {
  double square;
  TSI_TRY(tsi_krylov_residual(c->run, c->r, &square));
  TSI_TRY(apply(c, c->r, c->u, c->w));
  clear_directions(c);
  c->alpha = 0;
  return TRISTAR_OK;
}

/* ---- Iterations ---------------------------------------------------------------------------------------- */

static double norm(const pipelined *c) {
  return norm_of(c, c->run->k->options.norm == TRISTAR_NORM_RESIDUAL ? RR : UU);
}

/* Computes m and n while the sums are in progress. */
static tristar_status overlap(pipelined *c) {
  const tristar_krylov_t *k = c->run->k;
  TSI_TRY(apply(c, c->w, c->m, c->n));
  TSI_TRY(tsi_vectors_finish(c->run->k, tsi_pipelined_cg_sums()));
  for (int i = 0; i < SUMS; i++) c->sum[i] = k->work.total[2 * i];
  return TRISTAR_OK;
}

static tristar_status start_sums(const pipelined *c) {
  return tsi_vectors_start(c->run->k, &(tsi_vector_call){.run = sums_block, .vectors = 3, .a = c},
                           tsi_pipelined_cg_sums());
}

/* Computes m and n, completes the sums of the step before, and corrects vectors if necessary. */
static tristar_status look(pipelined *c) {
  TSI_TRY(overlap(c));
  if (c->alpha == 0) return TRISTAR_OK;
  grow_gaps(c);
  const verdict found = judge_vectors(c);
  if (found == GOOD) return TRISTAR_OK;
  TSI_TRY(found == LOST ? restart(c) : replace(c));
  TSI_TRY(start_sums(c));
  TSI_TRY(overlap(c));
  reset_gaps(c);
  return TRISTAR_OK;
}

/* Computes p, s, q and z by products. *curvature: the curvature of p. */
static tristar_status make_directions(pipelined *c, double *curvature) {
  const double beta[2] = {c->beta, 0};
  tsi_sums sums;
  TSI_TRY(tsi_vectors_direction(c->run->k, beta, c->u, NULL, NULL, c->p));
  TSI_TRY(tsi_krylov_multiply(c->run, c->p, c->s, c->p, &sums));
  TSI_TRY(apply(c, c->s, c->q, c->z));
  *curvature = sums.dot[0];
  return TRISTAR_OK;
}

/* beta of the next direction; below, its curvature by recurrence. */
static double next_beta(const pipelined *c) {
  return c->alpha == 0 ? 0 : c->sum[RU] / c->gamma_before;
}
static double next_curvature(const pipelined *c) {
  return c->alpha == 0 ? c->sum[WU] : c->sum[WU] - next_beta(c) * c->sum[RU] / c->alpha;
}

/* The recurrences no longer yield a curvature, and recomputing does not help. Plain CG has fewer recurrences,
 * and so smaller errors. */
static bool is_for_plain_cg(const pipelined *c) {
  return c->alpha != 0 && c->sum[RU] > 0 && next_curvature(c) <= 0 && !can_improve(c);
}

static tristar_status iterate(pipelined *c) {
  tsi_krylov_run *run = c->run;
  const double gamma = c->sum[RU];
  run->result.iterations++;
  if (!(gamma > 0)) {
    tsi_krylov_end(run, isnan(gamma) ? TRISTAR_REASON_NOT_FINITE : TRISTAR_REASON_INDEFINITE_PRECOND);
    return TRISTAR_OK;
  }
  const bool first = c->alpha == 0;
  c->beta = next_beta(c);
  double curvature = next_curvature(c);
  const bool doubtful = !first && curvature <= 0;
  if (doubtful) TSI_TRY(make_directions(c, &curvature));
  if (!(curvature > 0) || !isfinite(curvature)) {
    tsi_krylov_end(run, isfinite(curvature) ? TRISTAR_REASON_INDEFINITE : TRISTAR_REASON_NOT_FINITE);
    return TRISTAR_OK;
  }
  c->alpha = gamma / curvature;
  c->gamma_before = gamma;
  const tsi_vector_call call = {
      .run = step_block, .vectors = 16, .a = c, .beta = {c->beta, 0}, .count = !doubtful};
  return tsi_vectors_start(run->k, &call, tsi_pipelined_cg_sums());
}

/* Computes r, u, w and the reference. There are no directions yet. */
static tristar_status begin(pipelined *c) {
  tsi_krylov_run *run = c->run;
  tristar_krylov_t *k = run->k;
  const bool residual = k->options.norm == TRISTAR_NORM_RESIDUAL;
  tsi_sums sums;
  double square;
  TSI_TRY(tsi_krylov_residual(run, c->r, &square));
  if (c->preconditioned) {
    TSI_TRY(tsi_krylov_precondition(run, c->r, c->u));
    TSI_TRY(tsi_vectors_sums(k, NULL, residual ? c->r : c->u, &sums));
    square = sums.square;
  }
  TSI_TRY(tsi_krylov_refer(run, sqrt(square), c->n));
  if (run->ended) return TRISTAR_OK;
  TSI_TRY(tsi_krylov_multiply(run, c->u, c->w, NULL, NULL));
  clear_directions(c);
  return start_sums(c);
}

tristar_status tsi_pipelined_cg(tsi_krylov_run *run) {
  const tristar_krylov_t *k = run->k;
  const bool preconditioned = run->precond != NULL;
  pipelined c = {.run = run,
                 .preconditioned = preconditioned,
                 .r = tsi_krylov_vector(k, R),
                 .u = tsi_krylov_vector(k, preconditioned ? U : R),
                 .w = tsi_krylov_vector(k, W),
                 .m = tsi_krylov_vector(k, preconditioned ? M : W),
                 .n = tsi_krylov_vector(k, N),
                 .p = tsi_krylov_vector(k, P),
                 .s = tsi_krylov_vector(k, S),
                 .q = tsi_krylov_vector(k, preconditioned ? Q : S),
                 .z = tsi_krylov_vector(k, Z)};
  TSI_TRY(begin(&c));
  while (!run->ended) {
    TSI_TRY(look(&c));
    if (tsi_krylov_judge(run, norm(&c))) break;
    if (is_for_plain_cg(&c)) {
      tsi_krylov_resume(run, 1);
      return tsi_cg(run);
    }
    TSI_TRY(iterate(&c));
  }
  return TRISTAR_OK;
}
