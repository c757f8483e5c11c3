/* See threads.h. */
#include "runtime/base/threads.h"

#include <signal.h>
#include <time.h>

static tristar_status check_code(const tsi_env *env, const char *what, int code) {
  if (code == 0) return TRISTAR_OK;
  return tsi_fail(env, TRISTAR_ERR_RUNTIME, __func__, __FILE__, __LINE__, "%s: %s", what, strerror(code));
}

tristar_status tsi_mutex_init(const tsi_env *env, pthread_mutex_t *mutex) {
  return check_code(env, "pthread_mutex_init", pthread_mutex_init(mutex, NULL));
}

tristar_status tsi_rwlock_init(const tsi_env *env, pthread_rwlock_t *lock) {
  return check_code(env, "pthread_rwlock_init", pthread_rwlock_init(lock, NULL));
}

tristar_status tsi_condition_init(const tsi_env *env, pthread_cond_t *condition) {
  pthread_condattr_t attributes;
  int code = pthread_condattr_init(&attributes);
  if (code != 0) return check_code(env, "pthread_condattr_init", code);
  code = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  if (code == 0) code = pthread_cond_init(condition, &attributes);
  pthread_condattr_destroy(&attributes);
  return check_code(env, "pthread_cond_init", code);
}

tristar_status tsi_monitor_init(const tsi_env *env, pthread_mutex_t *mutex, pthread_cond_t *condition) {
  tristar_status status = tsi_mutex_init(env, mutex);
  if (status != TRISTAR_OK) return status;
  status = tsi_condition_init(env, condition);
  if (status != TRISTAR_OK) pthread_mutex_destroy(mutex);
  return status;
}

tristar_status tsi_thread_start(const tsi_env *env, pthread_t *thread, void *(*run)(void *), void *arg) {
  sigset_t all, before;
  sigfillset(&all);
  const int masked = pthread_sigmask(SIG_SETMASK, &all, &before);
  const int code = pthread_create(thread, NULL, run, arg);
  if (masked == 0) (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  return check_code(env, "pthread_create", code);
}
