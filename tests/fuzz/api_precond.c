/* Preconditioners: set-ups and updates. For kinds that drop entries by size the only check is that an update
 * has the bits of a new set-up. */
#include "tests/fuzz/api_precond.h"

/* ---- What is right ------------------------------------------------------------------------------------- */

/* Does the inverse of a triangle overflow? Then the inverse of one of its blocks may overflow, too. */
static bool inverse_overflows(const incomplete *f) {
  static long double grown[ORDER_MOST][ORDER_MOST];
  for (int lower = 0; lower < 2; lower++) {
    incomplete_grow(f->n, lower ? ((incomplete *)f)->lower : ((incomplete *)f)->upper, lower, grown);
    for (int i = 0; i < f->n; i++)
      for (int j = 0; j < f->n; j++)
        if (!(grown[i][j] < f->most)) return true;
  }
  return false;
}

/* Right statuses for a view and options without a fault. */
static unsigned set_up_statuses(const cell *c, const tristar_precond_options *o) {
  static incomplete f;
  const unsigned breakdowns = BIT(TRISTAR_ERR_SINGULAR) | BIT(TRISTAR_ERR_NOT_FINITE) |
                              (is_cholesky(o) ? BIT(TRISTAR_ERR_NOT_POSITIVE_DEFINITE) : 0);
  unsigned right = ONLY_OK;
  if (!c->v->finite) return BIT(TRISTAR_ERR_NOT_FINITE);
  if (o->kind == TRISTAR_PRECOND_NONE) return ONLY_OK;
  if (o->kind == TRISTAR_PRECOND_FSAI) return fsai_statuses(c, o);
  if (is_cholesky(o) && c->p->symmetry == TRISTAR_SKEW_SYMMETRIC) return BIT(TRISTAR_ERR_ARGUMENT);
  if (is_cholesky(o) && c->p->symmetry == TRISTAR_GENERAL && !c->v->hermitian && !c->v->symmetric) {
    const bool clearly = unlikeness(c, true) > 1e-3L && unlikeness(c, false) > 1e-3L;
    return BIT(TRISTAR_ERR_ARGUMENT) | (clearly ? 0 : ONLY_OK | breakdowns);
  }
  find_factors(c, o, &f);
  if (f.missing) return BIT(TRISTAR_ERR_SINGULAR);
  if (!f.certain || loses_entries(c, o)) return ONLY_OK | breakdowns;
  if (f.negative) return BIT(TRISTAR_ERR_NOT_POSITIVE_DEFINITE);
  if (inverse_overflows(&f)) right |= BIT(TRISTAR_ERR_NOT_FINITE);
  return right;
}

/* ---- Options ------------------------------------------------------------------------------------------- */

static unsigned spoil_options(tristar_precond_options *o) {
  static const double wrong[] = {-1, NAN, 2.5};
  const double value = wrong[below(&g->in, 3)];
  const bool by_level = o->kind == TRISTAR_PRECOND_ILU || o->kind == TRISTAR_PRECOND_IC;
  bool looked_at = true;
  if (o->kind == TRISTAR_PRECOND_FSAI && chance(&g->in, 128)) {
    spoil_fsai_options(o);
    return BIT(TRISTAR_ERR_ARGUMENT);
  }
  switch (below(&g->in, 8)) {
  case 0:
    o->kind = value > 0 ? TRISTAR_PRECOND_PLAN : (tristar_precond_kind)-1;
    break;
  case 1:
    o->level = -1;
    looked_at = by_level;
    break;
  case 2:
    o->modified = value;
    looked_at = by_level;
    break;
  case 3:
    o->drop = value > 0 ? INFINITY : value;
    looked_at = by_size(o);
    break;
  case 4:
    o->fill = -1;
    looked_at = by_size(o);
    break;
  case 5:
    o->omega = value;
    looked_at = o->kind == TRISTAR_PRECOND_SSOR;
    break;
  case 6:
    o->shift = value > 0 ? INFINITY : value;
    looked_at = by_level || by_size(o) || o->kind == TRISTAR_PRECOND_FSAI;
    break;
  default:
    o->partition = (tristar_partition)8;
  }
  return looked_at ? BIT(TRISTAR_ERR_ARGUMENT) : 0;
}

