/* The queue of a distributed factor, and the thread that runs its items.
 *
 * Job. A distributed solve is collective and waits for other ranks, but a function that inserts or starts a
 * solve must not wait. So a thread of the distributed factor takes the items in the order of the queue, waits
 * until each is ready, and runs it. All ranks queue the same items in the same order, so their threads take
 * part in the same collective calls.
 *
 * Reads   items.   Writes  the results of items.
 * Invariants, under `lock`
 *   - head .. is the order of the items; `unfinished` counts the items in the queue and the running one
 *   - while unfinished > 0 only the thread uses the distributed factor
 *   - the first collective call of every item is tsi_transport_agree. A rank that has failed before it could
 *     queue an item queues `spare`, which only makes this call. So the threads of other ranks receive the
 *     failure, and no rank waits forever */
#pragma once

#include <pthread.h>

#include "runtime/mpi/solve/distributed.h"

typedef struct tsi_queued {
  struct tsi_queued *next;
  tristar_distributed_t *distributed;
  bool ready;
  tsi_failure failure; /* failure before the item runs */
  /* Called on the thread. carry_out: collective; mine: the failure above. end: gets the status of carry_out,
   * and may free the item. */
  tristar_status (*carry_out)(struct tsi_queued *item, tristar_status mine);
  void (*end)(struct tsi_queued *item, tristar_status status);
} tsi_queued;

typedef struct tsi_queue {
  atomic_int references; /* references of the distributed factor and of requests */
  tristar_distributed_t *distributed;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  tsi_queued *head, *tail;
  tsi_queued spare;
  int64_t unfinished;
  bool stop;
} tsi_queue;

/* Local. d->queue is NULL. Errors: UNSUPPORTED (MPI without MPI_THREAD_MULTIPLE), MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_queue_create(tristar_distributed_t *d);
/* Waits until the queue is empty; d->queue may be NULL. Must not be called inside a task. */
void tsi_queue_drain(const tristar_distributed_t *d);
/* The same, and ends the thread. The queue exists further for its requests, which have ended. */
void tsi_queue_destroy(tristar_distributed_t *d);
/* Adds a reference to the queue; releases it. */
tsi_queue *tsi_queue_share(tsi_queue *queue);
void tsi_queue_drop(tsi_env *env, tsi_queue *queue);

/* Queues an item whose functions are set. It runs once it is ready. */
void tsi_queue_put(tristar_distributed_t *d, tsi_queued *item);
void tsi_queue_ready(tsi_queued *item, tristar_status status);
/* Queues `spare` instead of an item that could not be created, for the other ranks. */
void tsi_queue_put_failure(tristar_distributed_t *d, tristar_status status);
