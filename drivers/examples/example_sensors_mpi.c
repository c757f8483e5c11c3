/* Responses of sensors to sources, on many processes: few rows of b are given, few rows of x are needed, and
 * several solves are in flight.
 *
 *   mpiexec -n P example_sensors_mpi [K [SENSORS]]
 *
 * A steady field on K x K x K points (12), and SENSORS of them (20) that are sources as well. Entry (i, j) of
 * the response is the field at sensor i for a unit source at sensor j: a column of A^-1, of which only a few
 * rows are needed. So a solve reads only the part of the factor on the paths between them. Each source is
 * given on one rank, in turn, and all sensors are read on the last one.
 *
 * Then the field of all sources together is computed as a whole, refined, with a bound of its error. The exit
 * status is 1 unless the response is symmetric, as A is, and its rows sum up to that field. */
#include <math.h>

#include "example_mpi.h"

enum { FLIGHTS = 4 };

/* Rank 0 analyzes, all ranks factor. The layout has one grid per process, or one grid of all if their number
 * is no power of two. */
static tristar_distributed_t *factor(const char *kind, int64_t k, int64_t *n) {
  tristar_matrix_t *matrix = NULL;
  tristar_analysis_t *analysis = NULL;
  tristar_view a = {.values = NULL};
  tristar_distributed_t *distributed;
  tristar_distributed_options options;
  tristar_distributed_options_init(&options);
  const int grids = (ranks & (ranks - 1)) == 0 ? ranks : 1;
  options.layout.px = ranks / grids;
  options.layout.pz = grids;
  if (rank == 0) {
    tristar_analysis_options requested;
    tristar_analysis_options_init(&requested);
    requested.leaf_parts = grids;
    check(tristar_matrix_generate(ts, kind, k, &matrix));
    tristar_matrix_get_view(matrix, &a);
    check(tristar_analyze(ts, &a, &requested, &analysis));
    *n = a.rows;
  }
  MPI_Bcast(n, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
  check(tristar_distributed_factor(ts, MPI_COMM_WORLD, analysis, a.values, &options, &distributed));
  tristar_analysis_destroy(&analysis);
  tristar_matrix_destroy(&matrix);
  return distributed;
}

/* response: count x count, column-major, on the last rank. Returns the share of the factor that a solve
 * reads. */
static double respond(tristar_distributed_t *distributed, int64_t count, const int64_t *sensor,
                      double *response) {
  static const double one = 1;
  tristar_distributed_request_t *request[FLIGHTS] = {NULL};
  tristar_solve_result result = {0};
  double share = 0;
  for (int64_t j = 0; j < count + FLIGHTS; j++) {
    if (j >= FLIGHTS) {
      check(tristar_distributed_solve_wait(&request[j % FLIGHTS], &result)); /* Solve j - FLIGHTS. */
      share += result.share / (double)count;
    }
    if (j >= count) continue;
    tristar_solve_options options;
    tristar_solve_options_init(&options);
    options.b_row =
        &sensor[j]; /* A list of one row on this rank, or of none: no rank passes its block of rows. */
    options.b_rows = j % ranks == rank ? 1 : 0;
    options.x_row = sensor;
    options.x_rows = rank == ranks - 1 ? count : 0;
    check(tristar_distributed_solve_start(distributed, &options, 1, &one, response + j * count,
                                          &request[j % FLIGHTS]));
  }
  return share;
}

/* Relative difference of the response from symmetry, and of its sums over sources from the whole field. */
static double defect(int64_t count, const int64_t *sensor, const double *response, const double *field) {
  double worst = 0, size = 0;
  for (int64_t i = 0; i < count; i++) {
    double sum = 0;
    for (int64_t j = 0; j < count; j++) {
      worst = fmax(worst, fabs(response[i + j * count] - response[j + i * count]));
      size = fmax(size, fabs(response[i + j * count]));
      sum += response[i + j * count];
    }
    worst = fmax(worst, fabs(sum - field[sensor[i]]));
  }
  return worst / size;
}

int main(int argc, char **argv) {
  int64_t n = 0;
  tristar_refine_options refine;
  tristar_refine_result refined;
  start_mpi(&argc, &argv);
  const int64_t k = argc > 1 ? atol(argv[1]) : 12, count = argc > 2 ? atol(argv[2]) : 20;
  if (k < 1 || count < 1 || count > k * k * k) {
    if (rank == 0) fprintf(stderr, "usage: example_sensors_mpi [K [SENSORS]], SENSORS at most K^3\n");
    return end_mpi(0);
  }
  tristar_distributed_t *distributed = factor("poisson3d7", k, &n);

  double *response = allocate(count * count, sizeof *response);
  double *field = allocate(n, sizeof *field), *sources = allocate(n, sizeof *sources);
  int64_t *sensor = allocate(count, sizeof *sensor);
  for (int64_t i = 0; i < count; i++) sources[sensor[i] = i * n / count] = 1;
  const double share = respond(distributed, count, sensor, response);

  /* The whole field: b and x on rank 0, and x also on the last rank. */
  tristar_refine_options_init(&refine);
  refine.forward_error = 1;
  check(
      tristar_distributed_solve_refined(distributed, TRISTAR_N, 1, sources, n, field, n, &refine, &refined));
  MPI_Bcast(field, (int)n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  double wrong = rank == ranks - 1 ? defect(count, sensor, response, field) : 0;
  MPI_Bcast(&wrong, 1, MPI_DOUBLE, ranks - 1, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("%d sensors in %d points, %d processes: a solve reads %.1f %% of the factor\n", (int)count, (int)n,
           ranks, 100 * share);
    printf("the whole field: backward error %.1e, error below %.1e\n", refined.backward_error,
           refined.forward_error);
    printf("the response is symmetric, and sums up to the field, to %.1e\n", wrong);
  }
  free(response);
  free(field);
  free(sources);
  free(sensor);
  tristar_distributed_destroy(&distributed);
  return end_mpi(wrong < 1e-10);
}
