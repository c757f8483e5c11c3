/* Mutexes, conditions and threads of our own, with their failures told.
 *
 * Reads   nothing.   Writes  what is initialized; on failure nothing is, and nothing has to be destroyed.
 * Invariants
 *   - conditions wait by CLOCK_MONOTONIC, which nobody sets
 *   - our threads mask all signals: those are for the threads of the program */
#pragma once

#include <pthread.h>

#include "runtime/base/env.h"

/* Errors: RUNTIME, with the text of the system. */
TRISTAR_CHECKED tristar_status tsi_mutex_init(const tsi_env *env, pthread_mutex_t *mutex);
TRISTAR_CHECKED tristar_status tsi_rwlock_init(const tsi_env *env, pthread_rwlock_t *lock);
TRISTAR_CHECKED tristar_status tsi_condition_init(const tsi_env *env, pthread_cond_t *condition);
/* Both, or neither. */
TRISTAR_CHECKED tristar_status tsi_monitor_init(const tsi_env *env, pthread_mutex_t *mutex,
                                                pthread_cond_t *condition);
TRISTAR_CHECKED tristar_status tsi_thread_start(const tsi_env *env, pthread_t *thread, void *(*run)(void *),
                                                void *arg);
