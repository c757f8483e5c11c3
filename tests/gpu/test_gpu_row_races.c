/* Under the thread sanitizer, each thread of the grid being one for it, the GPU kernels of rows have no race,
 * and a missing barrier, a flag that is not awaited and a flag that is raised without a fence are races. */
#include "tests/support/gpu/count_reports.h"
#include "tests/support/gpu/row_solve.h"

static tsi_env env;

enum { N = 150, NRHS = 3 };

static int count_races(const row_solver *r, int64_t nrhs, int fault) {
  OWNED char *b = xcalloc(N * NRHS, r->s->t->bytes), *x = xcalloc(N * NRHS, r->s->t->bytes);
  fill_b(r->s, NRHS, b);
  reports = 0;
  for (unsigned seed = 0; seed < 2 && reports == 0; seed++) {
    const row_run run = {
        .grid = {.blocks = 3, .resident = 3, .threads = 64, .warp = 32, .seed = seed, .fault = fault},
        .one_launch = true,
        .solves = 2};
    const run_outcome got = row_solve(r, &run, nrhs, b, x);
    CHECK_MSG(got.ended, "%s", got.problem);
  }
  return reports;
}

int main(void) {
  static const row_problem problems[] = {
      {.options = {TSI_DEVICE_ROWS_LEVELS, 32}},
      {.options = {TSI_DEVICE_ROWS_FREE, 32}},
      {.partition = TSI_ROWS_RECURSIVE_BLOCKS, .blocks = 4, .options = {TSI_DEVICE_ROWS_FREE, 32}},
  };
  tsi_env_init(&env);
  CLEANUP(system_free) system_of s = system_create(triangle_create(TRIANGLE_RANDOM, N, 3), &typed_double);
  for (size_t k = 0; k < sizeof problems / sizeof *problems; k++) {
    const bool free_rows = problems[k].options.way == TSI_DEVICE_ROWS_FREE;
    row_solver r = row_solver_open(&env, &s, &problems[k], false, false);
    CHECK(count_races(&r, 1, GPU_NO_FAULT) == 0);
    CHECK(count_races(&r, NRHS, GPU_NO_FAULT) == 0);
    CHECK(count_races(&r, 1, GPU_FAULT_FLAG) > 0);
    CHECK(!free_rows || count_races(&r, 1, GPU_FAULT_FENCE) > 0);
    CHECK(free_rows || count_races(&r, 1, GPU_FAULT_BARRIER) > 0);
    row_solver_close(&r);
  }
  return 0;
}
