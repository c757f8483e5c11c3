/* A triangle T, and the matrix A of the solves, which is T with permuted and scaled rows and columns:
 *
 *   row_scale[r] A(r, c) column_scale[c] = T(k, l)      r = row_order[k], c = column_order[l]
 *
 * Reads   a view, tristar_triangle_options.   Writes  T and A, which the caller owns.
 * Invariants: both are GENERAL and have the same kind of lines, which ascend; A exists only after orders and
 * scales were checked. */
#pragma once

#include "runtime/factor/factor.h"
#include "runtime/matrix/triangle_turn.h"

typedef struct tsi_permuted_triangle {
  tsi_pattern *pattern, *matrix; /* patterns of T and of A; matrix NULL: A is T */
  void *values, *matrix_values;  /* values of T and of A */
  tsi_index
      *level; /* n: level sets of the rows of T, computed on the way (triangle_turn.h); NULL: not computed */
  tsi_index levels;
  tsi_triangle_values properties; /* facts about the values of T */
  bool later;                     /* the first solve that needs the streams makes them; false: made at once */
} tsi_permuted_triangle;

void tsi_permuted_triangle_finish(tsi_permuted_triangle *t);

/* Makes T from a view, which may contain T, or A. Orders are NULL for 0, 1, 2, ... Errors: those of
 * tristar_import_triangle; then the caller has nothing to finish. */
TRISTAR_CHECKED tristar_status tsi_permuted_triangle_take(tsi_env *env, const tristar_view *view,
                                                          const tristar_triangle_options *options,
                                                          tsi_permuted_triangle *t);
/* Makes T by rows from columns in the arrays of the view. If the columns do not ascend, t stays empty.
 * Errors: MEMORY; then the caller has nothing to finish. */
TRISTAR_CHECKED tristar_status tsi_permuted_triangle_turn_columns(tsi_env *env,
                                                                  const tsi_column_arrays *columns,
                                                                  tsi_permuted_triangle *t);
/* The same for a T that was taken by columns, before A exists. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_permuted_triangle_turn(tsi_env *env, bool lower, tsi_permuted_triangle *t);
/* Makes A from T, if the options make it another matrix. Errors: FORMAT (orders, scales), NOT_FINITE (an
 * entry of A is out of range), MEMORY. */
TRISTAR_CHECKED tristar_status tsi_permuted_triangle_make_matrix(tsi_env *env,
                                                                 const tristar_triangle_options *options,
                                                                 tsi_permuted_triangle *t);
