/* MPI in memory, for the transport `direct`: the ranks are threads of one process.
 *
 * memory_mpi.c defines the functions of MPI that runtime/mpi calls to make a transport and to send messages.
 * A program that is linked with it uses these, because the linker prefers objects of the program to
 * libraries. Types and constants are those of mpi.h, of any MPI. The library of MPI itself is not
 * initialized, so functions that are not defined here fail.
 *
 * There is no lock here. Two concurrent calls that tsi_mpi_lock does not order are detected at once, and in
 * any case by the thread sanitizer. The sanitizer also detects accesses to a buffer while MPI may use it.
 * MPI_Comm_get... and similar functions count as calls. MPI_Initialized, MPI_Finalized and MPI_Query_thread
 * do not: MPI allows them at any time. Messages of at most memory_mpi_eager_bytes are copied when their send
 * starts, others when both ends have started. Sometimes a complete request is reported only in a later call
 * of MPI_Testsome. */
#pragma once

#include <stdatomic.h>

enum { MEMORY_MPI_RANKS = 8 }; /* maximum number of ranks */

/* Makes MPI_COMM_WORLD with so many ranks. Call it before the threads that call MPI are started. */
void memory_mpi_init(int ranks);
/* Makes the calling thread this rank of MPI_COMM_WORLD. Other communicators have an owner. */
void memory_mpi_be(int rank);
/* Call it after these threads have ended. Checks that no request, communicator, message or collective call is
 * left.
 */
void memory_mpi_end(void);

/* 1000, unless a test sets it. */
extern int memory_mpi_eager_bytes;

/* If positive, the number of calls until one fails: of MPI_Start; of MPI_Testsome as a whole; of completed
 * requests in MPI_Testsome. */
extern atomic_int memory_mpi_failing_start, memory_mpi_failing_look, memory_mpi_failing_status;
