/* Plans and solves in all forms: in one call, with any rows and strides, in flight. */
#include "tests/fuzz/api.h"

void destroy_plan(plan_slot *p) {
  if (p->handle == NULL) return;
  for (int k = 0; k < REQUESTS; k++)
    if (g->request[k].plan == p->handle) g->request[k].plan = NULL;
  for (int k = 0; k < SLOTS; k++)
    if (g->precond[k].plan == p->handle) {
      tristar_precond_destroy(&g->precond[k].handle);
      g->precond[k].plan = NULL;
    }
  tristar_plan_destroy(&p->handle);
}

void call_plan(void) {
  static const int64_t floors[] = {0, 0, 0, 64, 400, 4000}, ceilings[] = {0, 0, 0, 64, 400, 4000};
  const factor_slot *f = &g->factor[below(&g->in, SLOTS)];
  plan_slot *p = &g->plan[below(&g->in, SLOTS)];
  unsigned right = ONLY_OK;
  if (f->handle == NULL) return;
  destroy_plan(p);
  p->cell = f->cell;
  tristar_plan_options *o = &p->options;
  tristar_plan_options_init(o);
  if (chance(&g->in, 192)) {
    o->engine = (tristar_engine)below(&g->in, 3);
    o->nrhs = below(&g->in, 6);
    o->chunk_bytes_min = floors[below(&g->in, 6)];
    o->chunk_bytes_max = ceilings[below(&g->in, 6)];
    o->order_seed = take(&g->in);
    o->placement = (tristar_placement)below(&g->in, 3);
    o->scheduling = (tristar_scheduling)below(&g->in, 2);
    o->updates = (tristar_updates)below(&g->in, 2);
    o->granularity = (tristar_granularity)below(&g->in, 2);
    o->kernel = chance(&g->in, 40) ? TRISTAR_KERNEL_SPMV : TRISTAR_KERNEL_PANELS;
    if (chance(&g->in, 8)) o->nrhs = -1, right = BIT(TRISTAR_ERR_ARGUMENT);
    note("engine %d, nrhs %d, chunks %d to %d, seed %u, scheduling %d, updates %d, granularity %d, kernel "
         "%d\n",
         (int)o->engine, (int)o->nrhs, (int)o->chunk_bytes_min, (int)o->chunk_bytes_max, o->order_seed,
         (int)o->scheduling, (int)o->updates, (int)o->granularity, (int)o->kernel);
  }
  if (o->engine == TRISTAR_ENGINE_TASKS && !with_tasks())
    right = (right & ~ONLY_OK) | BIT(TRISTAR_ERR_UNSUPPORTED);
  if (o->kernel == TRISTAR_KERNEL_SPMV) right |= BIT(TRISTAR_ERR_UNSUPPORTED);
  if (f->cell->v == NULL) right = (right & ~ONLY_OK) | BIT(TRISTAR_ERR_STALE);
  arm();
  const tristar_status status = outcome("tristar_plan", tristar_plan(f->handle, o, &p->handle), right);
  MUST((p->handle != NULL) == (status == TRISTAR_OK), "the plan is %s", p->handle ? "there" : "NULL");
}

static int choose_columns(void) {
  const int kind = below(&g->in, 16);
  return kind < 8 ? 1 : kind < 14 ? below(&g->in, 6) : kind < 15 ? 17 : 65;
}

static void fill_operands(const cell *c, operands *o, const int64_t *b_row) {
  const rhs_kind kind = (rhs_kind)below(&g->in, RHS_KINDS);
  const uint64_t seed = take(&g->in);
  const int64_t most_rows = o->rows_b > o->rows_x ? o->rows_b : o->rows_x;
  const int64_t step = o->step_b > o->step_x ? o->step_b : o->step_x,
                next = o->next_b > o->next_x ? o->next_b : o->next_x;
  o->bytes = (size_t)(most_rows * step + o->nrhs * next + PAD) * scalar_bytes(c);
  o->b = keep(o->bytes);
  o->x = keep(o->bytes);
  memset(o->x, 0x7b, o->bytes);
  for (int64_t k = 0; k < o->nrhs; k++)
    for (int64_t i = 0; i < o->rows_b; i++)
      put(c->p->scalar, o->b, (int)(i * o->step_b + k * o->next_b),
          rhs_entry(c, kind, seed, (int)(b_row ? b_row[i] : i), (int)k));
  note("%d right-hand sides, kind %d, seed %llu\n", (int)o->nrhs, (int)kind, (unsigned long long)seed);
}

tristar_op choose_op(void) {
  static const tristar_op ops[] = {TRISTAR_N, TRISTAR_N, TRISTAR_T, TRISTAR_C};
  const tristar_op op = ops[below(&g->in, 4)];
  note("op %c: ", (char)op);
  return op;
}

