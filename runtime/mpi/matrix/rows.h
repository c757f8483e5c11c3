/* Redistribution of b and x between the ranks of the program's rows and the ranks that solve with them.
 *
 * Job. A rank passes a block of the user's rows, or rows that it lists. The home of the column of a row reads
 * or writes this row. Send rows in either direction along a route (route.h), for several right-hand sides at
 * a time. Rows that are passed by their home are copied directly.
 *
 * Reads   the final columns of the rows that this rank passes, layout and share of the process.
 * Writes  a tsi_rows that owns its arrays and is immutable afterwards; the arrays passed to it.
 * Invariants
 *   - rows between two ranks are sent in the order in which the passing rank passes them, so both sides use
 *     the same order
 *   - each row has one home */
#pragma once

#include "runtime/mpi/comm/route.h"
#include "runtime/process/process.h"

/* Lists of rows: first the rows that are sent, in the order of the route, then the rows passed by their home,
 * in the order in which they are passed. */
typedef struct tsi_rows {
  tsi_route route;  /* from ranks that pass rows to other ranks that are their homes */
  tsi_index own;    /* number of rows that this rank passes and is the home of */
  tsi_index *user;  /* row numbers in this rank's block or list */
  tsi_index *local; /* local columns of the rows at home on this rank */
} tsi_rows;

/* Collective. column: the final column of each row that this rank passes; each column is passed once, by one
 * rank. Errors: MEMORY, RUNTIME, the same on all ranks. */
TRISTAR_CHECKED tristar_status tsi_rows_create(tsi_env *env, tsi_transport *transport,
                                               const tsi_process *process, tsi_index count,
                                               const tsi_index *column, tsi_rows **out);
void tsi_rows_destroy(tsi_rows **rows);

/* An array of rows with nrhs columns. row and column: distances between rows and between columns, in scalars.
 */
typedef struct tsi_row_array {
  void *data;
  int64_t row, column;
} tsi_row_array;

/* Collective. Copies user to local, or back if to_user. user: the rows that this rank passes; local: rows of
 * local columns. bytes: of a scalar. buffer: tsi_rows_moved * nrhs scalars. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_rows_move(tsi_env *env, const tsi_rows *rows, size_t bytes, tsi_index nrhs,
                                             tsi_row_array user, tsi_row_array local, bool to_user,
                                             void *buffer);
static inline tsi_count tsi_rows_moved(const tsi_rows *rows) {
  return tsi_route_sent(&rows->route) + tsi_route_received(&rows->route);
}
