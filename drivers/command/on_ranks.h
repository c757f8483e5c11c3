/* A command under mpiexec: MPI and the session of each rank from start to end, and rows of a matrix on all
 * ranks.
 *
 * Reads   tsi_settings, the rows of a file.   Writes  the session of each rank.
 * Invariants
 *   - all ranks call the same functions, and end with the same status
 *   - what fails on any rank is reported once, by rank 0
 *   - rank 0 alone writes files and reports */
#pragma once

#include "drivers/session/layout.h"
#include "drivers/session/session.h"
#ifdef TSI_HAVE_MPI
#include "tristar_dmatrix_mpi.h"
#endif

typedef struct tsi_ranks_command {
  /* Says which words are wrong for so many ranks, and gives an exit status. NULL: none can be. */
  int (*check)(tsi_settings *settings, int ranks, void *state);
  /* Collective, with an open session. What rank 0 gives counts. */
  bool (*run)(tsi_session *s, void *state);
  /* On rank 0, also after a failure: the report, JSON. NULL: nothing. */
  void (*tell)(tsi_session *s, void *state);
  /* Frees what the state has, before the session closes. NULL: nothing. */
  void (*release)(tsi_session *s, void *state);
} tsi_ranks_command;

/* Runs a command from MPI_Init to MPI_Finalize. path: what tsi_session_open opens. state: of this rank, for
 * the functions of the command. Returns the exit status. */
int tsi_run_on_ranks(const tsi_ranks_command *command, const tsi_settings *settings, const char *path,
                     void *state);
/* Collective: whether rank 0 goes on; whether all ranks do. Of those that do not, the first says to all why.
 */
bool tsi_rank_0_says(bool ok);
bool tsi_all_ranks_say(tsi_session *s, bool ok);

/* Reads the words of a layout of so many ranks; px = 0: the library is to choose. Says what is wrong, and
 * gives an exit status. */
int tsi_check_layout(const char *command, const tsi_settings *settings, int ranks, tristar_layout *layout);

#ifdef TSI_HAVE_MPI
/* Collective: rows of the matrix on each rank; NULL where they cannot be read so, or where rank 0 is to
 * report what is wrong with them. A complex symmetric matrix may have real values alone: then it is
 * Hermitian, which only a rank with all of them can find out. */
tristar_dmatrix_t *tsi_read_rows(tsi_session *s);
/* Collective: the matrix of a command that factors it on all ranks. spread: rows on each rank, where they can
 * be read so. Else rank 0 reads the matrix and has all rows, and the view of its session has the entries. */
bool tsi_make_rows(tsi_session *s, bool spread, tristar_dmatrix_t **matrix);
#endif
