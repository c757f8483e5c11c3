/* Placement: which ranges of pages go to which node (a pure function: it needs no machine with several
 * nodes), and a plan that places has the same bits as one that does not. */
#include "runtime/solve/numa.h"
#include "tests/support/allocations.h"
#include "tests/support/context.h"
#include "tests/support/flow.h"
#include "tests/support/subtests.h"

#define PAGE 4096u

static void check(const char *what, tsi_numa_range *range, tsi_count count, const tsi_numa_range *expected,
                  tsi_count expected_count) {
  const tsi_count got = tsi_numa_choose(range, count, PAGE);
  CHECK_MSG(got == expected_count, "%s: %lld ranges", what, (long long)got);
  for (tsi_count k = 0; k < got; k++)
    CHECK_MSG(range[k].begin == expected[k].begin && range[k].end == expected[k].end &&
                  range[k].node == expected[k].node,
              "%s: range %lld is %zu .. %zu on %d", what, (long long)k, (size_t)range[k].begin,
              (size_t)range[k].end, range[k].node);
}

static void choose(void) {
  check("none", NULL, 0, NULL, 0);
  tsi_numa_range inside[] = {{PAGE + 1, 4 * PAGE - 1, 1}};
  check("cut to whole pages", inside, 1, (tsi_numa_range[]){{2 * PAGE, 3 * PAGE, 1}}, 1);
  tsi_numa_range exact[] = {{PAGE, 4 * PAGE, 0}};
  check("whole pages stay", exact, 1, (tsi_numa_range[]){{PAGE, 4 * PAGE, 0}}, 1);
  tsi_numa_range small[] = {{PAGE + 8, 2 * PAGE - 8, 0}, {3 * PAGE - 64, 4 * PAGE - 64, 1}};
  check("less than a page", small, 2, NULL, 0);
  tsi_numa_range same[] = {{PAGE, 2 * PAGE + 64, 1}, {2 * PAGE + 64, 4 * PAGE, 1}};
  check("neighbours of one node share a page", same, 2, (tsi_numa_range[]){{PAGE, 4 * PAGE, 1}}, 1);
  tsi_numa_range other[] = {{PAGE, 2 * PAGE + 64, 0}, {2 * PAGE + 64, 4 * PAGE, 1}};
  check("a page of two nodes stays", other, 2,
        (tsi_numa_range[]){{PAGE, 2 * PAGE, 0}, {3 * PAGE, 4 * PAGE, 1}}, 2);
  tsi_numa_range apart[] = {{PAGE, 2 * PAGE + 8, 1}, {2 * PAGE + 16, 4 * PAGE, 1}};
  check("a gap is not ours", apart, 2, (tsi_numa_range[]){{PAGE, 2 * PAGE, 1}, {3 * PAGE, 4 * PAGE, 1}}, 2);
  tsi_numa_range unknown[] = {{0, PAGE, 0}, {PAGE, 3 * PAGE, -1}, {3 * PAGE, 5 * PAGE, 1}};
  check("unknown nodes", unknown, 3, (tsi_numa_range[]){{0, PAGE, 0}, {3 * PAGE, 5 * PAGE, 1}}, 2);
}

/* Many random ranges: a page is moved if and only if all of its bytes belong to one node. */
static void cover(void) {
  enum { RANGES = 400 };
  tsi_numa_range range[RANGES], before[RANGES];
  double draw[2 * RANGES];
  uintptr_t at = 12345;
  fill_random(draw, 2 * RANGES, 3);
  for (int k = 0; k < RANGES; k++) {
    const uintptr_t size = (uintptr_t)((draw[2 * k] + 1) * 2 * PAGE) + 8;
    range[k] = before[k] = (tsi_numa_range){at, at + size, draw[2 * k + 1] > 0};
    at += size;
  }
  const tsi_count count = tsi_numa_choose(range, RANGES, PAGE);
  for (uintptr_t page = 0; page < at; page += PAGE) {
    int node = -2; /* node of all bytes of the page; -1: several */
    for (int k = 0; k < RANGES; k++)
      if (before[k].begin < page + PAGE && before[k].end > page)
        node = node == -2 || node == before[k].node ? before[k].node : -1;
    if (page < before[0].begin || page + PAGE > before[RANGES - 1].end) node = -1;
    int got = -1;
    for (tsi_count k = 0; k < count; k++)
      if (range[k].begin <= page && page + PAGE <= range[k].end) got = range[k].node;
    CHECK_MSG(got == (node < 0 ? -1 : node), "page %zu goes to %d instead of %d", (size_t)(page / PAGE), got,
              node);
  }
}

