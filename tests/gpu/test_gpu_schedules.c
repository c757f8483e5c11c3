/* The GPU kernels give the same bits in 30 adversarial schedules of each scalar type, method and sweep:
 * forward only and backward only, on small factors, which together have all kinds of nodes.
 * test_gpu_schedules_many runs 102. */
#include "tests/support/gpu/device_problem.h"
#include "tests/support/subtests.h"

static const problem problems[] = {
    {"elasticity3d", 2, TRISTAR_METHOD_LLT, TRISTAR_HERMITIAN, TRISTAR_INVERSE_DIAGONAL, 1500},
    {"kkt3d", 3, TRISTAR_METHOD_LDLT, TRISTAR_HERMITIAN, TRISTAR_INVERSE_PARTITIONED, 700},
    {"kkt3d", 3, TRISTAR_METHOD_LU, TRISTAR_SYMMETRIC, TRISTAR_INVERSE_NONE, 700},
};

/* Solves with one sweep: three forward, three backward. */
static const struct {
  tristar_part part;
  tristar_op op;
} solves[2][3] = {
    {{TRISTAR_PART_L, TRISTAR_N}, {TRISTAR_PART_U, TRISTAR_T}, {TRISTAR_PART_U, TRISTAR_C}},
    {{TRISTAR_PART_L, TRISTAR_T}, {TRISTAR_PART_L, TRISTAR_C}, {TRISTAR_PART_U, TRISTAR_N}},
};

/* Schedules for each solve, number of right-hand sides and width of warps; so six times as many for each
 * sweep. */
#ifndef SCHEDULES
#define SCHEDULES 5
#endif

static void check(const solver *s, unsigned type, unsigned backward) {
  for (unsigned k = 0; k < 3; k++)
    for (unsigned wide = 0; wide < 2; wide++) {
      const trial t = {.scalars = types[type].scalars,
                       .user = types[type].type,
                       .tolerance = types[type].type->is_single ? 1e-3 : 1e-11,
                       .op = solves[backward][k].op,
                       .part = solves[backward][k].part,
                       .nrhs = (k + wide) % 2 ? 3 : 1,
                       .warp = wide ? 64 : 32,
                       .first = 100 * (2 * k + wide),
                       .schedules = SCHEDULES};
      check_trial(s, &t);
    }
}

/* Returns the kinds of nodes of a factor, as bits. */
static unsigned kinds_of(const solver *s) {
  const tsi_device_tables *tables = &s->device.device->side[0].tables;
  unsigned kinds = 0;
  for (tsi_index v = 0; v < tables->nodes; v++) kinds |= 1u << tables->node[v].kind;
  return kinds;
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  unsigned kinds = 0;
  CLEANUP(tristar_destroy) tristar_t *ts = open_without_starpu(false);
  for (size_t k = 0; k < sizeof problems / sizeof *problems; k++)
    for (unsigned type = 0; type < 4; type++) {
      CLEANUP(solver_close) solver s = solver_open(ts, &problems[k], types[type].type, false);
      RUN(check(&s, type, 0));
      RUN(check(&s, type, 1));
      kinds |= kinds_of(&s);
    }
  CHECK_TOTAL(kinds == (2u << TSI_DEVICE_SLICE) - 1, "kinds of nodes: %x", kinds);
  return 0;
}
