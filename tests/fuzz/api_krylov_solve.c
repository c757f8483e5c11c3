/* Solves with Krylov methods. The harness computes the members of a result from b, x and the matrix, and
 * compares. It also checks convergence where theory guarantees it (no preconditioner, few unknowns, a matrix
 * far from singular). */
#include <float.h>

#include "tests/fuzz/api.h"

enum { HISTORY_MOST = 4096 };

/* ---- A solve and its result ---------------------------------------------------------------------------- */

/* One solve: its arguments and its results. */
typedef struct run {
  krylov_slot *s;
  tristar_precond_t *m; /* NULL: none */
  const precond_slot *precond;
  tristar_krylov_options options;
  operands o;
  void *guess; /* initial x; NULL: none */
  tristar_krylov_point *history;
  tristar_krylov_result *result;
  int64_t cancel; /* number of the progress call that cancels; 0: none */
} run;

static int on_progress(void *arg, const tristar_krylov_point *point) {
  run *r = arg;
  MUST(point->column >= 0 && point->column < r->o.nrhs && point->iteration >= 0, "point of column %lld",
       (long long)point->column);
  return r->cancel > 0 && --r->cancel == 0;
}

static long double norm_of(int n, const number *x) {
  long double sum = 0;
  for (int i = 0; i < n; i++) sum += creall(x[i]) * creall(x[i]) + cimagl(x[i]) * cimagl(x[i]);
  return sqrtl(sum);
}

static bool all_in_range(const cell *c, const number *x) {
  for (int i = 0; i < c->p->n; i++)
    if (!in_range(c, x[i])) return false;
  return true;
}

/* Are the entries and their squares far from the ends of the range? */
static bool is_moderate(const cell *c) {
  const long double most = is_single(c->p->scalar) ? 1e9L : 1e70L;
  for (int i = 0; i < c->p->n; i++)
    for (int j = 0; j < c->p->n; j++) {
      const long double size = cabsl(c->v->truth[i][j]);
      if (size != 0 && !(size < most && size > 1 / most)) return false;
    }
  return true;
}

static bool is_preconditioned_norm(const run *r) {
  const tristar_krylov_options *o = &r->options;
  if (o->norm != TRISTAR_NORM_DEFAULT) return o->norm == TRISTAR_NORM_PRECONDITIONED;
  return o->side != TRISTAR_SIDE_RIGHT && o->method != TRISTAR_KRYLOV_FGMRES;
}

/* Returns || b - A x ||. *size: the scale of its rounding errors. */
static long double true_residual(const cell *c, const number *b, const number *x, long double *size) {
  number r[ORDER_MOST], terms[ORDER_MOST];
  for (int i = 0; i < c->p->n; i++) {
    long double sum = cabsl(b[i]);
    r[i] = b[i];
    for (int j = 0; j < c->p->n; j++) {
      r[i] -= c->v->truth[i][j] * x[j];
      sum += cabsl(c->v->truth[i][j]) * cabsl(x[j]);
    }
    terms[i] = sum;
  }
  *size = norm_of(c->p->n, terms);
  return norm_of(c->p->n, r);
}

static bool is_cg(const tristar_krylov_options *o) {
  return o->method == TRISTAR_KRYLOV_CG || o->method == TRISTAR_KRYLOV_PIPELINED_CG ||
         o->method == TRISTAR_KRYLOV_BLOCK_CG;
}

