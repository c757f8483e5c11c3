/* Subtrees on a device, all else on the host: for each chunk of a plan that is a subtree the GPU kernels give
 * the updates and the x that the CPU's kernels give, within roundoff, with the same bits in every schedule;
 * for each scalar type, method, operation, part and treatment of diagonal blocks. */
#include "runtime/exec/device/subtree_tables.h"
#include "tests/support/gpu/device_problem.h"
#include "tests/support/subtests.h"

static const problem problems[] = {
    {"poisson3d7", 5, TRISTAR_METHOD_LLT, TRISTAR_HERMITIAN, TRISTAR_INVERSE_DIAGONAL, 1500},
    {"s2d9pt", 10, TRISTAR_METHOD_LLT, TRISTAR_HERMITIAN, TRISTAR_INVERSE_NONE, 1000},
    {"poisson3d7", 5, TRISTAR_METHOD_LLT, TRISTAR_HERMITIAN, TRISTAR_INVERSE_PARTITIONED, 2000},
    {"kkt3d", 3, TRISTAR_METHOD_LDLT, TRISTAR_SYMMETRIC, TRISTAR_INVERSE_DIAGONAL, 1500},
    {"kkt3d", 3, TRISTAR_METHOD_LDLT, TRISTAR_HERMITIAN, TRISTAR_INVERSE_PARTITIONED, 1500},
    {"kkt3d", 3, TRISTAR_METHOD_LU, TRISTAR_SYMMETRIC, TRISTAR_INVERSE_DIAGONAL, 1500}, /* with a matching */
    {"convdiff3d", 4, TRISTAR_METHOD_LU, TRISTAR_GENERAL, TRISTAR_INVERSE_NONE, 1000},
};
enum { PROBLEMS = sizeof problems / sizeof *problems };

/* A solve by the CPU kernels, with the workspaces after both sweeps. */
typedef struct host_solve {
  tristar_plan_t *plan;
  tristar_request_t request;
  size_t bytes; /* of a row of the workspace */
  char *forward, *backward;
} host_solve;

static void run_host(const host_solve *h, tsi_solve_call *call) {
  const tsi_node_kernels *nodes = h->plan->nodes;
  const tsi_solve_data *data = &h->plan->side[0].data;
  for (tsi_index c = 0; c < data->chunks && h->request.forward; c++) {
    nodes->forward_chunk(data, call, c);
    for (tsi_index k = 0; k < data->chunk[c].slices; k++)
      nodes->forward_slice(data, call, data->chunk[c].slice + k);
  }
  memcpy(h->forward, call->workspace, h->bytes * (size_t)h->plan->workspace_rows);
  for (tsi_index c = data->chunks; c-- > 0 && h->request.backward;) {
    for (tsi_index k = 0; k < data->chunk[c].slices; k++)
      nodes->backward_slice(data, call, data->chunk[c].slice + k);
    nodes->backward_chunk(data, call, c);
  }
}

/* Returns the device's memory of a subtree. */
static tsi_subtree_memory memory_of(const host_solve *h, const tsi_subtree_tables *subtree,
                                    const tsi_index *from) {
  const tsi_solve_call *call = &h->request.call;
  const size_t scalar = h->plan->factor->scalar_bytes;
  const tsi_index column = h->plan->side[0].chunks->column[subtree->subtree->chunk];
  const tsi_subtree_memory m = {
      .from = from + column,
      .inverse = call->inverse ? (const char *)call->inverse + 2 * (size_t)column * scalar : NULL,
      .x = xcalloc((size_t)subtree->subtree->columns + 1, h->bytes),
      .workspace = xmalloc((size_t)subtree->tables.workspace_rows * h->bytes + 1)};
  CHECK(m.x && m.workspace);
  memset(m.workspace, 255, (size_t)subtree->tables.workspace_rows * h->bytes); /* fills it with NaN */
  return m;
}

static void launch(const char *scalars, const tsi_subtree_tables *subtree, const tsi_solve_call *call,
                   const host_solve *h, tsi_subtree_memory *m, bool backward, unsigned schedule) {
  const char *values = backward ? call->backward_values : call->forward_values;
  const run_grid grid = grid_of(run_warp(subtree->subtree->chunk % 2 ? 64 : 32), schedule);
  m->values = values + (size_t)subtree->first_value * h->plan->factor->scalar_bytes;
  const tsi_device_call own = tsi_subtree_tables_call(call, backward, m);
  const run_outcome got = run_sweeps(scalars, &subtree->tables, &subtree->tables, &own, &grid);
  CHECK_MSG(got.ended, "%s", got.problem);
}

static void check_rows(const typed *t, const host_solve *h, tsi_index rows, const void *host,
                       const void *device, bool single, const char *what, tsi_index chunk) {
  const int64_t count = (int64_t)rows * (int64_t)(h->bytes / t->bytes);
  const double differs = difference(t, count, host, device);
  CHECK_MSG(differs <= (single ? 1e-3 : 1e-11), "chunk %d: %s differ by %g", chunk, what, differs);
}

