/* See cases.h: rows of sparse approximate inverses.
 *
 * G of the board is compared with G of one core: patterns, and values relative to the diagonal entry of the
 * row. In single precision two entries of a gradient may be equal to roundoff; then the pattern may get a
 * different one of them. This happens in at most one row in a thousand. */
#include "codelets/cpu/fsai/fsai.h"
#include "runtime/base/clock.h"
#include "tools/gpu/cases.h"
#include "tools/gpu/inverse.h"
#include "tools/gpu/problem.h"

/* ---- Inverses on a core -------------------------------------------------------------------------------- */

/* The same sparse approximate inverse by one core, with the kernels of codelets/cpu/fsai/fsai.h. All rows of
 * G have the same capacity. */

typedef struct core_inverse {
  const tsi_fsai_kernels *kernels;
  tsi_matrix_rows a;
  tsi_fsai_limits limits;
  tsi_index n, most; /* most: columns of a pattern */
  tsi_fsai_work work;
  tsi_fsai_row *row; /* n; index and values have capacity for most + 1 entries, one row after the other */
  tsi_index *index;
  void *values;
} core_inverse;

static void *zeroed(tsi_count count, size_t bytes) {
  void *at = aligned_alloc(TSI_CACHE_LINE,
                           ((size_t)count * bytes + TSI_CACHE_LINE) / TSI_CACHE_LINE * TSI_CACHE_LINE);
  CHECK(at != NULL);
  memset(at, 0, (size_t)count * bytes);
  return at;
}

static void open_group(const core_inverse *c, size_t bytes, tsi_fsai_group *g) {
  const tsi_index lanes = c->kernels->lanes;
  g->most = c->limits.steps * c->limits.per_step;
  g->stride = g->most + 1;
  g->reach = zeroed(lanes, sizeof *g->reach);
  for (tsi_index l = 0; l < lanes; l++)
    for (int h = 0; h < TSI_FSAI_GROUP_HOMES; h++) g->reach[l].home[h].column = TSI_NONE;
  g->l = zeroed((tsi_count)g->most * g->stride * lanes, bytes);
  g->inverse = zeroed((tsi_count)g->most * lanes, bytes);
  g->b = zeroed((tsi_count)g->most * lanes, bytes);
  g->z = zeroed((tsi_count)g->most * lanes, bytes);
  g->g = zeroed((tsi_count)g->most * lanes, bytes);
  g->psi = zeroed(lanes, sizeof *g->psi);
  g->psi_0 = zeroed(lanes, sizeof *g->psi_0);
  g->gradient = zeroed(TSI_FSAI_GROUP_SLOTS, bytes);
  g->size = zeroed(TSI_FSAI_GROUP_SLOTS, sizeof *g->size);
  g->row = zeroed(g->most, bytes);
  g->picked = zeroed((tsi_count)c->limits.per_step * lanes, sizeof *g->picked);
}
static void close_group(tsi_fsai_group *g) {
  void *const all[] = {g->reach, g->l,     g->inverse,  g->b,    g->z,   g->g,
                       g->psi,   g->psi_0, g->gradient, g->size, g->row, g->picked};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) free(all[k]);
}

static void open_work(core_inverse *c, tsi_index longest, size_t bytes) {
  tsi_fsai_work *w = &c->work;
  const tsi_count most = c->most, reach = (most + 1) * longest, slots = most + reach,
                  stride = (most + TSI_FSAI_LANES - 1) / TSI_FSAI_LANES * TSI_FSAI_LANES;
  w->most = c->most;
  w->stride = (tsi_index)stride;
  w->place = zeroed(c->n, sizeof *w->place);
  for (tsi_index j = 0; j < c->n; j++) w->place[j] = TSI_NONE;
  w->column = zeroed(slots, sizeof *w->column);
  w->position = zeroed(slots, sizeof *w->position);
  w->gradient = zeroed(slots, bytes);
  w->first = zeroed(most + 2, sizeof *w->first);
  w->slot = zeroed(reach, sizeof *w->slot);
  w->pattern = zeroed(most, sizeof *w->pattern);
  w->by_rows = zeroed(most * stride, bytes);
  w->by_columns = zeroed(most * stride, bytes);
  w->inverse = zeroed(stride, bytes);
  w->z = zeroed(stride, bytes);
  w->g = zeroed(stride, bytes);
  w->picked = zeroed(c->limits.per_step, sizeof *w->picked);
  w->magnitude = zeroed(c->limits.per_step, sizeof *w->magnitude);
  open_group(c, bytes, &w->group);
}
static void close_work(tsi_fsai_work *w) {
  void *const all[] = {w->place, w->column,  w->position, w->gradient,   w->first,
                       w->slot,  w->pattern, w->by_rows,  w->by_columns, w->inverse,
                       w->z,     w->g,       w->picked,   w->magnitude};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) free(all[k]);
  close_group(&w->group);
}

