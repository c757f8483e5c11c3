/* The processes of a distributed solve as threads of this process, with messages through memory. Backward
 * errors are as small as those of a solve on one process, and repeated solves have the same bits, for
 * layouts, algorithms, maps and trees, scalar types and kinds of factors. Parts of the factors, factor order,
 * few rows of b and x give the results of a plan. */
#include "tests/support/context.h"
#include "tests/support/mpi/process_checks.h"
#include "tests/support/small_layouts.h"
#include "tests/support/subtests.h"

static void check_layouts(tsi_env *env, problem *q, tsi_index pz, bool all) {
  static const tsi_index grids[][2] = {{1, 1}, {2, 1}, {1, 2}, {2, 2}, {3, 2}};
  for (size_t g = 0; g < sizeof grids / sizeof *grids; g++)
    for (int variant = 0; variant < 8; variant++) {
      const tsi_process_options options = {.layout = small_layout(grids[g][0], grids[g][1], pz, variant),
                                           .tree = variant & 4 ? TSI_TREE_FLAT : TSI_TREE_BINARY};
      if (grids[g][0] * grids[g][1] * pz > RANKS_MOST || (!all && (variant + (int)g) % 4 != 0)) continue;
      check_layout(env, q, &options, variant % 3 == 0 ? 1 : 5, variant + (int)g);
    }
}

/* symmetry: as for open_problem. */
static void check_matrix(tristar_t *ts, const char *kind, int64_t k, const typed *t, tristar_method method,
                         tristar_symmetry symmetry, bool all) {
  CLEANUP(close_problem) problem q = open_problem(ts, kind, k, t, symmetry);
  for (tsi_index pz = 1; pz <= 4; pz *= 2) {
    factor_problem(ts, &q, method, pz);
    check_layouts(tsi_context_env(ts), &q, pz, all);
    release_factor(&q);
  }
}

int test_process(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(true);
  RUN(check_matrix(ts, "s2d9pt", 24, &typed_double, TRISTAR_METHOD_AUTO, TRISTAR_SYMMETRIC, true));
  RUN(check_matrix(ts, "convdiff3d", 8, &typed_double, TRISTAR_METHOD_AUTO, TRISTAR_SYMMETRIC,
                   !TSI_TESTS_RACES));
  if (!TSI_TESTS_RACES)
    RUN(check_matrix(ts, "circuit", 500, &typed_complex_double, TRISTAR_METHOD_LU, TRISTAR_SYMMETRIC, false));
  if (!TSI_TESTS_SANITIZED) { /* other types have the same code */
    RUN(check_matrix(ts, "maxwell3d", 4, &typed_double, TRISTAR_METHOD_LDLT, TRISTAR_SYMMETRIC, false));
    RUN(check_matrix(ts, "poisson3d7", 8, &typed_complex_double, TRISTAR_METHOD_AUTO, TRISTAR_HERMITIAN,
                     false));
    RUN(check_matrix(ts, "poisson3d7", 7, &typed_complex_single, TRISTAR_METHOD_LDLT, TRISTAR_SYMMETRIC,
                     false));
    RUN(check_matrix(ts, "elasticity3d", 4, &typed_single, TRISTAR_METHOD_AUTO, TRISTAR_SYMMETRIC, false));
  }
  return 0;
}
