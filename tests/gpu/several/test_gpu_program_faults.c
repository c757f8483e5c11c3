/* Faults that are planted in the kernel of distributed solves, or in its tables, are seen: a schedule of few
 * gives other bits, or does not end. Without one every schedule gives the same bits, and they are right. Each
 * fault is tried forward or backward, in flat or binary trees, or in the sums between grids, wherever it has
 * an effect. (A missing fence shows to the thread sanitizer only: test_gpu_program_races.) */
#include "tests/support/context.h"
#include "tests/support/gpu/program_solve.h"
#include "tests/support/mpi/process_checks.h"
#include "tests/support/subtests.h"

enum { SCHEDULES = 16, RUNS = 3, MOST_RHS = 9 };

/* Kinds of solves, as bits. SUMS and SPREADS: forward, sums up a tree, x down a tree. AHEAD: one PE depends
 * on no other one and may be several runs ahead. */
enum {
  SUMS = 1,
  SPREADS = 2,
  BACKWARD = 4,
  GRIDS = 8,
  LEVELS = 16,
  AHEAD = 32,
  SQUARE = 64,
  TREES = SUMS | SPREADS | BACKWARD | SQUARE,
  SOLVES = GRIDS | LEVELS
};

typedef struct work {
  int bit;
  const char *name;
  tsi_index px, py, pz;
  bool replicated;
  tsi_tree tree;
  tristar_part part;
  tsi_index nrhs;
} work;

static const work works[] = {
    {SUMS, "forward, sums in flat trees", 1, 4, 1, true, TSI_TREE_FLAT, TRISTAR_PART_L, 1},
    {SPREADS, "forward, x in binary trees", 4, 1, 1, true, TSI_TREE_BINARY, TRISTAR_PART_L, 1},
    {BACKWARD, "backward, flat trees", 4, 1, 1, true, TSI_TREE_FLAT, TRISTAR_PART_U, MOST_RHS},
    {SQUARE, "backward, 2 x 2", 2, 2, 1, true, TSI_TREE_BINARY, TRISTAR_PART_U, MOST_RHS},
    {GRIDS, "sums between grids", 1, 1, 4, true, TSI_TREE_BINARY, TRISTAR_PART_ALL, 1},
    {LEVELS, "grids by level", 2, 1, 2, false, TSI_TREE_BINARY, TRISTAR_PART_ALL, 1},
    {AHEAD, "forward, from grid to grid", 1, 1, 2, false, TSI_TREE_BINARY, TRISTAR_PART_L, 1},
};

/* The faults, and the solves that must detect them. */
static const struct {
  gpu_fault_kind kind;
  const char *name;
  int works;
} faults[] = {
    {GPU_FAULT_SIGNAL, "signal before data", SQUARE | BACKWARD | LEVELS},
    {GPU_FAULT_BARRIER, "barrier between data and signal", SQUARE},
    {GPU_FAULT_ARRIVAL, "lost wait", TREES | SOLVES},
    {GPU_FAULT_STALE, "sum of an earlier run", TREES | SOLVES},
    {GPU_FAULT_REUSE, "reused inbox", AHEAD},
    {GPU_FAULT_BUFFER, "shared buffer", TREES | LEVELS},
    {GPU_FAULT_LOST, "lost signal", SUMS | SPREADS | SOLVES},
    {GPU_FAULT_CHILD, "wrong child in a tree", TREES | SOLVES},
    {GPU_FAULT_SLOT, "sum of the wrong child", SUMS | BACKWARD},
    {GPU_FAULT_TWICE, "double count", SUMS | BACKWARD | SOLVES},
    {GPU_FAULT_PART, "lost chunk of a message", GRIDS},
    {GPU_FAULT_HOME, "b in each grid", SOLVES},
    {GPU_FAULT_FLAG, "flag of a step", TREES | GRIDS},
    {GPU_FAULT_EPOCH, "wrong epoch", TREES | GRIDS},
    {GPU_FAULT_SCOPE, "scope", BACKWARD},
    {GPU_FAULT_COUNTER, "counter", BACKWARD},
    {GPU_FAULT_GATHER, "gather", SUMS | SPREADS | GRIDS},
    {GPU_FAULT_SLICE, "slice", BACKWARD},
    {GPU_FAULT_TILE, "right-hand sides", BACKWARD},
};
enum { FAULTS = sizeof faults / sizeof *faults };