/* *right: the statuses that are right for the fault; 0: no fault. */
static tristar_precond_options choose_precond_options(int n, unsigned *right) {
  static const double shares[] = {0, 0, 0.5, 1}, drops[] = {0, 1e-3, 0.1, 0}, shifts[] = {0, 0, 0.1, 1},
                      omegas[] = {1, 1, 0.5, 1.7};
  tristar_precond_options o;
  tristar_precond_options_init(&o);
  const int first = below(&g->in, 256);
  o.kind = (tristar_precond_kind)(first < 224 ? first % TRISTAR_PRECOND_FSAI : TRISTAR_PRECOND_FSAI);
  const int levels[] = {0, 0, 0, 1, 2, n, INT_MAX, 3}, fills[] = {n, n, 0, 2};
  o.level = levels[below(&g->in, 8)];
  o.drop = drops[below(&g->in, 4)];
  o.fill = fills[below(&g->in, 4)];
  const int kind = below(&g->in, 64);
  o.modified = shares[kind & 3];
  o.omega = omegas[kind >> 2 & 3];
  o.shift = shifts[kind >> 4];
  o.partition = (tristar_partition)below(&g->in, 8);
  o.engine = (tristar_engine)below(&g->in, with_tasks() ? 3 : 2);
  o.nrhs = below(&g->in, 4);
  if (o.kind == TRISTAR_PRECOND_FSAI) o = choose_fsai_options(o);
  *right = chance(&g->in, 12) ? spoil_options(&o) : 0;
  note("kind %d, level %d, drop %g, fill %d, modified %g, omega %g, shift %g, partition %d, engine %d\n",
       (int)o.kind, o.level, o.drop, (int)o.fill, o.modified, o.omega, o.shift, (int)o.partition,
       (int)o.engine);
  return o;
}

/* ---- Making and updating ------------------------------------------------------------------------------- */

static void judge_message(tristar_status status) {
  char message[512] = "";
  tristar_get_error(g->ts, message, sizeof message);
  if (status == TRISTAR_ERR_SINGULAR || status == TRISTAR_ERR_NOT_POSITIVE_DEFINITE)
    MUST(strstr(message, "row ") != NULL || strstr(message, "column ") != NULL,
         "the message names no row: %s", message);
}

void call_precond(void) {
  const int which = below(&g->in, PATTERNS);
  const pattern *p = &g->pattern[which];
  precond_slot *s = &g->precond[below(&g->in, SLOTS)];
  unsigned view_right, options_right;
  tristar_precond_destroy(&s->handle);
  s->plan = NULL;
  s->cell = keep(sizeof *s->cell);
  *s->cell = (cell){.p = p, .v = choose_values(p), .eps = unit_roundoff(p->scalar)};
  const tristar_view view = choose_view(p, s->cell->v, true, &view_right);
  s->options = choose_precond_options(p->n, &options_right);
  unsigned right = view_right | options_right;
  if (right == 0) right = set_up_statuses(s->cell, &s->options);
  if (view_right != 0 && options_right == 0) right |= set_up_statuses(s->cell, &s->options) & ~ONLY_OK;
  arm();
  const tristar_status status =
      outcome("tristar_precond", tristar_precond(g->ts, &view, &s->options, &s->handle), right);
  MUST((s->handle != NULL) == (status == TRISTAR_OK), "the preconditioner is %s",
       s->handle ? "there" : "NULL");
  judge_message(status);
  if (status != TRISTAR_OK) return;
  tristar_precond_stats stats;
  (void)tristar_precond_get_stats(s->handle, &stats);
  MUST(stats.n == p->n && stats.scalar == p->scalar && stats.kind == s->options.kind && stats.updates == 0,
       "figures of a preconditioner");
  if (s->options.kind == TRISTAR_PRECOND_FSAI) judge_fsai(s);
}

/* M = a diagonal of powers of two. */
static tristar_status scale_rows(void *arg, tristar_op op, int64_t nrhs, const void *b, int64_t ldb, void *x,
                                 int64_t ldx) {
  const cell *c = arg;
  (void)op;
  if (c->p->n > 0 && g->function_fails > 0 && --g->function_fails == 0) return TRISTAR_ERR_IO;
  for (int64_t k = 0; k < nrhs; k++)
    for (int i = 0; i < c->p->n; i++)
      put(c->p->scalar, x, (int)(i + k * ldx), get(c->p->scalar, b, (int)(i + k * ldb)) * (1 << i % 3));
  return TRISTAR_OK;
}

