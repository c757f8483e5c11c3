/* Faults that are planted in the GPU kernels of rows, or in their tables, are seen: a schedule of few gives
 * other bits, or does not end. Without one none does. (A missing fence shows to the thread sanitizer only:
 * test_gpu_row_races.) Entries are loaded in whole sectors. One solve of several right-hand sides is that of
 * each. */
#include "tests/support/gpu/row_solve.h"
#include "tests/support/subtests.h"

static tsi_env env;

enum { SCHEDULES = 12, N = 400 };

static const row_run plain = {
    .grid = {.blocks = 1, .resident = 1, .threads = 32, .warp = 32}, .one_launch = true, .solves = 1};

/* Returns in how many schedules x differs from `right`. */
static int count_wrong(const row_solver *r, int fault, const void *b, const void *right) {
  const size_t bytes = (size_t)r->plan.tables.n * r->s->t->bytes;
  OWNED void *x = xcalloc(bytes, 1);
  int wrong = 0;
  for (unsigned k = 0; k < SCHEDULES; k++) {
    row_run run = plain;
    run.grid = (run_grid){.blocks = 4, .resident = 4, .threads = 64, .warp = 32, .seed = k, .fault = fault};
    const run_outcome got = row_solve(r, &run, 1, b, x);
    wrong += !got.ended || memcmp(right, x, bytes) != 0;
  }
  return wrong;
}

/* Moves a ticket of rows of the second level set to the first phase, whose rows they read. */
static void misplace_level(const tsi_device_rows *t) {
  tsi_device_phase *phase = (tsi_device_phase *)t->phase;
  CHECK(t->phases > 1 && phase[1].tickets > 1);
  ((tsi_device_row_ticket *)t->ticket)[phase[1].ticket].phase = 0;
  phase[0].tickets++;
  phase[1].ticket++;
  phase[1].tickets--;
}

static void check_faults(const system_of *s, tsi_device_row_way way) {
  static const struct {
    int fault;
    const char *name;
  } faults[] = {{GPU_FAULT_BARRIER, "barrier"},
                {GPU_FAULT_FLAG, "flag"},
                {GPU_FAULT_LANE, "lane"},
                {GPU_FAULT_TAIL, "tail"}};
  const row_problem p = {.options = {way, 32}};
  row_solver r = row_solver_open(&env, s, &p, false, false);
  OWNED char *b = xcalloc(N, s->t->bytes), *right = xcalloc(N, s->t->bytes);
  fill_b(s, 1, b);
  const run_outcome got = row_solve(&r, &plain, 1, b, right);
  CHECK_MSG(got.ended, "%s", got.problem);
  row_compare(&r, 1, b, right);
  CHECK(count_wrong(&r, GPU_NO_FAULT, b, right) == 0);
  for (size_t k = 0; k < sizeof faults / sizeof *faults; k++) {
    /* With flags there is only one phase. */
    if (faults[k].fault == GPU_FAULT_BARRIER && way == TSI_DEVICE_ROWS_FREE) continue;
    CHECK_MSG(count_wrong(&r, faults[k].fault, b, right) > 0, "no schedule of %d shows the fault \"%s\"",
              SCHEDULES, faults[k].name);
  }
  if (way == TSI_DEVICE_ROWS_LEVELS) {
    misplace_level(&r.plan.tables);
    CHECK_MSG(count_wrong(&r, GPU_NO_FAULT, b, right) > 0, "no schedule shows a wrong level");
  }
  row_solver_close(&r);
}

/* most: maximum ratio of the bytes of sectors to the bytes that lanes read. Bundles begin anywhere, so
 * their end sectors also contain bytes of neighbours. The ratio is larger for short rows and for small
 * scalars. */
static void check_loads(int kind, const typed *t, double most) {
  system_of s = system_create(triangle_create(kind, N, 3), t);
  const row_problem p = {.options = {TSI_DEVICE_ROWS_FREE, 32}};
  row_solver r = row_solver_open(&env, &s, &p, false, false);
  OWNED char *b = xcalloc(N, t->bytes), *x = xcalloc(N, t->bytes);
  row_run run = plain;
  fill_b(&s, 1, b);
  run.grid.count_loads = true;
  const run_outcome got = row_solve(&r, &run, 1, b, x);
  CHECK_MSG(got.ended, "%s", got.problem);
  CHECK_MSG(got.bytes > 0 && got.sectors * 32 <= most * got.bytes,
            "%s, scalars of %zu bytes: %g loads touch %g sectors for %g bytes", triangle_names[kind],
            t->bytes, got.loads, got.sectors, got.bytes);
  row_solver_close(&r);
  system_free(&s);
}

static void check_columns(void) {
  enum { COLUMNS = 11 };
  system_of s = system_create(triangle_create(TRIANGLE_POWER_LAW, 100, 3), &typed_complex_double);
  const row_problem p = {
      .partition = TSI_ROWS_RECURSIVE_BLOCKS, .blocks = 4, .options = {TSI_DEVICE_ROWS_AUTO, 32}};
  const size_t bytes = 100 * s.t->bytes;
  row_solver r = row_solver_open(&env, &s, &p, false, true);
  OWNED char *b = xcalloc(COLUMNS, bytes), *all = xcalloc(COLUMNS, bytes), *x = xcalloc(1, bytes);
  fill_b(&s, COLUMNS, b);
  CHECK(row_solve(&r, &plain, COLUMNS, b, all).ended);
  for (size_t c = 0; c < COLUMNS; c++) {
    CHECK(row_solve(&r, &plain, 1, b + c * bytes, x).ended);
    CHECK(memcmp(all + c * bytes, x, bytes) == 0);
  }
  row_solver_close(&r);
  system_free(&s);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  tsi_env_init(&env);
  system_of s = system_create(triangle_create(TRIANGLE_ONE_LEVEL, N, 7), &typed_double);
  RUN(check_faults(&s, TSI_DEVICE_ROWS_LEVELS));
  RUN(check_faults(&s, TSI_DEVICE_ROWS_FREE));
  system_free(&s);
  RUN(check_loads(TRIANGLE_DENSE, &typed_double, 1.2));
  RUN(check_loads(TRIANGLE_ARROW, &typed_single, 1.2));
  RUN(check_loads(TRIANGLE_POWER_LAW, &typed_double, 1.3));
  RUN(check_loads(TRIANGLE_RANDOM, &typed_double, 1.35));
  RUN(check_loads(TRIANGLE_ERDOES_RENYI, &typed_single, 1.65));
  RUN(check_loads(TRIANGLE_GRID, &typed_double, 1.4));
  RUN(check_columns());
  return 0;
}
