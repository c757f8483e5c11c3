/* Factorized sparse approximate inverses, M^-1 = G^H G or G_U G_L. The pattern of G is predictable only if it
 * contains each column that matters: then M = A. For each pattern the trace of M^-1 A is n, as diag(G A G^H)
 * = 1. */
#include "tests/fuzz/api_precond.h"

bool fsai_keeps_pattern(const tristar_precond_options *o) {
  return o->steps == 0 && o->prefilter == 0 && o->postfilter == 0;
}

/* Condition of A with its diagonal scaled to one; infinite unless A is clearly definite. */
static long double scaled_condition(const cell *c) {
  const reference *r = values_reference(c->p, c->v);
  const int n = c->p->n;
  long double most = 1;
  if (!c->v->hermitian || !r->trusted || !(reference_definiteness(n, c->v->truth) > 0)) return INFINITY;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      most = fmaxl(most, cabsl(r->inverse[i][j]) * sqrtl(creall(c->v->truth[i][i])) *
                             sqrtl(creall(c->v->truth[j][j])));
  return n * most;
}

/* Bound of rounding errors in products of G and A, scaled in this way. */
static long double rounding(const cell *c, const tristar_precond_options *o) {
  const long double eps = o->single || is_single(c->p->scalar) ? 0x1p-24L : 0x1p-53L;
  return 64.0L * (c->p->n + 10) * (c->p->n + 10) * eps * scaled_condition(c);
}

/* Are the diagonal entries so far from the ends of the range that no product leaves it? */
static bool is_in_middle(const cell *c, const tristar_precond_options *o) {
  const long double least = o->single || is_single(c->p->scalar) ? 1e-15L : 1e-140L;
  for (int i = 0; i < c->p->n; i++) {
    const long double a = creall(c->v->truth[i][i]);
    if (!(a > least && a < 1 / least)) return false;
  }
  return true;
}

/* Does each row of G exist, however operations round? */
static bool is_certain(const cell *c, const tristar_precond_options *o) {
  return is_in_middle(c, o) && rounding(c, o) < 0.1L;
}

/* Statuses of a pair of factors. Its rows need not be definite; if A is definite, their systems are
 * regular. */
static unsigned pair_statuses(const cell *c, const tristar_precond_options *o) {
  static places at;
  incomplete_places(c->p, true, at);
  for (int i = 0; i < c->p->n; i++)
    if (!at[i][i]) return BIT(TRISTAR_ERR_SINGULAR);
  return is_certain(c, o) ? ONLY_OK : ONLY_OK | BIT(TRISTAR_ERR_SINGULAR) | BIT(TRISTAR_ERR_NOT_FINITE);
}

unsigned fsai_statuses(const cell *c, const tristar_precond_options *o) {
  const unsigned breakdowns =
      BIT(TRISTAR_ERR_SINGULAR) | BIT(TRISTAR_ERR_NOT_FINITE) | BIT(TRISTAR_ERR_NOT_POSITIVE_DEFINITE);
  const tristar_symmetry kind = c->p->symmetry;
  const bool transposed =
      kind == TRISTAR_SKEW_SYMMETRIC || (kind == TRISTAR_SYMMETRIC && is_complex(c->p->scalar));
  static places at;
  if (o->pair == TRISTAR_PAIR_ALWAYS || (o->pair == TRISTAR_PAIR_AUTO && transposed))
    return pair_statuses(c, o);
  if (o->pair == TRISTAR_PAIR_AUTO && kind == TRISTAR_GENERAL && !c->v->hermitian) {
    tristar_precond_options one = *o;
    one.pair = TRISTAR_PAIR_NEVER;
    const unsigned other = fsai_statuses(c, &one) & ~BIT(TRISTAR_ERR_ARGUMENT);
    return pair_statuses(c, o) | (unlikeness(c, true) > 1e-3L ? 0 : other);
  }
  if (transposed) return BIT(TRISTAR_ERR_ARGUMENT);
  if (kind == TRISTAR_GENERAL && !c->v->hermitian)
    return BIT(TRISTAR_ERR_ARGUMENT) | (unlikeness(c, true) > 1e-3L ? 0 : ONLY_OK | breakdowns);
  incomplete_places(c->p, true, at);
  for (int i = 0; i < c->p->n; i++)
    if (!at[i][i]) return BIT(TRISTAR_ERR_SINGULAR);
  return is_certain(c, o) ? ONLY_OK : ONLY_OK | breakdowns;
}

