/* Triangular matrices as factors: tristar_import_csr, tristar_import_triangle.
 *
 * Sweeps by rows are componentwise stable (Higham 2002, theorem 8.5): each entry of the residual is a few
 * roundings of its own terms, for any condition of the matrix. */
#include "tests/fuzz/api.h"

/* ---- What is imported ---------------------------------------------------------------------------------- */

typedef struct triangle {
  const pattern *p;
  bool lower, unit;
  const values *given; /* of the whole matrix */
  cell *cell;          /* of the triangle */
} triangle;

static bool is_outside(const triangle *t, int i, int j) {
  return t->lower ? j > i : j < i;
}

/* Are the entries of the triangle finite? */
static bool is_finite(const triangle *t) {
  const pattern *p = t->p;
  for (int e = 0; e < p->count; e++) {
    const number a = get(p->scalar, t->given->stored, e);
    const int i = p->row[e], j = p->column[e];
    if (isfinite(creall(a)) && isfinite(cimagl(a))) continue;
    if (!(p->symmetry == TRISTAR_GENERAL && is_outside(t, i, j)) && !(i == j && t->unit)) return false;
  }
  return true;
}

static void choose_triangle(const pattern *p, triangle *t) {
  t->p = p;
  t->lower = below(&g->in, 2);
  t->unit = below(&g->in, 2);
  t->given = choose_values(p);
  values *v = keep(sizeof *v);
  *v = *t->given;
  for (int i = 0; i < p->n; i++)
    for (int j = 0; j < p->n; j++)
      if (is_outside(t, i, j))
        v->truth[i][j] = 0;
      else if (i == j && t->unit)
        v->truth[i][j] = 1;
  v->hermitian = v->symmetric = v->known = false;
  v->finite = is_finite(t);
  t->cell = keep(sizeof *t->cell);
  *t->cell = (cell){.p = p, .v = v, .imported = true, .eps = unit_roundoff(p->scalar)};
  note("%s, %s diagonal\n", t->lower ? "lower" : "upper", t->unit ? "unit" : "its own");
}

static unsigned import_statuses(const cell *c) {
  const pattern *p = c->p;
  unsigned right = ONLY_OK;
  if (!c->v->finite) return BIT(TRISTAR_ERR_NOT_FINITE) | BIT(TRISTAR_ERR_SINGULAR);
  for (int i = 0; i < p->n && (right & ONLY_OK); i++)
    if (c->v->truth[i][i] == 0) right = BIT(TRISTAR_ERR_SINGULAR);
  if (right == BIT(TRISTAR_ERR_SINGULAR))
    right |= BIT(TRISTAR_ERR_NOT_FINITE); /* another column may be tiny */
  if (right & ONLY_OK && !well_conditioned(c))
    right |= BIT(TRISTAR_ERR_SINGULAR) | BIT(TRISTAR_ERR_NOT_FINITE);
  /* Imported values are not scaled: the inverse of a block of subnormal entries overflows. */
  for (int i = 0; i < p->n; i++)
    if (cabsl(c->v->truth[i][i]) < (is_single(p->scalar) ? 1e-30 : 1e-290))
      right |= BIT(TRISTAR_ERR_NOT_FINITE);
  return right;
}

/* ---- Calls --------------------------------------------------------------------------------------------- */

void call_import(void) {
  const pattern *p = &g->pattern[below(&g->in, PATTERNS)];
  factor_slot *f = &g->factor[below(&g->in, SLOTS)];
  triangle t;
  choose_triangle(p, &t);
  tristar_view view = p->view;
  view.values = t.given->stored;
  tristar_factor_destroy(&f->handle);
  f->cell = t.cell;
  const unsigned right = import_statuses(t.cell);
  arm();
  const tristar_status status =
      outcome("tristar_import_csr",
              tristar_import_csr(g->ts, &view, t.lower ? TRISTAR_LOWER : TRISTAR_UPPER,
                                 t.unit ? TRISTAR_UNIT : TRISTAR_NON_UNIT, &f->handle),
              right);
  MUST((f->handle != NULL) == (status == TRISTAR_OK), "the factor is %s", f->handle ? "there" : "NULL");
}