unsigned solve_statuses(const cell *c) {
  return c->v == NULL ? BIT(TRISTAR_ERR_STALE) : ONLY_OK;
}

unsigned range_statuses(const cell *c, const operands *o) {
  return solve_statuses(c) | (may_overflow(c, o) ? BIT(TRISTAR_ERR_NOT_FINITE) : 0);
}

/* Only the columns of x were written. */
void judge_gaps(const cell *c, const operands *o) {
  const unsigned char *x = o->x;
  const size_t width = scalar_bytes(c);
  static bool meant[(ORDER_MOST + PAD) * (COLUMNS_MOST + PAD) * 4];
  const int64_t all = (int64_t)(o->bytes / width);
  if (all > (int64_t)sizeof meant) return;
  memset(meant, 0, sizeof meant);
  for (int64_t k = 0; k < o->nrhs; k++)
    for (int64_t i = 0; i < o->rows_x; i++) meant[i * o->step_x + k * o->next_x] = true;
  for (int64_t at = 0; at < all; at++)
    for (size_t byte = 0; byte < width && !meant[at]; byte++)
      MUST(x[(size_t)at * width + byte] == 0x7b, "scalar %lld of x was written", (long long)at);
}

operands choose_operands(const cell *c) {
  const int64_t n = c->p->n, gap = chance(&g->in, 64) ? below(&g->in, PAD) : 0;
  operands o = {.nrhs = choose_columns(), .rows_b = n, .rows_x = n, .step_b = 1, .step_x = 1};
  o.next_b = n + gap;
  o.next_x = n + (gap ? PAD - gap : 0);
  fill_operands(c, &o, NULL);
  return o;
}

static void judge_columns(const cell *c, tristar_op op, const operands *o, bool plain) {
  number b[ORDER_MOST], x[ORDER_MOST];
  for (int64_t k = 0; k < o->nrhs && plain; k++) {
    fetch_column(c, o->b, k * o->next_b, o->step_b, b);
    fetch_column(c, o->x, k * o->next_x, o->step_x, x);
    judge_plain(c, op, b, x);
  }
}

/* tristar_solve; also in place, with the same bits. */
void call_solve(void) {
  const plan_slot *p = &g->plan[below(&g->in, SLOTS)];
  if (p->handle == NULL) return;
  const cell *c = p->cell;
  const tristar_op op = choose_op();
  operands o = choose_operands(c);
  unsigned right = range_statuses(c, &o);
  const bool narrow = o.nrhs > 1 && c->p->n > 0 && chance(&g->in, 8), in_place = chance(&g->in, 48);
  arm();
  const tristar_status status =
      outcome("tristar_solve",
              tristar_solve(p->handle, op, o.nrhs, o.b, narrow ? c->p->n - 1 : o.next_b, o.x, o.next_x),
              narrow ? (right & ~ONLY_OK) | BIT(TRISTAR_ERR_ARGUMENT) : right);
  if (status != TRISTAR_OK) return;
  judge_gaps(c, &o);
  judge_columns(c, op, &o, !analyzed_otherwise(c));
  if (!in_place) return;
  if (outcome("tristar_solve, x = b", tristar_solve(p->handle, op, o.nrhs, o.b, o.next_b, o.b, o.next_b),
              right) != TRISTAR_OK)
    return;
  for (int64_t k = 0; k < o.nrhs; k++)
    for (int64_t i = 0; i < c->p->n; i++)
      MUST(memcmp((char *)o.b + (size_t)(i + k * o.next_b) * scalar_bytes(c),
                  (char *)o.x + (size_t)(i + k * o.next_x) * scalar_bytes(c), scalar_bytes(c)) == 0,
           "x in the place of b gets other bits, row %lld, column %lld", (long long)i, (long long)k);
}

/* Chooses some rows in any order. */
static int64_t *choose_rows(int n, int64_t *count) {
  int64_t *row = keep((size_t)(n + 1) * sizeof *row);
  const uint64_t seed = take(&g->in);
  *count = 0;
  for (int i = 0; i < n; i++)
    if (hash_below(seed, i, 0, 3)) row[(*count)++] = i;
  for (int64_t k = *count - 1; k > 0; k--) {
    const int64_t other = hash_below(seed, (int)k, 1, (int)k + 1), kept = row[k];
    row[k] = row[other];
    row[other] = kept;
  }
  return row;
}

