/* Rows of b and x between the ranks that the program has them on and those that solve with them.
 *
 * Job. A rank passes a block of the user's rows, or rows that it lists; a row is read, or written, by the
 * process that is the home of its column. Move rows either way, for a number of right-hand sides at a time,
 * by one MPI_Alltoallv; rows that are at home where they are passed are copied at once.
 *
 * Reads   the blocks or lists of all ranks, the place of every row in the final order, layout and share of
 * the process. Writes  a tsi_rows that owns its arrays and is immutable afterwards; the arrays handed to it.
 * Invariants
 *   - rows between two ranks travel in the order in which the one passes them: both sides know it
 *   - each row goes to one rank */
#ifndef TSI_MPI_ROWS_H
#define TSI_MPI_ROWS_H

#include "runtime/mpi/transport.h"
#include "runtime/solve/process.h"

typedef struct tsi_rows {
  int ranks;
  tsi_count own;                /* rows passed here and at home here; not counted below */
  tsi_index *own_user;          /* own: number in this rank's block or list, ascending */
  tsi_index *own_home;          /* own: local column of the same row */
  tsi_count users, homes;       /* rows that this rank passes; rows at home here */
  int *user_count, *user_first; /* ranks: rows passed here that are at home there, and where they begin */
  int *home_count, *home_first; /* ranks: rows at home here that are passed there */
  tsi_index *user;              /* users: number in this rank's block or list, by home, then ascending */
  tsi_index *home;              /* homes: local column, by rank that passes it, then in its order */
} tsi_rows;

/* Who passes which rows: rank r rows first[r] .. first[r + 1] - 1, or row[first[r]] .. row[first[r + 1] - 1].
 */
typedef struct tsi_passed_rows {
  int ranks;
  const int64_t *first;   /* ranks + 1; first[0] = 0 */
  const int64_t *row;     /* first[ranks] numbers of rows, each once; NULL: blocks */
  const tsi_index *place; /* n: the final column of each row; NULL: the same number */
} tsi_passed_rows;

/* Errors: MEMORY, TOO_LARGE. Local. */
TRISTAR_CHECKED tristar_status tsi_rows_create(tsi_env *env, const tsi_process *process,
                                               const tsi_passed_rows *passed, tsi_rows **out);
void tsi_rows_destroy(tsi_env *env, tsi_rows **rows);

/* An array of rows: nrhs columns, distances between rows and between columns in scalars. */
typedef struct tsi_row_array {
  void *data;
  int64_t row, column;
} tsi_row_array;

/* Collective. user: what this rank passes; local: rows of local columns. bytes: of a scalar. buffer: room for
 * (users + homes) * nrhs scalars. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_rows_to_homes(tsi_env *env, const tsi_rows *rows, MPI_Comm comm,
                                                 size_t bytes, tsi_index nrhs, tsi_row_array user,
                                                 tsi_row_array local, void *buffer);
TRISTAR_CHECKED tristar_status tsi_rows_to_users(tsi_env *env, const tsi_rows *rows, MPI_Comm comm,
                                                 size_t bytes, tsi_index nrhs, tsi_row_array local,
                                                 tsi_row_array user, void *buffer);

#endif
