/* The GPU kernels solve like the serial executor, within roundoff. They give the same bits for any schedule,
 * number of resident blocks and threads of a block: for each scalar type, method, operation, part and
 * treatment of diagonal blocks, one and several right-hand sides. Single factors also solve with vectors in
 * double precision. */
#include "tests/support/gpu/device_problem.h"
#include "tests/support/subtests.h"

static const problem problems[] = {
    {"poisson3d7", 4, TRISTAR_METHOD_LLT, TRISTAR_HERMITIAN, TRISTAR_INVERSE_DIAGONAL, 1500},
    {"s2d9pt", 8, TRISTAR_METHOD_LLT, TRISTAR_HERMITIAN, TRISTAR_INVERSE_NONE, 1000},
    {"poisson3d7", 4, TRISTAR_METHOD_LLT, TRISTAR_HERMITIAN, TRISTAR_INVERSE_PARTITIONED, 2000},
    {"kkt3d", 3, TRISTAR_METHOD_LDLT, TRISTAR_SYMMETRIC, TRISTAR_INVERSE_DIAGONAL, 1500},
    {"kkt3d", 3, TRISTAR_METHOD_LDLT, TRISTAR_HERMITIAN, TRISTAR_INVERSE_PARTITIONED, 1500},
    {"kkt3d", 3, TRISTAR_METHOD_LU, TRISTAR_SYMMETRIC, TRISTAR_INVERSE_DIAGONAL, 2500}, /* with a matching */
    {"convdiff3d", 4, TRISTAR_METHOD_LU, TRISTAR_GENERAL, TRISTAR_INVERSE_NONE, 2000},
    {"chem3d", 3, TRISTAR_METHOD_LU, TRISTAR_GENERAL, TRISTAR_INVERSE_PARTITIONED, 64e3},
};
enum { PROBLEMS = sizeof problems / sizeof *problems };

/* Variants alternate between operations, parts and numbers of right-hand sides. */
static void check(tristar_t *ts, const problem *p, unsigned variant, const typed *t, const char *scalars,
                  bool single_factors) {
  static const tristar_op ops[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};
  static const int64_t nrhs[] = {2, 7, 8, 9, 3, 17, 5};
  trial k = {.scalars = scalars,
             .user = t,
             .tolerance = t->is_single || single_factors ? 1e-3 : 1e-11,
             .op = ops[variant % 3],
             .part = TRISTAR_PART_ALL,
             .nrhs = 1,
             .warp = variant % 2 && !single_factors ? 64 : 32,
             .first = variant,
             .schedules = 4};
  CLEANUP(solver_close) solver s = solver_open(ts, p, t, single_factors);
  check_trial(&s, &k);
  k.op = ops[(variant + 1) % 3];
  k.nrhs = nrhs[variant % 7];
  k.first = variant + 1;
  check_trial(&s, &k);
  k.op = ops[(variant + 2) % 3];
  k.nrhs = 1;
  k.part = variant % 2 ? TRISTAR_PART_L : TRISTAR_PART_U;
  k.first = variant + 2;
  check_trial(&s, &k);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(tristar_destroy) tristar_t *ts = open_without_starpu(false);
  for (unsigned k = 0; k < PROBLEMS; k++)
    for (unsigned type = 0; type < 4; type++)
      RUN(check(ts, &problems[k], k + 3 * type, types[type].type, types[type].scalars, false));
  for (unsigned k = 0; k < PROBLEMS; k += 3) {
    RUN(check(ts, &problems[k], k, &typed_double, "s", true));
    RUN(check(ts, &problems[k], k, &typed_double, "sd", true));
    RUN(check(ts, &problems[k], k, &typed_complex_double, "cz", true));
  }
  return 0;
}