/* Checks counts and the reason, which hold for any values. */
static void judge_counts(const run *r, int64_t k) {
  const tristar_krylov_result *t = &r->result[k];
  const tristar_krylov_options *o = &r->options;
  MUST((unsigned)t->reason <= TRISTAR_REASON_INACCURATE &&
           t->converged == (t->reason == TRISTAR_REASON_CONVERGED),
       "reason %d, converged %d", (int)t->reason, t->converged);
  MUST(t->iterations >= 0 && t->iterations <= o->max_iterations, "%lld iterations", (long long)t->iterations);
  MUST(t->reason != TRISTAR_REASON_LIMIT || t->iterations == o->max_iterations, "the limit after %lld",
       (long long)t->iterations);
  MUST(t->reason != TRISTAR_REASON_STAGNATED || o->patience > 0 || o->method == TRISTAR_KRYLOV_GMRES ||
           o->method == TRISTAR_KRYLOV_FGMRES,
       "stagnation without patience");
  MUST(t->reason != TRISTAR_REASON_DIVERGED || (o->divergence > 0 && t->residual >= o->divergence),
       "diverged at %g", t->residual);
  MUST(t->reason != TRISTAR_REASON_INDEFINITE || is_cg(o), "only CG can report indefinite");
  MUST(t->products >= 0 && t->preconditionings >= 0 && (r->m != NULL || t->preconditionings == 0),
       "%lld preconditionings", (long long)t->preconditionings);
  if (t->reason == TRISTAR_REASON_CONVERGED)
    MUST(t->residual * t->reference <= fmax(o->tolerance * t->reference, o->absolute) * (1 + 1e-6),
         "converged at %g of %g, tolerance %g, absolute %g", t->residual, t->reference, o->tolerance,
         o->absolute);
}

/* The points of column k begin at `at`. Returns the beginning for the next column. */
static int64_t judge_history(const run *r, int64_t k, int64_t at) {
  const tristar_krylov_result *t = &r->result[k];
  int64_t before = -1;
  for (int64_t e = at; r->history != NULL && e < at + t->history_count && e < r->options.history_most; e++) {
    MUST(r->history[e].column == k && r->history[e].iteration > before &&
             r->history[e].iteration <= t->iterations,
         "point %lld is of column %lld, iteration %lld", (long long)e, (long long)r->history[e].column,
         (long long)r->history[e].iteration);
    before = r->history[e].iteration;
  }
  return at + t->history_count;
}

/* Must the method converge in exact arithmetic, with a margin for rounding errors? */
static bool must_converge(const run *r) {
  const cell *c = r->s->cell;
  const tristar_krylov_options *o = &r->options;
  const reference *truth = values_reference(c->p, c->v);
  const int n = c->p->n;
  if (r->m != NULL || r->guess != NULL || !truth->trusted || !(truth->kappa < 1e3L)) return false;
  if (o->tolerance < 1e4 * n * c->eps * (double)truth->kappa) return false;
  if (is_cg(o))
    return c->v->hermitian && reference_definiteness(n, c->v->truth) > 0.01L &&
           o->max_iterations >= 20 * n + 50 && (o->patience == 0 || o->patience >= 1000);
  if (o->method == TRISTAR_KRYLOV_BICGSTAB) return false;
  return o->restart > n + 2 && o->max_iterations > n + 2 && (o->patience == 0 || o->patience > n);
}

/* Does the solution exceed the range of the type? */
static bool leaves_range(const run *r, const number *b) {
  const cell *c = r->s->cell;
  const reference *truth = values_reference(c->p, c->v);
  const long double most = is_single(c->p->scalar) ? FLT_MAX : DBL_MAX;
  for (int i = 0; i < c->p->n && truth->trusted; i++) {
    number x = 0;
    for (int j = 0; j < c->p->n; j++) x += truth->inverse[i][j] * b[j];
    if (!(fmaxl(fabsl(creall(x)), fabsl(cimagl(x))) < 0.99L * most)) return true;
  }
  return false;
}

