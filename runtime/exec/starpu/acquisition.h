/* An acquisition: StarPU handles, acquired together in main memory, without waiting.
 *
 * Job. Ask for all handles of b and x of a solve in the place that the caller has in the program's order of
 * submissions, tell when the last one is granted, and release them.
 *
 * Reads   the handles of two operands.   Writes  StarPU's state of these handles.
 * Invariants
 *   - each handle is acquired once: to read, to write, or, where it is in b and x, for both
 *   - all handles of a set are asked for before those of the next set in the context, so that no two sets
 * wait for each other
 *   - `waiting` counts the handles that were not granted, and one for who asks for them
 *   - `granted` is called once; the set may be gone when tsi_acquisition_ask returns */
#pragma once

#include "runtime/base/env.h"
#include "runtime/exec/starpu/operand.h"

typedef struct tsi_acquisition tsi_acquisition;

typedef struct tsi_acquired {
  tsi_acquisition *set;
  starpu_data_handle_t handle;
  enum starpu_data_access_mode mode;
  bool held; /* or asked for */
} tsi_acquired;

struct tsi_acquisition {
  tsi_env *env;
  tsi_acquired *hold;
  int64_t count;
  _Atomic(int64_t) waiting;
  tsi_failure failure; /* the first one to ask for a handle */
  void (*granted)(void *arg, tristar_status status);
  void *arg;
};

/* The handles of b are read, those of x written. *holds must not move afterwards. Errors: ARGUMENT (a handle
 * that is twice a piece of x), MEMORY; *holds can be finished then. */
TRISTAR_CHECKED tristar_status tsi_acquisition_create(tsi_env *env, const tsi_operand *b,
                                                      const tsi_operand *x, tsi_acquisition *holds);
void tsi_acquisition_finish(tsi_env *env, tsi_acquisition *holds);

/* Asks for the handles under the lock `order`, one for all sets of a context. `granted` is called when all
 * are there, in this call or later on a worker, and must not wait. Its status: RUNTIME if StarPU has refused
 * a handle; the others are held nevertheless. */
void tsi_acquisition_ask(pthread_mutex_t *order, tsi_acquisition *holds,
                         void (*granted)(void *arg, tristar_status status), void *arg);
/* From any thread. */
void tsi_acquisition_release(const tsi_acquisition *holds);
