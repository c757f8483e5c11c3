/* TriStar: distributed solves among the tasks of a StarPU-MPI program: StarPU handles in, StarPU handles out.
 *
 * tristar_distributed_insert puts a distributed solve into the program's graph of tasks and returns. On every
 * rank the solve reads the rank's pieces of b and writes its pieces of x, like tasks that are submitted at
 * this place. No rank waits for another one in the call. x has the bits of tristar_distributed_solve without
 * refinement.
 *
 * The program runs StarPU and StarPU-MPI, on the communicator of tristar_distribute or one with the same
 * ranks. It has initialized MPI itself with MPI_THREAD_MULTIPLE (starpu_mpi_init_conf with 0 for
 * initialize_mpi), because TriStar and StarPU-MPI send messages at the same time. On each rank a thread of
 * the distributed factor runs the inserted solves one after the other, in the order of insertion; their tasks
 * run on StarPU's workers. */
#ifndef TRISTAR_STARPU_MPI_H
#define TRISTAR_STARPU_MPI_H

#include <starpu.h>

#include "tristar_mpi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Collective, but only the first call for a distributed factor waits. X = op(A)^-1 B. All ranks pass the same
 * pieces, registered by starpu_mpi_data_register on all of them: vectors, matrices or blocks (as in
 * tristar_starpu.h). Their rows are consecutive from row 0, and their columns are the right-hand sides. The
 * owners of the pieces ascend, and x has the owners of b: each rank has one block of rows, or none. b may be
 * x. Copies of x by StarPU-MPI on other ranks are flushed. The arrays of handles may be freed at once.
 * tristar_distributed_wait reports a failure of any rank on all ranks, and so does this call if it is found
 * in time. Then x is undefined, and tasks that wait for it run. Errors: ARGUMENT (wrong handles; a handle
 * without owner), UNSUPPORTED (MPI without MPI_THREAD_MULTIPLE, StarPU does not run, a call inside a task),
 * MEMORY, RUNTIME. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_distributed_insert(tristar_distributed_t *distributed,
                                                                      tristar_op op, int64_t b_pieces,
                                                                      const starpu_data_handle_t *b,
                                                                      int64_t x_pieces,
                                                                      const starpu_data_handle_t *x);

/* Waits until all inserted solves have ended on this rank, as the other functions of a distributed factor do.
 * Returns the first failure of one since the last call. Not inside a task. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_distributed_wait(tristar_distributed_t *distributed);

#ifdef __cplusplus
}
#endif
#endif
