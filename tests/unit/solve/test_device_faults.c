/* The check of device tables finds planted faults in every array and at any position. Tables are copied as
 * one block; a failed allocation leaks nothing; factors that cannot be cut are refused. */
#include "tests/support/env_allocations.h"
#include "tests/support/device_solve.h"
#include "tests/support/subtests.h"
#include "tristar_matrix.h"

#define CHECK_TABLES tsi_device_tables_check(s->env, t, &source)
#define TRIALS 20

typedef struct open_case {
  tristar_t *ts;
  tristar_matrix_t *matrix;
  tristar_analysis_t *analysis;
  tristar_factor_t *factor;
  tristar_plan_t *plan;
} open_case;

static open_case open_problem(tristar_inverse inverse) {
  open_case c;
  tristar_config config = DEFAULTS(tristar_config);
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  config.use_starpu = 0;
  CHECK_OK(tristar_create(&config, &c.ts));
  tristar_view view = generated_view(c.ts, "poisson3d7", 7, &c.matrix);
  options.inverse = inverse;
  CHECK_OK(tristar_analyze(c.ts, &view, &options, &c.analysis));
  CHECK_OK(tristar_factor(c.analysis, view.values, &c.factor));
  CHECK_OK(tristar_plan(c.factor, NULL, &c.plan));
  return c;
}

static void close_problem(open_case *c) {
  tristar_plan_destroy(&c->plan);
  tristar_factor_destroy(&c->factor);
  tristar_analysis_destroy(&c->analysis);
  tristar_matrix_destroy(&c->matrix);
  tristar_destroy(&c->ts);
}

static uint64_t state = 3;

/* Returns a random index of an array of `count` elements. */
static size_t any(tsi_count count) {
  return (size_t)(next_random(&state) % (uint64_t)count);
}

/* Damages each field of nodes, panels and rows. */
static void break_structure(const device_solver *s, const tsi_device_tables *t) {
  const tsi_tables_source source = device_source(s, 0);
  tsi_device_node *nodes = (tsi_device_node *)t->node;
  tsi_panel *panels = (tsi_panel *)t->panel;
  tsi_index *row = (tsi_index *)t->row, *gather_ptr = (tsi_index *)t->gather_ptr,
            *gather = (tsi_index *)t->gather, *owner = (tsi_index *)t->owner;
  for (int k = 0; k < TRIALS; k++) {
    tsi_device_node *node = &nodes[any(t->nodes)];
    tsi_panel *panel = &panels[any(t->panels)];
    const tsi_index by = k % 2 ? 1 : -1;
    tsi_index *const member[] = {&node->panel,    &node->panels, &node->column, &node->columns,
                                 &node->x,        &node->update, &node->off,    &node->sums,
                                 &node->off_rows, &node->slices, &node->first,  &node->count,
                                 &node->solution, &node->slice,  &node->piece,  &node->pieces,
                                 &node->begin,    &node->end,    &node->add,    &node->adds};
    for (size_t i = 0; i < sizeof member / sizeof *member; i++)
      BROKEN(*member[i], *member[i] + by, CHECK_TABLES);
    BROKEN(node->kind, node->kind == TSI_DEVICE_SLICE ? TSI_DEVICE_CHUNK : TSI_DEVICE_SLICE, CHECK_TABLES);
    BROKEN(node->kind, node->kind == TSI_DEVICE_SLICED ? TSI_DEVICE_WARP : TSI_DEVICE_SLICED, CHECK_TABLES);
    BROKEN(panel->values, panel->values + by, CHECK_TABLES);
    BROKEN(panel->row, panel->row + by, CHECK_TABLES);
    BROKEN(panel->width, panel->width + by, CHECK_TABLES);
    BROKEN(panel->height, panel->height + by, CHECK_TABLES);
    BROKEN(panel->x, panel->x + by, CHECK_TABLES);
    BROKEN(panel->column, panel->column + by, CHECK_TABLES);
    const size_t r = any(t->rows), j = any((tsi_count)t->n + t->off_rows), e = any(t->off_rows);
    BROKEN(row[r], row[r] + by, CHECK_TABLES);
    BROKEN(gather_ptr[j], gather_ptr[j] + by, CHECK_TABLES);
    BROKEN(gather[e], gather[e] + by, CHECK_TABLES);
    BROKEN(gather[e], gather[(e + 1) % (size_t)t->off_rows], CHECK_TABLES);
    BROKEN(gather[e], by < 0 ? -1 : t->workspace_rows, CHECK_TABLES);
    BROKEN(owner[e], owner[e] + by, CHECK_TABLES);
    BROKEN(owner[e], by < 0 ? -1 : t->workspace_rows, CHECK_TABLES);
  }
}

