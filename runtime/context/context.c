/* Creates and destroys contexts, and returns their properties: see context.h. */
#include "runtime/context/context.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "codelets/cpu/kernels.h"
#include "runtime/base/arena.h"
#include "runtime/base/threads.h"
#include "runtime/base/variables.h"
#include "runtime/base/options.h"
#include "runtime/base/progress.h"
#include "runtime/machine/calibration.h"
#include "runtime/machine/predict.h"
#include "runtime/exec/starpu/tasks.h"
#include "tristar_forecast.h"

void tristar_config_init_sized(tristar_config *config, size_t size) {
  const tristar_config defaults = {.use_starpu = 1,
                                   .first_core = -1,
                                   .first_device = -1,
                                   .devices = 1,
                                   .idle_sleep = -1,
                                   .log_level = TRISTAR_LOG_INFO};
  tsi_options_init(config, size, &defaults, sizeof defaults);
}

/* Chooses the instruction set of the kernels: from the environment, or the best of this processor. */
static tristar_status choose_isa(tristar_t *ts) {
  const char *requested = tsi_variable(TSI_VARIABLE_ISA);
  const tsi_kernels *kernels = tsi_kernels_select('d', TSI_INVERSE_DIAGONAL, requested),
                    *best = tsi_kernels_select('d', TSI_INVERSE_DIAGONAL, NULL);
  if (best == NULL)
    TSI_FAIL(&ts->env, TRISTAR_ERR_UNSUPPORTED,
             "this processor lacks the instruction set that the library was built for (TRISTAR_KERNELS)");
  if (kernels == NULL)
    TSI_FAIL(&ts->env, TRISTAR_ERR_ARGUMENT,
             "TRISTAR_ISA is \"%s\", not an instruction set of this processor that there are kernels for; "
             "the best is %s",
             requested, best->isa);
  ts->isa = kernels->isa;
  return TRISTAR_OK;
}

static tristar_status configure(tristar_t *ts, const tristar_config *config) {
  const char *check = tsi_variable(TSI_VARIABLE_CHECK), *idle = tsi_variable(TSI_VARIABLE_IDLE);
  ts->env.check = config->check || (check != NULL && *check != '0');
  if (config->workers < 0) TSI_FAIL(&ts->env, TRISTAR_ERR_ARGUMENT, "%d workers requested", config->workers);
  TSI_TRY(choose_isa(ts));
  if (TSI_IS_SIMULATED) {
    const tsi_costs costs = tsi_costs_assumed(&ts->machine, tsi_expected_cpu_workers(config->workers));
    ts->workers.wishes.simulated = (tsi_simulated_costs){costs.one, costs.all, costs.task};
  }
  if (config->idle_sleep >= 0 || idle == NULL) return TRISTAR_OK;
  ts->workers.wishes.idle_doze = strcmp(idle, "doze") == 0;
  ts->workers.wishes.idle_sleep = ts->workers.wishes.idle_doze || strcmp(idle, "sleep") == 0;
  if (!ts->workers.wishes.idle_sleep && strcmp(idle, "poll") != 0)
    TSI_FAIL(&ts->env, TRISTAR_ERR_ARGUMENT, "TRISTAR_IDLE is \"%s\", not sleep, doze or poll", idle);
  return TRISTAR_OK;
}

/* Called when the helpers have no users any more; the context contains their memory. */
static void free_context(tsi_helpers *helpers) {
  free((char *)helpers - offsetof(tristar_t, helpers));
}

static void end_context(tsi_lifetime *life);

/* Starts all services or none. */
static tristar_status init_services(tristar_t *ts, const tristar_config *config) {
  tristar_status status = tsi_solves_init(&ts->env, &ts->solves);
  if (status != TRISTAR_OK) return status;
  status = tsi_workers_init(&ts->env, &ts->workers, config);
  if (status == TRISTAR_OK) {
    status = tsi_machine_init(&ts->env, &ts->machine, config->calibration);
    if (status == TRISTAR_OK) {
      tsi_helpers_init(&ts->helpers, free_context);
      return status;
    }
    tsi_workers_finish(&ts->workers);
  }
  tsi_solves_finish(&ts->solves);
  return status;
}

tristar_status tristar_create(const tristar_config *config, tristar_t **out) {
  tristar_config full;
  if (out == NULL) return TSI_NULL(out);
  *out = NULL;
  tristar_status status = TSI_OPTIONS(NULL, tristar_config, config, &full);
  if (status != TRISTAR_OK) return tsi_answer(NULL, status);
  tristar_t *ts = aligned_alloc(_Alignof(tristar_t), sizeof *ts); /* before anything is counted */
  if (ts == NULL)
    return tsi_answer(NULL, tsi_fail(NULL, TRISTAR_ERR_MEMORY, __func__, __FILE__, __LINE__,
                                     "out of memory: %zu bytes", sizeof *ts));
  memset(ts, 0, sizeof *ts);
  tsi_env_init(&ts->env);
  ts->env.life.end = end_context;
  ts->env.log = full.log;
  ts->env.log_arg = full.log_arg;
  ts->env.log_level = full.log_level;
  ts->env.memory.fail_at = full.fail_allocation;
  tsi_factorization_options_init(&ts->fronts);
  status = init_services(ts, &full);
  if (status != TRISTAR_OK) {
    tsi_answer(&ts->env, status);
    free(ts);
    return tsi_answer(NULL, status);
  }
  status = configure(ts, &full);
  if (status != TRISTAR_OK) {
    tsi_answer(&ts->env, status);
    tristar_destroy(&ts);
    return tsi_answer(NULL, status);
  }
  *out = ts;
  return TRISTAR_OK;
}

