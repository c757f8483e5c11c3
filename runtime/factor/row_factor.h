/* A triangular matrix that is solved row by row: its entries in the order of a cut (partition/row_chunks.h).
 *
 * F is the matrix, or its transpose if that is the lower triangular one (factor.h). The forward sweep reads
 * rows of F, the backward one its columns. Each has two forms, made when a solve needs them first: a stream,
 * numbered as the user numbers rows, for one right-hand side that is solved in place; and rows numbered as
 * they lie in a workspace, for all other solves.
 *
 * Reads   the lines of an import, which must outlive it, or are its own.
 * Writes  its own arrays.
 * Invariants
 *   - entries of a row come in the order in which the sweep through the given matrix finds their x, whatever
 * the cut: ascending forward, descending backward. No sum depends on the cut, and the latest x is waited for
 * last
 *   - sweep[k] and matrix[k] are immutable once they are there, until there are new values; every value is
 *     finite */
#ifndef TSI_RUNTIME_FACTOR_ROW_FACTOR_H
#define TSI_RUNTIME_FACTOR_ROW_FACTOR_H

#include <pthread.h>

#include "codelets/cpu/spmv.h"
#include "partition/row_chunks.h"
#include "runtime/matrix/pattern.h"

/* The arrays of a sweep. */
typedef struct tsi_row_arrays {
  tsi_index *row;
  tsi_count *ptr;
  tsi_index *index;
  uint16_t *offset;
  void *values, *inverse;
  tsi_index *run_ptr;
  tsi_row_run *run;
} tsi_row_arrays;

/* Rows for a workspace. */
typedef struct tsi_row_matrix {
  tsi_count *ptr;
  tsi_index *index;
  void *values, *inverse;
  tsi_triangle_rows rows; /* for the kernels; ptr NULL: not there */
} tsi_row_matrix;

typedef struct tsi_row_factor {
  pthread_mutex_t lock; /* guards the making of what follows */
  tsi_row_cut *cut;
  tsi_lines lines;          /* as given, ascending, diagonal included */
  const void *values;       /* of their entries */
  tsi_pattern *own_pattern; /* what both point into, where that is not the matrix of the factor; else NULL */
  void *own_values;
  size_t scalar_bytes;
  void *inverse;           /* n: of the diagonal, as given */
  tsi_row_arrays array[2]; /* forward, backward */
  tsi_row_sweep sweep[2];  /* for the kernels; row NULL: not there */
  tsi_row_matrix matrix[2];
} tsi_row_factor;

/* Takes over the cut, also on failure. The lines have room for values already. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_row_factor_create(tsi_env *env, tsi_row_cut *cut, const tsi_lines *lines,
                                                     const void *values, size_t scalar_bytes,
                                                     tsi_row_factor **out);
void tsi_row_factor_destroy(tsi_env *env, tsi_row_factor **rows);

/* There are new values: sweeps are filled again when they are needed, in the arrays that they have. name: "L"
 * or "U". Errors: SINGULAR (a zero on the diagonal), NOT_FINITE (also an inverse out of range), MEMORY. */
TRISTAR_CHECKED tristar_status tsi_row_factor_fill(tsi_env *env, char scalar, const char *name,
                                                   tsi_row_factor *rows);

/* What a sweep reads that solves one right-hand side in place. Any thread may ask. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_row_factor_sweep(tsi_env *env, tsi_row_factor *rows, bool backward,
                                                    const tsi_row_sweep **out);
/* What a sweep reads that works in a workspace. Any thread may ask. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_row_factor_rows(tsi_env *env, tsi_row_factor *rows, bool backward,
                                                   const tsi_triangle_rows **out);

#endif