static int placement_lines; /* number of log lines about placement */
static void count_placement_line(void *arg, tristar_log_level level, const char *text) {
  (void)arg;
  (void)level;
  if (strncmp(text, "placement: ", 11) == 0) placement_lines++;
}

/* Replaces the plan by one with tasks. */
static void replan(flow *f, tristar_placement placement) {
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  tristar_plan_destroy(&f->plan);
  options.engine = TRISTAR_ENGINE_TASKS;
  options.chunk_bytes_max = 20000;
  options.placement = placement;
  CHECK_OK(tristar_plan(f->factor, &options, &f->plan));
}

/* LU has two streams, Cholesky one. nrhs > 1 has another workspace. */
static void solve(const char *kind, int64_t k, int streams) {
  tristar_config config = DEFAULTS(tristar_config);
  CLEANUP(tristar_destroy) tristar_t *ts;
  CLEANUP(flow_destroy) flow f;
  config.log = count_placement_line;
  CHECK_OK(tristar_create(&config, &ts));
  flow_create(ts, kind, k, TRISTAR_ENGINE_TASKS, 20000, &f);
  const int64_t n = f.view.rows;
  OWNED double *b = xmalloc(3 * (size_t)n * sizeof *b), *x = xmalloc(3 * (size_t)n * sizeof *x);
  OWNED double *expected = xmalloc(3 * (size_t)n * sizeof *expected);
  fill_random(b, 3 * n, 5);
  CHECK_OK(tristar_solve(f.plan, TRISTAR_N, 3, b, n, expected, n));
  CHECK(atomic_load(&f.plan->placement) == TSI_PLACEMENT_NONE ||
        atomic_load(&f.plan->placement) == TSI_PLACEMENT_DONE); /* with one node; with several */
  for (int off = 0; off < 2; off++) {
    tristar_solve_options part;
    replan(&f, off ? TRISTAR_PLACEMENT_OFF : TRISTAR_PLACEMENT_ON);
    const int wanted = off ? TSI_PLACEMENT_NONE : TSI_PLACEMENT_REQUESTED;
    CHECK(atomic_load(&f.plan->placement) == wanted);
    tristar_solve_options_init(&part); /* a solve with a part does not place data */
    part.part = TRISTAR_PART_L;
    CHECK_OK(tristar_solve_with(f.plan, &part, 1, b, x, NULL));
    CHECK(atomic_load(&f.plan->placement) == wanted);
    placement_lines = 0;
    for (int repeat = 0; repeat < 3; repeat++) {
      CHECK_OK(tristar_solve(f.plan, TRISTAR_N, 3, b, n, x, n));
      CHECK(memcmp(x, expected, 3 * (size_t)n * sizeof *x) == 0);
      CHECK(atomic_load(&f.plan->placement) == (off ? TSI_PLACEMENT_NONE : TSI_PLACEMENT_DONE));
      CHECK_MSG(placement_lines == (off ? 0 : streams), "%s: %d lines about placement", kind,
                placement_lines);
    }
  }
}

/* If an allocation of the placement fails, the solve returns the error, and the next solve places the
 * data. */
static void fail(void) {
  CLEANUP(close_context) tristar_t *ts = open_with_starpu(0, false);
  CLEANUP(flow_destroy) flow f;
  flow_create(ts, "s2d9pt", 40, TRISTAR_ENGINE_SERIAL, 20000, &f);

  replan(&f, TRISTAR_PLACEMENT_ON);
  const int64_t n = f.view.rows;
  OWNED double *b = xcalloc((size_t)n, sizeof *b);
  allocation_failures failing = fail_allocations_of(ts);
  failing.keeps_memory = true; /* memory of the solve that succeeds */
  while (next_failure(&failing)) {
    const size_t before = bytes_held(ts);
    const tristar_status status = tristar_solve(f.plan, TRISTAR_N, 1, b, n, b, n);
    end_failure(&failing, status);
    if (status == TRISTAR_OK) break;
    CHECK(bytes_held(ts) == before);
    CHECK(atomic_load(&f.plan->placement) == TSI_PLACEMENT_REQUESTED);
  }
  CHECK_MSG(failing.count >= 2, "%d allocations failed", (int)failing.count);
  CHECK(atomic_load(&f.plan->placement) == TSI_PLACEMENT_DONE);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  RUN(choose());
  RUN(cover());
  RUN(solve("s2d9pt", 60, 1));
  RUN(solve("convdiff3d", 12, 2));
  RUN(fail());
  return 0;
}
