/* TriStar: functions of tristar_mpi.h and tristar_dmatrix_mpi.h for Fortran, where a communicator is an
 * integer.
 *
 * Each does what the function without _f does. comm: of the modules mpi and mpif.h, or the component mpi_val
 * of mpi_f08. The module tristar_mpi of Fortran has them under the names without _f. */
#ifndef TRISTAR_FORTRAN_MPI_H
#define TRISTAR_FORTRAN_MPI_H

#include "tristar_dmatrix_mpi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Collective. See tristar_mpi_share_cores. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_mpi_share_cores_f(MPI_Fint comm, tristar_config *config);
/* Collective. See tristar_matrix_gather. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_matrix_gather_f(tristar_t *ts, MPI_Fint comm,
                                                                   const tristar_view *rows,
                                                                   tristar_matrix_t **matrix);
/* Collective. See tristar_distributed_factor. */
TRISTAR_API TRISTAR_CHECKED tristar_status
tristar_distributed_factor_f(tristar_t *ts, MPI_Fint comm, tristar_analysis_t *analysis, const void *values,
                             const tristar_distributed_options *options, tristar_distributed_t **out);
/* Collective. See tristar_distribute. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_distribute_f(tristar_t *ts, MPI_Fint comm,
                                                                tristar_factor_t *factor,
                                                                const tristar_distributed_options *options,
                                                                tristar_distributed_t **out);
/* Collective. See tristar_distributed_load. */
TRISTAR_API TRISTAR_CHECKED tristar_status
tristar_distributed_load_f(tristar_t *ts, MPI_Fint comm, const char *prefix,
                           const tristar_distributed_options *options, tristar_distributed_t **out);
/* Collective. See tristar_spread_triangle. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_spread_triangle_f(tristar_t *ts, MPI_Fint comm,
                                                                     const tristar_factor_t *factor,
                                                                     const tristar_spread_options *options,
                                                                     tristar_spread_triangle_t **out);
/* Collective. See tristar_dmatrix_create. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_dmatrix_create_f(tristar_t *ts, MPI_Fint comm,
                                                                    const tristar_view *rows,
                                                                    const tristar_dmatrix_options *options,
                                                                    tristar_dmatrix_t **matrix);
/* Collective. See tristar_dmatrix_generate. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_dmatrix_generate_f(tristar_t *ts, MPI_Fint comm,
                                                                      const char *kind, int64_t k,
                                                                      const tristar_dmatrix_options *options,
                                                                      tristar_dmatrix_t **matrix);
/* Collective. See tristar_dmatrix_read. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_dmatrix_read_f(tristar_t *ts, MPI_Fint comm,
                                                                  const char *path,
                                                                  const tristar_dmatrix_options *options,
                                                                  tristar_dmatrix_t **matrix);

#ifdef __cplusplus
}
#endif

#endif
