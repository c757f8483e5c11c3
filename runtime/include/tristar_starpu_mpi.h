/* Distributed solves among the tasks of a StarPU-MPI program: StarPU handles in, StarPU handles out.
 *
 * tristar_distributed_insert puts a distributed solve into the program's graph of tasks and returns. On every
 * rank the solve reads the pieces of b that the rank owns, and writes its pieces of x, as tasks would that
 * are submitted at this place; no rank waits for another one in the call. x gets the bits that
 * tristar_distributed_solve gives.
 *
 * The program runs StarPU and StarPU-MPI, on the communicator of tristar_distribute or one with the same
 * ranks, and has initialized MPI itself with MPI_THREAD_MULTIPLE (starpu_mpi_init_conf with 0 for
 * initialize_mpi): TriStar and StarPU-MPI send messages at the same time. On each rank a thread of the
 * distributed factor's own carries the inserted solves out, one after the other in the order of insertion;
 * their tasks run on StarPU's workers. */
#ifndef TRISTAR_STARPU_MPI_H
#define TRISTAR_STARPU_MPI_H

#include <starpu.h>

#include "tristar_mpi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Collective, but waits for nobody, except in the first call for a distributed factor. X = op(A)^-1 B. All
 * ranks pass the same pieces, registered by starpu_mpi_data_register on all of them: vectors, matrices or
 * blocks (as in tristar_starpu.h) whose rows follow each other from row 0 and whose columns are the
 * right-hand sides. The owners of the pieces ascend, and those of x are those of b: each rank has one block
 * of rows, or none. b may be x. StarPU-MPI's copies of x on other ranks are flushed. The arrays of handles
 * may be freed at once. A failure on any rank is reported on all of them by tristar_distributed_wait, and by
 * this call if it is found during it; x is then undefined, and tasks that wait for it run. Errors: ARGUMENT
 * (handles as above; a handle without an owner), UNSUPPORTED (MPI without MPI_THREAD_MULTIPLE, StarPU does
 * not run, a call from inside a task), MEMORY, RUNTIME. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_distributed_insert(tristar_distributed_t *distributed,
                                                                      tristar_op op, int64_t b_pieces,
                                                                      const starpu_data_handle_t *b,
                                                                      int64_t x_pieces,
                                                                      const starpu_data_handle_t *x);

/* Waits until all inserted solves have ended on this rank; the other functions of a distributed factor do so,
 * too. Gives the first failure of one since the last call. Not from inside a task. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_distributed_wait(tristar_distributed_t *distributed);

#ifdef __cplusplus
}
#endif
#endif
