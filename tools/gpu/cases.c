/* See cases.h.
 *
 * A case runs once without measurement, then `repeat` times; its time is the median. x is compared with the
 * vector from which the right-hand side was computed. TriStar's kernels must give the same bits with other
 * blocks and threads, except those of published solvers that add atomically.
 *
 * Bytes are those of L without padding. Each entry and right-hand side counts two flops. */
#include "tools/gpu/cases.h"

#include "codelets/gpu/tables/row_choice.h"
#include "runtime/base/clock.h"
#include "runtime/exec/device/device_rows.h"
#include "runtime/exec/device/device_variants.h"
#include "runtime/exec/steps/execution.h"
#include "tests/support/solve_data.h"
#include "tools/gpu/inverse.h"
#include "tools/gpu/peers.h"
#include "tools/gpu/problem.h"
#include "tools/gpu/solve.h"

/* ---- Solves on a core ---------------------------------------------------------------------------------- */

/* The same solve by one core: the serial executor runs the tasks of a plan. */

typedef struct core_solve {
  tsi_env *env;
  tsi_steps *steps;
  tsi_index *number; /* steps in their order */
  tsi_solve_data data;
  tsi_execution execution;
} core_solve;

/* L L^T x = b, one right-hand side after the other, in the order of the problem's matrix. */
static void core_solve_open(problem *p, tsi_index nrhs, const void *b, void *x, core_solve *s) {
  const tsi_index n = p->a.n, stride = tsi_workspace_stride(nrhs), *perm = p->s.symbolic->perm;
  const size_t bytes = (size_t)p->tables.workspace_rows * (size_t)stride * p->t->bytes;
  tsi_index *order = malloc((size_t)p->s.dag->tasks * sizeof *order);
  *s = (core_solve){.env = &p->env,
                    .data = solve_data_of((char)p->t->scalar, TSI_INVERSE_DIAGONAL, &p->s, &p->tables)};
  CHECK_OK(tsi_dag_order(&p->env, p->s.dag, 0, order));
  const tsi_steps_source source = {.dag = p->s.dag,
                                   .order = order,
                                   .forward_chunks = p->s.chunks,
                                   .backward_chunks = p->s.chunks,
                                   .forward = true,
                                   .backward = true};
  CHECK_OK(tsi_steps_create(&p->env, &source, &s->steps));
  free(order);
  s->number = malloc((size_t)s->steps->count * sizeof *s->number);
  for (tsi_index k = 0; k < s->steps->count; k++) s->number[k] = k;
  s->execution = (tsi_execution){
      .nodes = tsi_node_kernels_select((char)p->t->scalar), .forward = &s->data, .backward = &s->data};
  s->execution.call = (tsi_solve_call){.forward_values = p->stream,
                                       .backward_values = p->stream,
                                       .in_row = perm,
                                       .out_row = perm,
                                       .b = b,
                                       .x = x,
                                       .b_row = 1,
                                       .b_column = n,
                                       .x_row = 1,
                                       .x_column = n,
                                       .nrhs = nrhs,
                                       .stride = stride,
                                       .workspace = aligned_alloc(64, (bytes + 63) / 64 * 64)};
  CHECK(s->number != NULL && s->execution.call.workspace != NULL);
  memset(s->execution.call.workspace, 0, bytes);
}

static void core_solve_run(core_solve *s) {
  tsi_execution_run(&s->execution, s->steps, s->steps->count, s->number, -1);
}

static void core_solve_close(core_solve *s) {
  TSI_FREE(s->env, s->steps);
  free(s->number);
  free(s->execution.call.workspace);
}

/* ---- Cases --------------------------------------------------------------------------------------------- */

typedef struct candidate {
  const char *what;
  void (*run)(void *solver, unsigned threads);
  void (*fetch)(const void *solver, void *x);
  void *solver;
  double bytes;  /* moved in addition to L */
  double flops;  /* in addition to those of L */
  double sweeps; /* number of reads of L */
  const number *expected;
  const tsi_index *rows; /* positions of the rows of the factor in the fetched vector; NULL: the same */
  bool on_core, repeats; /* whether one core runs it; whether bits do not depend on blocks and threads */
} candidate;

/* Returns the largest difference relative to the largest entry; NaN if an entry is NaN. */
static double largest_error(const session *s, const candidate *c, const void *x) {
  const tsi_index n = s->p.a.n;
  double largest = 0, worst = 0;
  for (tsi_index k = 0; k < s->nrhs; k++)
    for (tsi_index j = 0; j < n; j++) {
      const number right = c->expected[(ptrdiff_t)k * n + j];
      const double d = cabs(get(s->user, x, (int64_t)k * n + (c->rows ? c->rows[j] : j)) - right);
      largest = fmax(largest, cabs(right));
      worst = larger_error(worst, d);
    }
  return worst / largest;
}