/* Damages the order of tickets, and their waits. */
static void break_sweep(const device_solver *s, const tsi_device_tables *t, const tsi_device_sweep *sweep) {
  const tsi_tables_source source = device_source(s, 0);
  tsi_device_ticket *tickets = (tsi_device_ticket *)sweep->ticket;
  tsi_index *order = (tsi_index *)sweep->order, *before = (tsi_index *)sweep->before;
  for (int k = 0; k < TRIALS; k++) {
    const size_t q = any(sweep->tickets), v = any(t->nodes), w = any(sweep->waits);
    const tsi_index by = k % 2 ? 1 : -1;
    BROKEN(tickets[q].first, tickets[q].first + by, CHECK_TABLES);
    BROKEN(tickets[q].nodes, tickets[q].nodes + by, CHECK_TABLES);
    BROKEN(order[v], order[(v + 1) % (size_t)t->nodes], CHECK_TABLES);
    BROKEN(order[v], by < 0 ? -1 : t->nodes, CHECK_TABLES);
    BROKEN(before[w], sweep->tickets, CHECK_TABLES);
    BROKEN(before[w], -1, CHECK_TABLES);
    BROKEN(tickets[q].befores, sweep->waits + 1, CHECK_TABLES);
    /* without its waits a ticket may read rows too early */
    if (tickets[q].befores > 0) BROKEN(tickets[q].befores, 0, CHECK_TABLES);
    /* a ticket waits for itself */
    if (tickets[q].befores > 0)
      BROKEN(before[tickets[q].before + tickets[q].befores - 1], (tsi_index)q, CHECK_TABLES);
    /* a ticket runs before one that it waits for: exchanges the nodes of two tickets with one node each */
    const tsi_index p = tickets[q].befores > 0 ? before[tickets[q].before] : TSI_NONE;
    if (p == TSI_NONE || tickets[q].nodes > 1 || tickets[p].nodes > 1) continue;
    tsi_index *a = &order[tickets[q].first], *b = &order[tickets[p].first];
    const tsi_index keep = *a;
    *a = *b;
    *b = keep;
    CHECK_STATUS(CHECK_TABLES, TRISTAR_ERR_INTERNAL);
    *b = *a;
    *a = keep;
  }
}

/* Dependent nodes must not share a ticket. Replaces a node by a warp node that its neighbour waits for. The
 * plan has long chains of such nodes. */
static void break_independence(const device_solver *given) {
  device_solver with_chains = *given, *s = &with_chains;
  tsi_device_options options = given->device->options;
  options.warp_bytes = options.node_bytes;
  options.group_bytes = options.node_bytes / 16;
  CHECK_OK(tsi_device_plan_create(s->env, s->plan->factor, &options, &s->device));
  const tsi_tables_source source = device_source(s, 0);
  tsi_device_tables *t = &s->device->side[0].tables;
  const tsi_sweep *sweep = source.sweep;
  tsi_index *order = (tsi_index *)t->forward.order;
  int found = 0;
  for (tsi_index q = 0; q < t->forward.tickets; q++) {
    const tsi_device_ticket *ticket = &t->forward.ticket[q];
    const tsi_index v = order[ticket->first];
    if (ticket->nodes < 2 || sweep->prev_ptr[v] == sweep->prev_ptr[v + 1]) continue;
    tsi_index at = 0;
    while (order[at] != sweep->prev[sweep->prev_ptr[v]]) at++;
    if (t->node[order[at]].kind != TSI_DEVICE_WARP) continue;
    tsi_index *neighbour = &order[ticket->first + 1];
    const tsi_index keep = *neighbour;
    *neighbour = order[at];
    order[at] = keep;
    CHECK_STATUS(CHECK_TABLES, TRISTAR_ERR_INTERNAL);
    order[at] = *neighbour;
    *neighbour = keep;
    found++;
  }
  CHECK(found > 0);
  CHECK_OK(CHECK_TABLES);
  tsi_device_plan_destroy(&s->device);
}