/* Compares the reference norm in the result with b. */
static void judge_reference(const run *r, int64_t k, const number *b) {
  const cell *c = r->s->cell;
  const int n = c->p->n;
  number z[ORDER_MOST];
  memcpy(z, b, (size_t)n * sizeof *z);
  if (is_preconditioned_norm(r) && r->m != NULL) {
    static double in[2 * ORDER_MOST], out[2 * ORDER_MOST];
    for (int i = 0; i < n; i++) put(c->p->scalar, in, i, b[i]);
    if (tristar_precond_apply(r->m, TRISTAR_N, 1, in, n, out, n) != TRISTAR_OK) FOUND("M^-1 b fails");
    fetch_column(c, out, 0, 1, z);
    if (!all_in_range(c, z)) return;
  }
  const long double norm = norm_of(n, z);
  const double reported = r->result[k].reference;
  MUST(fabsl(reported - norm) <= 64.0L * (n + 10) * c->eps * norm, "the reference is %Lg, reported %g", norm,
       reported);
}

/* Compares the residuals in the result with x. */
static void judge_residual(const run *r, int64_t k, const number *b, const number *x) {
  const cell *c = r->s->cell;
  const int n = c->p->n;
  const tristar_krylov_result *t = &r->result[k];
  long double size;
  const long double b_norm = norm_of(n, b), residual = true_residual(c, b, x, &size) / b_norm;
  const long double rounding = 8.0L * (n + 10) * c->eps * size / b_norm;
  MUST(fabsl(t->true_residual - residual) <= rounding + 8 * n * c->eps * residual,
       "the true residual is %Lg, reported %g; rounding explains %Lg", residual, t->true_residual, rounding);
  /* With M the drift also depends on the condition of M. */
  const reference *truth = values_reference(c->p, c->v);
  if (t->reason != TRISTAR_REASON_CONVERGED || r->m != NULL || !truth->trusted) return;
  long double highest = 1;
  for (int64_t e = 0; r->history != NULL && e < r->options.history_most; e++)
    if (r->history[e].column == k) highest = fmaxl(highest, (long double)r->history[e].residual);
  const long double drift = 1e3L * (n + 10) * c->eps * (t->iterations + 2) * truth->kappa * highest;
  if (r->history == NULL || !(drift < 0.01L) || r->guess != NULL) return;
  MUST(residual <= (long double)t->residual + drift,
       "the true residual is %Lg, that of the recurrences %g; drift explains %Lg", residual, t->residual,
       drift);
}

static void judge_zero(const run *r, int64_t k, const number *x) {
  const tristar_krylov_result *t = &r->result[k];
  for (int i = 0; i < r->s->cell->p->n; i++)
    MUST(x[i] == 0, "row %d of the solution for b = 0 is %Lg", i, cabsl(x[i]));
  MUST(t->converged && t->iterations == 0 && t->true_residual == 0, "b = 0: reason %d, true residual %g",
       (int)t->reason, t->true_residual);
}

static void judge_column(const run *r, int64_t k) {
  const cell *c = r->s->cell;
  const int n = c->p->n;
  const tristar_krylov_result *t = &r->result[k];
  number b[ORDER_MOST], x[ORDER_MOST];
  bool finite = true, zero = true;
  fetch_column(c, r->o.b, k * r->o.next_b, 1, b);
  fetch_column(c, r->o.x, k * r->o.next_x, 1, x);
  for (int i = 0; i < n; i++) {
    finite = finite && isfinite(creall(x[i])) && isfinite(cimagl(x[i]));
    zero = zero && b[i] == 0;
  }
  judge_counts(r, k);
  if (zero && t->reason != TRISTAR_REASON_CANCELLED) {
    judge_zero(r, k, x);
    return;
  }
  MUST(finite || t->reason != TRISTAR_REASON_CONVERGED, "converged, but x is not finite");
  if (t->reason != TRISTAR_REASON_CANCELLED && is_moderate(c) && !zero)
    MUST(t->converged || !must_converge(r) || leaves_range(r, b),
         "no convergence: %s, residual %g after %lld; condition %Lg", tristar_krylov_reason_text(t->reason),
         t->residual, (long long)t->iterations, c->v->reference.kappa);
  if (zero || !finite || !is_moderate(c) || !all_in_range(c, b) || !all_in_range(c, x)) return;
  if (t->reason == TRISTAR_REASON_CANCELLED && t->products == 0) return; /* not begun */
  judge_reference(r, k, b);
  judge_residual(r, k, b, x);
}

