/* A triangle by rows, made from its columns in place.
 *
 * Job. Count the entries of each row. Then visit the columns in the order of a sweep, and append each entry
 * to its row. When a column is visited, all predecessors of its row have been visited: so the level set of
 * each row is computed at the same time. Values are verified while they are in the cache.
 *
 * Reads   columns, such as the arrays of a view. If they are out of order, nothing is made.
 * Writes  rows and their level sets, owned by the caller.
 * Invariants: rows ascend; level[i] is one more than the highest level of the rows that row i waits for, 0 if
 * there are none. */
#pragma once

#include "codelets/cpu/rows/sparse.h"
#include "runtime/matrix/entries.h"

/* The columns of a triangle: ptr ascends from 0, and the first and last index of each column are inside the
 * triangle; the others need not be. */
typedef struct tsi_column_arrays {
  tsi_index n;
  bool lower;
  char scalar;
  const tsi_count *ptr;
  const tsi_index *index;
  const void *values;
  tsi_count falls; /* Number of columns whose first index is not above the last one of the column before. */
} tsi_column_arrays;

/* Properties of the values, found while they were copied. */
typedef struct tsi_triangle_values {
  bool finite;    /* All values are finite; false: not verified. */
  void *diagonal; /* n, owned by the caller, 0 for rows without a diagonal entry; NULL: not copied */
} tsi_triangle_values;

typedef struct tsi_turned {
  tsi_entries rows;
  tsi_index *level; /* n */
  tsi_index levels;
  tsi_triangle_values properties;
} tsi_turned;

/* *done: all columns ascend, and an index can count the entries. Otherwise `out` is empty. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_triangle_turn(tsi_env *env, const tsi_column_arrays *columns, bool *done,
                                                 tsi_turned *out);
void tsi_turned_finish(tsi_turned *turned);
