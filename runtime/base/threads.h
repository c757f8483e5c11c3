/* Mutexes, conditions and threads, with error messages.
 *
 * Reads   nothing.   Writes  the initialized object; after a failure nothing is initialized, and nothing must
 * be destroyed.
 * Invariants
 *   - conditions use CLOCK_MONOTONIC, which cannot be set
 *   - threads of the library mask all signals, which are for threads of the program */
#pragma once

#include <pthread.h>

#include "runtime/base/env.h"

/* They return RUNTIME with the text of the system if they fail. */
TRISTAR_CHECKED tristar_status tsi_mutex_init(const tsi_env *env, pthread_mutex_t *mutex);
TRISTAR_CHECKED tristar_status tsi_rwlock_init(const tsi_env *env, pthread_rwlock_t *lock);
TRISTAR_CHECKED tristar_status tsi_condition_init(const tsi_env *env, pthread_cond_t *condition);
/* Initializes both, or neither. */
TRISTAR_CHECKED tristar_status tsi_monitor_init(const tsi_env *env, pthread_mutex_t *mutex,
                                                pthread_cond_t *condition);
TRISTAR_CHECKED tristar_status tsi_thread_start(const tsi_env *env, pthread_t *thread, void *(*run)(void *),
                                                void *arg);
