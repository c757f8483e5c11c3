/* A triangle by rows, made of its columns where they lie.
 *
 * Job. Count the entries of each row; then take column after column, in the order of a sweep, and put each
 * entry behind those that its row has already. When a column is taken all that its row waits for has been
 * seen: the level set of each row comes out on the way. Values are looked at while they are in the cache.
 *
 * Reads   columns, such as the arrays of a view, which may be out of order: then nothing is made.
 * Writes  rows and their level sets, the caller's.
 * Invariants: rows ascend; level[i] is one more than the highest of the rows that row i waits for, 0 if there
 * are none. */
#pragma once

#include "codelets/cpu/rows/sparse.h"
#include "runtime/matrix/entries.h"

/* The columns of a triangle: ptr ascends from 0, and the ends of each are inside; what lies between them need
 * not be. */
typedef struct tsi_column_arrays {
  tsi_index n;
  bool lower;
  char scalar;
  const tsi_count *ptr;
  const tsi_index *index;
  const void *values;
  tsi_count falls; /* columns whose first index is not above the last one of the column before */
} tsi_column_arrays;

/* What was seen of the values while they were moved. */
typedef struct tsi_triangle_values {
  bool finite;    /* all are known to be */
  void *diagonal; /* n, the caller's, 0 where there is no entry; NULL: not known */
} tsi_triangle_values;

typedef struct tsi_turned {
  tsi_entries rows;
  tsi_index *level; /* n */
  tsi_index levels;
  tsi_triangle_values known;
} tsi_turned;

/* *done: all columns ascend, and are no more entries than an index can tell; else `out` is empty. Errors:
 * MEMORY. */
TRISTAR_CHECKED tristar_status tsi_triangle_turn(tsi_env *env, const tsi_column_arrays *columns, bool *done,
                                                 tsi_turned *out);
void tsi_turned_finish(tsi_turned *turned);
