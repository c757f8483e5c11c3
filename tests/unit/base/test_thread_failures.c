/* If the system refuses mutexes, conditions or threads, the call fails, or at least logs a message, and
 * nothing leaks. Threads of the library block signals, so that threads of the program receive them. Linked
 * with --wrap, so that the k-th call of the library fails. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "runtime/base/threads.h"
#include "tests/support/flow.h"
#include "tristar_machine.h"

static _Atomic(int) fail_at; /* number of calls until one fails; negative: none fails */

static int fails(void) {
  return atomic_fetch_sub(&fail_at, 1) == 0;
}

int __real_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes);
int __wrap_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes);
int __wrap_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes) {
  return fails() ? EAGAIN : __real_pthread_mutex_init(mutex, attributes);
}

int __real_pthread_cond_init(pthread_cond_t *condition, const pthread_condattr_t *attributes);
int __wrap_pthread_cond_init(pthread_cond_t *condition, const pthread_condattr_t *attributes);
int __wrap_pthread_cond_init(pthread_cond_t *condition, const pthread_condattr_t *attributes) {
  return fails() ? EAGAIN : __real_pthread_cond_init(condition, attributes);
}

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *arg) {
  return fails() ? EAGAIN : __real_pthread_create(thread, attributes, run, arg);
}

static void count_line(void *arg, tristar_log_level level, const char *text) {
  if (level <= TRISTAR_LOG_WARNING && strstr(text, "Resource temporarily unavailable") != NULL) ++*(int *)arg;
}

/* Creates a context and solves once with the partitioned inverse. Returns the number of calls. */
static int run(int call, tristar_status *status, int *lines) {
  tristar_config config;
  CLEANUP(tristar_destroy) tristar_t *ts = NULL;
  tristar_matrix_t *matrix = NULL;
  tristar_view view;
  tristar_analysis_options options;
  tristar_plan_options how;
  tristar_analysis_t *analysis = NULL;
  tristar_factor_t *factor = NULL;
  tristar_plan_t *plan = NULL;
  tristar_memory_stats memory;
  double b[64] = {0}, x[64];
  tristar_config_init(&config);
  config.log = count_line;
  config.log_arg = lines;
  tristar_analysis_options_init(&options);
  tristar_plan_options_init(&how);
  options.inverse = TRISTAR_INVERSE_PARTITIONED;
  how.engine = TRISTAR_ENGINE_TASKS;
  how.kernel = TRISTAR_KERNEL_SPMV;
  atomic_store(&fail_at, call);
  *status = tristar_create(&config, &ts);
  if (*status == TRISTAR_OK) *status = tristar_matrix_generate(ts, "s2d9pt", 8, &matrix);
  if (*status == TRISTAR_OK) *status = tristar_matrix_get_view(matrix, &view);
  if (*status == TRISTAR_OK) *status = tristar_analyze(ts, &view, &options, &analysis);
  if (*status == TRISTAR_OK) *status = tristar_factor(analysis, view.values, &factor);
  if (*status == TRISTAR_OK) *status = tristar_plan(factor, &how, &plan);
  if (*status == TRISTAR_OK) *status = tristar_solve(plan, TRISTAR_N, 1, b, 64, x, 64);
  if (*status != TRISTAR_OK) {
    CHECK_ERROR(ts, "pthread_");
  }
  const int calls = call - atomic_load(&fail_at);
  atomic_store(&fail_at, -1);
  tristar_plan_destroy(&plan);
  tristar_factor_destroy(&factor);
  tristar_analysis_destroy(&analysis);
  tristar_matrix_destroy(&matrix);
  if (ts != NULL) {
    CHECK_OK(tristar_get_memory(ts, &memory));
    CHECK(memory.current_bytes == 0);
  }
  return calls;
}

static void *look_at_mask(void *arg) {
  sigset_t mask;
  int *open = arg;
  CHECK(pthread_sigmask(SIG_SETMASK, NULL, &mask) == 0);
  for (int s = 1; s < 32; s++)
    if (s != SIGKILL && s != SIGSTOP) *open += !sigismember(&mask, s);
  return NULL;
}

int main(void) {
  tristar_status status;
  tsi_env env;
  pthread_t thread;
  int lines = 0, open = 0;
  int call = 0;
  for (; run(call, &status, &lines) > call; call++, lines = 0) {
    CHECK_MSG(status == TRISTAR_OK || status == TRISTAR_ERR_RUNTIME, "call %d: %s", call,
              tristar_status_name(status));
    CHECK_MSG(lines == 1, "call %d: %d lines", call,
              lines); /* an error, or a warning that idle workers poll */
  }
  CHECK(status == TRISTAR_OK && lines == 0); /* none failed */
  CHECK_MSG(call >= 6, "%d calls",
            call); /* three for the context, one for the plan, one for SPMV, one for the idle thread */
  tsi_env_init(&env);
  atomic_store(&fail_at, -1);
  CHECK_OK(tsi_thread_start(&env, &thread, look_at_mask, &open));
  CHECK(pthread_join(thread, NULL) == 0 && open == 0);
  look_at_mask(&open);
  CHECK(open > 0); /* the signal mask of the caller is unchanged */
  return 0;
}