static tristar_triangle_options options_of(const triangle *t, tristar_partition partition) {
  tristar_triangle_options o;
  tristar_triangle_options_init(&o);
  o.uplo = t->lower ? TRISTAR_LOWER : TRISTAR_UPPER;
  o.diag = t->unit ? TRISTAR_UNIT : TRISTAR_NON_UNIT;
  o.partition = partition;
  return o;
}

/* No other function accepts new values for it. */
static void judge_imported(factor_slot *f) {
  tristar_factors none;
  tristar_factors_init(&none);
  if (!chance(&g->in, 24)) return;
  land(f->cell);
  outcome("tristar_refactor", tristar_refactor(f->handle, f->cell->v->stored), BIT(TRISTAR_ERR_UNSUPPORTED));
  outcome("tristar_reimport", tristar_reimport(f->handle, &none), BIT(TRISTAR_ERR_UNSUPPORTED));
}

/* tristar_import_triangle with all its options; options and view may have a fault. */
void call_triangle(void) {
  const pattern *p = &g->pattern[below(&g->in, PATTERNS)];
  factor_slot *f = &g->factor[below(&g->in, SLOTS)];
  triangle t;
  unsigned view_right;
  choose_triangle(p, &t);
  const tristar_view view = choose_view(p, t.given, true, &view_right);
  tristar_triangle_options o = options_of(&t, (tristar_partition)below(&g->in, 8));
  unsigned right = import_statuses(t.cell);
  if (view_right != 0) {
    /* An entry that is not read may have any value. */
    const bool unread = view_right == BIT(TRISTAR_ERR_FORMAT) && t.unit;
    right = view_right | (right & (unread ? ~0u : ~ONLY_OK));
  }
  if (chance(&g->in, 8)) {
    const int fault = below(&g->in, 3);
    if (fault == 0) o.uplo = (tristar_uplo)'x';
    if (fault == 1) o.diag = (tristar_diag)'L';
    if (fault == 2) o.partition = (tristar_partition)8;
    right = view_right | BIT(TRISTAR_ERR_ARGUMENT);
  }
  note("partition %d\n", (int)o.partition);
  tristar_factor_destroy(&f->handle);
  f->cell = t.cell;
  arm();
  const tristar_status status =
      outcome("tristar_import_triangle", tristar_import_triangle(g->ts, &view, &o, &f->handle), right);
  MUST((f->handle != NULL) == (status == TRISTAR_OK), "the factor is %s", f->handle ? "there" : "NULL");
  if (status == TRISTAR_OK) judge_imported(f);
}

/* ---- The same triangle, divided in two ways ------------------------------------------------------------ */

typedef struct division {
  tristar_factor_t *factor;
  tristar_plan_t *plan;
  tristar_partition partition; /* the choice of AUTO */
  void *x;
} division;

static bool by_rows(tristar_partition partition) {
  return partition == TRISTAR_PARTITION_LEVELS || partition == TRISTAR_PARTITION_SUPERSTEPS ||
         partition == TRISTAR_PARTITION_WHOLE;
}

/* Returns false if the values do not suit it. */
static bool divide(const triangle *t, const tristar_view *view, division *d) {
  static const tristar_engine engines[] = {TRISTAR_ENGINE_AUTO, TRISTAR_ENGINE_SERIAL, TRISTAR_ENGINE_TASKS};
  const tristar_triangle_options o = options_of(t, (tristar_partition)below(&g->in, 8));
  tristar_plan_options options;
  tristar_plan_stats stats;
  tristar_plan_options_init(&options);
  options.engine = engines[below(&g->in, with_tasks() ? 3 : 2)];
  options.nrhs = 1 + below(&g->in, 4);
  note("partition %d, engine %d\n", (int)o.partition, (int)options.engine);
  if (outcome("tristar_import_triangle", tristar_import_triangle(g->ts, view, &o, &d->factor),
              import_statuses(t->cell)) != TRISTAR_OK)
    return false;
  if (outcome("tristar_plan", tristar_plan(d->factor, &options, &d->plan), ONLY_OK) != TRISTAR_OK)
    return false;
  (void)tristar_plan_get_stats(d->plan, &stats);
  d->partition = stats.partition;
  MUST(o.partition == TRISTAR_PARTITION_AUTO || d->partition == o.partition, "the plan's partition is %d",
       (int)d->partition);
  return true;
}

