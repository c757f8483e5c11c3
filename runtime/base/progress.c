/* See progress.h. */
#include "runtime/base/progress.h"

#include "runtime/base/clock.h"
#include "runtime/base/threads.h"

#define CALL_SECONDS 0.1
#define PHASES (TRISTAR_PHASE_READ + 1)

struct tsi_progress {
  pthread_mutex_t lock;
  tristar_progress_fn call;
  void *arg;
  _Atomic(double) next[PHASES]; /* by phase: time of tsi_wall_clock of the next call */
};

tristar_status tsi_progress_set(tsi_env *env, tristar_progress_fn call, void *arg) {
  TSI_OWNED struct tsi_progress *p = NULL;
  tsi_progress_finish(env);
  if (call == NULL) return TRISTAR_OK;
  TSI_TRY(TSI_ALLOC_ZERO(env, p, 1));
  TSI_TRY(tsi_mutex_init(env, &p->lock));
  p->call = call;
  p->arg = arg;
  for (int k = 0; k < PHASES; k++) atomic_init(&p->next[k], 0);
  atomic_store(&env->progress, tsi_take(&p));
  return TRISTAR_OK;
}

void tsi_progress_finish(tsi_env *env) {
  struct tsi_progress *p = atomic_exchange(&env->progress, NULL);
  if (p == NULL) return;
  pthread_mutex_destroy(&p->lock);
  tsi_release(p);
}

static const char *name_of(tristar_phase phase) {
  static const char *const names[] = {"analysis", "factorization", "plan", "solve", "reading of a file"};
  return names[phase];
}

tristar_status tsi_progress_call(tsi_env *env, tristar_phase phase, double share) {
  struct tsi_progress *p = atomic_load(&env->progress);
  const double now = tsi_wall_clock();
  if (p == NULL || now < atomic_load_explicit(&p->next[phase], memory_order_relaxed)) return TRISTAR_OK;
  if (pthread_mutex_trylock(&p->lock) != 0) return TRISTAR_OK; /* another thread calls it */
  const tristar_progress_point point = {.phase = phase, .share = share};
  const int cancelled = p->call(p->arg, &point);
  for (int k = 0; k < PHASES; k++)
    if (cancelled || k == (int)phase) atomic_store(&p->next[k], cancelled ? 0 : now + CALL_SECONDS);
  pthread_mutex_unlock(&p->lock);
  if (cancelled)
    TSI_FAIL(env, TRISTAR_ERR_CANCELLED, "the function of tristar_set_progress cancelled the %s",
             name_of(phase));
  return TRISTAR_OK;
}
