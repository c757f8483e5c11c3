/* Analyses and factors: their options, right statuses, new values. */
#include "tests/fuzz/api.h"

/* Options of an analysis; one of them may be wrong. */
static tristar_analysis_options choose_analysis_options(const pattern *p, unsigned *right) {
  static int64_t permutation[ORDER_MOST];
  static const tristar_ordering orderings[] = {TRISTAR_ORDERING_METIS, TRISTAR_ORDERING_NATURAL,
                                               TRISTAR_ORDERING_USER,  TRISTAR_ORDERING_AMD,
                                               TRISTAR_ORDERING_AUTO,  TRISTAR_ORDERING_DISSECTION};
  static const int leaves[] = {0, 0, 0, 1, 2, 4, 8};
  tristar_analysis_options o;
  tristar_analysis_options_init(&o);
  *right = 0;
  if (!chance(&g->in, 160)) return o; /* the defaults */
  o.method = (tristar_method)below(&g->in, 4);
  o.ordering = orderings[below(&g->in, 6)];
  o.leaf_parts = leaves[below(&g->in, 7)];
  o.seed = below(&g->in, 256) - 100;
  o.matching = (tristar_matching)below(&g->in, 3);
  o.single_factors = chance(&g->in, 48);
  o.inverse = (tristar_inverse)below(&g->in, 3);
  o.merge = (tristar_merge)below(&g->in, 3);
  const uint64_t seed = take(&g->in);
  for (int k = 0; k < p->n; k++) permutation[k] = k;
  for (int k = p->n - 1; k > 0; k--) {
    const int other = hash_below(seed, k, 1, k + 1);
    const int64_t kept = permutation[k];
    permutation[k] = permutation[other];
    permutation[other] = kept;
  }
  o.permutation = o.ordering == TRISTAR_ORDERING_USER ? permutation : NULL;
  if (chance(&g->in, 16)) {
    const int fault = below(&g->in, 6);
    *right = BIT(TRISTAR_ERR_ARGUMENT);
    if (fault == 0)
      o.method = (tristar_method)7;
    else if (fault == 1)
      o.leaf_parts = seed & 1 ? 3 : -1;
    else if (fault == 2)
      o.ordering = TRISTAR_ORDERING_USER, o.permutation = NULL;
    else if (fault == 3 && p->n > 1 && o.permutation != NULL)
      permutation[seed % (unsigned)p->n] = permutation[(seed + 1) % (unsigned)p->n];
    else if (fault == 4 && p->n > 0 && o.permutation != NULL)
      permutation[seed % (unsigned)p->n] = seed & 1 ? -1 : INT64_MAX;
    else if (fault == 5)
      o.merge = (tristar_merge)-1;
    else
      *right = 0;
    if (fault == 2 && p->n == 0) *right |= ONLY_OK;
  }
  note("method %d, ordering %d, leaves %d, seed %d, matching %d, single %d, inverse %d, merge %d\n",
       (int)o.method, (int)o.ordering, o.leaf_parts, o.seed, (int)o.matching, o.single_factors,
       (int)o.inverse, (int)o.merge);
  return o;
}

static bool same_as_transpose(const pattern *p) {
  bool at[ORDER_MOST][ORDER_MOST] = {{false}}, same = true;
  for (int e = 0; e < p->count; e++) at[p->row[e]][p->column[e]] = true;
  for (int i = 0; i < p->n; i++)
    for (int j = 0; j < i; j++) same = same && at[i][j] == at[j][i];
  return same;
}