static void judge_rows(const cell *c, tristar_op op, const number *b, const number *x) {
  const int n = c->p->n;
  const long double eps = 8.0L * (n + 10) * c->eps, floor = 8.0L * (n + 10) * smallest_number(c->p->scalar);
  for (int i = 0; i < n; i++) {
    if (!in_range(c, b[i]) || !in_range(c, x[i]) || !isfinite(cabsl(x[i]))) return;
    for (int j = 0; j < n; j++)
      if (!in_range(c, c->v->truth[i][j])) return;
  }
  for (int i = 0; i < n; i++) {
    number sum = b[i];
    long double size = 0;
    for (int j = 0; j < n; j++) {
      sum -= reference_op(c->v->truth, op, i, j) * x[j];
      size += magnitude_of_op(c->v, op, i, j) * cabsl(x[j]);
    }
    MUST(cabsl(sum) <= eps * size + floor * (1 + cabsl(c->v->truth[i][i])),
         "row %d has the residual %Lg, its terms are %Lg", i, cabsl(sum), size);
  }
}

static void judge_division(const cell *c, const division *d, tristar_op op, const operands *o) {
  number b[ORDER_MOST], x[ORDER_MOST];
  operands written = *o;
  written.x = d->x;
  judge_gaps(c, &written);
  for (int64_t k = 0; k < o->nrhs; k++) {
    fetch_column(c, o->b, k * o->next_b, o->step_b, b);
    fetch_column(c, d->x, k * o->next_x, o->step_x, x);
    judge_plain(c, op, b, x);
    if (c->v->finite && d->partition != TRISTAR_PARTITION_SUPERNODES) judge_rows(c, op, b, x);
  }
}

/* Two partitions of one triangle: each is accurate, and bits are equal where the header promises it. */
void call_partitions(void) {
  const pattern *p = &g->pattern[below(&g->in, PATTERNS)];
  triangle t;
  division way[2] = {{.factor = NULL}, {.factor = NULL}};
  choose_triangle(p, &t);
  const cell *c = t.cell;
  tristar_view view = p->view;
  view.values = t.given->stored;
  const bool ready = divide(&t, &view, &way[0]) && divide(&t, &view, &way[1]);
  const tristar_op op = choose_op();
  const operands o = choose_operands(c);
  for (int k = 0; k < 2 && ready; k++) {
    way[k].x = keep(o.bytes);
    memset(way[k].x, 0x7b, o.bytes);
    outcome("tristar_solve", tristar_solve(way[k].plan, op, o.nrhs, o.b, o.next_b, way[k].x, o.next_x),
            ONLY_OK);
    judge_division(c, &way[k], op, &o);
  }
  if (ready &&
      (way[0].partition == way[1].partition || (by_rows(way[0].partition) && by_rows(way[1].partition))))
    MUST(memcmp(way[0].x, way[1].x, o.bytes) == 0, "partitions %d and %d give different bits",
         (int)way[0].partition, (int)way[1].partition);
  if (ready) {
    outcome("tristar_solve, x = b", tristar_solve(way[1].plan, op, o.nrhs, o.b, o.next_b, o.b, o.next_b),
            ONLY_OK);
    for (int64_t k = 0; k < o.nrhs; k++)
      MUST(memcmp((char *)o.b + (size_t)(k * o.next_b) * scalar_bytes(c),
                  (char *)way[1].x + (size_t)(k * o.next_x) * scalar_bytes(c),
                  (size_t)p->n * scalar_bytes(c)) == 0,
           "x in the place of b gets other bits, column %lld", (long long)k);
  }
  for (int k = 0; k < 2; k++) {
    tristar_plan_destroy(&way[k].plan);
    tristar_factor_destroy(&way[k].factor);
  }
}
