/* The matrix of a distributed factor: each rank has the rows that belong to the columns of the factor that
 * are at home there.
 *
 * Job. Take the matrix out of the factor of rank 0, in the final order and with both triangles, and give each
 * rank its rows, or take rows that somebody else brings (dmatrix_home.c); say where the entries are that
 * they meet.
 *
 * Reads   the factor of rank 0; layout and share of the process.   Writes  a tsi_rows_matrix that owns its
 * arrays. Invariants
 *   - row i is row column[i] of the final order, whose column is at home here; column ascends
 *   - an entry's index is a place here, below n, or n + a ghost (halo.h)
 *   - scalings are those of the process, by place */
#ifndef TSI_RUNTIME_MPI_MATRIX_REFINE_ROWS_H
#define TSI_RUNTIME_MPI_MATRIX_REFINE_ROWS_H

#include "runtime/mpi/comm/halo.h"
#include "runtime/mpi/matrix/rows.h"
#include "runtime/mpi/comm/shipment.h"

typedef struct tsi_rows_matrix {
  tsi_index n;
  tsi_index *column;  /* n */
  tsi_index *local;   /* n: local columns of the share */
  tsi_index *user[2]; /* n: the user's rows, and columns; NULL: of a matrix of rows on all ranks */
  tsi_count *ptr;     /* n + 1 */
  tsi_index *index;
  void *values; /* of the user's scalar type */
  tsi_halo *halo;
  double *row_scale, *col_scale; /* n; NULL: ones */
  void *vector;                  /* n + ghosts scalars of 16 bytes: scratch */
} tsi_rows_matrix;

/* Where the rows come from. bring: collective; own: to be filled with the rows that are at home here, in the
 * order of m->column; `pattern` is set, the same on all ranks; indices are columns of the final order.
 * Errors: MEMORY, RUNTIME, the same on all ranks. */
typedef struct tsi_rows_source {
  tristar_status (*bring)(const struct tsi_rows_source *source, tsi_env *env, tsi_transport *transport,
                          const tsi_process *process, const tsi_rows_matrix *m, tsi_shipment *own);
  const void *from;
} tsi_rows_source;
/* From rank 0: a factor with its matrix; NULL elsewhere. */
tsi_rows_source tsi_rows_of_factor(const tristar_factor_t *factor);

/* Collective. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_rows_matrix_create(tsi_env *env, tsi_transport *transport,
                                                      const tsi_process *process,
                                                      const tsi_rows_source *source, tsi_rows_matrix **out);
void tsi_rows_matrix_destroy(tsi_env *env, tsi_rows_matrix **matrix);
/* Collective. New values on the same pattern, and scalings. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_rows_matrix_update(tsi_env *env, tsi_transport *transport,
                                                      const tsi_process *process,
                                                      const tsi_rows_source *source, tsi_rows_matrix *matrix);

/* The rows, for a system. */
static inline tsi_sparse tsi_rows_matrix_sparse(const tsi_rows_matrix *matrix) {
  return (tsi_sparse){.n = matrix->n,
                      .by_rows = true,
                      .symmetry = TRISTAR_GENERAL,
                      .ptr = matrix->ptr,
                      .index = matrix->index,
                      .values = matrix->values};
}

/* What a system does with its matrix (runtime/iterate/refine/system.h): collective. */
/* *all = x and its ghosts, until the next call. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_rows_matrix_take(tsi_env *env, const tsi_rows_matrix *matrix, size_t bytes,
                                                    const void *x, const void **all);
/* Room for a result and, set to zero, for the shares of others; local. */
void *tsi_rows_matrix_room(const tsi_rows_matrix *matrix, size_t bytes);
/* y = what was made in that room, here and by others. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_rows_matrix_give(tsi_env *env, const tsi_rows_matrix *matrix, size_t bytes,
                                                    void *y, tsi_add_at *add);

/* Columns between vectors of the rows that are at home here and the local rows of a slot; scalars of `bytes`.
 */
void tsi_rows_matrix_move(const tsi_rows_matrix *matrix, size_t bytes, tsi_index nrhs, tsi_row_array local,
                          tsi_row_array vectors, bool to_local);

#endif
