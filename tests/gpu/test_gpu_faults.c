/* Faults that are planted in the GPU kernels are seen: a schedule of few gives other bits, or does not end.
 * Without one none does. (A missing fence shows to the thread sanitizer only: test_gpu_races.) */
#include "tests/gpu/device_problem.h"

static const problem tested = {
    "poisson3d7", 5, TRISTAR_METHOD_LLT, TRISTAR_HERMITIAN, TRISTAR_INVERSE_DIAGONAL, 1500};

enum { SCHEDULES = 10 };

/* How many schedules do not give `right`. */
static int count_wrong(const solver *s, device_sweeps *sweeps, int fault, const void *right) {
  const size_t bytes = (size_t)s->n * s->bytes;
  void *x = calloc(bytes, 1);
  int wrong = 0;
  CHECK(x != NULL);
  for (unsigned k = 0; k < SCHEDULES; k++) {
    const emulated_grid grid = {
        .blocks = 4, .resident = 4, .threads = 64, .warp = 32, .seed = k, .fault = fault};
    sweeps->call.x = x;
    const emulated_outcome got =
        emulated_sweeps("d", sweeps->forward, sweeps->backward, &sweeps->call, &grid);
    wrong += !got.ended || memcmp(right, x, bytes) != 0;
  }
  free(x);
  return wrong;
}

int main(void) {
  static const char *const names[GPU_FAULTS] = {"none", "barrier", "flag", "lane", "tail", "fence"};
  tristar_t *ts;
  tristar_config config;
  tristar_config_init(&config);
  config.use_starpu = 0;
  CHECK_OK(tristar_create(&config, &ts));
  solver s = solver_open(ts, &tested, &typed_double, false);
  void *b = random_scalars(&typed_double, s.n, 3), *right = calloc((size_t)s.n, s.bytes);
  tristar_solve_options options;
  device_sweeps sweeps;
  tristar_solve_options_init(&options);
  CHECK(right != NULL);
  device_sweeps_open(&s, &options, 1, b, right, &sweeps);
  const emulated_grid grid = {.blocks = 1, .resident = 1, .threads = 32, .warp = 32};
  const emulated_outcome got = emulated_sweeps("d", sweeps.forward, sweeps.backward, &sweeps.call, &grid);
  CHECK_MSG(got.ended, "%s", got.problem);
  CHECK(count_wrong(&s, &sweeps, GPU_NO_FAULT, right) == 0);
  for (int fault = GPU_FAULT_BARRIER; fault <= GPU_FAULT_TAIL; fault++) {
    const int wrong = count_wrong(&s, &sweeps, fault, right);
    CHECK_MSG(wrong > 0, "no schedule of %d shows the fault \"%s\"", SCHEDULES, names[fault]);
  }
  device_sweeps_close(&sweeps);
  solver_close(&s);
  free(b);
  free(right);
  tristar_destroy(&ts);
  return 0;
}
