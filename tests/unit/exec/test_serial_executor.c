/* A solve from partition/ to the serial executor, without StarPU and without a context. Plain loops factor a
 * Poisson matrix, whose panels are packed. The steps of a solve give the right x, and the same bits in any
 * legal order, for any grouping into tasks, with updates pulled or pushed, in place or not. The workspace is
 * filled with NaN before each run, which would appear in x. The declared reads and writes of steps are
 * true. */
#include <cblas.h>
#include <math.h>

#include "codelets/cpu/front.h"
#include "runtime/exec/steps/exchange.h"
#include "runtime/exec/steps/recording.h"
#include "runtime/exec/steps/tables.h"
#include "tests/support/env_allocations.h"
#include "tests/support/solve_data.h"
#include "tests/support/subtests.h"

enum { NRHS = 9, ORDERS = 6 };

/* ---- The factor ---------------------------------------------------------------------------------------- */

typedef struct problem {
  tsi_env env;
  pattern a;
  structure s;
  double
      *dense; /* n x n by columns: A in the order of the factor; after factor_dense, L below the diagonal */
  tsi_count *panel_values;
  double *stream;
  tsi_tables tables;
} problem;

static double entry(const pattern *a, tsi_index i, tsi_index j) {
  for (tsi_count e = a->ptr[j]; e < a->ptr[j + 1]; e++)
    if (a->index[e] == i) return i == j ? 6.5 : -1;
  return 0;
}

/* Computes L with A = L L^T. */
static void factor_dense(tsi_index n, double *l) {
  for (tsi_index j = 0; j < n; j++) {
    double *column = l + (ptrdiff_t)j * n;
    const double root = sqrt(column[j]);
    for (tsi_index i = j; i < n; i++) column[i] /= root;
    for (tsi_index k = j + 1; k < n; k++) {
      const double factor = column[k];
      double *to = l + (ptrdiff_t)k * n;
      if (factor == 0) continue;
      for (tsi_index i = k; i < n; i++) to[i] -= factor * column[i];
    }
  }
}

/* Packs the panels of a supernode from L. */
static void pack_supernode(const problem *p, tsi_inverse inverse, tsi_index s, double *work) {
  const tsi_symbolic *sy = p->s.symbolic;
  const tsi_panels *panels = p->s.panels;
  const tsi_index w = sy->start[s + 1] - sy->start[s], m = (tsi_index)(sy->row_ptr[s + 1] - sy->row_ptr[s]);
  const tsi_front front = {.w = w, .m = m, .f = w + m, .p = xcalloc((size_t)(w + m) * (size_t)w, 8)};
  double *to = front.p;
  for (tsi_index j = sy->start[s]; j < sy->start[s + 1]; j++)
    for (tsi_index i = 0; i < front.f; i++) {
      const tsi_index row = i < w ? sy->start[s] + i : sy->rows[sy->row_ptr[s] + i - w];
      *to++ = row >= j ? p->dense[(ptrdiff_t)j * sy->n + row] : 0;
    }
  for (tsi_index k = panels->first[s]; k < panels->first[s + 1]; k++)
    tsi_front_kernels_select('d')->pack(&front, panels->start[k] - sy->start[s], tsi_panel_width(panels, k),
                                        inverse, p->stream + p->panel_values[k], NULL, work);
  free(front.p);
}

static void pack(problem *p, tsi_inverse inverse) {
  const tsi_panels *panels = p->s.panels;
  OWNED double *work = xmalloc(sizeof(double) * TSI_PANEL_WIDTH_MAX * TSI_PANEL_WIDTH_MAX);
  memset(p->stream, 0, (size_t)(p->panel_values[panels->count] + TSI_STREAM_PAD) * sizeof *p->stream);
  for (tsi_index s = 0; s < p->s.symbolic->count; s++) pack_supernode(p, inverse, s, work);
}

