/* Krylov methods: solvers, new values and options, residuals. */
#include "tests/fuzz/api.h"

/* ---- Options ------------------------------------------------------------------------------------------- */

static unsigned spoil_options(tristar_krylov_options *o) {
  static const double wrong[] = {-1, NAN, INFINITY};
  const double value = wrong[below(&g->in, 3)];
  switch (below(&g->in, 8)) {
  case 0:
    o->method = (tristar_krylov_method)7;
    break;
  case 1:
    o->tolerance = value;
    break;
  case 2:
    o->absolute = value;
    break;
  case 3:
    o->divergence = value;
    break;
  case 4:
    o->max_iterations = -1;
    break;
  case 5:
    o->restart = value > 0 ? 10001 : 0;
    break;
  case 6:
    o->patience = INT64_MIN;
    break;
  default:
    o->side = (tristar_krylov_side)3;
  }
  return BIT(TRISTAR_ERR_ARGUMENT);
}

/* Does the method lack this side, or this norm? */
static bool is_unsupported(const tristar_krylov_options *o) {
  const bool right = o->side == TRISTAR_SIDE_RIGHT ||
                     (o->side == TRISTAR_SIDE_DEFAULT && o->method == TRISTAR_KRYLOV_FGMRES);
  if (o->method == TRISTAR_KRYLOV_CG || o->method == TRISTAR_KRYLOV_PIPELINED_CG ||
      o->method == TRISTAR_KRYLOV_BLOCK_CG)
    return right;
  if (o->method == TRISTAR_KRYLOV_FGMRES && !right) return true;
  return o->norm != TRISTAR_NORM_DEFAULT && right != (o->norm == TRISTAR_NORM_RESIDUAL);
}

/* *right: the statuses that are right for the fault; 0: no fault. */
static tristar_krylov_options choose_krylov_options(unsigned *right) {
  static const double tolerances[] = {1e-5, 1e-5, 1e-2, 1e-10, 0, 1e-14},
                      absolutes[] = {1e-50, 0, 1e-3, 1e50};
  static const int64_t limits[] = {10000, 300, 60, 3, 1, 0}, patiences[] = {1000, 0, 5, 1};
  static const int restarts[] = {30, 60, 60, 5, 1, 2};
  tristar_krylov_options o;
  tristar_krylov_options_init(&o);
  o.method = (tristar_krylov_method)(TRISTAR_KRYLOV_CG + below(&g->in, 6));
  o.tolerance = tolerances[below(&g->in, 6)];
  o.max_iterations = limits[below(&g->in, 6)];
  o.restart = restarts[below(&g->in, 6)];
  const int kind = below(&g->in, 256);
  o.absolute = kind & 1 ? absolutes[kind >> 1 & 3] : 1e-50;
  o.divergence = kind & 8 ? 0 : 1e4;
  o.patience = patiences[kind >> 4 & 3];
  o.passes = (tristar_krylov_passes)((kind >> 6) % 3);
  o.block = 1; /* each column separately */
  if (chance(&g->in, 96)) {
    o.side = (tristar_krylov_side)below(&g->in, 3);
    o.norm = (tristar_krylov_norm)below(&g->in, 3);
  }
  *right = is_unsupported(&o) ? BIT(TRISTAR_ERR_UNSUPPORTED) : 0;
  if (chance(&g->in, 12)) *right = spoil_options(&o);
  note("method %d, side %d, norm %d, tolerance %g, absolute %g, divergence %g, at most %d, patience %d, "
       "restart "
       "%d, passes %d\n",
       (int)o.method, (int)o.side, (int)o.norm, o.tolerance, o.absolute, o.divergence, (int)o.max_iterations,
       (int)o.patience, o.restart, (int)o.passes);
  return o;
}

/* ---- Making and changing ------------------------------------------------------------------------------- */

/* y = A x, with the dense matrix. */
static tristar_status multiply(void *arg, const void *x, void *y) {
  const krylov_slot *s = arg;
  const cell *c = s->cell;
  if (g->function_fails > 0 && --g->function_fails == 0) return TRISTAR_ERR_IO;
  for (int i = 0; i < c->p->n; i++) {
    number sum = 0;
    for (int j = 0; j < c->p->n; j++) sum += c->v->truth[i][j] * get(c->p->scalar, x, j);
    put(c->p->scalar, y, i, sum);
  }
  return TRISTAR_OK;
}

