/* Under the thread sanitizer, each thread of the grid being one for it, the GPU kernels have no race, and a
 * missing barrier, a flag that is not awaited and a flag that is raised without a fence are races. */
#include "tests/support/gpu/count_reports.h"
#include "tests/support/gpu/device_problem.h"

static const problem problems[] = {
    {"s2d9pt", 7, TRISTAR_METHOD_LLT, TRISTAR_HERMITIAN, TRISTAR_INVERSE_DIAGONAL, 700},
    {"kkt3d", 2, TRISTAR_METHOD_LDLT, TRISTAR_HERMITIAN, TRISTAR_INVERSE_PARTITIONED, 700},
    {"convdiff3d", 3, TRISTAR_METHOD_LU, TRISTAR_GENERAL, TRISTAR_INVERSE_NONE, 700},
};

static int count_races(const solver *s, int64_t nrhs, int fault) {
  OWNED void *b = random_scalars(&typed_double, s->n * nrhs, 3),
             *x = xcalloc((size_t)(s->n * nrhs), s->bytes);
  tristar_solve_options options = DEFAULTS(tristar_solve_options);
  CLEANUP(device_sweeps_close) device_sweeps sweeps;
  device_sweeps_open(s, &options, nrhs, b, x, &sweeps);
  reports = 0;
  for (unsigned seed = 0; seed < 2 && reports == 0; seed++) {
    const run_grid grid = {
        .blocks = 3, .resident = 3, .threads = 64, .warp = 32, .seed = seed, .fault = fault};
    const run_outcome got = run_sweeps("d", sweeps.forward, sweeps.backward, &sweeps.call, &grid);
    CHECK_MSG(got.ended, "%s", got.problem);
  }
  return reports;
}

int main(void) {
  static const int faults[] = {GPU_FAULT_BARRIER, GPU_FAULT_FLAG, GPU_FAULT_FENCE};
  CLEANUP(tristar_destroy) tristar_t *ts = open_without_starpu(false);
  for (size_t k = 0; k < sizeof problems / sizeof *problems; k++) {
    CLEANUP(solver_close) solver s = solver_open(ts, &problems[k], &typed_double, false);
    CHECK(count_races(&s, 1, GPU_NO_FAULT) == 0);
    CHECK(count_races(&s, 3, GPU_NO_FAULT) == 0);
    for (size_t f = 0; f < sizeof faults / sizeof *faults && k == 0; f++)
      CHECK_MSG(count_races(&s, 1, faults[f]) > 0, "fault %d is no race", faults[f]);
  }
  return 0;
}