static tristar_solve_options choose_solve_options(const cell *c, operands *o) {
  tristar_solve_options s;
  tristar_solve_options_init(&s);
  const int64_t n = c->p->n;
  s.op = choose_op();
  s.part = chance(&g->in, 64) ? (tristar_part)below(&g->in, 4) : TRISTAR_PART_ALL;
  s.factor_order = chance(&g->in, 32);
  *o = (operands){.nrhs = choose_columns(), .rows_b = n, .rows_x = n, .step_b = 1, .step_x = 1};
  if (chance(&g->in, 64)) s.b_row = choose_rows(c->p->n, &s.b_rows), o->rows_b = s.b_rows;
  if (chance(&g->in, 64)) s.x_row = choose_rows(c->p->n, &s.x_rows), o->rows_x = s.x_rows;
  o->next_b = o->rows_b > 0 ? o->rows_b : 1;
  o->next_x = o->rows_x > 0 ? o->rows_x : 1;
  if (chance(&g->in, 64)) { /* row-major */
    o->step_b = s.b_row_stride = o->nrhs > 0 ? o->nrhs : 1;
    o->step_x = s.x_row_stride = o->step_b + below(&g->in, PAD);
    o->next_b = s.b_column_stride = 1;
    o->next_x = s.x_column_stride = 1;
  }
  fill_operands(c, o, s.b_row);
  note("part %d, factor order %d, rows %lld and %lld, strides %lld %lld %lld %lld\n", (int)s.part,
       s.factor_order, s.b_row ? (long long)s.b_rows : -1, s.x_row ? (long long)s.x_rows : -1,
       (long long)o->step_b, (long long)o->next_b, (long long)o->step_x, (long long)o->next_x);
  return s;
}

/* Does the plan solve by rows only if rows are chosen? Then the bits of these solves differ. */
static bool chosen_rows_differ(const plan_slot *p, const tristar_solve_options *s) {
  tristar_plan_stats stats;
  (void)tristar_plan_get_stats(p->handle, &stats);
  return stats.partition >= TRISTAR_PARTITION_COLUMN && (s->b_row || s->x_row);
}

/* Is the number close to the right one, for a well-conditioned system whose largest number is `most`? */
static bool is_close(const cell *c, number got, number wanted, long double most) {
  if (c->v == NULL || !well_conditioned(c) || badly_scaled(c) || !isfinite(most)) return true;
  return cabsl(got - wanted) <= 100.0L * (c->p->n + 10) * c->eps * c->v->reference.kappa * most;
}

/* The same solve with all rows, column by column, must give the same numbers. */
static void compare_with_dense(const plan_slot *p, const tristar_solve_options *s, const operands *o) {
  const cell *c = p->cell;
  const size_t n = (size_t)c->p->n, width = scalar_bytes(c);
  char *b = keep((n * (size_t)o->nrhs + 1) * width), *x = keep((n * (size_t)o->nrhs + 1) * width);
  tristar_solve_options all;
  tristar_solve_options_init(&all);
  all.op = s->op, all.part = s->part, all.factor_order = s->factor_order;
  for (int64_t k = 0; k < o->nrhs; k++)
    for (int64_t i = 0; i < o->rows_b; i++)
      memcpy(b + ((size_t)(s->b_row ? s->b_row[i] : i) + (size_t)k * n) * width,
             (char *)o->b + (size_t)(i * o->step_b + k * o->next_b) * width, width);
  const tristar_status status = tristar_solve_with(p->handle, &all, o->nrhs, b, x, NULL);
  MUST(status == TRISTAR_OK, "the same solve with all rows gives %s", tristar_status_name(status));
  const bool rounded = chosen_rows_differ(p, s);
  long double most = 0;
  for (size_t i = 0; i < n * (size_t)o->nrhs; i++) most = fmaxl(most, cabsl(get(c->p->scalar, x, (int)i)));
  for (int64_t k = 0; k < o->nrhs; k++)
    for (int64_t i = 0; i < o->rows_x; i++) {
      const int64_t row = s->x_row ? s->x_row[i] : i;
      const number got = get(c->p->scalar, o->x, (int)(i * o->step_x + k * o->next_x));
      const number wanted = get(c->p->scalar, x, (int)(row + k * (int64_t)n));
      const bool nothing = got != got && wanted != wanted; /* both NaN */
      MUST(got == wanted || nothing || (rounded && is_close(c, got, wanted, most)),
           "row %lld, column %lld: %Lg%+Lgi, with all rows %Lg%+Lgi", (long long)row, (long long)k,
           creall(got), cimagl(got), creall(wanted), cimagl(wanted));
    }
}

