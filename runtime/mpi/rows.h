/* Rows of b and x between the ranks that the program has them on and those that solve with them.
 *
 * Job. A rank passes a block of the user's rows; a row is read, or written, by the process that is the home
 * of its column. Move rows either way, for a number of right-hand sides at a time, by one MPI_Alltoallv;
 * rows that are at home where they are passed are copied at once.
 *
 * Reads   the blocks of all ranks, the place of every row in the final order, layout and share of the
 * process. Writes  a tsi_rows that owns its arrays and is immutable afterwards; the arrays handed to it.
 * Invariants
 *   - rows between two ranks travel in ascending order of the user's numbers: both sides know it
 *   - each row goes to one rank */
#ifndef TSI_MPI_ROWS_H
#define TSI_MPI_ROWS_H

#include "runtime/mpi/transport.h"
#include "runtime/solve/process.h"

typedef struct tsi_rows {
  int ranks;
  tsi_count own;                /* rows passed here and at home here; not counted below */
  tsi_index *own_user;          /* own: number in this rank's block, ascending */
  tsi_index *own_home;          /* own: local column of the same row */
  tsi_count users, homes;       /* rows that this rank passes; rows at home here */
  int *user_count, *user_first; /* ranks: rows passed here that are at home there, and where they begin */
  int *home_count, *home_first; /* ranks: rows at home here that are passed there */
  tsi_index *user;              /* users: number in this rank's block, by home, then ascending */
  tsi_index *home;              /* homes: local column, by rank that passes it, then ascending */
} tsi_rows;

/* first: ranks + 1, the first row of each rank's block. place[i]: the final column of row i. Errors: MEMORY,
 * TOO_LARGE. Local. */
TRISTAR_CHECKED tristar_status tsi_rows_create(tsi_env *env, const tsi_process *process, int ranks,
                                               const int64_t *first, const tsi_index *place, tsi_rows **out);
void tsi_rows_destroy(tsi_env *env, tsi_rows **rows);

/* Collective. user: this rank's block, nrhs columns, leading dimension ld; local: rows of local columns, nrhs
 * columns, leading dimension the number of local columns. bytes: of a scalar. buffer: room for
 * (users + homes) * nrhs scalars. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_rows_to_homes(tsi_env *env, const tsi_rows *rows, MPI_Comm comm,
                                                 size_t bytes, tsi_index nrhs, const void *user, int64_t ld,
                                                 void *local, tsi_index columns, void *buffer);
TRISTAR_CHECKED tristar_status tsi_rows_to_users(tsi_env *env, const tsi_rows *rows, MPI_Comm comm,
                                                 size_t bytes, tsi_index nrhs, const void *local,
                                                 tsi_index columns, void *user, int64_t ld, void *buffer);

#endif