/* Returns the right statuses of an analysis with right arguments. */
static unsigned analysis_statuses(const pattern *p, values *v, bool with_values,
                                  const tristar_analysis_options *o) {
  static square stored;
  unsigned right = ONLY_OK;
  const bool hermitian =
      p->symmetry == TRISTAR_HERMITIAN || (p->symmetry == TRISTAR_SYMMETRIC && !is_complex(p->scalar));
  if (with_values && !v->finite) return BIT(TRISTAR_ERR_NOT_FINITE);
  if (!with_values && o->matching == TRISTAR_MATCHING_ON) right |= BIT(TRISTAR_ERR_ARGUMENT);
  const bool undeclared = p->symmetry == TRISTAR_GENERAL;
  const bool symmetric_pattern = same_as_transpose(p); /* explicit zeros count */
  if (o->method == TRISTAR_METHOD_LLT &&
      !(undeclared ? !with_values || (v->hermitian && symmetric_pattern) : hermitian))
    right |= BIT(TRISTAR_ERR_ARGUMENT);
  if (o->method == TRISTAR_METHOD_LDLT &&
      !(undeclared ? with_values && symmetric_pattern && (v->hermitian || v->symmetric)
                   : hermitian || p->symmetry == TRISTAR_SYMMETRIC))
    right |= BIT(TRISTAR_ERR_ARGUMENT);
  memset(stored, 0, sizeof stored);
  for (int e = 0; e < p->count; e++) {
    stored[p->row[e]][p->column[e]] = 1;
    if (p->symmetry != TRISTAR_GENERAL) stored[p->column[e]][p->row[e]] = 1;
  }
  if (reference_structural_rank(p->n, with_values ? v->truth : stored) < p->n)
    right |= BIT(TRISTAR_ERR_SINGULAR);
  return right;
}

void call_analyze(void) {
  const int slot = below(&g->in, SLOTS), which = below(&g->in, PATTERNS);
  const pattern *p = &g->pattern[which];
  values *v = g->current[which];
  const bool with_values = !chance(&g->in, 32);
  unsigned view_right, options_right;
  const tristar_view view = choose_view(p, v, with_values, &view_right);
  const tristar_analysis_options options = choose_analysis_options(p, &options_right);
  analysis_slot *a = &g->analysis[slot];
  tristar_analysis_destroy(&a->handle);
  unsigned right = view_right ? view_right : options_right ? options_right : 0;
  if (view_right && options_right) right = view_right | options_right;
  if (right == 0 || (right & ONLY_OK)) right |= analysis_statuses(p, v, with_values, &options);
  /* The call may find one of its other faults first. */
  if (!(right & ONLY_OK)) right |= analysis_statuses(p, v, with_values, &options) & ~ONLY_OK;
  arm();
  const tristar_status status =
      outcome("tristar_analyze", tristar_analyze(g->ts, &view, &options, &a->handle), right);
  MUST((a->handle != NULL) == (status == TRISTAR_OK), "the analysis is %s", a->handle ? "there" : "NULL");
  if (status != TRISTAR_OK) return;
  const tristar_scalar scalar =
      options.single_factors ? (is_complex(p->scalar) ? TRISTAR_COMPLEX_SINGLE : TRISTAR_SINGLE) : p->scalar;
  a->like = (cell){.p = p,
                   .options = options,
                   .values_known = with_values,
                   .analyzed = with_values ? v : NULL,
                   .analyzed_hermitian = with_values && v->hermitian,
                   .analyzed_symmetric = with_values && v->symmetric,
                   .eps = unit_roundoff(scalar)};
  tristar_analysis_stats stats;
  tristar_analysis_get_stats(a->handle, &stats);
  MUST(stats.n == p->n && stats.nnz_lower >= p->n && stats.stored_lower >= stats.nnz_lower,
       "figures of an analysis");
}

/* Returns the right statuses of a factorization of c->v. */
static unsigned factor_statuses(cell *c) {
  unsigned right = ONLY_OK;
  const bool explicit_llt = c->options.method == TRISTAR_METHOD_LLT;
  if (!c->v->finite) return BIT(TRISTAR_ERR_NOT_FINITE);
  if (c->p->n > 0 && c->v->zero)
    return BIT(TRISTAR_ERR_SINGULAR) | (explicit_llt ? BIT(TRISTAR_ERR_NOT_POSITIVE_DEFINITE) : 0);
  if (!well_conditioned(c)) right |= BIT(TRISTAR_ERR_SINGULAR) | BIT(TRISTAR_ERR_NOT_FINITE);
  if (explicit_llt &&
      (!c->v->hermitian || reference_definiteness(c->p->n, c->v->truth) < 100 * (c->p->n + 10) * c->eps))
    right |= BIT(TRISTAR_ERR_NOT_POSITIVE_DEFINITE);
  if (explicit_llt && !c->v->hermitian) right |= BIT(TRISTAR_ERR_ARGUMENT);
  if (analyzed_otherwise(c))
    right |= BIT(TRISTAR_ERR_ARGUMENT) | BIT(TRISTAR_ERR_SINGULAR) | BIT(TRISTAR_ERR_NOT_FINITE);
  if (matched_otherwise(c) || lacks_pivots(c))
    right |= BIT(TRISTAR_ERR_SINGULAR) | BIT(TRISTAR_ERR_NOT_FINITE);
  if (analyzed_otherwise(c)) right |= BIT(TRISTAR_ERR_NOT_POSITIVE_DEFINITE);
  return right;
}