static void problem_create(tsi_index k, problem *p) {
  static const structure_options small = {
      .width = 24, .ceiling_bytes = 6000, .floor_bytes = 600, .slice_bytes = 1500};
  tsi_env_init(&p->env);
  p->env.check = true;
  p->a = pattern_grid(k, k, k, false);
  CHECK_OK(structure_build(&p->env, &p->a, &small, &p->s));
  const tsi_index n = p->a.n, *perm = p->s.symbolic->perm;
  p->dense = xmalloc((size_t)n * (size_t)n * sizeof *p->dense);
  for (tsi_index j = 0; j < n; j++)
    for (tsi_index i = 0; i < n; i++) p->dense[(ptrdiff_t)j * n + i] = entry(&p->a, perm[i], perm[j]);
  factor_dense(n, p->dense);
  const tsi_panels *panels = p->s.panels;
  p->panel_values = xcalloc((size_t)panels->count + 1, sizeof *p->panel_values);
  for (tsi_index q = 0; q < panels->count; q++)
    p->panel_values[q + 1] =
        p->panel_values[q] + tsi_panel_size(tsi_panel_width(panels, q), panels->height[q]);
  p->stream = aligned_alloc(64, (size_t)tsi_round_up_block(p->panel_values[panels->count] + TSI_STREAM_PAD) *
                                    sizeof *p->stream);
  const tsi_tables_source source = {.chunks = p->s.chunks,
                                    .sweep = p->s.sweep,
                                    .panels = panels,
                                    .panel_values = p->panel_values,
                                    .rows_of = p->s.chunks};
  CHECK_OK(tsi_tables_create(p->s.chunks, &source, &p->tables));
  CHECK_MSG(p->s.chunks->count > 20 && p->s.chunks->slices > 4, "%d chunks, %d slices", p->s.chunks->count,
            p->s.chunks->slices);
}

static void problem_destroy(problem *p) {
  structure_release(&p->env, &p->s);
  pattern_free(&p->a);
  free(p->dense);
  free(p->panel_values);
  free(p->stream);
  CHECK(atomic_load(&p->env.memory.current) == 0);
}

/* ---- Solves -------------------------------------------------------------------------------------------- */

typedef struct sweeps {
  bool forward, backward;
} sweeps;

/* One kind of solve, with its steps and their data. */
typedef struct solve {
  problem *p;
  tsi_steps *steps;
  tsi_access_list *accesses;
  tsi_solve_data data;
  tsi_execution execution;
  tsi_index nrhs;
  size_t workspace_size, size; /* bytes of the workspace; of x */
  const double *b;
  double *x;
} solve;

static void solve_create(problem *p, tsi_inverse inverse, sweeps which, bool push, bool in_place,
                         unsigned seed, tsi_index nrhs, const double *b, solve *s) {
  tsi_env *env = &p->env;
  const tsi_index n = p->a.n, stride = tsi_workspace_stride(nrhs), *perm = p->s.symbolic->perm;
  tsi_index *order = xmalloc((size_t)p->s.dag->tasks * sizeof *order);
  CHECK_OK(tsi_dag_order(env, p->s.dag, seed, order));
  const tsi_steps_source source = {.dag = p->s.dag,
                                   .order = order,
                                   .forward_chunks = p->s.chunks,
                                   .backward_chunks = p->s.chunks,
                                   .forward = which.forward,
                                   .backward = which.backward,
                                   .push = push,
                                   .before = inverse == TSI_INVERSE_PARTITIONED,
                                   .in_place = in_place};
  *s = (solve){.p = p, .nrhs = nrhs, .b = b, .size = (size_t)n * (size_t)nrhs * sizeof(double)};
  CHECK_OK(tsi_steps_create(env, &source, &s->steps));
  CHECK_OK(tsi_steps_check(env, s->steps, &source));
  CHECK_OK(tsi_steps_list_accesses(env, s->steps, &source, &s->accesses));
  free(order);
  s->data = solve_data_of('d', inverse, &p->s, &p->tables);
  s->data.push = push;
  s->workspace_size = (size_t)p->tables.workspace_rows * (size_t)stride * sizeof(double);
  s->x = xmalloc(s->size);
  s->execution = (tsi_execution){.nodes = tsi_node_kernels_select('d'),
                                 .forward = which.forward ? &s->data : NULL,
                                 .backward = which.backward ? &s->data : NULL};
  s->execution.call = (tsi_solve_call){.forward_values = p->stream,
                                       .backward_values = p->stream,
                                       .in_row = perm,
                                       .out_row = perm,
                                       .b = in_place ? s->x : b,
                                       .x = s->x,
                                       .b_row = 1,
                                       .b_column = n,
                                       .x_row = 1,
                                       .x_column = n,
                                       .nrhs = nrhs,
                                       .stride = stride,
                                       .workspace = aligned_alloc(64, (s->workspace_size + 63) / 64 * 64),
                                       .read_backward = !which.forward,
                                       .write_forward = !which.backward};
}

static void solve_destroy(solve *s) {
  TSI_FREE(&s->p->env, s->steps);
  TSI_FREE(&s->p->env, s->accesses);
  free(s->execution.call.workspace);
  free(s->x);
}

