/* A matrix by rows in full, for products: both triangles of a symmetric kind, each entry of a row once.
 *
 * Job. Turn the user's matrix, whatever its format, into rows once, and its new values into theirs.
 *
 * Reads   a tristar_view, values in its order.   Writes  arrays of its own.
 * Invariants (tsi_rows_check)
 *   - ptr ascends from 0; 0 <= index < n
 *   - from[q] = p: value q of the rows is value p of the pattern; ~p: that of its mirror image */
#ifndef TSI_RUNTIME_KRYLOV_ROWS_H
#define TSI_RUNTIME_KRYLOV_ROWS_H

#include "codelets/cpu/krylov.h"
#include "runtime/matrix/pattern.h"

typedef struct tsi_rows {
  tsi_pattern *pattern; /* the user's matrix */
  tsi_count *ptr;       /* n + 1 */
  tsi_index *index;     /* ptr[n] */
  tsi_count *from;      /* ptr[n] */
  void *taken;          /* the values of the pattern's entries */
  void *values;         /* ptr[n] */
  size_t bytes;         /* of these arrays */
} tsi_rows;

/* Errors: those of tsi_pattern_create; MEMORY. After a failure tsi_rows_finish is to be called all the same.
 */
TRISTAR_CHECKED tristar_status tsi_rows_begin(tsi_env *env, const tristar_view *view, tsi_rows *rows);
void tsi_rows_finish(tsi_env *env, tsi_rows *rows);

/* Errors: those of tsi_pattern_check_values; the values are of no use then. */
TRISTAR_CHECKED tristar_status tsi_rows_update(tsi_env *env, tsi_rows *rows,
                                               const tsi_krylov_kernels *kernels, const void *values);

/* Verifies the invariants above: INTERNAL names the first that is broken. */
TRISTAR_CHECKED tristar_status tsi_rows_check(tsi_env *env, const tsi_rows *rows);

/* For the kernels. */
static inline tsi_matrix_rows tsi_rows_matrix(const tsi_rows *rows) {
  return (tsi_matrix_rows){rows->ptr, rows->index, rows->values};
}

#endif
