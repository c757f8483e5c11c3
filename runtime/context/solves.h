/* What a context counts of solves that nobody waits for, and objects that are to be freed later.
 *
 * Job. Inserted solves, and started ones with an `end`, end on a StarPU worker, in a callback that must not
 * wait. They are counted here, so that others can wait for them; and an object whose last share is dropped in
 * such a place is retired: it goes to a list, and is freed by the next call that may wait.
 *
 * Reads   nothing else.   Writes  its own members.
 * Invariants: a retired object has no other owner; unfinished is the sum of what its plans have. */
#pragma once

#include "runtime/base/env.h"

/* First member of what can be retired. */
typedef struct tsi_retired {
  struct tsi_retired *next;
  void (*free)(struct tsi_retired *retired);
} tsi_retired;

typedef struct tsi_solves {
  pthread_mutex_t lock;   /* guards all below, and what plans say of it */
  pthread_cond_t changed; /* a solve has ended */
  int64_t unfinished;     /* of all plans */
  tsi_retired *retired;
  pthread_mutex_t order; /* held while an insertion asks for its handles */
} tsi_solves;

/* Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_solves_init(const tsi_env *env, tsi_solves *solves);
/* Waits for the unfinished solves. */
void tsi_solves_wait(tsi_solves *solves);
/* None are unfinished, and nothing is retired. */
void tsi_solves_finish(tsi_solves *solves);
/* Frees what is retired, unless the caller may not wait. */
void tsi_solves_reclaim(tsi_solves *solves);
/* Under the lock. */
void tsi_solves_retire(tsi_solves *solves, tsi_retired *retired);