/* Runs both sweeps of a subtree on the device. */
static void check_subtree(unsigned type, const host_solve *h, tsi_solve_call *call,
                          const tsi_subtree_tables *subtree, const tsi_index *from, unsigned schedule,
                          char *result) {
  const typed *t = types[type].type;
  const tsi_solve_data *data = &h->plan->side[0].data;
  const tsi_solve_chunk *chunk = &data->chunk[subtree->subtree->chunk];
  const size_t x = (size_t)chunk->workspace * h->bytes,
               u = (size_t)(chunk->workspace + chunk->update) * h->bytes,
               x_bytes = (size_t)chunk->columns * h->bytes, u_bytes = (size_t)chunk->off_rows * h->bytes;
  tsi_subtree_memory m = memory_of(h, subtree, from);
  char *border = (char *)m.workspace + (size_t)subtree->border_row * h->bytes;
  h->plan->nodes->read_chunk(data, call, subtree->subtree->chunk);
  memcpy(m.x, (char *)call->workspace + x, x_bytes);
  if (h->request.forward) {
    launch(types[type].scalars, subtree, call, h, &m, false, schedule);
    check_rows(t, h, chunk->off_rows, h->forward + u, border, t->is_single, "updates",
               subtree->subtree->chunk);
  }
  if (h->request.backward) {
    memcpy(border, h->backward + u, u_bytes);
    launch(types[type].scalars, subtree, call, h, &m, true, schedule);
  }
  check_rows(t, h, chunk->columns, (h->request.backward ? h->backward : h->forward) + x, m.x, t->is_single,
             "x", subtree->subtree->chunk);
  memcpy(result, m.x, x_bytes);
  free(m.x);
  free(m.workspace);
}

static int check_subtrees(unsigned type, const host_solve *h, tsi_solve_call *call, double node_bytes) {
  const tristar_analysis_t *an = h->plan->factor->analysis;
  tsi_env *env = &h->plan->ts->env;
  const tsi_subtree_source source = {
      h->plan->side[0].chunks, an->symbolic, an->panels, an->panel_values, tsi_analysis_inverse(an), 0};
  OWNED tsi_index *from = xcalloc((size_t)an->symbolic->n + 1, sizeof *from);
  tsi_device_options options;
  int subtrees = 0;
  tsi_device_options_init(&options, h->plan->factor->scalar_bytes);
  options.node_bytes = node_bytes;
  options.group_bytes = options.warp_bytes = node_bytes / 4;
  if (h->plan->factor->pivots) tsi_device_interchanges(an->panels, h->plan->factor->pivots, from);
  for (tsi_index c = 0; c < source.chunks->count; c++) {
    tsi_subtree_tables *subtree;
    if (!tsi_chunk_is_device_subtree(source.chunks, source.symbolic, source.panels, c)) continue;
    const size_t bytes = (size_t)tsi_chunk_columns(source.chunks, c) * h->bytes;
    char *first = xmalloc(bytes + 1), *again = xmalloc(bytes + 1);
    CHECK_OK(tsi_subtree_tables_create(env, &source, c, &options, &subtree));
    check_subtree(type, h, call, subtree, from, 0, first);
    check_subtree(type, h, call, subtree, from, 1, again);
    CHECK(memcmp(first, again, bytes) == 0);
    tsi_subtree_tables_destroy(&subtree);
    free(first);
    free(again);
    subtrees++;
  }
  return subtrees;
}

static void check_solve(const solver *s, tristar_plan_t *plan, const problem *p, unsigned type, tristar_op op,
                        tristar_part part, int64_t nrhs) {
  const typed *t = types[type].type;
  tristar_solve_options options = DEFAULTS(tristar_solve_options);
  host_solve h = {.plan = plan};
  void *b = random_scalars(t, s->n * nrhs, 3), *x = xcalloc((size_t)(s->n * nrhs), t->bytes);
  options.op = op;
  options.part = part;
  CHECK_OK(tsi_request_prepare(&h.request, plan, &options, nrhs));
  tsi_solve_call call = h.request.call;
  call.b = b;
  call.x = x;
  call.nrhs = (tsi_index)nrhs;
  call.stride = tsi_workspace_stride((tsi_index)nrhs);
  h.bytes = (size_t)call.stride * plan->factor->scalar_bytes;
  const size_t bytes = (size_t)plan->workspace_rows * h.bytes;
  call.workspace = xcalloc(bytes, 1);
  h.forward = xmalloc(bytes);
  h.backward = call.workspace;
  run_host(&h, &call);
  call.workspace = xcalloc(bytes, 1);
  CHECK(check_subtrees(type, &h, &call, p->node_bytes) > 0);
  free(call.workspace);
  free(h.forward);
  free(h.backward);
  free(b);
  free(x);
  tsi_request_cancel(&h.request);
}

static void check(tristar_t *ts, const problem *p, unsigned variant, unsigned type) {
  static const tristar_op ops[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};
  CLEANUP(solver_close) solver s = solver_open(ts, p, types[type].type, false);
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  options.engine = TRISTAR_ENGINE_SERIAL;
  options.chunk_bytes_max = (int64_t)(3 * p->node_bytes);
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(s.factor, &options);
  check_solve(&s, plan, p, type, ops[variant % 3], TRISTAR_PART_ALL, 1);
  check_solve(&s, plan, p, type, ops[(variant + 1) % 3], TRISTAR_PART_ALL, 5);
  check_solve(&s, plan, p, type, ops[(variant + 2) % 3], variant % 2 ? TRISTAR_PART_L : TRISTAR_PART_U, 1);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(tristar_destroy) tristar_t *ts = open_without_starpu(false);
  for (unsigned k = 0; k < PROBLEMS; k++)
    for (unsigned type = 0; type < 4; type++) RUN(check(ts, &problems[k], k + 3 * type, type));
  return 0;
}
