/* Handles acquired together: see acquisition.h. */
#include "runtime/exec/starpu/acquisition.h"

#include <stdlib.h>

#include "runtime/base/happens_before.h"

static int compare_holds(const void *left, const void *right) {
  const uintptr_t a = (uintptr_t)((const tsi_acquired *)left)->handle,
                  b = (uintptr_t)((const tsi_acquired *)right)->handle;
  return (a > b) - (a < b);
}

/* Lists each handle once; their order does not matter. */
tristar_status tsi_acquisition_create(tsi_env *env, const tsi_operand *b, const tsi_operand *x,
                                      tsi_acquisition *holds) {
  const tsi_operand *operand[2] = {b, x};
  tsi_acquired *hold;
  int64_t count = 0, kept = 0;
  *holds = (tsi_acquisition){.env = env};
  TSI_TRY(TSI_ALLOC_ZERO(env, holds->hold, b->count + x->count));
  hold = holds->hold;
  for (int i = 0; i < 2; i++)
    for (int64_t k = 0; k < operand[i]->count; k++)
      hold[count++] = (tsi_acquired){holds, operand[i]->piece[k].handle, i == 0 ? STARPU_R : STARPU_W, false};
  qsort(hold, (size_t)count, sizeof *hold, compare_holds);
  for (int64_t k = 0; k < count; k++) {
    if (kept == 0 || hold[kept - 1].handle != hold[k].handle) {
      hold[kept++] = hold[k];
      continue;
    }
    if ((hold[kept - 1].mode & STARPU_W) && (hold[k].mode & STARPU_W))
      TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "a handle is twice a piece of x");
    hold[kept - 1].mode = (enum starpu_data_access_mode)(hold[kept - 1].mode | hold[k].mode);
  }
  holds->count = kept;
  return TRISTAR_OK;
}

void tsi_acquisition_finish(tsi_env *env, tsi_acquisition *holds) {
  TSI_FREE(env, holds->hold);
}

/* Counts one more granted handle. The last one may be granted in this call, or on a worker. */
static void grant(tsi_acquisition *holds) {
  if (atomic_fetch_sub(&holds->waiting, 1) > 1) return;
  for (int64_t k = 0; k < holds->count; k++)
    if (holds->hold[k].held) TSI_HAPPENS_AFTER(holds->hold[k].handle);
  holds->granted(holds->arg, tsi_failure_report(holds->env, &holds->failure));
}

static void granted_one(void *arg) {
  grant(((tsi_acquired *)arg)->set);
}

void tsi_acquisition_request(pthread_mutex_t *order, tsi_acquisition *holds,
                             void (*granted)(void *arg, tristar_status status), void *arg) {
  holds->granted = granted;
  holds->arg = arg;
  atomic_store(&holds->waiting, holds->count + 1);
  pthread_mutex_lock(order);
  for (int64_t k = 0; k < holds->count; k++) {
    tsi_acquired *hold = &holds->hold[k];
    hold->held = true; /* it may be granted before the call returns */
    const int code = starpu_data_acquire_on_node_cb_sequential_consistency(hold->handle, STARPU_MAIN_RAM,
                                                                           hold->mode, granted_one, hold, 1);
    if (code == 0) continue;
    hold->held = false;
    tsi_failure_keep(holds->env, &holds->failure,
                     tsi_fail(holds->env, TRISTAR_ERR_RUNTIME, __func__, __FILE__, __LINE__,
                              "starpu_data_acquire_on_node_cb gave %d", code));
    atomic_fetch_sub(&holds->waiting, 1);
  }
  pthread_mutex_unlock(order);
  grant(holds);
}

/* A separate function, so that reports of the thread sanitizer name the one below: see
 * tests/sanitizers/tsan.supp. */
__attribute__((noinline)) static void release_one(const tsi_acquired *hold) {
  TSI_HAPPENS_BEFORE(hold->handle);
  starpu_data_release_on_node(hold->handle, STARPU_MAIN_RAM);
}

void tsi_acquisition_release(const tsi_acquisition *holds) {
  for (int64_t k = 0; k < holds->count; k++)
    if (holds->hold[k].held) release_one(&holds->hold[k]);
}
