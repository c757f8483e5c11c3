/* Under the thread sanitizer, each thread of the grid being one for it, the kernel of spread triangles has no
 * race between threads of one PE, nor of several, and these are races: a missing barrier, a flag that is not
 * awaited, one that is raised before the data, and one that is raised without a fence. */
#include "tests/support/gpu/count_reports.h"
#include "tests/support/gpu/spread_solve.h"

static tsi_env env;

enum { N = 100, PES = 2, NRHS = 7 };

static int count_races(const spread_solver *v, int fault) {
  OWNED char *b = xcalloc((size_t)N * NRHS, v->s->t->bytes), *x = xcalloc((size_t)N * NRHS, v->s->t->bytes);
  fill_b(v->s, NRHS, b);
  reports = 0;
  for (unsigned seed = 0; seed < 3 && reports == 0; seed++) {
    const run_grid grid = {.blocks = 2, .threads = 32, .warp = 32, .seed = seed, .fault = fault};
    int64_t polls;
    const run_outcome got = spread_solve(v, NRHS, 1, &grid, b, x, &polls);
    CHECK_MSG(got.ended, "%s", got.problem);
  }
  return reports;
}

int main(void) {
  tsi_env_init(&env);
  CLEANUP(system_free) system_of s = system_create(triangle_create(TRIANGLE_RANDOM, N, 3), &typed_double);
  spread_solver v = spread_open(&env, &s, false, PES, 4);
  CHECK(count_races(&v, GPU_NO_FAULT) == 0);
  CHECK(count_races(&v, GPU_FAULT_FENCE) > 0);
  CHECK(count_races(&v, GPU_FAULT_FLAG) > 0);
  CHECK(count_races(&v, GPU_FAULT_SIGNAL) > 0);
  CHECK(count_races(&v, GPU_FAULT_WARP_BARRIER) > 0);
  spread_close(&v);
  return 0;
}