/* Returns other values for the pattern of a cell, or its present values. */
values *choose_values(const pattern *p) {
  const int which = p == &g->pattern[0] ? 0 : 1;
  if (chance(&g->in, 128)) {
    values *v = keep(sizeof *v);
    values_make(&g->in, p, v);
    g->current[which] = v;
  }
  return g->current[which];
}

static void judge_order(const tristar_factor_t *f, int n) {
  int64_t row[ORDER_MOST], column[ORDER_MOST];
  double row_scale[ORDER_MOST], column_scale[ORDER_MOST];
  bool seen_row[ORDER_MOST] = {false}, seen_column[ORDER_MOST] = {false};
  tristar_factor_get_order(f, row, column, row_scale, column_scale);
  for (int k = 0; k < n; k++) {
    MUST(row[k] >= 0 && row[k] < n && !seen_row[row[k]], "row_order is no permutation");
    MUST(column[k] >= 0 && column[k] < n && !seen_column[column[k]], "column_order is no permutation");
    seen_row[row[k]] = seen_column[column[k]] = true;
    MUST(row_scale[k] > 0 && isfinite(row_scale[k]) && column_scale[k] > 0 && isfinite(column_scale[k]),
         "scales %g, %g", row_scale[k], column_scale[k]);
  }
}

void call_factor(void) {
  const analysis_slot *a = &g->analysis[below(&g->in, SLOTS)];
  factor_slot *f = &g->factor[below(&g->in, SLOTS)];
  if (a->handle == NULL) return;
  tristar_factor_destroy(&f->handle);
  f->cell = keep(sizeof *f->cell);
  *f->cell = a->like;
  f->cell->factored = f->cell->v = choose_values(a->like.p);
  arm();
  const tristar_status status = outcome(
      "tristar_factor", tristar_factor(a->handle, f->cell->v->stored, &f->handle), factor_statuses(f->cell));
  MUST((f->handle != NULL) == (status == TRISTAR_OK), "the factor is %s", f->handle ? "there" : "NULL");
  if (status == TRISTAR_OK) judge_order(f->handle, a->like.p->n);
}

/* Waits for the solves with a factor, which must not change during a solve. */
void land(const cell *c) {
  for (int k = 0; k < REQUESTS; k++)
    if (g->request[k].handle != NULL && g->request[k].cell == c) finish_request(&g->request[k]);
}

/* Returns the right statuses of a refactorization with c->v. Matching and scaling stay, so a matrix of other
 * values may only look singular. */
static unsigned refactor_statuses(cell *c) {
  unsigned right = factor_statuses(c);
  if (c->options.method == TRISTAR_METHOD_AUTO) right |= BIT(TRISTAR_ERR_NOT_POSITIVE_DEFINITE);
  if (c->v != c->factored && c->v->finite && c->options.method != TRISTAR_METHOD_LLT &&
      c->options.matching != TRISTAR_MATCHING_OFF)
    right |= BIT(TRISTAR_ERR_STALE);
  return right;
}

void call_refactor(void) {
  const factor_slot *f = &g->factor[below(&g->in, SLOTS)];
  if (f->handle == NULL) return;
  cell *c = f->cell;
  land(c);
  if (c->imported) {
    outcome("tristar_refactor", tristar_refactor(f->handle, c->p->ptr.wide), BIT(TRISTAR_ERR_UNSUPPORTED));
    return;
  }
  c->v = choose_values(c->p);
  const unsigned right = refactor_statuses(c);
  arm();
  if (outcome("tristar_refactor", tristar_refactor(f->handle, c->v->stored), right) != TRISTAR_OK)
    c->v = NULL;
}
