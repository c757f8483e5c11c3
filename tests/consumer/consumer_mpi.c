/* Solves a tridiagonal system on a communicator of one process, with only the installed headers. The solution
 * is ones. CONSUMER_INSERT: among StarPU-MPI tasks. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef CONSUMER_INSERT
#include <tristar_starpu_mpi.h>

#include <starpu_mpi.h>
#else
#include <tristar_mpi.h>
#endif

enum { N = 100 };

#ifdef CONSUMER_INSERT
static tristar_status solve(tristar_distributed_t *distributed, double *b) {
  starpu_data_handle_t handle;
  starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)b, N, sizeof *b);
  starpu_mpi_data_register(handle, 1, 0);
  tristar_status status = tristar_distributed_insert(distributed, TRISTAR_N, 1, &handle, 1, &handle);
  if (status == TRISTAR_OK) status = tristar_distributed_wait(distributed);
  starpu_data_unregister(handle);
  return status;
}
#else
static tristar_status solve(tristar_distributed_t *distributed, double *b) {
  return tristar_distributed_solve(distributed, TRISTAR_N, 1, b, N, b, N);
}
#endif

int main(int argc, char **argv) {
  int64_t ptr[N + 1];
  int32_t row[2 * N], p = 0;
  double value[2 * N], b[N], worst = 0;
  int level = 0;
  tristar_t *ts = NULL;
  tristar_analysis_t *analysis = NULL;
  tristar_factor_t *factor = NULL;
  tristar_distributed_t *distributed = NULL;
  for (int32_t j = 0; j < N; j++) { /* the lower triangle of tridiag(-1, 3, -1) */
    ptr[j] = p;
    row[p] = j, value[p++] = 3;
    if (j + 1 < N) row[p] = j + 1, value[p++] = -1;
    b[j] = j == 0 || j + 1 == N ? 2 : 1;
  }
  ptr[N] = p;
  const tristar_view view = {.format = TRISTAR_CSC,
                             .symmetry = TRISTAR_SYMMETRIC,
                             .scalar = TRISTAR_DOUBLE,
                             .rows = N,
                             .cols = N,
                             .ptr = ptr,
                             .index = row,
                             .values = value,
                             .ptr_bits = 64,
                             .index_bits = 32};
  if (MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level) != MPI_SUCCESS) return EXIT_FAILURE;
#ifdef CONSUMER_INSERT
  if (starpu_init(NULL) != 0 || starpu_mpi_init_comm(NULL, NULL, 0, MPI_COMM_WORLD) != 0) return EXIT_FAILURE;
#endif
  tristar_status status = tristar_create(NULL, &ts);
  if (status == TRISTAR_OK) status = tristar_analyze(ts, &view, NULL, &analysis);
  if (status == TRISTAR_OK) status = tristar_factor(analysis, value, &factor);
  if (status == TRISTAR_OK) status = tristar_distribute(ts, MPI_COMM_WORLD, factor, NULL, &distributed);
  if (status == TRISTAR_OK) status = solve(distributed, b);
  for (int j = 0; j < N; j++) worst = fmax(worst, fabs(b[j] - 1));
  printf("TriStar %s with MPI: %s, error %.2e\n", tristar_version(), tristar_status_name(status), worst);
  tristar_distributed_destroy(&distributed);
  tristar_factor_destroy(&factor);
  tristar_analysis_destroy(&analysis);
  tristar_destroy(&ts);
#ifdef CONSUMER_INSERT
  starpu_mpi_shutdown();
  starpu_shutdown();
#endif
  MPI_Finalize();
  return status == TRISTAR_OK && worst < 1e-14 ? EXIT_SUCCESS : EXIT_FAILURE;
}