/* Initial patterns are the diagonal. No row of a has more than `longest` entries. */
static void core_inverse_open(const csr *a, const typed *t, tsi_index longest, const tsi_fsai_limits *limits,
                              core_inverse *c) {
  *c =
      (core_inverse){.kernels = tsi_fsai_kernels_select((char)t->scalar, NULL),
                     .a = {a->ptr, a->index, a->values},
                     .limits = *limits,
                     .n = a->n,
                     .most = (tsi_index)tsi_count_min(a->n - 1, (tsi_count)limits->steps * limits->per_step)};
  const size_t entries = (size_t)c->most + 1;
  CHECK(c->kernels != NULL && limits->steps * limits->per_step <= TSI_FSAI_GROUP_MOST);
  c->row = zeroed(c->n, sizeof *c->row);
  c->index = zeroed((tsi_count)entries * c->n, sizeof *c->index);
  c->values = zeroed((tsi_count)entries * c->n, t->bytes);
  for (tsi_index i = 0; i < c->n; i++)
    c->row[i] = (tsi_fsai_row){.i = i,
                               .index = c->index + (size_t)i * entries,
                               .values = (char *)c->values + (size_t)i * entries * t->bytes};
  open_work(c, longest, t->bytes);
}

static void core_inverse_run(core_inverse *c) {
  for (tsi_index i = 0; i < c->n; i += c->kernels->lanes)
    c->kernels->rows(&c->a, &c->limits, tsi_index_min(c->kernels->lanes, c->n - i), c->row + i, &c->work);
}

static void core_inverse_close(core_inverse *c) {
  close_work(&c->work);
  free(c->row);
  free(c->index);
  free(c->values);
}

/* ---- Cases --------------------------------------------------------------------------------------------- */

enum { LONGEST = 7, OTHERS = 1000 };

static const tsi_fsai_limits limits = {.steps = 5, .per_step = 3, .reduction = 1e-3};

/* G by rows, as fetched from the board. */
typedef struct inverse_rows {
  tsi_index *entries, *kind;
  tsi_count *ptr;
  tsi_index *index;
  char *values;
  size_t bytes; /* of values */
} inverse_rows;

static void *room(size_t bytes) {
  void *at = malloc(bytes + 1);
  CHECK(at != NULL);
  return at;
}

static inverse_rows rows_of(const session *s, const board_fsai *solver) {
  const size_t n = (size_t)s->stencil.n, places = n * (size_t)solver->rows.stride;
  inverse_rows g = {.entries = room(n * sizeof *g.entries),
                    .kind = room(n * sizeof *g.kind),
                    .ptr = room((n + 1) * sizeof *g.ptr),
                    .index = room(places * sizeof *g.index),
                    .values = room(places * s->p.t->bytes)};
  tsi_gpu_fsai lists = solver->rows;
  tsi_gpu_fsai_rows packed = solver->packed;
  lists.entries = g.entries;
  lists.kind = g.kind;
  lists.index = packed.packed_index = g.index;
  lists.values = packed.packed_values = g.values;
  packed.ptr = g.ptr;
  board_fsai_fetch(solver, &lists, &packed); /* packed rows replace the lists */
  g.bytes = (size_t)g.ptr[n] * s->p.t->bytes;
  return g;
}
static void rows_free(inverse_rows *g) {
  free(g->entries);
  free(g->kind);
  free(g->ptr);
  free(g->index);
  free(g->values);
}

/* Returns the largest difference of rows with the same pattern; *others: number of rows with another
 * pattern. */
