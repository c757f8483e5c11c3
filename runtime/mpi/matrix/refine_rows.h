/* The matrix of a distributed factor, for refinement: each rank has the rows whose columns are at home on it.
 *
 * Job. Send the rows of the final order, with both triangles, from the ranks that have them (rank 0 or all)
 * to their homes (bring_rows.c); find the ghosts of these rows and their owners.
 *
 * Reads   rows of this rank; layout and share of the process.   Writes  a tsi_rows_matrix that owns its
 * arrays.
 * Invariants
 *   - row i is row column[i] of the final order, and this column is at home on this rank; column ascends
 *   - the index of an entry is its position on this rank, below n, or n + a ghost (halo.h)
 *   - scalings are those of the process, by position */
#pragma once

#include "runtime/mpi/comm/halo.h"
#include "runtime/mpi/matrix/rows.h"

typedef struct tsi_rows_matrix {
  tsi_index n;
  tsi_index *column;  /* n */
  tsi_index *local;   /* n: local columns of the share */
  tsi_index *user[2]; /* n: rows, and columns, in the order of the user */
  tsi_count *ptr;     /* n + 1 */
  tsi_index *index;
  void *values; /* values in the user's scalar type */
  tsi_halo *halo;
  double *row_scale, *col_scale; /* n scalings; NULL: all are 1 */
  double *weight[2]; /* n: row_weight and col_weight (factor.h) of the factor of rank 0; NULL: it has no
                        weights */
  void *vector;      /* n + ghosts numbers of tsi_halo_bytes: scratch */
} tsi_rows_matrix;

/* Source of rows: this rank passes n rows in any order; each row is on one rank. */
typedef struct tsi_rows_source {
  tsi_index n;          /* number of rows of this rank */
  const tsi_index *row; /* n: row numbers in the final order; NULL: 0 .. n - 1 */
  /* Selects a row, 0 .. n - 1; returns its length. */
  tsi_index (*seek)(void *context, tsi_index row);
  /* Writes entries from .. from + count - 1 of the selected row: columns of the final order, or values. */
  void (*columns)(void *context, tsi_index from, tsi_index count, tsi_index *to);
  void (*values)(void *context, tsi_index from, tsi_index count, char *to);
  void *context;
} tsi_rows_source;

/* The matrix of a factor of rank 0 as a source: rows of the final order. */
typedef struct tsi_rows_of_factor {
  tsi_entries whole;
  tsi_index row; /* selected row */
  tsi_rows_source source;
} tsi_rows_of_factor;
/* Local. factor: NULL on other ranks. *out must not move in memory, and the caller finishes it whatever the
 * status. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_rows_of_factor_begin(tsi_env *env, const tristar_factor_t *factor,
                                                        tsi_rows_of_factor *out);
void tsi_rows_of_factor_finish(tsi_rows_of_factor *rows);

/* The functions below are collective. mine: an earlier failure of this rank. Errors: mine; MEMORY, RUNTIME.
 */

TRISTAR_CHECKED tristar_status tsi_rows_matrix_create(tsi_env *env, tsi_transport *transport,
                                                      const tsi_process *process, tristar_status mine,
                                                      const tsi_rows_source *source, tsi_rows_matrix **out);
/* Takes new values on the same pattern, and scalings. Errors: also FORMAT (a row has another length: a wrong
 * file was loaded). */
TRISTAR_CHECKED tristar_status tsi_rows_matrix_update(tsi_env *env, tsi_transport *transport,
                                                      const tsi_process *process, tristar_status mine,
                                                      const tsi_rows_source *source, tsi_rows_matrix *matrix);
/* Receives the values of the rows that are at home on this rank and, the first time, ptr and index. index
 * then holds columns of the final order. */
TRISTAR_CHECKED tristar_status tsi_rows_bring(tsi_env *env, tsi_transport *transport,
                                              const tsi_process *process, tristar_status mine,
                                              const tsi_rows_source *source, tsi_rows_matrix *matrix);
void tsi_rows_matrix_destroy(tsi_rows_matrix **matrix);

/* The rows as a sparse matrix, for a system. */
static inline tsi_sparse tsi_rows_matrix_sparse(const tsi_rows_matrix *matrix) {
  return (tsi_sparse){.n = matrix->n,
                      .by_rows = true,
                      .symmetry = TRISTAR_GENERAL,
                      .ptr = matrix->ptr,
                      .index = matrix->index,
                      .values = matrix->values};
}

/* Functions of a system (runtime/iterate/refine/system.h). */
/* *all = x and its ghosts, valid until the next call. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_rows_matrix_take(tsi_env *env, const tsi_rows_matrix *matrix, size_t bytes,
                                                    const void *x, const void **all);
/* Returns a buffer for a result and for the shares of other ranks; these shares are set to zero. Local. */
void *tsi_rows_matrix_space(const tsi_rows_matrix *matrix, size_t bytes);
/* y = the sum of the results in these buffers, of this rank and of other ranks. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_rows_matrix_give(tsi_env *env, const tsi_rows_matrix *matrix, size_t bytes,
                                                    void *y, tsi_add_at *add);

/* Copies nrhs columns between vectors of the rows that are at home on this rank and the local rows of a slot;
 * scalars of `bytes`. */
void tsi_rows_matrix_move(const tsi_rows_matrix *matrix, size_t bytes, tsi_index nrhs, tsi_row_array local,
                          tsi_row_array vectors, bool to_local);