static unsigned with_statuses(const plan_slot *p, const tristar_solve_options *s, const operands *o) {
  unsigned right = range_statuses(p->cell, o);
  if (p->options.kernel == TRISTAR_KERNEL_SPMV && (s->part != TRISTAR_PART_ALL || s->b_row || s->x_row))
    right = (right & ~ONLY_OK) | BIT(TRISTAR_ERR_UNSUPPORTED);
  if (p->cell->imported && s->part != TRISTAR_PART_ALL) right |= BIT(TRISTAR_ERR_ARGUMENT);
  return right;
}

void call_solve_with(void) {
  const plan_slot *p = &g->plan[below(&g->in, SLOTS)];
  operands o;
  if (p->handle == NULL) return;
  tristar_solve_options s = choose_solve_options(p->cell, &o);
  tristar_solve_result result;
  unsigned right = with_statuses(p, &s, &o);
  const int fault = chance(&g->in, 12) ? 1 + below(&g->in, 3) : 0;
  if (fault == 1) s.op = (tristar_op)'x';
  if (fault == 2 && s.b_row != NULL && s.b_rows > 1) ((int64_t *)(uintptr_t)s.b_row)[0] = s.b_row[1];
  if (fault == 3 && s.x_row != NULL && s.x_rows > 0) ((int64_t *)(uintptr_t)s.x_row)[0] = p->cell->p->n;
  if (fault == 1 || (fault == 2 && s.b_row != NULL && s.b_rows > 1) ||
      (fault == 3 && s.x_row != NULL && s.x_rows > 0))
    right = (right & ~ONLY_OK) | BIT(TRISTAR_ERR_ARGUMENT);
  arm();
  if (outcome("tristar_solve_with", tristar_solve_with(p->handle, &s, o.nrhs, o.b, o.x, &result), right) !=
      TRISTAR_OK)
    return;
  MUST(result.share >= 0 && result.share <= 1, "the share is %g", result.share);
  judge_gaps(p->cell, &o);
  compare_with_dense(p, &s, &o);
}

void call_start(void) {
  const plan_slot *p = &g->plan[below(&g->in, SLOTS)];
  request_slot *r = &g->request[below(&g->in, REQUESTS)];
  operands o;
  if (p->handle == NULL || r->handle != NULL) return;
  r->options = choose_solve_options(p->cell, &o);
  r->cell = p->cell;
  r->plan = p->handle;
  r->nrhs = o.nrhs;
  r->b = o.b, r->x = o.x;
  r->may_overflow = may_overflow(p->cell, &o);
  arm();
  const tristar_status status = outcome(
      "tristar_solve_start", tristar_solve_start(p->handle, &r->options, o.nrhs, o.b, o.x, &r->handle),
      with_statuses(p, &r->options, &o));
  MUST((r->handle != NULL) == (status == TRISTAR_OK), "the request is %s", r->handle ? "there" : "NULL");
}

/* Waits; the same solve in one call gives the same bits. */
void finish_request(request_slot *r) {
  tristar_solve_result result;
  const size_t room = ((size_t)r->nrhs + PAD) * ORDER_MOST * 4 * SCALAR_MOST;
  const tristar_status status =
      outcome("tristar_wait", tristar_wait(&r->handle, &result),
              ONLY_OK | BIT(TRISTAR_ERR_MEMORY) | (r->may_overflow ? BIT(TRISTAR_ERR_NOT_FINITE) : 0));
  MUST(r->handle == NULL, "the request is still there");
  if (status != TRISTAR_OK || r->plan == NULL || r->cell->v == NULL) return;
  void *x = keep(room);
  const tristar_status again = tristar_solve_with(r->plan, &r->options, r->nrhs, r->b, x, NULL);
  MUST(again == TRISTAR_OK, "the same solve in one call gives %s", tristar_status_name(again));
  const int64_t rows = r->options.x_row ? r->options.x_rows : r->cell->p->n;
  const int64_t step = r->options.x_row_stride ? r->options.x_row_stride : 1;
  const int64_t next = r->options.x_column_stride ? r->options.x_column_stride : rows > 0 ? rows : 1;
  for (int64_t k = 0; k < r->nrhs; k++)
    for (int64_t i = 0; i < rows; i++)
      MUST(memcmp((char *)x + (size_t)(i * step + k * next) * scalar_bytes(r->cell),
                  (char *)r->x + (size_t)(i * step + k * next) * scalar_bytes(r->cell),
                  scalar_bytes(r->cell)) == 0,
           "the request's x has other bits than that of one call, row %lld, column %lld", (long long)i,
           (long long)k);
}

void call_wait(void) {
  request_slot *r = &g->request[below(&g->in, REQUESTS)];
  int done = 0;
  if (r->handle == NULL) return;
  if (chance(&g->in, 128)) outcome("tristar_test", tristar_test(r->handle, &done), ONLY_OK);
  finish_request(r);
}
