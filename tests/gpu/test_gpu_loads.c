/* Panels are loaded in whole sectors, forward and backward: warps touch at most 1.1 times the bytes that
 * their lanes take, for each scalar type, one and several right-hand sides. */
#include "tests/support/gpu/device_problem.h"
#include "tests/support/subtests.h"

static const problem tested = {
    "poisson3d7", 8, TRISTAR_METHOD_LLT, TRISTAR_HERMITIAN, TRISTAR_INVERSE_DIAGONAL, 30000};

static void check(const solver *s, const char *scalars, const typed *t, unsigned warp, int64_t nrhs) {
  OWNED void *b = random_scalars(t, s->n * nrhs, 3), *x = xcalloc((size_t)(s->n * nrhs), s->bytes);
  const run_grid grid = {
      .blocks = 2, .resident = 2, .threads = 128, .warp = warp, .seed = 1, .count_loads = true};
  tristar_solve_options options = DEFAULTS(tristar_solve_options);
  CLEANUP(device_sweeps_close) device_sweeps sweeps;
  device_sweeps_open(s, &options, nrhs, b, x, &sweeps);
  const run_outcome got = run_sweeps(scalars, sweeps.forward, sweeps.backward, &sweeps.call, &grid);
  CHECK_MSG(got.ended, "%s", got.problem);
  CHECK_MSG(got.bytes > 0 && got.sectors * 32 <= 1.1 * got.bytes,
            "%s, %d right-hand sides: %g loads touch %g sectors for %g bytes", scalars, (int)nrhs, got.loads,
            got.sectors, got.bytes);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(tristar_destroy) tristar_t *ts = open_without_starpu(false);
  for (int k = 0; k < 4; k++) {
    CLEANUP(solver_close) solver s = solver_open(ts, &tested, types[k].type, false);
    RUN(check(&s, types[k].scalars, types[k].type, 32, 1));
    RUN(check(&s, types[k].scalars, types[k].type, k % 3 == 1 ? 64 : 32, 3));
  }
  return 0;
}
