/* Messages of errors by thread, and their copies to other threads: see env.h.
 *
 * A message belongs to a thread, not to a context. So threads that share a context do not overwrite each
 * other's messages, and a call with NULL instead of an object also has a message. */
#include <stdarg.h>
#include <stdio.h>

#include "runtime/base/env.h"

/* The calling thread's latest error. */
static _Thread_local struct {
  uint64_t env;  /* id of its env; 0: of a call without an object */
  uint64_t tick; /* tsi_tick() of such a call */
  bool logged;
  char text[TSI_MESSAGE_SIZE];
} latest;

uint64_t tsi_tick(void) {
  static _Atomic(uint64_t) ticks;
  return atomic_fetch_add(&ticks, 1) + 1;
}

void tsi_log(tsi_env *env, tristar_log_level level, const char *format, ...) {
  char line[TSI_MESSAGE_SIZE];
  va_list args;
  if (env->log == NULL || level > env->log_level) return;
  va_start(args, format);
  vsnprintf(line, sizeof line, format, args);
  va_end(args);
  env->log(env->log_arg, level, line);
}

tristar_status tsi_fail(const tsi_env *env, tristar_status status, const char *function, const char *file,
                        int line, const char *format, ...) {
  char text[TSI_MESSAGE_SIZE];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  latest.env = env != NULL ? env->id : 0;
  latest.tick = env != NULL ? 0 : tsi_tick();
  latest.logged = false;
  snprintf(latest.text, sizeof latest.text, "%.380s [%s, %s, %s:%d]", text, tristar_status_name(status),
           function, file, line);
  return status;
}

const char *tsi_error_text(const tsi_env *env) {
  const bool own = env == NULL || latest.env == env->id || (latest.env == 0 && latest.tick > env->id);
  return own ? latest.text : "";
}

tristar_status tsi_answer(tsi_env *env, tristar_status status) {
  if (status == TRISTAR_OK || latest.logged) return status;
  latest.logged = true;
  if (env != NULL) tsi_log(env, TRISTAR_LOG_ERROR, "%s", tsi_error_text(env));
  return status;
}

tristar_status tsi_refuse_inherited(tsi_env *env, const char *function, const char *file, int line) {
  return tsi_answer(env, tsi_fail(env, TRISTAR_ERR_UNSUPPORTED, function, file, line,
                                  "the object was made before fork(), in the parent process: the child has "
                                  "to create a context of its own"));
}

void tsi_failure_clear(tsi_failure *failure) {
  atomic_store(&failure->status, TRISTAR_OK);
}

void tsi_failure_keep(const tsi_env *env, tsi_failure *failure, tristar_status status) {
  int none = TRISTAR_OK;
  if (status == TRISTAR_OK || !atomic_compare_exchange_strong(&failure->status, &none, TSI_FAILURE_COMES))
    return;
  memcpy(failure->message, tsi_error_text(env), strlen(tsi_error_text(env)) + 1);
  atomic_store_explicit(&failure->status, (int)status, memory_order_release);
}

tristar_status tsi_failure_report(const tsi_env *env, const tsi_failure *failure) {
  const int status = atomic_load_explicit(&failure->status, memory_order_acquire);
  if (status == TRISTAR_OK) return TRISTAR_OK;
  latest.env = env->id;
  latest.logged = false;
  memcpy(latest.text, failure->message, sizeof latest.text);
  return (tristar_status)status;
}