/* Overwrites all data of earlier runs. */
static void spoil(solve *s) {
  memset(s->execution.call.workspace, 0xff, s->workspace_size);
  if (s->execution.call.b == s->x)
    memcpy(s->x, s->b, s->size);
  else
    memset(s->x, 0xff, s->size);
}

static void compare(const solve *s, const double *expected, const char *what, unsigned number) {
  CHECK_MSG(memcmp(s->x, expected, s->size) == 0, "%s %u: other bits, %d right-hand sides", what, number,
            s->nrhs);
}

/* Runs single steps in several legal orders. */
static void check_orders(solve *s, const double *expected) {
  OWNED tsi_index *order = xmalloc((size_t)s->steps->count * sizeof *order);
  for (unsigned seed = 0; seed < ORDERS; seed++) {
    choose_order(&s->p->env, s->steps, seed, order);
    spoil(s);
    tsi_execution_run(&s->execution, s->steps, s->steps->count, order, -1);
    compare(s, expected, "order", seed);
  }
}

/* ---- Declared reads and writes ------------------------------------------------------------------------- */

/* All memory that steps write or read of the caller. */
typedef struct memory {
  char *workspace, *b, *x; /* in place: b is x */
} memory;

static void copy_workspace(const solve *s, tsi_count row, tsi_count rows, const memory *from, memory *to) {
  const size_t bytes = (size_t)s->execution.call.stride * sizeof(double);
  memcpy(to->workspace + (size_t)row * bytes, from->workspace + (size_t)row * bytes, (size_t)rows * bytes);
}

/* Copies the rows of a chunk's columns in b or x. */
static void copy_user(const solve *s, const tsi_access *a, const char *from, char *to) {
  const tsi_index n = s->p->a.n, *perm = s->p->s.symbolic->perm;
  for (tsi_count j = a->first; j < a->end; j++)
    for (tsi_index c = 0; c < s->nrhs; c++) {
      const size_t at = (size_t)perm[s->p->tables.chunk[a->item].column + j] + (size_t)c * (size_t)n;
      memcpy(to + at * sizeof(double), from + at * sizeof(double), sizeof(double));
    }
}

/* Copies the rows of an access. The factor is never written, so it is not copied. */
static void copy_rows(const solve *s, const tsi_access *a, const memory *from, memory *to) {
  const tsi_tables *t = &s->p->tables;
  const tsi_solve_chunk *chunk = &t->chunk[a->kind == TSI_BUFFER_PARTIAL ? t->slice[a->item].chunk : a->item];
  const tsi_count rows = a->end - a->first;
  if (a->kind == TSI_BUFFER_SEGMENT)
    copy_workspace(s, chunk->workspace + a->first, rows, from, to);
  else if (a->kind == TSI_BUFFER_UPDATE)
    copy_workspace(s, chunk->workspace + chunk->update + a->first, rows, from, to);
  else if (a->kind == TSI_BUFFER_PARTIAL)
    copy_workspace(s,
                   chunk->workspace + chunk->update + chunk->off_rows +
                       (tsi_count)(a->item - chunk->slice) * chunk->columns,
                   chunk->columns, from, to);
  else if (a->kind == TSI_BUFFER_B)
    copy_user(s, a, from->b, to->b);
  else
    copy_user(s, a, from->x, to->x);
}

static void copy_accesses(const solve *s, tsi_index step, tsi_access_mode mode, const memory *from,
                          memory *to) {
  for (tsi_count q = s->accesses->ptr[step]; q < s->accesses->ptr[step + 1]; q++) {
    const tsi_access *a = &s->accesses->access[q];
    if (a->mode & mode && a->kind != TSI_BUFFER_FORWARD && a->kind != TSI_BUFFER_BACKWARD)
      copy_rows(s, a, from, to);
  }
}

static memory memory_create(const solve *s, bool in_place) {
  memory m = {xmalloc(s->workspace_size), NULL, xmalloc(s->size)};
  m.b = in_place ? m.x : xmalloc(s->size);
  return m;
}

static void memory_free(memory *m) {
  free(m->workspace);
  if (m->b != m->x) free(m->b);
  free(m->x);
}

static void memory_poison(const solve *s, memory *m) {
  memset(m->workspace, 0xff, s->workspace_size);
  memset(m->b, 0xff, s->size);
  memset(m->x, 0xff, s->size);
}

/* For each step all rows that it does not declare to read contain NaN. It must not change rows that it does
 * not declare to write. */