tristar_precond_options choose_fsai_options(tristar_precond_options o) {
  static const int64_t steps[] = {5, 0, 1, 2, ORDER_MOST, INT64_MAX, 3, ORDER_MOST};
  static const double shares[] = {0, 0, 1e-3, 0.1, 0, 0.5, 1, 0};
  o.kind = TRISTAR_PRECOND_FSAI;
  o.steps = steps[below(&g->in, 8)];
  o.per_step = 1 + below(&g->in, 4);
  o.reduction = shares[below(&g->in, 8)];
  o.power = below(&g->in, 4);
  o.prefilter = shares[below(&g->in, 8)];
  o.postfilter = shares[below(&g->in, 8)];
  o.single = chance(&g->in, 64);
  o.block = (int)below(&g->in, 10) + TRISTAR_PRECOND_BLOCK_AUTO;
  o.pair = (tristar_pair)below(&g->in, 3);
  note("steps %lld, per_step %lld, reduction %g, power %d, prefilter %g, postfilter %g, single %d, block %d, "
       "pair %d\n",
       (long long)o.steps, (long long)o.per_step, o.reduction, o.power, o.prefilter, o.postfilter, o.single,
       o.block, (int)o.pair);
  return o;
}

void spoil_fsai_options(tristar_precond_options *o) {
  static const double wrong[] = {-1, NAN, 2.5};
  const double value = wrong[below(&g->in, 3)];
  switch (below(&g->in, 7)) {
  case 0:
    o->steps = -1;
    break;
  case 6:
    o->pair = (tristar_pair)3;
    break;
  case 1:
    o->per_step = 0;
    break;
  case 2:
    o->reduction = value;
    break;
  case 3:
    o->power = -1;
    break;
  case 4:
    o->prefilter = value;
    break;
  default:
    o->postfilter = value;
  }
}

/* ---- Judgement ----------------------------------------------------------------------------------------- */

/* Computes M^-1, a column at a time. */
static void apply_to_identity(const precond_slot *s, square inverse) {
  const cell *c = s->cell;
  const int n = c->p->n;
  char *b = keep((size_t)(n + 1) * scalar_bytes(c)), *x = keep((size_t)(n + 1) * scalar_bytes(c));
  for (int j = 0; j < n; j++) {
    for (int i = 0; i < n; i++) put(c->p->scalar, b, i, i == j);
    const tristar_status status = tristar_precond_apply(s->handle, TRISTAR_N, 1, b, n, x, n);
    MUST(status == TRISTAR_OK, "column %d of the inverse: %s", j, tristar_status_name(status));
    for (int i = 0; i < n; i++) inverse[i][j] = get(c->p->scalar, x, i);
  }
}

/* Checks that M^-1 is Hermitian and that the trace of M^-1 A is n. Errors are relative, with the diagonal of
 * M^-1 scaled to one. */
static void judge_trace(const cell *c, const tristar_precond_options *o, square inverse,
                        long double tolerance) {
  const int n = c->p->n;
  number trace = 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      const number a = c->v->truth[j][i] * (i == j ? 1 + o->shift : 1);
      const long double size = sqrtl(creall(inverse[i][i])) * sqrtl(creall(inverse[j][j]));
      trace += inverse[i][j] * a;
      MUST(cabsl(inverse[i][j] - conjl(inverse[j][i])) <= tolerance * size,
           "entries (%d, %d) and (%d, %d) of the inverse are no pair", i, j, j, i);
    }
  MUST(cabsl(trace - n) <= tolerance * n, "the trace of M^-1 A is %d + %Lg", n, creall(trace) - n);
}

/* Checks M = A. */
static void judge_inverse(const cell *c, const tristar_precond_options *o, square inverse,
                          long double tolerance) {
  const int n = c->p->n;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      number sum = i == j ? -1 : 0;
      for (int k = 0; k < n; k++) sum += inverse[i][k] * c->v->truth[k][j] * (k == j ? 1 + o->shift : 1);
      const long double scale = sqrtl(creall(c->v->truth[i][i])) / sqrtl(creall(c->v->truth[j][j]));
      MUST(cabsl(sum) * scale <= tolerance, "entry (%d, %d) of M^-1 A - I is %Lg", i, j, cabsl(sum));
    }
}

/* Later values use as many factors as the first ones. */
static void settle_pair(precond_slot *s) {
  tristar_precond_stats stats;
  (void)tristar_precond_get_stats(s->handle, &stats);
  if (stats.nnz_lower > 0) s->options.pair = stats.nnz_upper > 0 ? TRISTAR_PAIR_ALWAYS : TRISTAR_PAIR_NEVER;
}

void judge_fsai(precond_slot *s) {
  static square inverse;
  const cell *c = s->cell;
  const tristar_precond_options *o = &s->options;
  settle_pair(s);
  if (!is_certain(c, o)) return;
  apply_to_identity(s, inverse);
  judge_trace(c, o, inverse, rounding(c, o));
  if (o->steps >= c->p->n && o->reduction == 0 && o->postfilter == 0)
    judge_inverse(c, o, inverse, rounding(c, o));
}