typedef struct trial {
  program_solver *v;
  size_t bytes; /* of x in all runs */
  char *b, *x, *right;
} trial;

/* Returns in how many schedules x is wrong, at most `enough`. */
static int count_wrong(trial *t, int fault, int enough) {
  int wrong = 0;
  for (unsigned k = 0; k < SCHEDULES && wrong < enough; k++) {
    const run_grid grid = {.blocks = 1 + k % 2, .threads = 32 + 32 * (k % 3 == 0), .seed = k, .fault = fault};
    memset(t->x, 0xff, t->bytes);
    const run_outcome got = program_solve(t->v, RUNS, &grid, t->b, t->x);
    wrong += !got.ended || memcmp(t->x, t->right, t->bytes) != 0;
  }
  return wrong;
}

/* x of the first run is that of a plan. Run k solves with 1 + k times this b. */
static void check_right(const problem *q, const work *w, trial *t) {
  const int64_t n = q->view.rows, count = n * w->nrhs;
  tristar_solve_options options = DEFAULTS(tristar_solve_options);
  options.part = w->part;
  CHECK_OK(tristar_solve_with(q->plan, &options, w->nrhs, q->b, q->again, NULL));
  for (int k = 0; k < RUNS; k++) {
    OWNED char *x = xcalloc((size_t)count, q->type->bytes);
    for (int64_t i = 0; i < count; i++) put(q->type, x, i, get(q->type, t->right, k * count + i) / (1 + k));
    const double other = difference(q->type, n, NULL, n, w->nrhs, x, q->again);
    CHECK_MSG(other < ROUNDING * q->type->roundoff, "%s, run %d: %g from the plan's", w->name, k, other);
  }
}

static void swap(tsi_gpu_message *a, tsi_gpu_message *b, bool flags) {
  const tsi_gpu_message first = *a;
  if (flags)
    a->flag = b->flag, b->flag = first.flag;
  else
    a->row = b->row, b->row = first.row;
}

/* Finds two messages of the sweep from one PE to another one. */
static bool find_two(const trial *t, int when, tsi_gpu_message **a, tsi_gpu_message **b) {
  for (tsi_index r = 0; r < t->v->w.ranks; r++) {
    tsi_gpu_message *send = (tsi_gpu_message *)t->v->tables[r].program.send;
    const tsi_program *program = t->v->w.member[r].process->program;
    for (tsi_index m = 0; m < program->sends; m++)
      for (tsi_index k = 0; k < m; k++)
        if (send[m].peer == send[k].peer && send[m].when == when && send[k].when == when &&
            program->send[m].rows == program->send[k].rows) {
          *a = &send[m], *b = &send[k];
          return true;
        }
  }
  return false;
}

/* Two messages exchange their places in the inbox, or their flags if x is needed at once. The check must
 * detect it. */
static void check_places(trial *t, const work *w) {
  for (int flags = 0; flags < 1 + (w->bit == SPREADS); flags++) {
    tsi_gpu_message *a, *b;
    CHECK(find_two(t, w->bit == SPREADS ? TSI_GPU_IN_FORWARD : TSI_GPU_IN_BACKWARD, &a, &b));
    swap(a, b, flags);
    CHECK_MSG(count_wrong(t, GPU_NO_FAULT, 1) > 0, "%s: messages change %s unseen", w->name,
              flags ? "flags" : "places");
    swap(a, b, flags);
  }
}

static tsi_process_options options_of(const problem *q, const work *w) {
  return (tsi_process_options){.layout = {.px = w->px,
                                          .py = w->py,
                                          .pz = w->pz,
                                          .map = TSI_MAP_CYCLIC,
                                          .replicated = w->replicated,
                                          .floor_bytes = 400,
                                          .ceiling_bytes = 2000,
                                          .slice_bytes = 300,
                                          .scalar_bytes = q->type->bytes},
                               .tree = w->tree};
}

