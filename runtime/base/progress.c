/* See progress.h. */
#include "runtime/base/progress.h"

#include <stdlib.h>

#include "runtime/base/clock.h"
#include "runtime/base/threads.h"

#define CALL_SECONDS 0.1

struct tsi_progress {
  pthread_mutex_t lock;
  tristar_progress_fn call; /* NULL: none any more */
  void *arg;
  _Atomic(double) next; /* time of tsi_wall_clock from which on it is called, and before if it is another */
  _Atomic(int) phase;   /* than this one */
};

tristar_status tsi_progress_set(tsi_env *env, tristar_progress_fn call, void *arg) {
  struct tsi_progress *p = atomic_load(&env->progress);
  if (p == NULL && call == NULL) return TRISTAR_OK;
  if (p == NULL) {
    p = calloc(1, sizeof *p);
    if (p == NULL) TSI_FAIL(env, TRISTAR_ERR_MEMORY, "out of memory: %zu bytes", sizeof *p);
    const tristar_status status = tsi_mutex_init(env, &p->lock);
    if (status != TRISTAR_OK) {
      free(p);
      return status;
    }
  }
  pthread_mutex_lock(&p->lock);
  p->call = call;
  p->arg = arg;
  atomic_store(&p->next, 0);
  pthread_mutex_unlock(&p->lock);
  atomic_store(&env->progress, p);
  return TRISTAR_OK;
}

void tsi_progress_finish(tsi_env *env) {
  struct tsi_progress *p = atomic_exchange(&env->progress, NULL);
  if (p == NULL) return;
  pthread_mutex_destroy(&p->lock);
  free(p);
}

static const char *name_of(tristar_phase phase) {
  static const char *const names[] = {"analysis", "factorization", "plan", "solve"};
  return names[phase];
}

tristar_status tsi_progress_call(tsi_env *env, tristar_phase phase, double share) {
  struct tsi_progress *p = atomic_load(&env->progress);
  const double now = tsi_wall_clock();
  int cancelled = 0;
  if (now < atomic_load_explicit(&p->next, memory_order_relaxed) &&
      atomic_load_explicit(&p->phase, memory_order_relaxed) == (int)phase)
    return TRISTAR_OK;
  if (pthread_mutex_trylock(&p->lock) != 0) return TRISTAR_OK; /* another thread calls it */
  const tristar_progress_point point = {.phase = phase, .share = share};
  if (p->call != NULL) cancelled = p->call(p->arg, &point);
  atomic_store(&p->phase, (int)phase);
  atomic_store(&p->next, cancelled ? 0 : now + CALL_SECONDS);
  pthread_mutex_unlock(&p->lock);
  if (cancelled)
    TSI_FAIL(env, TRISTAR_ERR_CANCELLED, "the function of tristar_set_progress cancelled the %s",
             name_of(phase));
  return TRISTAR_OK;
}
