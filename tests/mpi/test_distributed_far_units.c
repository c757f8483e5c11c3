/* Imported factors on ranks, of matrices whose rows have units of very different sizes: each row is solved to
 * the accuracy of its own unit.
 *
 *   test_distributed_far_units */
#include "tests/support/context.h"
#include "tests/support/systems/far_units.h"
#include "tristar_mpi.h"

/* Rank 0 imports the factor and has b and x. */
static void check_import(tristar_t *ts, int rank, int ranks, tristar_method method, uint64_t seed) {
  static factored f;
  static const tristar_op ops[] = {TRISTAR_N, TRISTAR_T};
  tristar_distributed_options layout = DEFAULTS(tristar_distributed_options);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NULL;
  CLEANUP(tristar_distributed_destroy) tristar_distributed_t *d = NULL;
  layout.layout.px = ranks;
  make_matrix(&f.a, method, TRISTAR_DOUBLE, units_of(TRISTAR_DOUBLE), &seed);
  factor_it(&f, method, TRISTAR_DOUBLE);
  tristar_view view = make_view(&f.a, TRISTAR_DOUBLE, TRISTAR_GENERAL);
  if (rank == 0) factor = import(ts, &f, method, TRISTAR_DOUBLE, &view);
  CHECK_OK(tristar_distribute(ts, MPI_COMM_WORLD, factor, &layout, &d));
  const int n = f.a.n;
  for (int k = 0; k < 4; k++) {
    double b[N_MAX], x[N_MAX];
    truth t;
    find_truth(&f, true, ops[k / 2], &t);
    for (int i = 0; i < n; i++) put(TRISTAR_DOUBLE, k % 2 ? x : b, i, draw(&seed, false));
    if (k % 2) multiply_truth(&t, n, TRISTAR_DOUBLE, x, b);
    CHECK_OK(tristar_distributed_solve(d, ops[k / 2], 1, b, n, x, n));
    if (rank > 0) continue;
    const long double error = error_of(&t, n, TRISTAR_DOUBLE, b, x);
    CHECK_MSG(error <= bound_of(TRISTAR_DOUBLE), "method %d, n %d, op %c: %Lg", (int)method, n,
              (int)ops[k / 2], error);
  }
  free_view(&view);
}

int main(void) {
  int level, rank, ranks;
  CHECK(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level) == MPI_SUCCESS);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  tristar_t *ts = open_without_starpu(true);
  for (uint64_t seed = 2100; seed < 2400; seed++) check_import(ts, rank, ranks, TRISTAR_METHOD_LDLT, seed);
  close_context(&ts);
  MPI_Finalize();
  return 0;
}
