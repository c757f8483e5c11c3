/* Solves that a distributed factor carries out on its own: a queue, and a thread.
 *
 * Job. A distributed solve is collective and waits for other ranks; what inserts or starts one must not. So a
 * thread of the distributed factor takes the items of this rank one by one, in the order in which they were
 * put in, waits until each is ready, and carries it out. All ranks put in the same items in the same order,
 * so their threads meet in the same collective calls.
 *
 * Reads   items.   Writes  what these write.
 * Invariants, under `lock`
 *   - head .. is the order of the items; `unfinished` counts the queue and the one that is carried out
 *   - while unfinished > 0 only the thread works with the distributed factor
 *   - every item's first collective call is tsi_transport_agree: a rank that has failed before puts in
 *     `spare`, which does no more, so the other ranks' threads learn of it and nobody waits for ever */
#pragma once

#include <pthread.h>

#include "runtime/mpi/solve/distributed.h"

typedef struct tsi_queued {
  struct tsi_queued *next;
  tristar_distributed_t *distributed;
  bool ready;
  tsi_failure failure; /* found before it is carried out */
  /* On the thread. carry_out: collective; mine: the failure. end: with what carry_out gave; may free the
   * item.
   */
  tristar_status (*carry_out)(struct tsi_queued *item, tristar_status mine);
  void (*end)(struct tsi_queued *item, tristar_status status);
} tsi_queued;

typedef struct tsi_queue {
  atomic_int references; /* the distributed factor, and requests */
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
/* Waits until nothing is in the queue; d->queue may be NULL. Not from inside a task. */
void tsi_queue_drain(const tristar_distributed_t *d);
/* The same, and ends the thread; the queue goes on for its requests, which have ended. */
void tsi_queue_destroy(tristar_distributed_t *d);
/* A share of the queue, and its end. */
tsi_queue *tsi_queue_share(tsi_queue *queue);
void tsi_queue_drop(tsi_env *env, tsi_queue *queue);

/* Puts an item in, whose functions are set. It runs once it is ready. */
void tsi_queue_put(tristar_distributed_t *d, tsi_queued *item);
void tsi_queue_ready(tsi_queued *item, tristar_status status);
/* In the place of an item that could not be made, for the other ranks. */
void tsi_queue_put_failure(tristar_distributed_t *d, tristar_status status);
