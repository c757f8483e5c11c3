/* Applications of preconditioners, compared with the definition of M. */
#include "tests/fuzz/api_precond.h"

typedef long double real_square[ORDER_MOST][ORDER_MOST];

/* Computes |F|, and |F| |F^-1| |F|, which replaces |F| in the bound for a sweep by supernodes. */
static void find_sizes(const precond_slot *s, const incomplete *f, real_square *size, real_square *grown) {
  tristar_precond_stats stats;
  (void)tristar_precond_get_stats(s->handle, &stats);
  for (int upper = 0; upper < 2; upper++) {
    const bool panels = stats.partition[upper] == TRISTAR_PARTITION_SUPERNODES;
    for (int i = 0; i < f->n; i++)
      for (int j = 0; j < f->n; j++)
        size[upper][i][j] = grown[upper][i][j] = cabsl(upper ? f->upper[i][j] : f->lower[i][j]);
    if (panels)
      incomplete_grow(f->n, upper ? ((incomplete *)f)->upper : ((incomplete *)f)->lower, !upper,
                      grown[upper]);
  }
}

static void multiply(int n, real_square a, bool transposed, const long double *x, long double *y) {
  for (int i = 0; i < n; i++) {
    y[i] = 0;
    for (int j = 0; j < n; j++) y[i] += (transposed ? a[j][i] : a[i][j]) * x[j];
  }
}

/* Computes row i of b - op(L U) x. */
static void find_residual(incomplete *f, tristar_op op, const number *b, const number *x, number *r) {
  number middle[ORDER_MOST];
  const int n = f->n;
  for (int i = 0; i < n; i++) {
    middle[i] = 0;
    for (int j = 0; j < n; j++)
      middle[i] += reference_op(op == TRISTAR_N ? f->upper : f->lower, op, i, j) * x[j];
  }
  for (int i = 0; i < n; i++) {
    r[i] = b[i];
    for (int j = 0; j < n; j++)
      r[i] -= reference_op(op == TRISTAR_N ? f->lower : f->upper, op, i, j) * middle[j];
  }
}

/* x = op(M)^-1 b within the rounding errors of factors and sweeps. */
static void judge_application(const precond_slot *s, incomplete *f, tristar_op op, const number *b,
                              const number *x) {
  static real_square size[2], grown[2];
  const cell *c = s->cell;
  const int n = c->p->n, second = op == TRISTAR_N, first = !second;
  const bool transposed = op != TRISTAR_N;
  long double of_x[ORDER_MOST], y[ORDER_MOST], bound[ORDER_MOST], half[ORDER_MOST], error[ORDER_MOST],
      most = 1;
  number r[ORDER_MOST];
  for (int i = 0; i < n; i++) {
    if (!in_range(c, b[i]) || !in_range(c, x[i])) return;
    of_x[i] = cabsl(x[i]);
  }
  find_sizes(s, f, size, grown);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) most = fmaxl(most, fmaxl(size[0][i][j], 1) * fmaxl(size[1][i][j], 1));
  multiply(n, size[second], transposed, of_x, y);
  multiply(n, grown[first], transposed, y, bound);
  multiply(n, grown[second], transposed, of_x, y);
  multiply(n, size[first], transposed, y, half);
  multiply(n, f->error, transposed, of_x, error);
  find_residual(f, op, b, x, r);
  const long double floor = 64.0L * (n + 10) * f->least * most;
  for (int i = 0; i < n; i++)
    MUST(cabsl(r[i]) <= 4 * error[i] + 32.0L * (n + 10) * f->eps * (bound[i] + half[i]) + floor,
         "row %d of b - op(M) x is %Lg, of which rounding explains %Lg and that of the factors %Lg", i,
         cabsl(r[i]), 32.0L * (n + 10) * f->eps * (bound[i] + half[i]), error[i]);
}

/* NONE, FUNCTION: the arithmetic is exact unless it underflows. */
static void judge_plain_copy(const precond_slot *s, const number *b, const number *x) {
  for (int i = 0; i < s->cell->p->n; i++) {
    const number wanted = b[i] * (s->options.kind == TRISTAR_PRECOND_NONE ? 1 : 1 << i % 3);
    MUST(wanted == x[i] || !isfinite(cabsl(b[i])), "row %d is %Lg, not %Lg", i, cabsl(x[i]), cabsl(wanted));
  }
}

