/* A rank is killed while a team of ranks factors a shared front. For killed_team.sh, which requires that the
 * run ends. If no rank is killed, the test factors and prints the number of diagonal blocks of shared fronts
 * that the rank computed.
 *
 *   test_killed_team tasks|serial VICTIM COUNT: rank VICTIM kills itself at its COUNT-th block; 0: at none */
#include <signal.h>

#include "runtime/factor/numeric.h"
#include "tests/support/mpi/dmatrix_factor.h"

static const tsi_factorization_options small = {16, 1e4, 1e5, 0}; /* many teams of small fronts */

static long count, fatal;

void __real_tsi_front_diagonal(tsi_numeric *numeric, const tsi_front_stripe *stripe, tsi_index f,
                               tsi_index panel);
void __wrap_tsi_front_diagonal(tsi_numeric *numeric, const tsi_front_stripe *stripe, tsi_index f,
                               tsi_index panel);
/* One worker, so one call at a time. */
void __wrap_tsi_front_diagonal(tsi_numeric *numeric, const tsi_front_stripe *stripe, tsi_index f,
                               tsi_index panel) {
  const tsi_panels *panels = numeric->analysis->panels;
  if (tsi_factorization_shares(numeric->dag, panels->supernode[panel]) && ++count == fatal) raise(SIGKILL);
  __real_tsi_front_diagonal(numeric, stripe, f, panel);
}

int main(int argc, char **argv) {
  CHECK(argc == 4);
  CLEANUP(close_world) world w = open_world_of(strcmp(argv[1], "serial") != 0);
  const int victim = atoi(argv[2]);
  CLEANUP(tristar_distributed_destroy) tristar_distributed_t *d;
  w.ts->fronts = small;
  if (w.rank == victim) fatal = atol(argv[3]);
  const tristar_layout layout = grid(&w, 1);
  wish o = wish_of(&layout, TRISTAR_METHOD_LLT);
  o.options.transport = TRISTAR_TRANSPORT_DIRECT;
  o.analysis.merge = TRISTAR_MERGE_NONE; /* panels of 8 columns */
  CLEANUP(release_shared)
  shared_matrix s = share_matrix(&w, "poisson3d7", 12, &typed_double, TRISTAR_SYMMETRIC);
  CLEANUP(tristar_dmatrix_destroy) tristar_dmatrix_t *matrix = make(&w, &s.rows);
  CHECK_OK(tristar_dmatrix_factor(matrix, &o.analysis, &o.options, &d));
  same_solutions("nobody was killed", &s, d, d);
  if (w.rank == victim) printf("%ld blocks\n", count);
  return 0;
}