/* Run k has 1 + k times the right-hand sides of the problem. t->right: result of the plain grid. */
static trial open_trial(tsi_env *env, const problem *q, const work *w, bool adds) {
  const tsi_process_options options = options_of(q, w);
  const run_grid plain = {.blocks = 1, .threads = 32, .seed = 99};
  const int64_t count = q->view.rows * w->nrhs;
  trial t = {.v = program_open(env, q->factor, q->type, &options, w->nrhs, adds),
             .bytes = RUNS * (size_t)count * q->type->bytes};
  t.b = xcalloc(t.bytes, 1), t.x = xcalloc(t.bytes, 1), t.right = xcalloc(t.bytes, 1);
  for (int k = 0; k < RUNS; k++)
    for (int64_t i = 0; i < count; i++) put(q->type, t.b, k * count + i, (1 + k) * get(q->type, q->b, i));
  program_prepare(t.v, TRISTAR_N, w->part, q->b, q->x);
  const run_outcome got = program_solve(t.v, RUNS, &plain, t.b, t.right);
  CHECK_MSG(got.ended, "%s", got.problem);
  check_right(q, w, &t);
  return t;
}

static void close_trial(trial *t) {
  free(t->b);
  free(t->x);
  free(t->right);
  program_close(&t->v);
}

static void check_work(tsi_env *env, problem *q, const work *w) {
  CLEANUP(close_trial) trial t = open_trial(env, q, w, false);
  CHECK(count_wrong(&t, GPU_NO_FAULT, SCHEDULES) == 0);
  for (int f = 0; f < FAULTS; f++)
    if (faults[f].works & w->bit)
      CHECK_MSG(count_wrong(&t, (int)faults[f].kind, 1) > 0, "%s: no schedule of %d shows the fault \"%s\"",
                w->name, SCHEDULES, faults[f].name);
  if (w->bit & (SPREADS | BACKWARD | SQUARE)) check_places(&t, w);
}

/* Atomic additions to sums: x is right up to rounding in each schedule, also if many runs use the same rows
 * of inboxes. Inboxes have fewer rows if a PE has several children in a tree. A row that is not cleared is
 * detected. */
static void check_adds(tsi_env *env, problem *q, const work *w) {
  CLEANUP(close_trial) trial t = open_trial(env, q, w, true);
  CLEANUP(close_trial) trial slots = open_trial(env, q, w, false);
  const int64_t rows = t.v->inbox_rows, others = slots.v->inbox_rows;
  CHECK_MSG(w->bit & (SUMS | BACKWARD) ? rows < others : rows <= others, "%s: %lld rows of inboxes, %lld",
            w->name, (long long)rows, (long long)others);
  for (unsigned k = 0; k < SCHEDULES / 2; k++) {
    const run_grid grid = {.blocks = 1 + k % 2, .threads = 32, .seed = k};
    const run_outcome got = program_solve(t.v, RUNS, &grid, t.b, t.right);
    CHECK_MSG(got.ended, "%s", got.problem);
    check_right(q, w, &t);
  }
  const run_grid grid = {.blocks = 1, .threads = 32, .fault = GPU_FAULT_CLEAR};
  const run_outcome got = program_solve(t.v, RUNS, &grid, t.b, t.x);
  CHECK(!(w->bit & (SUMS | BACKWARD)) || (got.ended && memcmp(t.x, t.right, t.bytes) != 0 &&
                                          difference(q->type, RUNS * q->view.rows * w->nrhs, NULL,
                                                     RUNS * q->view.rows * w->nrhs, 1, t.x, t.right) > 1e-3));
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(true);
  CLEANUP(close_problem) problem q = open_problem(ts, "s2d9pt", 9, &typed_double, TRISTAR_SYMMETRIC);
  for (size_t k = 0; k < sizeof works / sizeof *works; k++) {
    factor_problem(ts, &q, TRISTAR_METHOD_AUTO, (int)works[k].pz);
    RUN(check_work(tsi_context_env(ts), &q, &works[k]));
    RUN(check_adds(tsi_context_env(ts), &q, &works[k]));
    release_factor(&q);
  }
  return 0;
}
