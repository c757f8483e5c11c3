/* The context's count of solves that no thread waits for, and its list of objects to be freed later.
 *
 * Job. Inserted solves, and started ones with an `end`, end on a StarPU worker, in a callback that must not
 * wait. They are counted here, so that other threads can wait for them. An object whose last reference is
 * released in such a callback is retired: it is put on a list, and the next call that may wait frees it.
 *
 * Reads   nothing else.   Writes  its own members.
 * Invariants: a retired object has no other owner; unfinished is the sum over all plans. */
#pragma once

#include "runtime/base/env.h"

/* First member of objects that can be retired. */
typedef struct tsi_retired {
  struct tsi_retired *next;
  void (*free)(struct tsi_retired *retired);
} tsi_retired;

typedef struct tsi_solves {
  pthread_mutex_t lock;   /* guards all fields below, and the counts of plans */
  pthread_cond_t changed; /* a solve has ended */
  int64_t unfinished;     /* unfinished solves of all plans */
  tsi_retired *retired;
  pthread_mutex_t order; /* held while an insertion requests its handles */
} tsi_solves;

/* Initializes the fields. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_solves_init(const tsi_env *env, tsi_solves *solves);
/* Waits for the unfinished solves. */
void tsi_solves_wait(tsi_solves *solves);
/* Releases the fields; no solve is unfinished, and nothing is retired. */
void tsi_solves_finish(tsi_solves *solves);
/* Frees the retired objects, unless the caller may not wait. */
void tsi_solves_reclaim(tsi_solves *solves);
/* Retires an object; under the lock. */
void tsi_solves_retire(tsi_solves *solves, tsi_retired *retired);
