/* Rows of b and x between the ranks that the program has them on and those that solve with them.
 *
 * Job. A rank passes a block of the user's rows, or rows that it lists; a row is read, or written, by the
 * process that is the home of its column. Move rows either way along a route (route.h), for a number of
 * right-hand sides at a time; rows that are at home where they are passed are copied at once.
 *
 * Reads   the final columns of the rows that this rank passes, layout and share of the process. Writes  a
 * tsi_rows that owns its arrays and is immutable afterwards; the arrays handed to it. Invariants
 *   - rows between two ranks travel in the order in which the one passes them: both sides know it
 *   - each row goes to one rank */
#pragma once

#include "runtime/mpi/comm/route.h"
#include "runtime/process/process.h"

/* Lists of rows: first those that move, in the order of the route, then those passed here and at home here,
 * in the order in which they are passed. */
typedef struct tsi_rows {
  tsi_route route;  /* from ranks that pass rows to other ranks that are their homes */
  tsi_index own;    /* rows passed here and at home here */
  tsi_index *user;  /* numbers in this rank's block or list */
  tsi_index *local; /* of rows at home here: local columns */
} tsi_rows;

/* Collective. column: the final column of each of the rows that this rank passes; each column is passed once,
 * by one rank. Errors: MEMORY, RUNTIME, the same on all ranks. */
TRISTAR_CHECKED tristar_status tsi_rows_create(tsi_env *env, tsi_transport *transport,
                                               const tsi_process *process, tsi_index count,
                                               const tsi_index *column, tsi_rows **out);
void tsi_rows_destroy(tsi_rows **rows);

/* An array of rows: nrhs columns, distances between rows and between columns in scalars. */
typedef struct tsi_row_array {
  void *data;
  int64_t row, column;
} tsi_row_array;

/* Collective. user: what this rank passes; local: rows of local columns. From the one to the other, or back.
 * bytes: of a scalar. buffer: room for tsi_rows_moved * nrhs scalars. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_rows_move(tsi_env *env, const tsi_rows *rows, size_t bytes, tsi_index nrhs,
                                             tsi_row_array user, tsi_row_array local, bool to_user,
                                             void *buffer);
static inline tsi_count tsi_rows_moved(const tsi_rows *rows) {
  return tsi_route_sent(&rows->route) + tsi_route_received(&rows->route);
}