typedef struct waiting_call {
  void (*run)(void *arg);
  void *arg;
} waiting_call;

static void *run_call(void *arg) {
  const waiting_call call = *(waiting_call *)arg;
  free(arg);
  call.run(call.arg);
  return NULL;
}

void tsi_context_call_waiting(tristar_t *ts, void (*run)(void *arg), void *arg) {
  pthread_t thread;
  if (tsi_tasks_may_wait()) {
    run(arg);
    return;
  }
  waiting_call *call = malloc(sizeof *call);
  if (call != NULL) *call = (waiting_call){run, arg};
  if (call != NULL && tsi_thread_start(&ts->env, &thread, run_call, call) == TRISTAR_OK) {
    pthread_detach(thread);
    return;
  }
  free(call);
  tsi_log(&ts->env, TRISTAR_LOG_WARNING,
          "no thread for what a StarPU task destroys: it stays in memory, and StarPU goes on");
}

static void finish(void *arg) {
  tristar_t *ts = arg;
  tsi_progress_finish(&ts->env);
  tsi_solves_finish(&ts->solves);
  tsi_helpers_close(&ts->helpers);
  tsi_workers_finish(&ts->workers);
  tsi_machine_finish(&ts->machine);
  tsi_helpers_release(&ts->helpers);
  tsi_arena_trim();
}

static void end_context(tsi_lifetime *life) {
  tristar_t *ts = (tristar_t *)((char *)life - offsetof(tristar_t, env.life));
  tsi_context_call_waiting(ts, finish, ts);
}

static void drop(void *arg) {
  tristar_t *ts = arg;
  tsi_solves_wait(&ts->solves);
  tsi_solves_reclaim(&ts->solves);
  tsi_env_release(&ts->env);
}

void tristar_destroy(tristar_t **ts) {
  if (ts == NULL || *ts == NULL) return;
  tristar_t *dropped = *ts;
  *ts = NULL;
  if (tsi_env_abandon(&dropped->env, dropped)) return;
  atomic_store(&dropped->dropped, true);
  tsi_context_call_waiting(dropped, drop, dropped);
}

tristar_status tsi_context_need_starpu(tristar_t *ts, double *start_seconds) {
  return tsi_workers_need(&ts->workers, start_seconds);
}

size_t tristar_get_error(tristar_t *ts, char *buffer, size_t size) {
  const char *message = tsi_error_text(ts != NULL ? &ts->env : NULL);
  if (buffer != NULL && size > 0) snprintf(buffer, size, "%s", message);
  return strlen(message);
}

tristar_status tristar_get_memory(tristar_t *ts, tristar_memory_stats *stats) {
  TSI_GET(ts, stats,
          ((tristar_memory_stats){.current_bytes = atomic_load(&ts->env.memory.current),
                                  .peak_bytes = atomic_load(&ts->env.memory.peak),
                                  .allocations = atomic_load(&ts->env.memory.calls)}));
}

tristar_status tristar_limit_memory(tristar_t *ts, size_t bytes) {
  TSI_ENTER(ts, ts);
  atomic_store(&ts->env.memory.limit, bytes);
  return TRISTAR_OK;
}

tristar_status tristar_set_progress(tristar_t *ts, tristar_progress_fn progress, void *arg) {
  TSI_ENTER(ts, ts);
  return tsi_answer(&ts->env, tsi_progress_set(&ts->env, progress, arg));
}

tristar_status tristar_fail_allocation(tristar_t *ts, int64_t k) {
  tristar_status status = TRISTAR_OK;
  TSI_ENTER(ts, ts);
  if (k < 0) TSI_FAIL_OUT(&ts->env, TRISTAR_ERR_ARGUMENT, "no allocation has the number %lld", (long long)k);
  int64_t at = 0; /* also if the number is too large */
  if (k > 0 && __builtin_add_overflow(atomic_load(&ts->env.memory.calls), k, &at)) at = 0;
  ts->env.memory.fail_at = at;
out:
  return tsi_answer(&ts->env, status);
}

tristar_status tristar_get_starpu(tristar_t *ts, tristar_starpu_info *info) {
  tristar_status status = TRISTAR_OK;
  TSI_ENTER(ts, ts);
  if (info == NULL) TSI_FAIL_OUT(&ts->env, TRISTAR_ERR_ARGUMENT, "info is NULL");
  TSI_TRY_OUT(tsi_workers_describe(&ts->workers, info));
out:
  return tsi_answer(&ts->env, status);
}

int tristar_get_worker(tristar_t *ts, int i, char *name, size_t size, int *core) {
  return ts != NULL && !tsi_env_is_inherited(&ts->env) && tsi_workers_name(&ts->workers, i, name, size, core);
}

tristar_status tristar_calibrate(tristar_t *ts, tristar_calibration *out) {
  tsi_calibration_quality quality;
  TSI_ENTER(ts, ts);
  return tsi_answer(&ts->env, tsi_calibrate(&ts->machine, &ts->workers, out, &quality));
}

tristar_status tristar_get_calibration(tristar_t *ts, tristar_calibration *calibration) {
  tristar_status status = TRISTAR_OK;
  TSI_ENTER(ts, ts);
  if (calibration == NULL) TSI_FAIL_OUT(&ts->env, TRISTAR_ERR_ARGUMENT, "calibration is NULL");
  *calibration = tsi_calibration_now(&ts->machine);
  if (calibration->cores == 0) /* the defaults do not describe the machine */
    TSI_TRY_OUT(tsi_calibration_describe(&ts->machine, calibration));
out:
  return tsi_answer(&ts->env, status);
}
