/* Runs a command under mpiexec: MPI, the session of each rank, and the rows of a matrix on all ranks.
 *
 * Reads   tsi_settings, the rows of a file.   Writes  the session of each rank.
 * Invariants
 *   - all ranks call the same functions, and end with the exit status of rank 0
 *   - if any rank fails, rank 0 reports it, once
 *   - only rank 0 writes files and reports; exception: each rank writes its part of a factor (--save) */
#pragma once

#include "drivers/session/layout.h"
#include "drivers/session/session.h"
#ifdef TSI_HAVE_MPI
#include "tristar_dmatrix_mpi.h"
#endif

typedef struct tsi_ranks_command {
  /* Prints an error if options do not suit so many ranks. Returns an exit status. NULL: they always do. */
  int (*check)(tsi_settings *settings, int ranks, void *state);
  /* Collective, with an open session. False: it failed on this rank. */
  bool (*run)(tsi_session *s, void *state);
  /* On rank 0, also after a failure: prints the report, writes JSON. NULL: nothing. */
  void (*report)(tsi_session *s, void *state);
  /* Frees the members of the state before the session closes. NULL: nothing. */
  void (*release)(tsi_session *s, void *state);
} tsi_ranks_command;

/* Runs a command from MPI_Init to MPI_Finalize. path: what tsi_session_open opens. state: of this rank, for
 * the functions of the command. Returns the exit status. */
int tsi_run_on_ranks(const tsi_ranks_command *command, const tsi_settings *settings, const char *path,
                     void *state);
/* Collective. Return whether rank 0 succeeded; whether all ranks did. If not all did, all sessions fail, with
 * the message of the first rank that failed. */
bool tsi_rank_0_says(bool ok);
bool tsi_all_ranks_say(tsi_session *s, bool ok);

/* Reads --layout for so many ranks; px = 0: the library is to choose. Prints an error, returns an exit
 * status. */
int tsi_check_layout(const char *command, const tsi_settings *settings, int ranks, tristar_layout *layout);

#ifdef TSI_HAVE_MPI
/* Collective. Reads rows of the matrix on each rank. Returns NULL if this is not possible, or if they are
 * wrong and rank 0 must report it. Not possible for a complex symmetric matrix: it is Hermitian if all values
 * are real, and only a rank with all rows can test this. */
tristar_dmatrix_t *tsi_read_rows(tsi_session *s);
/* Collective. Makes the matrix of a command that factors it on all ranks. spread: each rank reads rows, if
 * possible. Otherwise rank 0 reads all rows, and the view of its session has the entries. */
bool tsi_make_rows(tsi_session *s, bool spread, tristar_dmatrix_t **matrix);
#endif