static void judge_columns_of(const precond_slot *s, tristar_op op, const operands *o) {
  static incomplete f;
  number b[ORDER_MOST], x[ORDER_MOST];
  const cell *c = s->cell;
  const tristar_precond_kind kind = s->options.kind;
  const bool known =
      kind != TRISTAR_PRECOND_NONE && kind < TRISTAR_PRECOND_FSAI && !loses_entries(c, &s->options);
  if (kind == TRISTAR_PRECOND_PLAN) return;
  if (known) find_factors(c, &s->options, &f);
  if (known && is_cholesky(&s->options) && c->p->symmetry == TRISTAR_GENERAL && !c->v->hermitian &&
      !c->v->symmetric)
    return; /* equal only to rounding errors */
  for (int64_t k = 0; k < o->nrhs; k++) {
    fetch_column(c, o->b, k * o->next_b, o->step_b, b);
    fetch_column(c, o->x, k * o->next_x, o->step_x, x);
    if (kind == TRISTAR_PRECOND_NONE || kind == TRISTAR_PRECOND_FUNCTION)
      judge_plain_copy(s, b, x);
    else if (known && f.certain && !f.negative && !f.missing)
      judge_application(s, &f, op, b, x);
  }
}

/* PLAN: x equals the solution of the plan. */
static void compare_with_plan(const precond_slot *s, tristar_op op, const operands *o) {
  const cell *c = s->cell;
  char *x = keep(o->bytes);
  if (tristar_solve(s->plan, op, o->nrhs, o->b, o->next_b, x, o->next_x) != TRISTAR_OK)
    FOUND("the plan fails");
  for (int64_t k = 0; k < o->nrhs; k++)
    MUST(memcmp(x + (size_t)(k * o->next_x) * scalar_bytes(c),
                (char *)o->x + (size_t)(k * o->next_x) * scalar_bytes(c),
                (size_t)c->p->n * scalar_bytes(c)) == 0,
         "the plan gives other bits, column %lld", (long long)k);
}

void call_precond_apply(void) {
  const precond_slot *s = &g->precond[below(&g->in, SLOTS)];
  if (s->handle == NULL) return;
  const cell *c = s->cell;
  const tristar_op op = choose_op();
  const operands o = choose_operands(c);
  const bool narrow = o.nrhs > 1 && c->p->n > 0 && chance(&g->in, 8), in_place = chance(&g->in, 48);
  unsigned right = c->v == NULL ? BIT(TRISTAR_ERR_STALE) : ONLY_OK;
  if (s->plan != NULL && c->v == NULL && (c->p->n == 0 || o.nrhs == 0)) right |= ONLY_OK;
  if (narrow) right = (right & ~ONLY_OK) | BIT(TRISTAR_ERR_ARGUMENT);
  g->function_fails = chance(&g->in, 16);
  if (g->function_fails && s->options.kind == TRISTAR_PRECOND_FUNCTION && c->p->n > 0 && o.nrhs > 0 &&
      !narrow)
    right = BIT(TRISTAR_ERR_IO);
  arm();
  const tristar_status status = outcome(
      "tristar_precond_apply",
      tristar_precond_apply(s->handle, op, o.nrhs, o.b, narrow ? c->p->n - 1 : o.next_b, o.x, o.next_x),
      right);
  g->function_fails = 0;
  if (status != TRISTAR_OK) return;
  judge_gaps(c, &o);
  if (c->v == NULL) return;
  judge_columns_of(s, op, &o);
  if (s->plan != NULL) compare_with_plan(s, op, &o);
  if (!in_place) return;
  outcome("tristar_precond_apply, x = b",
          tristar_precond_apply(s->handle, op, o.nrhs, o.b, o.next_b, o.b, o.next_b), ONLY_OK);
  for (int64_t k = 0; k < o.nrhs; k++)
    MUST(memcmp((char *)o.b + (size_t)(k * o.next_b) * scalar_bytes(c),
                (char *)o.x + (size_t)(k * o.next_x) * scalar_bytes(c),
                (size_t)c->p->n * scalar_bytes(c)) == 0,
         "x in the place of b gets other bits, column %lld", (long long)k);
}
