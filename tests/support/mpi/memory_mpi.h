/* MPI in memory, for the transport `direct`: the ranks are threads of one process.
 *
 * memory_mpi.c defines the functions of MPI that runtime/mpi calls to make a transport and to carry messages.
 * A program that is linked with it gets these: the linker takes what objects of the program define before it
 * looks into libraries. Types and constants are those of mpi.h, of whichever MPI; the library of MPI itself
 * is not initialized, and a function that is not defined here fails there.
 *
 * Nothing is locked here: two calls that tsi_mpi_lock does not order are found at once if they meet, and by
 * the thread sanitizer in any case; so is a buffer that is touched while a message of MPI may be.
 * MPI_Comm_get... and the like count as calls; MPI_Initialized, MPI_Finalized and MPI_Query_thread do not,
 * which MPI allows at any time. Messages of at most memory_mpi_eager_bytes are copied when their send starts,
 * others when both ends have started. Requests that are complete are told in a later call of MPI_Testsome,
 * now and then. */
#pragma once

#include <stdatomic.h>

enum { MEMORY_MPI_RANKS = 8 }; /* at most */

/* MPI_COMM_WORLD has so many ranks. Before the threads that call MPI are started. */
void memory_mpi_init(int ranks);
/* The calling thread is this rank of MPI_COMM_WORLD. Other communicators know whose they are. */
void memory_mpi_be(int rank);
/* After these threads have ended: no request, communicator, message or collective call may be left. */
void memory_mpi_end(void);

/* 1000, unless a test sets it. */
extern int memory_mpi_eager_bytes;

/* Calls from now until one fails, as far as that is positive: MPI_Start; MPI_Testsome, as a whole; a
 * completed request in MPI_Testsome. */
extern atomic_int memory_mpi_failing_start, memory_mpi_failing_look, memory_mpi_failing_status;