static void break_sizes(const device_solver *s, tsi_device_tables *t) {
  const tsi_tables_source source = device_source(s, 0);
  BROKEN(t->nodes, t->nodes - 1, CHECK_TABLES);
  BROKEN(t->chunks, t->chunks + 1, CHECK_TABLES);
  BROKEN(t->panels, t->panels - 1, CHECK_TABLES);
  BROKEN(t->off_rows, t->off_rows - 1, CHECK_TABLES);
  BROKEN(t->rows, t->rows - 1, CHECK_TABLES);
  BROKEN(t->bytes, t->bytes - 64, CHECK_TABLES);
  BROKEN(t->workspace_rows, t->workspace_rows / 2, CHECK_TABLES);
  BROKEN(t->gather, t->gather + 1, CHECK_TABLES);
  BROKEN(t->forward.tickets, t->forward.tickets - 1, CHECK_TABLES);
  BROKEN(t->backward.tickets, t->backward.tickets - 1, CHECK_TABLES);
  CHECK_OK(CHECK_TABLES);
}

static void check_move(const device_solver *s, const tsi_device_tables *t) {
  const tsi_tables_source source = device_source(s, 0);
  OWNED void *copy = aligned_alloc(64, t->bytes);
  CHECK(copy != NULL);
  memcpy(copy, t->block, t->bytes);
  const tsi_device_tables moved = tsi_device_tables_move(t, copy);
  CHECK(moved.node != t->node && moved.block == copy);
  CHECK_OK(tsi_device_tables_check(s->env, &moved, &source));
}

static void check_failing_memory(const device_solver *s) {
  tsi_env *env = s->env;
  allocation_failures failing = fail_allocations(env);
  while (next_failure(&failing)) {
    tsi_device_plan *plan;
    const tristar_status status = tsi_device_plan_create(env, s->plan->factor, &s->device->options, &plan);
    end_failure(&failing, status);
    CHECK((plan != NULL) == (status == TRISTAR_OK));
    tsi_device_plan_destroy(&plan);
  }
  CHECK(failing.count >= 20);
}

static void check_refused(tristar_t *ts) {
  const int64_t ptr[] = {0, 1, 2}, index[] = {0, 1};
  const double values[] = {1, 2};
  const tristar_view view = {.format = TRISTAR_CSR,
                             .symmetry = TRISTAR_GENERAL,
                             .scalar = TRISTAR_DOUBLE,
                             .rows = 2,
                             .cols = 2,
                             .ptr = ptr,
                             .index = index,
                             .values = values,
                             .ptr_bits = 64,
                             .index_bits = 64};
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor;
  tsi_device_options options;
  tsi_device_plan *plan;
  CHECK_OK(tristar_import_csr(ts, &view, TRISTAR_LOWER, TRISTAR_NON_UNIT, &factor));
  tsi_device_options_init(&options, 8);
  CHECK_STATUS(tsi_device_plan_create(tsi_context_env(ts), factor, &options, &plan), TRISTAR_ERR_UNSUPPORTED);
  CHECK(plan == NULL);
}

int test_device_faults(int argc, char **argv) {
  subtests_begin(&argc, argv);
  for (int inverse = TRISTAR_INVERSE_DIAGONAL; inverse <= TRISTAR_INVERSE_PARTITIONED; inverse++) {
    CLEANUP(close_problem) open_case c = open_problem((tristar_inverse)inverse);
    CLEANUP(device_solver_close) device_solver s = device_solver_open(c.plan, 2000);
    tsi_device_tables *t = &s.device->side[0].tables;
    RUN(check_move(&s, t));
    RUN(break_sizes(&s, t));
    RUN(break_structure(&s, t));
    RUN(break_sweep(&s, t, &t->forward));
    RUN(break_sweep(&s, t, &t->backward));
    RUN(break_independence(&s));
    RUN(check_failing_memory(&s));
    RUN(check_refused(c.ts));
  }
  return 0;
}
