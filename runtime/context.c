/* Creates and destroys contexts: see context.h. */
#include "runtime/context.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "codelets/cpu/kernels.h"
#include "runtime/base/threads.h"
#include "runtime/base/variables.h"
#include "runtime/blas.h"
#include "runtime/calibration.h"
#include "runtime/clock.h"
#include "runtime/in_flight.h"
#include "runtime/topology.h"

void tristar_config_init(tristar_config *config) {
  memset(config, 0, sizeof *config);
  config->use_starpu = 1;
  config->first_core = -1;
  config->idle_sleep = -1;
  config->log_level = TRISTAR_LOG_INFO;
}

/* The instruction set of the kernels: what the environment asks for, or the best of this processor. */
static tristar_status choose_isa(tristar_t *ts) {
  tristar_status status = TRISTAR_OK;
  const char *asked = tsi_variable(TSI_VARIABLE_ISA);
  const tsi_kernels *kernels = tsi_kernels_select('d', TSI_INVERSE_DIAGONAL, asked);
  if (kernels == NULL)
    TSI_FAIL(&ts->env, TRISTAR_ERR_ARGUMENT,
             "TRISTAR_ISA is \"%s\", not an instruction set of this processor that there are kernels for; "
             "the best is %s",
             asked, tsi_kernels_select('d', TSI_INVERSE_DIAGONAL, NULL)->isa);
  ts->isa = kernels->isa;
out:
  return status;
}

static tristar_status configure(tristar_t *ts, const tristar_config *config) {
  tristar_status status = TRISTAR_OK;
  const char *check = tsi_variable(TSI_VARIABLE_CHECK), *idle = tsi_variable(TSI_VARIABLE_IDLE);
  ts->env.check = config->check || (check != NULL && *check != '0');
  ts->use_starpu = config->use_starpu != 0;
  ts->wishes =
      (tsi_starpu_wishes){config->workers, config->first_core, ts->scheduler, config->idle_sleep != 0};
  if (config->scheduler) snprintf(ts->scheduler, sizeof ts->scheduler, "%s", config->scheduler);
  if (config->workers < 0) TSI_FAIL(&ts->env, TRISTAR_ERR_ARGUMENT, "%d workers asked for", config->workers);
  TSI_TRY(choose_isa(ts));
  if (config->idle_sleep >= 0 || idle == NULL) goto out;
  ts->wishes.idle_sleep = strcmp(idle, "sleep") == 0;
  if (!ts->wishes.idle_sleep && strcmp(idle, "poll") != 0)
    TSI_FAIL(&ts->env, TRISTAR_ERR_ARGUMENT, "TRISTAR_IDLE is \"%s\", not sleep or poll", idle);
out:
  return status;
}

/* Both or neither. */
static tristar_status init_locks(tristar_t *ts) {
  tristar_status status = tsi_mutex_init(&ts->env, &ts->lock);
  if (status != TRISTAR_OK) return status;
  status = tsi_solves_init(&ts->env, &ts->solves);
  if (status != TRISTAR_OK) pthread_mutex_destroy(&ts->lock);
  return status;
}

tristar_status tristar_create(const tristar_config *config, tristar_t **out) {
  tristar_config defaults;
  if (out == NULL) return TSI_NULL(out);
  *out = NULL;
  if (config == NULL) {
    tristar_config_init(&defaults);
    config = &defaults;
  }
  tristar_t *ts = calloc(1, sizeof *ts); /* before there is anything that counts */
  if (ts == NULL)
    return tsi_answer(NULL, tsi_fail(NULL, TRISTAR_ERR_MEMORY, __func__, __FILE__, __LINE__,
                                     "out of memory: %zu bytes", sizeof *ts));
  tsi_env_init(&ts->env);
  ts->env.log = config->log;
  ts->env.log_arg = config->log_arg;
  ts->env.log_level = config->log_level;
  ts->env.memory.fail_at = config->fail_allocation;
  tristar_status status = init_locks(ts);
  if (status != TRISTAR_OK) {
    tsi_answer(&ts->env, status);
    free(ts);
    return tsi_answer(NULL, status);
  }
  status = configure(ts, config);
  if (status != TRISTAR_OK) {
    tsi_answer(&ts->env, status);
    tristar_destroy(&ts);
    return tsi_answer(NULL, status);
  }
  tsi_calibration_load(ts, config->calibration);
  *out = ts;
  return TRISTAR_OK;
}

void tristar_destroy(tristar_t **ts) {
  if (ts == NULL || *ts == NULL) return;
  tsi_solves_finish(*ts);
  if ((*ts)->starpu_running) {
    tsi_starpu_release();
    tsi_blas_release();
  }
  tsi_topology_release(*ts);
  pthread_mutex_destroy(&(*ts)->lock);
  free(*ts);
  *ts = NULL;
}

int tsi_expected_cpu_workers(int asked) {
  const char *given = getenv("STARPU_NCPU");
  const long count = given != NULL ? strtol(given, NULL, 10) : 0;
  cpu_set_t cores;
  if (count > 0 && count <= INT16_MAX) return (int)count;
  if (asked > 0) return asked;
  return sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
}

tristar_status tsi_context_need_starpu(tristar_t *ts, double *start_seconds) {
  tristar_status status = TRISTAR_OK;
  pthread_mutex_lock(&ts->lock);
  if (ts->starpu_running) goto out;
  if (!ts->use_starpu)
    TSI_FAIL(&ts->env, TRISTAR_ERR_UNSUPPORTED, "tasks asked for in a context without StarPU");
  const double begin = tsi_clock();
  TSI_TRY(tsi_starpu_acquire(&ts->env, &ts->wishes));
  ts->starpu_running = true;
  ts->start_seconds = tsi_clock() - begin;
  if (start_seconds != NULL) *start_seconds += ts->start_seconds;
  tsi_blas_acquire();
out:
  pthread_mutex_unlock(&ts->lock);
  return status;
}

size_t tristar_error(tristar_t *ts, char *buffer, size_t size) {
  const char *message = tsi_error_text(ts != NULL ? &ts->env : NULL);
  if (buffer != NULL && size > 0) snprintf(buffer, size, "%s", message);
  return strlen(message);
}

tristar_status tristar_memory(tristar_t *ts, tristar_memory_stats *stats) {
  TSI_GET(ts, stats,
          ((tristar_memory_stats){.current_bytes = atomic_load(&ts->env.memory.current),
                                  .peak_bytes = atomic_load(&ts->env.memory.peak),
                                  .allocations = atomic_load(&ts->env.memory.calls)}));
}