static double compare(const session *s, const core_inverse *core, const inverse_rows *g, tsi_index *others) {
  double worst = 0;
  *others = 0;
  for (tsi_index i = 0; i < core->n; i++) {
    const tsi_fsai_row *row = &core->row[i];
    const tsi_index entries = row->entries;
    const tsi_count begin = g->ptr[i];
    CHECK(row->kind == TSI_BREAKDOWN_NONE);
    if (g->kind[i] != TSI_BREAKDOWN_NONE || g->ptr[i + 1] - begin != entries ||
        memcmp(g->index + begin, row->index, (size_t)entries * sizeof *row->index) != 0) {
      ++*others;
      continue;
    }
    const double diagonal = cabs(get(s->p.t, row->values, entries - 1));
    for (tsi_index e = 0; e < entries; e++)
      worst = larger_error(worst,
                           cabs(get(s->p.t, g->values, begin + e) - get(s->p.t, row->values, e)) / diagonal);
  }
  return worst;
}

static void run(board_fsai *solver, unsigned threads) {
  board_fsai_run(solver, threads);
  board_fsai_pack(solver, solver->blocks, threads);
}

/* Returns the bytes of A and of G. */
static double bytes_of(const session *s, tsi_count entries) {
  return (double)(s->stencil.ptr[s->stencil.n] + entries) * (double)(s->p.t->bytes + sizeof(tsi_index));
}

static double measure_core(session *s, core_inverse *core) {
  gpu_case out = {.what = "rows of FSAI by one core", .scalars = s->scalars, .nrhs = 1, .right = true};
  tsi_count entries = 0;
  for (int k = 0; k < s->repeat; k++) {
    const double start = tsi_clock();
    core_inverse_run(core);
    gpu_case_add(&out, tsi_clock() - start);
  }
  for (tsi_index i = 0; i < core->n; i++) {
    out.right &= core->row[i].kind == TSI_BREAKDOWN_NONE;
    entries += core->row[i].entries;
  }
  out.bytes = bytes_of(s, entries);
  out.rows = core->n;
  return gpu_report_add(&s->report, &out);
}

static void measure_board(session *s, const core_inverse *core, double core_seconds, bool shared) {
  const csr *a = &s->stencil;
  tsi_gpu_fsai host = {
      .a = {a->ptr, a->index, a->values}, .limits = limits, .count = a->n, .most = core->most};
  gpu_case out = {.what = shared ? "rows of FSAI, shared memory" : "rows of FSAI",
                  .scalars = s->scalars,
                  .nrhs = 1,
                  .of_core = core_seconds};
  board_fsai solver;
  tsi_index others;
  host.slots = tsi_gpu_fsai_slots(a->n, LONGEST, host.most, &limits);
  tsi_gpu_fsai_lay_out(&host, s->p.t->bytes, s->p.t->is_complex ? s->p.t->bytes / 2 : s->p.t->bytes);
  board_fsai_open(s->scalars, &host, a->n, shared, s->board.warp, s->board.threads, 0, &solver);
  run(&solver, s->board.warp);
  inverse_rows first = rows_of(s, &solver);
  for (int k = 0; k < s->repeat; k++) {
    board_start();
    run(&solver, s->board.threads);
    gpu_case_add(&out, board_stop());
  }
  inverse_rows g = rows_of(s, &solver);
  out.error = compare(s, core, &g, &others);
  out.right =
      out.error <= (s->p.t->is_single ? 1e-4 : 1e-11) && others <= (s->p.t->is_single ? core->n / OTHERS : 0);
  out.has_bits = true;
  out.same_bits = first.bytes == g.bytes && memcmp(first.values, g.values, g.bytes) == 0;
  out.bytes = bytes_of(s, g.ptr[a->n]);
  out.rows = a->n;
  (void)gpu_report_add(&s->report, &out);
  rows_free(&first);
  rows_free(&g);
  board_close(&solver.arrays);
}

void gpu_cases_inverse(session *s) {
  core_inverse core;
  core_inverse_open(&s->stencil, s->p.t, LONGEST, &limits, &core);
  const double core_seconds = measure_core(s, &core);
  measure_board(s, &core, core_seconds, false);
  measure_board(s, &core, core_seconds, true);
  core_inverse_close(&core);
}