/* Solves of single columns give the same bits. */
static void compare_columns(run *r) {
  const cell *c = r->s->cell;
  const size_t width = scalar_bytes(c), n = (size_t)c->p->n;
  char *x = keep((n + 1) * width);
  for (int64_t k = 0; k < r->o.nrhs && k < 3; k++) {
    tristar_krylov_result t;
    if (r->guess) memcpy(x, (char *)r->guess + (size_t)(k * r->o.next_x) * width, n * width);
    const tristar_status status = tristar_krylov_solve(
        r->s->handle, r->m, 1, (char *)r->o.b + (size_t)(k * r->o.next_b) * width, c->p->n, x, c->p->n, &t);
    MUST(status == TRISTAR_OK && t.reason == r->result[k].reason && t.iterations == r->result[k].iterations,
         "column %lld alone: status %d, reason %d, %lld iterations", (long long)k, (int)status, (int)t.reason,
         (long long)t.iterations);
    const char *with_others = (char *)r->o.x + (size_t)(k * r->o.next_x) * width;
    for (size_t i = 0; i < n; i++) {
      const number alone = get(c->p->scalar, x, (int)i), one = get(c->p->scalar, with_others, (int)i);
      MUST(alone == one || (alone != alone && one != one), "column %lld alone has other bits in row %zu",
           (long long)k, i);
    }
  }
}

/* ---- The calls ----------------------------------------------------------------------------------------- */

/* Right-hand sides, some with very small or nonfinite numbers, which other calls do not get. Returns whether
 * there is NaN or infinity. */
static bool extreme_operands(const cell *c, operands *o) {
  static const long double scales[] = {1e-30L, 1e-44L, 1e37L, 1e-200L, 1e-310L, 1e307L};
  const int kind = below(&g->in, 8);
  const bool single = is_single(c->p->scalar);
  if (c->p->n == 0 || o->nrhs == 0) return false;
  if (kind >= 6) {
    const int at = below(&g->in, c->p->n);
    put(c->p->scalar, o->b, at, kind == 6 ? NAN : (number)INFINITY);
    note("b has %s in row %d\n", kind == 6 ? "NaN" : "infinity", at);
    return true;
  }
  const long double scale = scales[single ? kind % 3 : kind];
  note("b times %Lg\n", scale);
  for (int64_t k = 0; k < o->nrhs; k++)
    for (int i = 0; i < c->p->n; i++) {
      number b = get(c->p->scalar, o->b, (int)(i + k * o->next_b));
      if (cabsl(b) <= 1) put(c->p->scalar, o->b, (int)(i + k * o->next_b), b * scale);
    }
  return false;
}

static void choose_guess(run *r) {
  const cell *c = r->s->cell;
  r->options.guess = chance(&g->in, 48);
  if (!r->options.guess) return;
  const uint64_t seed = take(&g->in);
  for (int64_t k = 0; k < r->o.nrhs; k++)
    for (int i = 0; i < c->p->n; i++)
      put(c->p->scalar, r->o.x, (int)(i + k * r->o.next_x), rhs_entry(c, RHS_UNIFORM, seed, i, (int)k));
  r->guess = keep(r->o.bytes);
  memcpy(r->guess, r->o.x, r->o.bytes);
  note("a guess, seed %d\n", (int)seed);
}

/* Chooses the options of one call. */
static void choose_telling(run *r) {
  const int kind = below(&g->in, 8);
  r->result = keep((size_t)(r->o.nrhs + 1) * sizeof *r->result);
  if (kind & 1) {
    r->options.history_most = kind & 2 ? HISTORY_MOST : 7;
    r->options.history = r->history = keep((size_t)r->options.history_most * sizeof *r->history);
    for (int64_t e = 0; e < r->options.history_most; e++) r->history[e].column = -1;
  }
  if (kind < 6) return;
  r->cancel = below(&g->in, 16);
  r->options.progress = on_progress;
  r->options.progress_arg = r;
}

