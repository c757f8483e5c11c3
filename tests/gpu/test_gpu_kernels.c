/* The GPU kernels solve as the reference walk of the device tables does, within roundoff, and give the same
 * bits whatever the schedule, the number of resident blocks and the threads of a block are: for each scalar
 * type, method, operation, part and treatment of diagonal blocks, one and several right-hand sides. */
#include "tests/gpu/device_problem.h"

static const problem problems[] = {
    {"poisson3d7", 4, TRISTAR_METHOD_LLT, TRISTAR_HERMITIAN, TRISTAR_INVERSE_DIAGONAL, 1500},
    {"s2d9pt", 8, TRISTAR_METHOD_LLT, TRISTAR_HERMITIAN, TRISTAR_INVERSE_NONE, 1000},
    {"poisson3d7", 4, TRISTAR_METHOD_LLT, TRISTAR_HERMITIAN, TRISTAR_INVERSE_PARTITIONED, 2000},
    {"kkt3d", 3, TRISTAR_METHOD_LDLT, TRISTAR_SYMMETRIC, TRISTAR_INVERSE_DIAGONAL, 1500},
    {"kkt3d", 3, TRISTAR_METHOD_LDLT, TRISTAR_HERMITIAN, TRISTAR_INVERSE_PARTITIONED, 1500},
    {"kkt3d", 3, TRISTAR_METHOD_LU, TRISTAR_SYMMETRIC, TRISTAR_INVERSE_DIAGONAL, 2500}, /* matched */
    {"convdiff3d", 4, TRISTAR_METHOD_LU, TRISTAR_GENERAL, TRISTAR_INVERSE_NONE, 2000},
    {"chem3d", 3, TRISTAR_METHOD_LU, TRISTAR_GENERAL, TRISTAR_INVERSE_PARTITIONED, 64e3},
};
enum { PROBLEMS = sizeof problems / sizeof *problems };

static const typed *const types[] = {&typed_single, &typed_double, &typed_complex_single,
                                     &typed_complex_double};

/* Fewer where sanitizers make each one slow. */
#define SCHEDULES (TSI_TESTS_SANITIZED ? 2 : 3)

static emulated_grid grid_of(unsigned warp, unsigned variant) {
  static const unsigned threads[] = {64, 256, 128, 192};
  emulated_grid grid = {.warp = warp, .seed = variant * 7919 + warp};
  grid.resident = 1 + variant * 3 % 8;
  grid.blocks = grid.resident + variant % 3;
  grid.threads = warp == 32 && variant % 4 == 3 ? 32 : threads[variant % 4];
  return grid;
}

/* scalars: of the kernels; user: of b and x. */
static void compare(const solver *s, const char *scalars, const typed *user, double tolerance, tristar_op op,
                    tristar_part part, int64_t nrhs, unsigned variant) {
  const int64_t count = s->n * nrhs;
  const size_t bytes = (size_t)count * s->bytes;
  void *b = random_scalars(user, count, 7 + variant);
  void *x = calloc(bytes + 1, 1), *first = calloc(bytes + 1, 1), *y = calloc(bytes + 1, 1);
  tristar_solve_options options;
  device_sweeps sweeps;
  const bool wide = strcmp(scalars, "d") == 0 || strcmp(scalars, "c") == 0; /* warps, too */
  const unsigned warp = wide && variant % 3 == 2 ? 64 : 32;
  tristar_solve_options_init(&options);
  options.op = op;
  options.part = part;
  CHECK(x && first && y);
  device_sweeps_open(s, &options, nrhs, b, x, &sweeps);
  device_walk(scalars[0], sweeps.forward, sweeps.backward, &sweeps.call, NULL, NULL);
  for (unsigned k = 0; k < SCHEDULES; k++) {
    const emulated_grid grid = grid_of(warp, variant + k);
    sweeps.call.x = k == 0 ? first : y;
    const emulated_outcome got =
        emulated_sweeps(scalars, sweeps.forward, sweeps.backward, &sweeps.call, &grid);
    CHECK_MSG(got.ended, "%s, op %d, part %d, %d right-hand sides: %s", scalars, (int)op, (int)part,
              (int)nrhs, got.problem);
    CHECK_MSG(k == 0 || memcmp(first, y, bytes) == 0, "%s, op %d, part %d, %d right-hand sides: other bits",
              scalars, (int)op, (int)part, (int)nrhs);
  }
  const double differs = difference(user, count, x, first);
  CHECK_MSG(differs <= tolerance, "%s, op %d, part %d, %d right-hand sides: differs by %g", scalars, (int)op,
            (int)part, (int)nrhs, differs);
  device_sweeps_close(&sweeps);
  free(b);
  free(x);
  free(first);
  free(y);
}

/* Operations, parts and numbers of right-hand sides in turn. */
static void check(tristar_t *ts, const problem *p, unsigned variant, const typed *t, const char *scalars,
                  bool single_factors) {
  static const tristar_op ops[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};
  static const int64_t nrhs[] = {2, 7, 8, 9, 3, 17, 5};
  const double tolerance = t->is_single || single_factors ? 1e-3 : 1e-11;
  solver s = solver_open(ts, p, t, single_factors);
  compare(&s, scalars, t, tolerance, ops[variant % 3], TRISTAR_PART_ALL, 1, variant);
  compare(&s, scalars, t, tolerance, ops[(variant + 1) % 3], TRISTAR_PART_ALL, nrhs[variant % 7],
          variant + 1);
  compare(&s, scalars, t, tolerance, ops[(variant + 2) % 3], variant % 2 ? TRISTAR_PART_L : TRISTAR_PART_U, 1,
          variant + 2);
  if (variant == 4) compare(&s, scalars, t, tolerance, TRISTAR_N, TRISTAR_PART_ALL, 64, variant);
  solver_close(&s);
}

int main(void) {
  static const char *const scalars[] = {"s", "d", "c", "z"};
  tristar_t *ts;
  tristar_config config;
  tristar_config_init(&config);
  config.use_starpu = 0;
  CHECK_OK(tristar_create(&config, &ts));
  for (unsigned k = 0; k < PROBLEMS; k++)
    for (unsigned type = 0; type < 4; type++)
      check(ts, &problems[k], k + 3 * type, types[type], scalars[type], false);
  for (unsigned k = 0; k < PROBLEMS; k += 3) {
    check(ts, &problems[k], k, &typed_double, "s", true);
    check(ts, &problems[k], k, &typed_double, "sd", true);
    check(ts, &problems[k], k, &typed_complex_double, "cz", true);
  }
  tristar_destroy(&ts);
  return 0;
}
