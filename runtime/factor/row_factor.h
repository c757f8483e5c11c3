/* A triangular matrix that is solved row by row: its entries in the order of a cut (partition/row_chunks.h).
 *
 * F is the matrix, or its transpose if that is the lower triangular one (factor.h). The forward sweep reads
 * rows of F, the backward one its columns; one of the two is what was imported, and the other is made when a
 * solve needs it first.
 *
 * Reads   the lines of an import.
 * Writes  its own arrays.
 * Invariants
 *   - entries of a line come in the ascending order of the given matrix, whatever the cut: no sum depends on
 * it
 *   - matrix[k] is immutable once it is there; every value is finite */
#ifndef TSI_RUNTIME_FACTOR_ROW_FACTOR_H
#define TSI_RUNTIME_FACTOR_ROW_FACTOR_H

#include <pthread.h>

#include "codelets/cpu/spmv.h"
#include "partition/row_chunks.h"

typedef struct tsi_row_matrix {
  tsi_count *ptr;
  tsi_index *index;
  void *values;
  tsi_triangle_rows rows; /* for the kernels; ptr NULL: not there */
} tsi_row_matrix;

typedef struct tsi_row_factor {
  pthread_mutex_t lock; /* guards the making of a matrix */
  tsi_row_cut *cut;
  size_t scalar_bytes;
  tsi_row_matrix matrix[2]; /* rows of F; columns of F */
  void *inverse;            /* n: of the diagonal */
} tsi_row_factor;

/* Takes over the cut, also on failure. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_row_factor_create(tsi_env *env, tsi_row_cut *cut, size_t scalar_bytes,
                                                     tsi_row_factor **out);
void tsi_row_factor_destroy(tsi_env *env, tsi_row_factor **rows);

/* The values of the lines that the cut was made of, diagonal included. name: "L" or "U". Errors: SINGULAR (a
 * zero on the diagonal), NOT_FINITE (also an inverse out of range), MEMORY. */
TRISTAR_CHECKED tristar_status tsi_row_factor_fill(tsi_env *env, const tsi_lines *lines, const void *values,
                                                   char scalar, const char *name, tsi_row_factor *rows);

/* What a sweep reads. Any thread may ask. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_row_factor_rows(tsi_env *env, tsi_row_factor *rows, bool backward,
                                                   const tsi_triangle_rows **out);

/* The pattern in the order of the cut, of that matrix which is there: diagonals are left out. */
tsi_lines tsi_row_factor_lines(const tsi_row_factor *rows);

#endif