static double run_once(const candidate *c, unsigned threads) {
  if (c->on_core) {
    const double start = tsi_clock();
    c->run(c->solver, threads);
    return tsi_clock() - start;
  }
  board_start();
  c->run(c->solver, threads);
  return board_stop();
}

static double measure(session *s, const candidate *c) {
  const size_t bytes = (size_t)s->p.a.n * (size_t)s->nrhs * s->user->bytes;
  void *x = malloc(bytes + 1), *again = malloc(bytes + 1);
  gpu_case out = {.what = c->what, .scalars = s->scalars, .nrhs = s->nrhs};
  CHECK(x != NULL && again != NULL);
  c->run(c->solver, s->board.warp);
  c->fetch(c->solver, x);
  for (int k = 0; k < s->repeat; k++) gpu_case_add(&out, run_once(c, s->board.threads));
  c->fetch(c->solver, again);
  out.error = largest_error(s, c, again);
  out.right = out.error <= (s->p.t->is_single ? 1e-4 : 1e-11);
  out.same_bits = memcmp(x, again, bytes) == 0;
  out.has_bits = c->repeats;
  out.bytes = c->bytes + c->sweeps * problem_bytes(&s->p);
  out.flops =
      c->flops + c->sweeps * 2 * (double)s->p.s.symbolic->nnz_exact * s->nrhs * (s->p.t->is_complex ? 4 : 1);
  out.of_core = c->sweeps == 2 ? s->core_seconds : 0;
  free(x);
  free(again);
  return gpu_report_add(&s->report, &out);
}

/* ---- TriStar's kernels --------------------------------------------------------------------------------- */

/* Vectors for a solver, in the user's type. rows: the positions of the rows of the factor. */
static void *vectors_of(const session *s, const number *from, const tsi_index *rows) {
  const tsi_index n = s->p.a.n;
  void *to = calloc((size_t)n * (size_t)s->nrhs + 1, s->user->bytes);
  CHECK(to != NULL);
  for (tsi_index k = 0; k < s->nrhs; k++)
    for (tsi_index j = 0; j < n; j++)
      put(s->user, to, (int64_t)k * n + (rows ? rows[j] : j), from[(ptrdiff_t)k * n + j]);
  return to;
}

static tsi_device_call call_of(const session *s, const tsi_index *rows, const void *b, void *x) {
  return (tsi_device_call){.wide = s->user->bytes > s->p.t->bytes,
                           .in_row = rows,
                           .out_row = rows,
                           .b = b,
                           .x = x,
                           .b_row = 1,
                           .b_column = s->p.a.n,
                           .x_row = 1,
                           .x_column = s->p.a.n,
                           .nrhs = s->nrhs,
                           .stride = tsi_workspace_stride(s->nrhs)};
}

/* A solve or one sweep: its inputs, outputs and expected result. */
typedef struct part {
  const char *sweeps, *sc23, *kk20;
  bool forward, backward;
} part;
static const part parts[] = {{"sweep forward", "SC23 forward", "KK20 forward", true, false},
                             {"sweep backward", "SC23 backward", "KK20 backward", false, true},
                             {"solve by sweeps", "solve by SC23", "solve by KK20", true, true}};

static void run_sweeps(void *arg, unsigned threads) {
  board_sweeps_run(arg, false, 0, threads);
  board_sweeps_run(arg, true, 0, threads);
}
static void fetch_sweeps(const void *arg, void *x) {
  board_fetch(&((const board_sweeps *)arg)->arrays, x);
}
static void run_sc23(void *arg, unsigned threads) {
  board_variant_sc23(arg, false, threads);
  board_variant_sc23(arg, true, threads);
}
static void run_kk20(void *arg, unsigned threads) {
  board_variant_kk20(arg, false, threads);
  board_variant_kk20(arg, true, threads);
}
static void fetch_variant(const void *arg, void *x) {
  board_fetch(&((const board_variant *)arg)->arrays, x);
}

