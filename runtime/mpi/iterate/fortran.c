/* Communicators of Fortran: tristar_fortran_mpi.h. */
#include "tristar_fortran_mpi.h"

tristar_status tristar_mpi_share_cores_f(MPI_Fint comm, tristar_config *config) {
  return tristar_mpi_share_cores(MPI_Comm_f2c(comm), config);
}

tristar_status tristar_matrix_gather_f(tristar_t *ts, MPI_Fint comm, const tristar_view *rows,
                                       tristar_matrix_t **matrix) {
  return tristar_matrix_gather(ts, MPI_Comm_f2c(comm), rows, matrix);
}

tristar_status tristar_distributed_factor_f(tristar_t *ts, MPI_Fint comm, tristar_analysis_t *analysis,
                                            const void *values, const tristar_distributed_options *options,
                                            tristar_distributed_t **out) {
  return tristar_distributed_factor(ts, MPI_Comm_f2c(comm), analysis, values, options, out);
}

tristar_status tristar_distribute_f(tristar_t *ts, MPI_Fint comm, tristar_factor_t *factor,
                                    const tristar_distributed_options *options, tristar_distributed_t **out) {
  return tristar_distribute(ts, MPI_Comm_f2c(comm), factor, options, out);
}

tristar_status tristar_distributed_load_f(tristar_t *ts, MPI_Fint comm, const char *prefix,
                                          const tristar_distributed_options *options,
                                          tristar_distributed_t **out) {
  return tristar_distributed_load(ts, MPI_Comm_f2c(comm), prefix, options, out);
}

tristar_status tristar_spread_triangle_f(tristar_t *ts, MPI_Fint comm, const tristar_factor_t *factor,
                                         const tristar_spread_options *options,
                                         tristar_spread_triangle_t **out) {
  return tristar_spread_triangle(ts, MPI_Comm_f2c(comm), factor, options, out);
}

tristar_status tristar_dmatrix_create_f(tristar_t *ts, MPI_Fint comm, const tristar_view *rows,
                                        const tristar_dmatrix_options *options, tristar_dmatrix_t **matrix) {
  return tristar_dmatrix_create(ts, MPI_Comm_f2c(comm), rows, options, matrix);
}

tristar_status tristar_dmatrix_generate_f(tristar_t *ts, MPI_Fint comm, const char *kind, int64_t k,
                                          const tristar_dmatrix_options *options,
                                          tristar_dmatrix_t **matrix) {
  return tristar_dmatrix_generate(ts, MPI_Comm_f2c(comm), kind, k, options, matrix);
}

tristar_status tristar_dmatrix_read_f(tristar_t *ts, MPI_Fint comm, const char *path,
                                      const tristar_dmatrix_options *options, tristar_dmatrix_t **matrix) {
  return tristar_dmatrix_read(ts, MPI_Comm_f2c(comm), path, options, matrix);
}