static void check_declared(solve *s, const double *expected) {
  tsi_solve_call *call = &s->execution.call;
  const bool in_place = call->b == s->x;
  memory now = {call->workspace, in_place ? (char *)s->x : xmalloc(s->size), (char *)s->x},
         written = memory_create(s, in_place), before = memory_create(s, in_place);
  const void *b = call->b;
  memory_poison(s, &written);
  memcpy(written.b, s->b, s->size);
  call->b = now.b;
  for (tsi_index k = 0; k < s->steps->count; k++) {
    memory_poison(s, &now);
    copy_accesses(s, k, TSI_ACCESS_R, &written, &now);
    memcpy(before.workspace, now.workspace, s->workspace_size);
    memcpy(before.b, now.b, s->size);
    memcpy(before.x, now.x, s->size);
    tsi_execution_run(&s->execution, s->steps, 1, &k, -1);
    copy_accesses(s, k, TSI_ACCESS_W, &now, &written);
    copy_accesses(s, k, TSI_ACCESS_W, &before, &now);
    CHECK_MSG(memcmp(now.workspace, before.workspace, s->workspace_size) == 0 &&
                  memcmp(now.b, before.b, s->size) == 0 && memcmp(now.x, before.x, s->size) == 0,
              "step %d, %s %d, writes more than it declares", k, tsi_step_name(s->steps->step[k].kind),
              s->steps->step[k].argument);
  }
  memcpy(s->x, written.x, s->size);
  compare(s, expected, "declared accesses", 0);
  call->b = b;
  if (!in_place) free(now.b);
  memory_free(&written);
  memory_free(&before);
}

/* ---- Orders and groups -------------------------------------------------------------------------------- */

/* Runs tasks: one for each step, bundles of several sizes, level sets. */
static void check_grouping(solve *s, const double *expected, tsi_grouping grouping, unsigned number) {
  tsi_env *env = &s->p->env;
  tsi_recording recording = {.list = NULL};
  double last = 0;
  CHECK_OK(tsi_recording_create(env, &s->execution, s->steps, grouping, &recording));
  tsi_task_list *list = recording.list;
  for (tsi_count e = 0; e < list->edges; e++) CHECK(list->edge[e].before < list->edge[e].item);
  for (int run = 0; run < 2; run++) {
    spoil(s);
    list->note_here = run == 1;
    CHECK_OK(tsi_task_list_run(list));
    compare(s, expected, "grouping", number);
  }
  for (tsi_count k = 0; k < list->count; k++) { /* one task after the other */
    const tsi_task_span *span = &list->task[k].span;
    CHECK(span->worker == -1 && span->end >= span->start && (k == 0 || span->start == last));
    last = span->end;
  }
  tsi_recording_release(env, &recording);
  CHECK(recording.list == NULL);
}

static void check_groupings(solve *s, const double *expected) {
  const double bytes = tsi_steps_bytes(s->steps);
  tsi_levels *levels;
  check_grouping(s, expected, (tsi_grouping){.listed = true}, 0);
  check_grouping(s, expected, (tsi_grouping){.light = 0}, 1);
  check_grouping(s, expected, (tsi_grouping){.light = bytes / 30, .workers = 2}, 2);
  check_grouping(s, expected, (tsi_grouping){.light = bytes, .workers = 1}, 3);
  CHECK_OK(tsi_levels_create(&s->p->env, s->steps->count, s->steps->edges, s->steps->edge, &levels));
  check_grouping(s, expected, (tsi_grouping){.levels = levels}, 4);
}

/* Compares || A x - b || with || b || in the maximum norm. */
static void check_residual(const problem *p, const double *x, const double *b, tsi_index nrhs) {
  const pattern *a = &p->a;
  for (tsi_index c = 0; c < nrhs; c++) {
    const double *xc = x + (ptrdiff_t)c * a->n, *bc = b + (ptrdiff_t)c * a->n;
    double *r = xcalloc((size_t)a->n, sizeof *r), worst = 0;
    for (tsi_index j = 0; j < a->n; j++)
      for (tsi_count e = a->ptr[j]; e < a->ptr[j + 1]; e++)
        r[a->index[e]] += (a->index[e] == j ? 6.5 : -1) * xc[j];
    for (tsi_index i = 0; i < a->n; i++) worst = fmax(worst, isnan(r[i]) ? INFINITY : fabs(r[i] - bc[i]));
    CHECK_MSG(worst < 1e-13, "column %d of %d: residual %.3g", c, nrhs, worst);
    free(r);
  }
}

