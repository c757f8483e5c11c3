/* An acquisition: StarPU handles, acquired together in main memory, without waiting.
 *
 * Job. Request all handles of b and x of a solve, at the caller's place in the program's order of
 * submissions. Call a function when the last handle is granted, and release the handles.
 *
 * Reads   the handles of two operands.   Writes  StarPU's state of these handles.
 * Invariants
 *   - each handle is acquired once: to read, to write, or, if it is in b and x, for both
 *   - all handles of a set are requested before those of the next set in the context, so that no two sets
 *     wait for each other
 *   - `waiting` counts the handles that were not granted, and one for the requesting thread
 *   - `granted` is called once; the set may be freed before tsi_acquisition_request returns */
#pragma once

#include "runtime/base/env.h"
#include "runtime/exec/starpu/operand.h"

typedef struct tsi_acquisition tsi_acquisition;

typedef struct tsi_acquired {
  tsi_acquisition *set;
  starpu_data_handle_t handle;
  enum starpu_data_access_mode mode;
  bool held; /* or requested */
} tsi_acquired;

struct tsi_acquisition {
  tsi_env *env;
  tsi_acquired *hold;
  int64_t count;
  _Atomic(int64_t) waiting;
  tsi_failure failure; /* first failed request */
  void (*granted)(void *arg, tristar_status status);
  void *arg;
};

/* Lists the handles: those of b are read, those of x written. *holds must not move in memory afterwards.
 * Errors: ARGUMENT (a handle that is twice a piece of x), MEMORY; *holds can be finished then. */
TRISTAR_CHECKED tristar_status tsi_acquisition_create(tsi_env *env, const tsi_operand *b,
                                                      const tsi_operand *x, tsi_acquisition *holds);
void tsi_acquisition_finish(tsi_env *env, tsi_acquisition *holds);

/* Requests the handles under the lock `order`, one for all sets of a context. `granted` is called when all
 * handles are granted, in this call or later on a worker, and must not wait. Its status: RUNTIME if StarPU
 * has refused a handle; the other handles are held nevertheless. */
void tsi_acquisition_request(pthread_mutex_t *order, tsi_acquisition *holds,
                             void (*granted)(void *arg, tristar_status status), void *arg);
/* May be called from any thread. */
void tsi_acquisition_release(const tsi_acquisition *holds);
