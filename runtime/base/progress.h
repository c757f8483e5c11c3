/* The program's function that follows the calls of a context, and may cancel them (tristar_set_progress).
 *
 * Job. Long work calls tsi_progress_look now and then, from any thread. This calls the function at most ten
 * times a second in each phase.
 *
 * Reads   the clock.   Writes  only its own members.
 * Invariant: one thread at a time calls the function. */
#pragma once

#include "runtime/base/env.h"
#include "tristar_forecast.h"

/* Sets the function; NULL, or after a failure: none. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_progress_set(tsi_env *env, tristar_progress_fn progress, void *arg);
/* Removes the function, when an env ends. */
void tsi_progress_finish(tsi_env *env);

/* No function is called between tsi_progress_pause and tsi_progress_resume, which gets its result. */
static inline struct tsi_progress *tsi_progress_pause(tsi_env *env) {
  return atomic_exchange(&env->progress, NULL);
}
static inline void tsi_progress_resume(tsi_env *env, struct tsi_progress *progress) {
  atomic_store(&env->progress, progress);
}

/* Whether a function is set. */
static inline bool tsi_progress_follows(const tsi_env *env) {
  return atomic_load_explicit(&env->progress, memory_order_relaxed) != NULL;
}
TRISTAR_CHECKED tristar_status tsi_progress_call(tsi_env *env, tristar_phase phase, double share);
/* share: finished part of the phase, 0 to 1. Errors: CANCELLED. */
TRISTAR_CHECKED static inline tristar_status tsi_progress_look(tsi_env *env, tristar_phase phase,
                                                               double share) {
  return tsi_progress_follows(env) ? tsi_progress_call(env, phase, share) : TRISTAR_OK;
}