/* Both sweeps in one solve, and in two solves: the second one reads the results of the first one. */
static void check_solves(problem *p, tsi_inverse inverse, tsi_index nrhs, const double *b) {
  static const sweeps both = {true, true}, forward = {true, false}, backward = {false, true};
  OWNED double *expected = NULL, *middle = NULL;
  CLEANUP(solve_destroy) solve s;
  pack(p, inverse);
  for (unsigned variant = 0; variant < 8; variant++) { /* the first variant defines the expected result */
    const bool push = variant & 1, in_place = variant & 2;
    const unsigned seed = variant & 4 ? 7 : 0;
    solve_create(p, inverse, both, push, in_place, seed, nrhs, b, &s);
    if (expected == NULL) {
      check_grouping(&s, s.x, (tsi_grouping){.listed = true}, 0);
      check_residual(p, s.x, b, nrhs);
      expected = xmalloc(s.size);
      memcpy(expected, s.x, s.size);
    }
    check_orders(&s, expected);
    check_groupings(&s, expected);
    check_declared(&s, expected);
    solve_destroy(&s);
  }
  solve_create(p, inverse, forward, false, false, 0, nrhs, b, &s);
  check_grouping(&s, s.x, (tsi_grouping){.listed = true}, 0);
  middle = xmalloc(s.size);
  memcpy(middle, s.x, s.size);
  check_orders(&s, middle);
  check_declared(&s, middle);
  solve_destroy(&s);
  solve_create(p, inverse, backward, false, false, 0, nrhs, middle, &s);
  check_orders(&s, expected);
  check_groupings(&s, expected);
  check_declared(&s, expected);
}

/* ---- Lists --------------------------------------------------------------------------------------------- */

static void note(void *context, const tsi_index argument[4], int worker) {
  tsi_index *sum = context;
  CHECK(worker == -1);
  *sum = 10 * *sum + argument[0];
}

static void check_list(tsi_env *env) {
  TSI_OWNED tsi_task_list *list;
  tsi_index number, sum = 0;
  CHECK_OK(tsi_task_list_create(env, &list));
  CHECK_OK(tsi_task_list_run(list));
  for (tsi_index k = 0; k < 4; k++) {
    const tsi_index argument[4] = {k + 1, 0, 0, 0};
    CHECK_OK(tsi_task_list_add(list, "empty", note, &sum, argument, 1, 1, &number));
    CHECK(number == k && tsi_task_list_count(list) == k + 1);
    CHECK_OK(tsi_task_list_after(list, k, k > 0 ? k - 1 : TSI_NONE));
  }
  CHECK(list->edges == 3);
  CHECK_STATUS(tsi_task_list_after(list, 2, 2), TRISTAR_ERR_INTERNAL);
  CHECK_STATUS(tsi_task_list_after(list, 1, 3), TRISTAR_ERR_INTERNAL);
  CHECK_OK(tsi_task_list_run(list));
  CHECK(sum == 1234);
  CHECK_OK(tsi_task_list_add_event(list, "arrival", (const tsi_index[4]){0}, &number));
  CHECK(number == 4);
  CHECK_STATUS(tsi_task_list_run(list),
               TRISTAR_ERR_UNSUPPORTED); /* the list contains events that only StarPU can await */
  CHECK(sum == 1234);
}

/* Each allocation fails in turn; no memory is lost. */
static void check_failures(problem *p, const double *b) {
  tsi_env *env = &p->env;
  CLEANUP(solve_destroy) solve s;
  solve_create(p, TSI_INVERSE_DIAGONAL, (sweeps){true, true}, false, false, 0, 1, b, &s);
  allocation_failures failing = fail_allocations(env);
  while (next_failure(&failing)) {
    tsi_recording recording = {.list = NULL};
    end_failure(&failing,
                tsi_recording_create(env, &s.execution, s.steps, (tsi_grouping){.light = 0}, &recording));
    tsi_recording_release(env, &recording);
  }
  CHECK_MSG(failing.count >= 4, "%d allocations", (int)failing.count);
}

int test_serial_executor(int argc, char **argv) {
  subtests_begin(&argc, argv);
  static const tsi_index counts[] = {1, 3, NRHS};
  CLEANUP(problem_destroy) problem p;
  OWNED double *b;
  openblas_set_num_threads(1);
  problem_create(8, &p);
  b = xmalloc((size_t)p.a.n * NRHS * sizeof *b);
  fill_random(b, (int64_t)p.a.n * NRHS, 5);
  RUN(check_list(&p.env));
  for (tsi_inverse inverse = 0; inverse < TSI_INVERSES; inverse++)
    for (int k = 0; k < 3; k++) RUN(check_solves(&p, inverse, counts[k], b));
  RUN(check_failures(&p, b));
  return 0;
}
