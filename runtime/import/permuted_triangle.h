/* A triangle T, and the matrix A that is solved with where A is T with rows and columns permuted and scaled:
 *
 *   row_scale[r] A(r, c) column_scale[c] = T(k, l)      r = row_order[k], c = column_order[l]
 *
 * Reads   a view, tristar_triangle_options.   Writes  T and A, the caller's.
 * Invariants: both are GENERAL and by the same lines, which ascend; orders and scales were checked before
 * there is A. */
#pragma once

#include "runtime/factor/factor.h"
#include "runtime/matrix/triangle_turn.h"

typedef struct tsi_permuted_triangle {
  tsi_pattern *pattern, *matrix; /* of T, of A; matrix NULL: A is T */
  void *values, *matrix_values;  /* of both */
  tsi_index *level;              /* n: of T's rows, found on the way (triangle_turn.h); NULL: not known */
  tsi_index levels;
  tsi_triangle_values known; /* of T */
  bool later;                /* its streams are made by the first solve that needs them, not at once */
} tsi_permuted_triangle;

void tsi_permuted_triangle_finish(tsi_permuted_triangle *t);

/* T from a view, which may have it as A does. Orders are NULL where they are 0, 1, 2, ... Errors: as of
 * tristar_import_triangle; nothing is to be finished then. */
TRISTAR_CHECKED tristar_status tsi_permuted_triangle_take(tsi_env *env, const tristar_view *view,
                                                          const tristar_triangle_options *options,
                                                          tsi_permuted_triangle *t);
/* T by rows where the columns lie in the arrays of the view, as they are: nothing happens if they do not
 * ascend. Errors: MEMORY; nothing is to be finished then. */
TRISTAR_CHECKED tristar_status tsi_permuted_triangle_turn_columns(tsi_env *env,
                                                                  const tsi_column_arrays *columns,
                                                                  tsi_permuted_triangle *t);
/* The same of a T that was taken by columns, before there is A. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_permuted_triangle_turn(tsi_env *env, bool lower, tsi_permuted_triangle *t);
/* A from T, if the options make it another matrix. Errors: FORMAT (orders, scales), NOT_FINITE (an entry of A
 * is out of range), MEMORY. */
TRISTAR_CHECKED tristar_status tsi_permuted_triangle_make_matrix(tsi_env *env,
                                                                 const tristar_triangle_options *options,
                                                                 tsi_permuted_triangle *t);