/* A preconditioner from an object of the program: a plan, or a function. */
void call_precond_of(void) {
  precond_slot *s = &g->precond[below(&g->in, SLOTS)];
  const plan_slot *plan = &g->plan[below(&g->in, SLOTS)];
  tristar_status status;
  tristar_precond_destroy(&s->handle);
  tristar_precond_options_init(&s->options);
  s->plan = NULL;
  if (plan->handle != NULL && chance(&g->in, 192)) {
    s->cell = plan->cell;
    s->plan = plan->handle;
    s->options.kind = TRISTAR_PRECOND_PLAN;
    arm();
    status = outcome("tristar_precond_of_plan", tristar_precond_of_plan(plan->handle, &s->handle), ONLY_OK);
  } else {
    const pattern *p = &g->pattern[below(&g->in, PATTERNS)];
    s->cell = keep(sizeof *s->cell);
    *s->cell = (cell){.p = p, .v = g->current[p == g->pattern ? 0 : 1], .eps = unit_roundoff(p->scalar)};
    s->options.kind = TRISTAR_PRECOND_FUNCTION;
    arm();
    status = outcome("tristar_precond_of_function",
                     tristar_precond_of_function(g->ts, p->n, p->scalar, scale_rows, s->cell, &s->handle),
                     ONLY_OK);
  }
  MUST((s->handle != NULL) == (status == TRISTAR_OK), "the preconditioner is %s",
       s->handle ? "there" : "NULL");
}

/* Do both patterns store the same entries in the same order, apart from the widths and bases of indices? */
static bool same_places(const pattern *p, const pattern *q) {
  if (p->n != q->n || p->scalar != q->scalar || p->symmetry != q->symmetry || p->count != q->count ||
      p->view.format != q->view.format)
    return false;
  for (int e = 0; e < p->count; e++)
    if (p->row[e] != q->row[e] || p->column[e] != q->column[e]) return false;
  return true;
}

/* A new preconditioner of the same values and an updated one have applications with the same bits. */
static void compare_with_fresh(const precond_slot *s, const tristar_view *view) {
  const cell *c = s->cell;
  const int n = c->p->n;
  tristar_precond_t *fresh = NULL;
  const size_t room = (size_t)(n + 1) * scalar_bytes(c);
  char *b = keep(room), *x = keep(room), *y = keep(room);
  tristar_status status = tristar_precond(g->ts, view, &s->options, &fresh);
  MUST(status == TRISTAR_OK, "an update succeeds, but a fresh set-up gives %s", tristar_status_name(status));
  for (int i = 0; i < n; i++) put(c->p->scalar, b, i, rhs_entry(c, RHS_UNIFORM, 5, i, 0));
  for (int k = 0; k < 2; k++) {
    const tristar_op op = k ? TRISTAR_C : TRISTAR_N;
    status = tristar_precond_apply(s->handle, op, 1, b, n, x, n);
    const tristar_status again = tristar_precond_apply(fresh, op, 1, b, n, y, n);
    MUST(status == TRISTAR_OK && again == TRISTAR_OK, "applications give %s, %s", tristar_status_name(status),
         tristar_status_name(again));
    for (int i = 0; i < n; i++) {
      const number mine = get(c->p->scalar, x, i), other = get(c->p->scalar, y, i);
      MUST(mine == other || (mine != mine && other != other),
           "row %d: %Lg after an update, %Lg of a fresh one", i, cabsl(mine), cabsl(other));
    }
  }
  tristar_precond_destroy(&fresh);
}

void call_precond_update(void) {
  precond_slot *s = &g->precond[below(&g->in, SLOTS)];
  unsigned view_right;
  if (s->handle == NULL) return;
  if (s->options.kind >= TRISTAR_PRECOND_PLAN) {
    const pattern *p = &g->pattern[0];
    outcome("tristar_precond_update", tristar_precond_update(s->handle, &p->view),
            BIT(TRISTAR_ERR_UNSUPPORTED));
    return;
  }
  const pattern *p = chance(&g->in, 16) ? &g->pattern[below(&g->in, PATTERNS)] : s->cell->p;
  const bool same = same_places(p, s->cell->p);
  values *v = choose_values(p);
  const tristar_view view = choose_view(p, v, true, &view_right);
  if (same) s->cell->v = v;
  unsigned right = same ? set_up_statuses(s->cell, &s->options) : BIT(TRISTAR_ERR_STALE);
  if (view_right != 0) right = view_right | (right & ~ONLY_OK);
  if (view_right != 0 && !(view_right & ONLY_OK)) right |= BIT(TRISTAR_ERR_STALE);
  arm();
  const tristar_status status =
      outcome("tristar_precond_update", tristar_precond_update(s->handle, &view), right);
  judge_message(status);
  const bool adaptive = s->options.kind == TRISTAR_PRECOND_FSAI && !fsai_keeps_pattern(&s->options);
  if (status == TRISTAR_OK && !adaptive) compare_with_fresh(s, &view);
  if (status != TRISTAR_OK) s->cell->v = NULL;
}