static void check_part(session *s, const part *which, const tsi_variant_tables *variants) {
  const tsi_index *perm = s->p.s.symbolic->perm;
  const tsi_device_values values = {s->p.stream, NULL};
  void *b = vectors_of(s, which->forward ? s->b : s->y, perm), *x = vectors_of(s, s->x, perm);
  tsi_device_call call = call_of(s, perm, b, x);
  candidate c = {.what = which->sweeps,
                 .sweeps = which->forward + which->backward,
                 .expected = which->backward ? s->x : s->y,
                 .rows = perm};
  board_sweeps sweeps;
  board_variant variant;
  memset(x, 0, (size_t)s->p.a.n * (size_t)s->nrhs * s->user->bytes);
  if (which->forward) call.forward = values;
  if (which->backward) call.backward = values;
  board_sweeps_open(s->scalars, &s->p.device, &s->p.device, &call, &sweeps);
  c.run = run_sweeps, c.fetch = fetch_sweeps, c.solver = &sweeps, c.repeats = true;
  measure(s, &c);
  board_close(&sweeps.arrays);
  if (sweeps.kernels->sc23) {
    board_variant_open(s->scalars, variants, variants, &call, &variant);
    c.fetch = fetch_variant, c.solver = &variant, c.repeats = false;
    c.what = which->sc23, c.run = run_sc23;
    measure(s, &c);
    c.what = which->kk20, c.run = run_kk20;
    measure(s, &c);
    board_close(&variant.arrays);
  }
  free(b);
  free(x);
}

static void run_rows(void *arg, unsigned threads) {
  board_rows_run(arg, true, 0, threads);
}
static void run_phases(void *arg, unsigned threads) {
  board_rows_run(arg, false, 0, threads);
}
static void fetch_rows(const void *arg, void *x) {
  board_fetch(&((const board_rows *)arg)->arrays, x);
}

/* L by rows, without supernodes. */
static void check_rows(session *s, tsi_device_row_way way, bool one_launch, const char *what) {
  const csr *m = &s->p.lower;
  const tsi_lines lines = {m->n, m->ptr, m->index, false};
  const tsi_device_row_options options = {way, (tsi_index)s->board.warp};
  tsi_row_options rows;
  tsi_row_cut *cut;
  tsi_device_row_plan plan;
  tsi_row_options_init(&rows, TSI_ROWS_WHOLE, 1, s->p.t->bytes);
  CHECK_OK(tsi_row_cut_create(&s->p.env, &lines, &rows, NULL, 0, &cut));
  CHECK_OK(tsi_device_rows_create(&s->p.env, &lines, false, cut, &options, &plan));
  void *values = malloc(((size_t)plan.tables.entries + 1) * s->p.t->bytes),
       *inverse = malloc(((size_t)m->n + 1) * s->p.t->bytes), *b = vectors_of(s, s->b, NULL),
       *x = vectors_of(s, s->b, NULL);
  CHECK(values != NULL && inverse != NULL);
  tsi_device_rows_fill(&plan, s->p.t->bytes, m->values, values);
  tsi_device_rows_place(&plan, s->p.t->bytes, s->p.inverse, inverse);
  const tsi_gpu_rows host = {
      .tables = plan.tables, .call = call_of(s, plan.order, b, x), .values = values, .inverse = inverse};
  board_rows solver;
  board_rows_open(s->scalars, &host, &solver);
  const candidate c = {.what = what,
                       .run = one_launch ? run_rows : run_phases,
                       .fetch = fetch_rows,
                       .solver = &solver,
                       .sweeps = 1,
                       .expected = s->y,
                       .repeats = true};
  measure(s, &c);
  board_close(&solver.arrays);
  tsi_device_rows_destroy(&plan);
  TSI_FREE(&s->p.env, cut);
  free(values);
  free(inverse);
  free(b);
  free(x);
}

/* ---- Products by rows ---------------------------------------------------------------------------------- */

static void run_spmv(void *arg, unsigned threads) {
  board_spmv *s = arg;
  const int64_t lanes = (int64_t)s->product.rows * s->product.threads;
  board_spmv_run(s, (unsigned)(lanes / threads) + 1, threads);
}
static void fetch_spmv(const void *arg, void *y) {
  board_fetch(&((const board_spmv *)arg)->arrays, y);
}

/* y = A x, in the order of the stencil. */
static number *stencil_product(const session *s) {
  const csr *m = &s->stencil;
  number *y = calloc((size_t)m->n * (size_t)s->nrhs, sizeof *y);
  CHECK(y != NULL);
  for (tsi_index c = 0; c < s->nrhs; c++)
    for (tsi_index i = 0; i < m->n; i++)
      for (tsi_count e = m->ptr[i]; e < m->ptr[i + 1]; e++)
        y[(ptrdiff_t)c * m->n + i] += get(s->p.t, m->values, e) * s->x[(ptrdiff_t)c * m->n + m->index[e]];
  return y;
}