static unsigned krylov_statuses(const run *r, bool not_finite) {
  const cell *c = r->s->cell;
  unsigned right = ONLY_OK;
  if (c->v == NULL) return BIT(TRISTAR_ERR_STALE);
  if (r->precond != NULL) {
    const cell *m = r->precond->cell;
    if (m->p->n != c->p->n || m->p->scalar != c->p->scalar) return BIT(TRISTAR_ERR_ARGUMENT);
    if (m->v == NULL) right |= BIT(TRISTAR_ERR_STALE);
  }
  /* Columns after a cancelled one are not read. */
  if (not_finite)
    right = BIT(TRISTAR_ERR_NOT_FINITE) | (r->precond && r->precond->cell->v == NULL ? right : 0);
  if (g->function_fails > 0) right |= BIT(TRISTAR_ERR_IO);
  return right;
}

/* Returns false if the solve fails. */
static bool solve(run *r, bool not_finite) {
  const operands *o = &r->o;
  void *before = keep(o->bytes);
  memcpy(before, o->b, o->bytes);
  if (tristar_krylov_set_options(r->s->handle, &r->options) != TRISTAR_OK) FOUND("options of a solve fail");
  const unsigned right = krylov_statuses(r, not_finite);
  arm();
  const tristar_status status = outcome(
      "tristar_krylov_solve",
      tristar_krylov_solve(r->s->handle, r->m, o->nrhs, o->b, o->next_b, o->x, o->next_x, r->result), right);
  g->function_fails = 0;
  MUST(memcmp(before, o->b, o->bytes) == 0, "b has changed");
  if (status == TRISTAR_OK || status == TRISTAR_ERR_NOT_FINITE) judge_gaps(r->s->cell, o);
  return status == TRISTAR_OK && r->s->cell->v != NULL;
}

void call_krylov_solve(void) {
  krylov_slot *s = &g->krylov[below(&g->in, SLOTS)];
  const int which = below(&g->in, 2 * SLOTS);
  if (s->handle == NULL) return;
  run r = {.s = s, .options = s->options};
  r.precond = which < SLOTS && g->precond[which].handle != NULL ? &g->precond[which] : NULL;
  r.m = r.precond ? r.precond->handle : NULL;
  r.o = choose_operands(s->cell);
  const bool not_finite = chance(&g->in, 40) && extreme_operands(s->cell, &r.o);
  choose_guess(&r);
  choose_telling(&r);
  if (chance(&g->in, 10)) g->function_fails = 1 + below(&g->in, 8);
  if (g->function_fails && !s->is_function &&
      !(r.precond != NULL && r.precond->options.kind == TRISTAR_PRECOND_FUNCTION))
    g->function_fails = 0;
  note("%s preconditioner\n", r.m ? "with" : "no");
  const bool cancelled = r.cancel > 0, solved = solve(&r, not_finite);
  int64_t at = 0;
  for (int64_t k = 0; k < r.o.nrhs && solved; k++) {
    note("column %d: %s after %d, residual %g, true %g, reference %g\n", (int)k,
         tristar_krylov_reason_text(r.result[k].reason), (int)r.result[k].iterations, r.result[k].residual,
         r.result[k].true_residual, r.result[k].reference);
    judge_column(&r, k);
    at = judge_history(&r, k, at);
  }
  if (tristar_krylov_set_options(s->handle, &s->options) != TRISTAR_OK) FOUND("options from before fail");
  if (!solved || cancelled) return;
  r.options.history = NULL;
  r.options.progress = NULL;
  if (tristar_krylov_set_options(s->handle, &r.options) != TRISTAR_OK) FOUND("the same options fail");
  compare_columns(&r);
  if (tristar_krylov_set_options(s->handle, &s->options) != TRISTAR_OK) FOUND("options from before fail");
}
