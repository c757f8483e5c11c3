/* Inserted distributed solves: items of the queue (queue.h). See tristar_starpu_mpi.h.
 *
 * Job. An insertion is ready when StarPU has granted the handles of its pieces. When it ends it releases
 * them.
 *
 * Reads   the handles, and the data of b.   Writes  the data of x; the rows of the distributed factor. */
#pragma once

#include "runtime/mpi/solve/queue.h"
#include "runtime/exec/starpu/acquisition.h"

typedef struct tsi_distributed_insertion {
  tsi_queued queued; /* first member */
  tristar_op op;
  int64_t *first;   /* ranks + 1: first row on each rank */
  tsi_operand b, x; /* pieces of this rank; b.columns right-hand sides */
  tsi_acquisition holds;
} tsi_distributed_insertion;

struct tsi_inserted {
  tsi_failure failure; /* first failure that was not returned yet; guarded by the queue's lock */
};

/* Call it after the destruction of the queue. */
void tsi_inserted_destroy(tristar_distributed_t *d);
