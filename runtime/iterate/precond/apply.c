/* Applications of a preconditioner: see precond.h. tristar_precond_apply. */
#include "runtime/iterate/precond/precond.h"
#include "runtime/solve/request.h"

/* The right-hand sides and solutions of a call. */
typedef struct columns {
  int64_t nrhs, ldb, ldx;
  const void *b;
  char *x;
} columns;

static void *column(const tristar_precond_t *p, const columns *c, int64_t k) {
  return c->x + (size_t)(k * c->ldx) * p->sparse->scalar_bytes;
}

/* Copies b to x and uses x as b from then on. */
static void copy(const tristar_precond_t *p, columns *c) {
  const size_t bytes = p->sparse->scalar_bytes;
  for (int64_t k = 0; k < c->nrhs && c->b != c->x; k++)
    memcpy(column(p, c, k), (const char *)c->b + (size_t)(k * c->ldb) * bytes, (size_t)p->n * bytes);
  c->b = c->x;
  c->ldb = c->ldx;
}

static void conjugate(const tristar_precond_t *p, const columns *c) {
  for (int64_t k = 0; k < c->nrhs; k++) p->kernels->conjugate(p->n, column(p, c, k));
}

/* The op of a sweep if M is applied with op. A sweep that is used with T or C belongs to a GENERAL M, and its
 * own op is N. */
static tristar_op compose(tristar_op sweep, tristar_op op) {
  return op == TRISTAR_N ? sweep : op;
}

static tristar_status sweep(const tristar_precond_t *p, int which, tristar_op op, columns *c) {
  const tsi_precond_sweep *s = &p->sweep[which];
  if (s->plan == NULL) return TRISTAR_OK;
  TSI_TRY(tsi_solve_plain(s->plan, compose(s->op, op), c->nrhs, c->b, c->ldb, c->x, c->ldx));
  c->b = c->x;
  c->ldb = c->ldx;
  return TRISTAR_OK;
}

static tristar_status apply(const tristar_precond_t *p, tristar_op op, columns c) {
  const tristar_op own = p->symmetry == TRISTAR_SYMMETRIC   ? TRISTAR_T
                         : p->symmetry == TRISTAR_HERMITIAN ? TRISTAR_C
                                                            : TRISTAR_N;
  /* M^H = conj(M) for a symmetric M, M^T = conj(M) for a Hermitian M; a pair has transposes. */
  const bool pair = p->fsai != NULL && tsi_fsai_is_pair(p->fsai);
  const bool conjugated =
      p->sparse->is_complex && op != TRISTAR_N && (pair ? op == TRISTAR_C : own != TRISTAR_N && op != own);
  if (conjugated) {
    copy(p, &c);
    conjugate(p, &c);
  }
  if (own != TRISTAR_N) op = TRISTAR_N;
  if (p->fsai) {
    TSI_TRY(tsi_fsai_multiply(p->fsai, pair && op != TRISTAR_N, c.nrhs, c.b, c.ldb, c.x, c.ldx));
    c.b = c.x;
    c.ldb = c.ldx;
  }
  TSI_TRY(sweep(p, op == TRISTAR_N ? 0 : 1, op, &c));
  if (p->diagonal) {
    copy(p, &c);
    for (int64_t k = 0; k < c.nrhs; k++)
      p->kernels->scale(p->n, p->diagonal, op == TRISTAR_C, column(p, &c, k));
  }
  TSI_TRY(sweep(p, op == TRISTAR_N ? 1 : 0, op, &c));
  copy(p, &c);
  if (conjugated) conjugate(p, &c);
  return TRISTAR_OK;
}

static tristar_status apply_own(tristar_precond_t *p, tristar_op op, columns c) {
  bool done;
  TSI_TRY(tsi_row_sweeps_apply(p, op, c.nrhs, c.b, c.x, &done));
  return done ? TRISTAR_OK : apply(p, op, c);
}

static tristar_status call(const tristar_precond_t *p, tristar_op op, const columns *c) {
  tristar_status status = p->function(p->arg, op, c->nrhs, c->b, c->ldb, c->x, c->ldx);
  if (status != TRISTAR_OK && p->release == NULL) /* kinds with `release` have set a message */
    TSI_FAIL(&p->ts->env, status, "the function of the preconditioner gave %s", tristar_status_name(status));
  return status;
}

tristar_status tristar_precond_apply(tristar_precond_t *precond, tristar_op op, int64_t nrhs, const void *b,
                                     int64_t ldb, void *x, int64_t ldx) {
  tristar_status status = TRISTAR_OK;
  TSI_ENTER(precond, precond->ts);
  tsi_env *env = &precond->ts->env;
  const columns c = {nrhs, ldb, ldx, b, x};
  TSI_TRY_OUT(tsi_check_op(env, op));
  TSI_TRY_OUT(tsi_check_solve_columns(env, precond->n, nrhs, b, ldb, x, ldx));
  if (!precond->valid)
    TSI_FAIL_OUT(env, TRISTAR_ERR_STALE,
                 "the latest update of the preconditioner failed: it holds no values");
  if (nrhs == 0 || (precond->n == 0 && precond->function == NULL)) goto out;
  if (precond->function)
    TSI_TRY_OUT(call(precond, op, &c));
  else if (precond->plan)
    TSI_TRY_OUT(tsi_solve_plain(precond->plan, op, nrhs, b, ldb, x, ldx));
  else
    TSI_TRY_OUT(apply_own(precond, op, c));
out:
  return tsi_answer(env, status);
}
