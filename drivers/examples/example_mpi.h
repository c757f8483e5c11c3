/* Helpers shared by example_*_mpi.c: the context and the ranks, errors, memory.
 *
 * Reads   its arguments.   Writes  messages to stderr.
 *
 * A failure on one rank ends all ranks: these are small programs. */
#ifndef TSI_DRIVERS_EXAMPLES_EXAMPLE_MPI_H
#define TSI_DRIVERS_EXAMPLES_EXAMPLE_MPI_H

#include <stdio.h>
#include <stdlib.h>
#include <tristar_mpi.h>

static tristar_t *ts;
static int rank, ranks;

static inline void check(tristar_status status) {
  char message[512] = "";
  if (status == TRISTAR_OK) return;
  tristar_get_error(ts, message, sizeof message);
  fprintf(stderr, "%s: %s\n", tristar_status_name(status), message);
  MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

/* Allocates zeros. */
static inline void *allocate(int64_t count, size_t size) {
  void *array = calloc((size_t)count + 1, size);
  if (array == NULL) MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  return array;
}

/* Starts MPI, and a context whose StarPU workers share the cores with the other ranks of the machine. */
static inline void start_mpi(int *argc, char ***argv) {
  int level;
  tristar_config config;
  MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  tristar_config_init(&config);
  check(tristar_mpi_share_cores(MPI_COMM_WORLD, &config));
  check(tristar_create(&config, &ts));
}

/* Returns the exit status of the program. */
static inline int end_mpi(int good) {
  tristar_destroy(&ts);
  MPI_Finalize();
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* View of rows of a matrix with n columns. The arrays stay the caller's. */
static inline tristar_view view_rows(tristar_symmetry symmetry, int64_t rows, int64_t n, const int64_t *ptr,
                                     const int64_t *index, const double *value) {
  return (tristar_view){.format = TRISTAR_CSR,
                        .symmetry = symmetry,
                        .scalar = TRISTAR_DOUBLE,
                        .rows = rows,
                        .cols = n,
                        .ptr = ptr,
                        .index = index,
                        .values = value,
                        .ptr_bits = 64,
                        .index_bits = 64};
}

#endif