static void check_spmv(session *s) {
  const csr *m = &s->stencil;
  const size_t entries = (size_t)m->ptr[m->n], scalars = 2 * (size_t)m->n * (size_t)s->nrhs;
  void *x = vectors_of(s, s->x, NULL), *y = vectors_of(s, s->x, NULL);
  number *expected = stencil_product(s);
  const tsi_gpu_spmv host = {.a = {m->ptr, m->index, m->values},
                             .rows = m->n,
                             .threads = tsi_gpu_spmv_threads(m->n, m->ptr[m->n]),
                             .nrhs = s->nrhs,
                             .x = x,
                             .x_row = 1,
                             .x_column = m->n,
                             .y = y,
                             .y_row = 1,
                             .y_column = m->n,
                             .alpha = {1, 0}};
  board_spmv solver;
  board_spmv_open(s->scalars, &host, m->n, &solver);
  const candidate c = {.what = "product by rows",
                       .run = run_spmv,
                       .fetch = fetch_spmv,
                       .solver = &solver,
                       .bytes = (double)(entries * (s->p.t->bytes + sizeof *m->index) +
                                         (size_t)m->n * sizeof *m->ptr + scalars * s->user->bytes),
                       .flops = 2 * (double)entries * s->nrhs * (s->user->is_complex ? 4 : 1),
                       .expected = expected,
                       .repeats = true};
  measure(s, &c);
  board_close(&solver.arrays);
  free(x);
  free(y);
  free(expected);
}

/* ---- Others -------------------------------------------------------------------------------------------- */

typedef struct core_candidate {
  core_solve solve;
  const void *x;
  size_t bytes;
} core_candidate;

static void run_core(void *arg, unsigned threads) {
  (void)threads;
  core_solve_run(&((core_candidate *)arg)->solve);
}
static void fetch_core(const void *arg, void *x) {
  const core_candidate *c = arg;
  memcpy(x, c->x, c->bytes);
}

static void check_core(session *s) {
  const tsi_index *perm = s->p.s.symbolic->perm;
  void *b = vectors_of(s, s->b, perm), *x = vectors_of(s, s->b, perm);
  core_candidate core = {.x = x, .bytes = (size_t)s->p.a.n * (size_t)s->nrhs * s->user->bytes};
  core_solve_open(&s->p, s->nrhs, b, x, &core.solve);
  const candidate c = {.what = "solve by one core",
                       .run = run_core,
                       .fetch = fetch_core,
                       .solver = &core,
                       .sweeps = 2,
                       .expected = s->x,
                       .rows = perm,
                       .on_core = true,
                       .repeats = true};
  s->core_seconds = measure(s, &c);
  core_solve_close(&core.solve);
  free(b);
  free(x);
}

typedef struct peer_candidate {
  const gpu_peer *peer;
  void *solver;
} peer_candidate;

static void run_peer(void *arg, unsigned threads) {
  const peer_candidate *c = arg;
  (void)threads;
  c->peer->solve(c->solver);
}
static void fetch_peer(const void *arg, void *x) {
  const peer_candidate *c = arg;
  c->peer->fetch(c->solver, x);
}

static void check_peer(session *s, const gpu_peer *peer) {
  void *b = vectors_of(s, s->b, NULL), *x = vectors_of(s, s->x, NULL);
  peer_candidate solver = {peer, peer->open(&s->p, s->nrhs, b, x)};
  const candidate c = {.what = peer->name,
                       .run = run_peer,
                       .fetch = fetch_peer,
                       .solver = &solver,
                       .sweeps = 2,
                       .expected = s->x};
  if (solver.solver) {
    measure(s, &c);
    peer->close(solver.solver);
  } else
    printf("%s cannot solve with this factor\n", peer->name);
  free(b);
  free(x);
}

/* ---- All cases ----------------------------------------------------------------------------------------- */

void gpu_cases_measure(session *s) {
  const bool mixed = s->scalars[1] != 0;
  tsi_variant_tables variants;
  CHECK_OK(tsi_variant_tables_create(&s->p.env, &s->p.device, &variants));
  s->core_seconds = 0;
  if (!mixed) check_core(s);
  for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) check_part(s, &parts[k], &variants);
  check_spmv(s);
  if (!mixed) {
    check_rows(s, TSI_DEVICE_ROWS_LEVELS, false, "rows forward, levels");
    check_rows(s, TSI_DEVICE_ROWS_LEVELS, true, "rows forward, levels in one launch");
    check_rows(s, TSI_DEVICE_ROWS_FREE, true, "rows forward, sync-free");
    for (int k = 0; gpu_peers[k]; k++) check_peer(s, gpu_peers[k]);
  }
  tsi_variant_tables_destroy(&variants);
}