void call_krylov(void) {
  krylov_slot *s = &g->krylov[below(&g->in, SLOTS)];
  const pattern *p = &g->pattern[below(&g->in, PATTERNS)];
  unsigned view_right = 0, options_right;
  tristar_krylov_destroy(&s->handle);
  s->cell = keep(sizeof *s->cell);
  *s->cell = (cell){.p = p, .v = choose_values(p), .eps = unit_roundoff(p->scalar)};
  s->is_function = s->cell->v->finite && chance(&g->in, 32);
  s->options = choose_krylov_options(&options_right);
  s->options.engine = (tristar_engine)below(&g->in, with_tasks() ? 3 : 2);
  const tristar_view view = s->is_function ? p->view : choose_view(p, s->cell->v, true, &view_right);
  const unsigned of_values = s->cell->v->finite ? ONLY_OK : BIT(TRISTAR_ERR_NOT_FINITE);
  unsigned right = view_right | options_right;
  if (right == 0) right = of_values;
  /* A combination of options that is not supported may be found before or after values that are not finite.
   */
  if (view_right != 0 || options_right == BIT(TRISTAR_ERR_UNSUPPORTED)) right |= of_values & ~ONLY_OK;
  arm();
  const tristar_status status =
      s->is_function ? outcome("tristar_krylov_create_operator",
                               tristar_krylov_create_operator(g->ts, p->n, p->scalar, multiply, s,
                                                              &s->options, &s->handle),
                               right)
                     : outcome("tristar_krylov_create",
                               tristar_krylov_create(g->ts, &view, &s->options, &s->handle), right);
  MUST((s->handle != NULL) == (status == TRISTAR_OK), "the solver is %s", s->handle ? "there" : "NULL");
}

static void change_values(krylov_slot *s) {
  values *v = choose_values(s->cell->p);
  if (s->is_function) {
    outcome("tristar_krylov_update_values", tristar_krylov_update_values(s->handle, v->stored),
            BIT(TRISTAR_ERR_UNSUPPORTED));
    return;
  }
  arm();
  const tristar_status status =
      outcome("tristar_krylov_update_values", tristar_krylov_update_values(s->handle, v->stored),
              v->finite ? ONLY_OK : BIT(TRISTAR_ERR_NOT_FINITE));
  s->cell->v = status == TRISTAR_OK ? v : NULL;
}

/* New values, or new options. */
void call_krylov_change(void) {
  krylov_slot *s = &g->krylov[below(&g->in, SLOTS)];
  unsigned right;
  if (s->handle == NULL) return;
  if (chance(&g->in, 128)) {
    change_values(s);
    return;
  }
  tristar_krylov_options o = choose_krylov_options(&right);
  o.engine = s->options.engine;
  if (right == 0 && chance(&g->in, 16)) {
    o.engine = o.engine == TRISTAR_ENGINE_AUTO ? TRISTAR_ENGINE_SERIAL : TRISTAR_ENGINE_AUTO;
    right = BIT(TRISTAR_ERR_UNSUPPORTED);
  }
  arm();
  if (outcome("tristar_krylov_set_options", tristar_krylov_set_options(s->handle, &o),
              right ? right : ONLY_OK) == TRISTAR_OK)
    s->options = o;
}

/* tristar_krylov_residual of any x. */
void call_krylov_residual(void) {
  krylov_slot *s = &g->krylov[below(&g->in, SLOTS)];
  double error = -1;
  if (s->handle == NULL) return;
  const cell *c = s->cell;
  operands o = choose_operands(c);
  for (int64_t k = 0; k < o.nrhs; k++)
    for (int i = 0; i < c->p->n; i++)
      put(c->p->scalar, o.x, (int)(i + k * o.next_x), rhs_entry(c, RHS_UNIFORM, 23, i, (int)k));
  void *out = keep(o.bytes);
  const unsigned right = s->is_function ? BIT(TRISTAR_ERR_UNSUPPORTED) : solve_statuses(c);
  arm();
  if (outcome("tristar_krylov_residual",
              tristar_krylov_residual(s->handle, o.nrhs, o.b, o.next_b, o.x, o.next_x, out, o.next_b, &error),
              right) != TRISTAR_OK)
    return;
  judge_residual_of(c, TRISTAR_N, &o, out);
}
