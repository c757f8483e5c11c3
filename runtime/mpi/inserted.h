/* Inserted distributed solves: a queue, and a thread that carries them out. See tristar_starpu_mpi.h.
 *
 * Job. A distributed solve is collective and waits; StarPU's callbacks must not wait. So a thread of the
 * distributed factor takes the insertions of this rank one by one, waits until StarPU has granted the handles
 * of the first one, solves, and releases them. All ranks insert in the same order, so their threads meet in
 * the same collective calls.
 *
 * Reads   the handles, and the data of b.   Writes  the data of x; the rows of the distributed factor.
 * Invariants, under `lock`
 *   - head .. is the order of insertion; `unfinished` counts the queue and the one that is being solved
 *   - while unfinished > 0 only the thread works with the distributed factor
 *   - every call of tristar_distributed_insert puts one insertion into the queue, also one that fails: the
 * other ranks' threads then learn of it, and nobody waits for ever. For lack of memory there is `spare` */
#ifndef TSI_MPI_INSERTED_H
#define TSI_MPI_INSERTED_H

#include "runtime/starpu/holds.h"
#include "runtime/mpi/distributed.h"

typedef struct tsi_distributed_insertion {
  struct tsi_distributed_insertion *next;
  struct tsi_inserted *queue;
  tristar_op op;
  int64_t *first;   /* ranks + 1: blocks of rows; NULL: it has failed */
  tsi_operand b, x; /* pieces of this rank; b.columns right-hand sides */
  tsi_holds holds;
  bool granted;
  tsi_failure failure;
} tsi_distributed_insertion;

struct tsi_inserted {
  tristar_distributed_t *distributed;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  tsi_distributed_insertion *head, *tail;
  tsi_distributed_insertion spare;
  int64_t unfinished;
  tsi_failure failure; /* the first one that nobody was told of */
  bool stop;
};

/* Waits until nothing is in the queue; d->inserted may be NULL. Not from inside a task. */
void tsi_inserted_drain(const tristar_distributed_t *d);
/* The same, and ends the thread. */
void tsi_inserted_destroy(tristar_distributed_t *d);

#endif
